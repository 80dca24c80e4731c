//! A reflector that feeds a store, with no queue and no handlers: the smallest cache that follows a cluster.
//!
//! ```text
//! informer serve --pods 100 --rate 5 --write-kubeconfig demo.kubeconfig
//! KUBECONFIG=demo.kubeconfig cargo run --example reflector_into_store --features full
//! ```

use std::sync::Arc;
use std::time::Duration;

use informer::http::HttpListerWatcher;
use informer::reflector::Report;
use informer::{Client, PartialObjectMetadata, Reflector, Resource, Store};
use tokio_util::sync::CancellationToken;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let client = Client::infer()?;
    let pods = Resource::builtin("pods").expect("every cluster has pods");

    // Only metadata is sent over the wire.
    let store: Store<PartialObjectMetadata> = Store::new();
    let reflector = Reflector::new(
        HttpListerWatcher::<PartialObjectMetadata>::new(client, pods),
        Arc::new(store.clone()),
    )
    .watch_error_handler(|report: &Report| eprintln!("{report}"));

    let mut status = reflector.status();
    let stop = CancellationToken::new();
    let running = tokio::spawn(reflector.run(stop.clone()));

    // Wait for the first list, with a deadline.
    tokio::time::timeout(
        Duration::from_secs(60),
        status.wait_for(|status| status.synced),
    )
    .await??;
    for second in 0..10 {
        let snapshot = store.snapshot();
        println!(
            "{second} s: {} objects at {:?}",
            snapshot.len(),
            snapshot.resource_version()
        );
        tokio::time::sleep(Duration::from_secs(1)).await;
    }

    stop.cancel();
    running.await?;
    Ok(())
}
