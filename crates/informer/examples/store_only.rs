//! Only the store: indexes, selectors and snapshots over objects that you add. No cluster, no runtime.

use std::sync::Arc;

use informer::{IndexValues, LabelSelector, Lister, Store};
use k8s_openapi::api::core::v1::{Pod, PodSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

fn pod(name: &str, app: &str, node: &str) -> Arc<Pod> {
    Arc::new(Pod {
        metadata: ObjectMeta {
            namespace: Some("shop".into()),
            name: Some(name.into()),
            labels: Some([("app".to_owned(), app.to_owned())].into()),
            ..ObjectMeta::default()
        },
        spec: Some(PodSpec {
            node_name: Some(node.into()),
            ..PodSpec::default()
        }),
        status: None,
    })
}

fn main() -> anyhow::Result<()> {
    let store = Store::new();
    store.add_index("node", |pod: &Pod, values: &mut IndexValues<'_>| {
        values.extend(pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()));
    })?;
    for (name, app, node) in [
        ("a", "cart", "n1"),
        ("b", "cart", "n2"),
        ("c", "mail", "n1"),
    ] {
        store.add(pod(name, app, node))?;
    }

    // A snapshot takes constant time and never changes, objects and indexes alike.
    let before = store.snapshot();
    store.delete("shop/a");
    println!(
        "before: {} pods on n1, now {}",
        before.by_index("node", "n1")?.len(),
        store.by_index("node", "n1")?.len()
    );

    let selector: LabelSelector = "app in (cart,mail),!canary".parse()?;
    for pod in Lister::new(store, "pods")
        .namespaced("shop")
        .list(&selector)
    {
        println!("{}", pod.metadata.name.as_deref().unwrap_or_default());
    }
    Ok(())
}
