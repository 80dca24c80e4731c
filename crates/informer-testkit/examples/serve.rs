//! Serves a small cluster under change until it is interrupted:
//! `cargo run -p informer-testkit --example serve -- 8080`, without a number on a free port.

use informer_testkit::{Actors, ApiServer, Workload};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let port = std::env::args().nth(1).map_or(Ok(0), |port| port.parse())?;
    let server = ApiServer::builder()
        .port(port)
        .actors(Actors::all())
        .start()
        .await?;
    let mut workload = Workload::new().pods(100);
    workload.fill(&server)?;
    let _running = workload.start(&server, 1.0);
    println!("kubectl --server={} get pods -A --watch", server.url());
    std::future::pending().await
}
