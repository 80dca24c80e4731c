//! Typed requests against an API server in memory.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use informer_client::{Api, Client, DeleteOptions, Deleted, Error, Patch};
use informer_kubeconfig::Kubeconfig;
use informer_testkit::{ApiServer, ResourceType};
use informer_wire::{Resource, Scope};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use serde_json::{Value, json};

async fn server() -> (ApiServer, Client) {
    let server = ApiServer::builder()
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
async fn an_object_lives_its_life() {
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

#[tokio::test]
async fn an_object_with_a_finalizer_is_going() {
    let (_server, client) = server().await;
    let maps = Api::<ConfigMap>::namespaced(client, "shop");
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m", "finalizers": ["a.example/b"]}});
    maps.create(&map).await.unwrap();
    let Deleted::Going(map) = maps.delete("m", &DeleteOptions::default()).await.unwrap() else {
        panic!()
    };
    assert!(map.metadata.deletion_timestamp.is_some());
}

#[tokio::test]
async fn the_status_is_written_apart() {
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
