//! Finalizers on objects of an API server in memory.

mod support;

use informer_controller::{Finalizer, FinalizerStep};
use informer_store::object;
use informer_testkit::ApiServer;
use informer_wire::{ObjectMeta, StaticResource};
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::{Value, json};
use support::{map, server};

fn stored(server: &ApiServer, name: &str) -> ConfigMap {
    let map = server.get("configmaps", "shop", name).expect("there");
    serde_json::from_value(map).expect("a map")
}

#[tokio::test]
async fn finalizer_keeps_deleted_object_until_removed() {
    let (server, client) = server().await;
    server.create("configmaps", map("m")).expect("new");
    let finalizer = Finalizer::new(client, ConfigMap::resource(), "example.org/x");
    let stored = || stored(&server, "m");
    let step = |finalizer: &Finalizer| finalizer.step(&stored());
    let object = stored();
    assert_eq!(step(&finalizer), FinalizerStep::Add);
    // Another writes between reading and writing: neither undoes the other's change.
    let other = Finalizer::clone(&finalizer);
    finalizer.add(&object).await.expect("there");
    other.add(&object).await.expect("there already");
    server
        .merge_patch(
            "configmaps",
            "shop",
            "m",
            json!({"metadata": {"finalizers": ["other/y", "example.org/x"]}}),
        )
        .expect("there");
    assert_eq!(step(&finalizer), FinalizerStep::Apply);
    server.delete("configmaps", "shop", "m").expect("there");
    assert_eq!(step(&finalizer), FinalizerStep::CleanUp);
    finalizer.remove(&object).await.expect("there");
    assert_eq!(step(&finalizer), FinalizerStep::Leave);
    server
        .merge_patch(
            "configmaps",
            "shop",
            "m",
            json!({"metadata": {"finalizers": null}}),
        )
        .expect("there");
    finalizer
        .remove(&object)
        .await
        .expect("a deleted object is no error");
    assert!(
        finalizer
            .add(&object)
            .await
            .is_err_and(|error| error.is_not_found())
    );
    server.shutdown().await;
}

#[tokio::test]
async fn concurrent_finalizer_additions_are_all_kept() {
    let (server, client) = server().await;
    server.create("configmaps", map("m")).expect("new");
    let names = ["example.org/a", "example.org/b", "example.org/c"];
    let added = names.map(|name| {
        let finalizer = Finalizer::new(client.clone(), ConfigMap::resource(), name);
        let object = stored(&server, "m");
        async move { finalizer.add(&object).await }
    });
    for result in futures_util::future::join_all(added).await {
        result.expect("added in time");
    }
    let stored = server.get("configmaps", "shop", "m").expect("there");
    let set = stored["metadata"]["finalizers"]
        .as_array()
        .into_iter()
        .flatten();
    let mut set: Vec<_> = set.filter_map(Value::as_str).collect();
    set.sort_unstable();
    assert_eq!(set, names);
    server.shutdown().await;
}

// A worker that cleaned up holds an older object of the name.
#[tokio::test]
async fn finalizer_of_a_recreated_object_is_left_alone() {
    let (server, client) = server().await;
    let finalizer = Finalizer::new(client, ConfigMap::resource(), "example.org/disk");
    let with = || {
        let mut map = map("a");
        map["metadata"]["finalizers"] = json!(["example.org/disk"]);
        map
    };
    server.create("configmaps", with()).expect("new");
    let object = stored(&server, "a");
    server.delete("configmaps", "shop", "a").expect("there");
    // Somebody forces it away, and it is created again.
    let forced = json!({"metadata": {"finalizers": null}});
    server
        .merge_patch("configmaps", "shop", "a", forced)
        .expect("gone now");
    server.create("configmaps", with()).expect("new");
    finalizer.remove(&object).await.expect("nothing to do");
    assert_eq!(
        stored(&server, "a").metadata.finalizers,
        Some(vec!["example.org/disk".to_owned()])
    );
    let other = Finalizer::clone(&finalizer);
    let added = other.add(&object).await;
    assert!(added.is_err_and(|error| error.is_not_found()));
    server.shutdown().await;
}

/// A custom resource.
struct Backup {
    metadata: ObjectMeta,
}

object!(Backup, metadata: ObjectMeta);

// Custom resources, metadata alone and run-time types have the same metadata.
#[tokio::test]
async fn step_takes_objects_of_every_type() {
    let (server, client) = server().await;
    let finalizer = Finalizer::new(client, ConfigMap::resource(), "example.org/x");
    server.create("configmaps", map("m")).expect("new");
    let step = || {
        let object = server.get("configmaps", "shop", "m").expect("there");
        let metadata = serde_json::from_value(object["metadata"].clone()).expect("metadata");
        finalizer.step(&Backup { metadata })
    };
    assert_eq!(step(), FinalizerStep::Add);
    let set = json!({"metadata": {"finalizers": ["example.org/x"]}});
    server
        .merge_patch("configmaps", "shop", "m", set)
        .expect("there");
    assert_eq!(step(), FinalizerStep::Apply);
    server.delete("configmaps", "shop", "m").expect("there");
    assert_eq!(step(), FinalizerStep::CleanUp);
    server.shutdown().await;
}
