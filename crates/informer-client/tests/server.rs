//! Typed requests against an API server in memory.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use informer_client::http::Method;
use informer_client::{Api, Client, DeleteOptions, Deleted, Error, Patch};
use informer_kubeconfig::Kubeconfig;
use informer_testkit::{ApiServer, ResourceType};
use informer_wire::{Resource, Scope};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use serde_json::{Value, json};

async fn server() -> (ApiServer, Client) {
    let server = ApiServer::builder()
        .create_namespaces(true)
        .resource(ResourceType::new("demo.example", "v1", "Widget", "widgets"))
        .start()
        .await
        .unwrap();
    // By way of the kubeconfig, as a user would.
    let config = Kubeconfig::from_yaml(&server.kubeconfig(), "f")
        .unwrap()
        .config(None)
        .unwrap();
    let client = Client::new(config).unwrap();
    (server, client)
}

#[tokio::test]
async fn object_is_created_patched_replaced_and_deleted() {
    let (server, client) = server().await;
    let maps = Api::<ConfigMap>::namespaced(client, "shop");
    let map: ConfigMap =
        serde_json::from_value(json!({"metadata": {"name": "m"}, "data": {"k": "1"}})).unwrap();
    let created = maps.create(&map).await.unwrap();
    assert!(maps.create(&map).await.unwrap_err().is_already_exists());
    assert_eq!(maps.get("m").await.unwrap(), created);

    let patched = maps
        .patch("m", &Patch::Merge(json!({"data": {"k": "2"}})))
        .await
        .unwrap();
    assert_eq!(patched.data.unwrap()["k"], "2");
    // The copy that was read before the patch is stale.
    assert!(maps.replace("m", &created).await.unwrap_err().is_conflict());
    let mut fresh = maps.get("m").await.unwrap();
    fresh
        .data
        .as_mut()
        .unwrap()
        .insert("more".into(), "x".into());
    maps.replace("m", &fresh).await.unwrap();
    assert_eq!(
        server.get("configmaps", "shop", "m").unwrap()["data"]["more"],
        "x"
    );

    let stale = DeleteOptions::default().only_uid("another");
    assert!(maps.delete("m", &stale).await.unwrap_err().is_conflict());
    maps.delete("m", &DeleteOptions::default()).await.unwrap();
    assert!(maps.get("m").await.unwrap_err().is_not_found());
    let again = maps.delete("m", &DeleteOptions::default()).await;
    assert!(again.unwrap_err().is_not_found());
}

/// INV-CLIENT-16.
#[tokio::test]
async fn dry_run_changes_nothing() {
    let (server, client) = server().await;
    let maps = Api::<ConfigMap>::namespaced(client.clone(), "shop");
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}});
    let mut map = maps.create(&map).await.unwrap();
    let before = server.resource_version();

    let trial = maps.clone().dry_run(true);
    let plain = DeleteOptions::default();
    trial.delete("m", &plain).await.unwrap();
    maps.delete("m", &plain.clone().dry_run(true))
        .await
        .unwrap();
    let collection = client.request(Method::DELETE, "/api/v1/namespaces/shop/configmaps");
    let collection = collection.json("application/json", &plain.clone().dry_run(true));
    let deleted = collection.send().await.unwrap().error_for_status().await;
    deleted.unwrap();
    let other = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other"}});
    trial.create(&other).await.unwrap();
    let label = json!({"metadata": {"labels": {"a": "b"}}});
    trial.patch("m", &Patch::Merge(label)).await.unwrap();
    map.data = Some([("k".to_owned(), "v".to_owned())].into());
    trial.replace("m", &map).await.unwrap();

    assert_eq!(server.resource_version(), before);
    maps.delete("m", &plain).await.unwrap();
    assert!(server.get("configmaps", "shop", "m").is_err());
}

#[tokio::test]
async fn delete_returns_object_with_finalizer() {
    let (_server, client) = server().await;
    let maps = Api::<ConfigMap>::namespaced(client, "shop");
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m", "finalizers": ["a.example/b"]}});
    maps.create(&map).await.unwrap();
    let Deleted::Object(map) = maps.delete("m", &DeleteOptions::default()).await.unwrap() else {
        panic!()
    };
    assert!(map.metadata.deletion_timestamp.is_some());
}

#[tokio::test]
async fn status_subresource_is_patched() {
    let (server, client) = server().await;
    let pods = Api::<Pod>::namespaced(client, "shop");
    let pod: Pod = serde_json::from_value(json!({"metadata": {"name": "p"}})).unwrap();
    pods.create(&pod).await.unwrap();
    let change = Patch::Merge(json!({"status": {"phase": "Running"}}));
    pods.clone()
        .subresource("status")
        .patch("p", &change)
        .await
        .unwrap();
    assert_eq!(
        server.get("pods", "shop", "p").unwrap()["status"]["phase"],
        "Running"
    );
}

#[tokio::test]
async fn discovery_finds_built_in_and_custom_resources() {
    let (_server, client) = server().await;
    let widgets = Resource::new("demo.example", "v1", "Widget", "widgets", Scope::Namespaced);
    for name in ["widgets", "widgets.demo.example", "demo.example/v1/widgets"] {
        assert_eq!(client.find_resource(name).await.unwrap(), widgets);
    }
    let deployments = client.find_resource("deploy").await.unwrap();
    assert_eq!(deployments.to_string(), "apps/v1/deployments");
    assert_eq!(
        client.find_resource("nodes").await.unwrap().scope,
        Scope::Cluster
    );
    let error = client.find_resource("gadgets").await.unwrap_err();
    assert!(matches!(error, Error::UnknownResource { .. }), "{error:?}");

    let api = Api::<Value>::new(client, widgets).in_namespace("shop");
    let widget = json!({"apiVersion": "demo.example/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 3}});
    api.create(&widget).await.unwrap();
    assert_eq!(api.get("w").await.unwrap()["spec"]["size"], 3);
}
