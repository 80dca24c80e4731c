//! Serves an empty cluster until it is interrupted: `cargo run -p informer-testkit --example serve`.

use informer_testkit::ApiServer;

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let port = std::env::args()
        .nth(1)
        .and_then(|port| port.parse().ok())
        .unwrap_or(0);
    let server = ApiServer::builder().port(port).start().await?;
    println!("{}", server.url());
    std::future::pending().await
}
