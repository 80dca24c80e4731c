//! Two kinds from one factory: deployments and their pods, each with one watch, however many parts of a program ask for it.
//!
//! ```text
//! informer serve --pods 100 --rate 5 --write-kubeconfig demo.kubeconfig
//! KUBECONFIG=demo.kubeconfig cargo run --example two_kinds --features full
//! ```

use std::time::Duration;

use informer::store::{LabelSelector, SelectorError};
use informer::{Client, Compact, Event, InformerFactory, Lister};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let factory = InformerFactory::builder(Client::infer()?)
        .resync_period(Duration::from_secs(600))
        .build()?;

    // Asking for an informer or a lister registers the kind. Both read one cache.
    let pods = factory.lister::<Compact<Pod>>();
    let deployments = factory.informer::<Deployment>();
    let registration = deployments.add_handler(move |event: Event<Deployment>| {
        std::future::ready(count_pods(&pods, &event))
    })?;

    factory.start()?;
    // If this fails, the error names the kinds that are late, and why.
    factory
        .wait_for_cache_sync()
        .deadline(Duration::from_secs(60))
        .await?;
    registration.synced().await?;
    for status in factory.status() {
        println!(
            "{}: {} objects, watching: {}",
            status.name, status.objects, status.watching
        );
    }
    factory.shutdown().await?;
    Ok(())
}

/// Finds the pods of a deployment in the other cache.
fn count_pods(pods: &Lister<Compact<Pod>>, event: &Event<Deployment>) -> Result<(), SelectorError> {
    let selector = event.object().spec.as_ref().map(|spec| &spec.selector);
    let labels = selector.and_then(|selector| selector.match_labels.as_ref());
    let labels = labels
        .into_iter()
        .flatten()
        .map(|(key, value)| (key.as_str(), value.as_str()));
    println!(
        "{}: {} pods",
        event.key(),
        pods.list(&LabelSelector::from_labels(labels)?).len()
    );
    Ok(())
}
