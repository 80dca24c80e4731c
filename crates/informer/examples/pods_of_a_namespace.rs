//! Follows the pods of one namespace: an index by node, an async handler, and a stream of events.
//!
//! Run it against a cluster, or against the API server in memory:
//!
//! ```text
//! informer serve --pods 100 --rate 5 --write-kubeconfig demo.kubeconfig
//! KUBECONFIG=demo.kubeconfig cargo run --example pods_of_a_namespace --features full -- team-0
//! ```

use std::time::Duration;

use futures_util::StreamExt;
use informer::http::HttpListerWatcher;
use informer::{Client, Event, IndexValues, Indexers, SharedInformer};
use k8s_openapi::api::core::v1::Pod;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let client = Client::infer()?;
    let namespace = std::env::args()
        .nth(1)
        .unwrap_or_else(|| client.namespace().to_owned());

    let by_node = Indexers::new().index("node", |pod: &Pod, values: &mut IndexValues<'_>| {
        values.extend(pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()));
    });
    let pods = SharedInformer::builder(HttpListerWatcher::<Pod>::namespaced(client, &namespace))
        .indexers(by_node)
        .build()?;

    // An async handler. It stays until it is removed or the informer stops.
    let registration = pods.add_handler(|event: Event<Pod>| async move {
        if let Event::Deleted { object, .. } = event {
            println!(
                "deleted: {}",
                object.metadata.name.as_deref().unwrap_or_default()
            );
        }
    })?;
    let mut events = pods.events()?;

    pods.start()?;
    // If this fails, the error says why: the server's last error, and how many requests failed.
    pods.synced().deadline(Duration::from_secs(60)).await?;
    registration
        .synced()
        .deadline(Duration::from_secs(60))
        .await?;

    println!("{} pods in {namespace}", pods.store().len());
    for node in pods.store().list_index_values("node") {
        println!("  {node}: {}", pods.store().by_index("node", &node)?.len());
    }

    let minute = tokio::time::sleep(Duration::from_secs(60));
    tokio::pin!(minute);
    loop {
        tokio::select! {
            // Events last: there may always be more of them.
            biased;
            () = &mut minute => break,
            _ = tokio::signal::ctrl_c() => break,
            Some(event) = events.next() => println!("{event:?}"),
        }
    }
    pods.stop().await?;
    Ok(())
}
