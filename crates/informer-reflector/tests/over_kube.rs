//! Lists and watches over kube's client, which carries the requests as a tower service.
#![cfg(feature = "http")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::time::Duration;

use informer_client::{Api, Client, DeleteOptions};
use informer_reflector::http::HttpListerWatcher;
use informer_reflector::{ListMode, Reflector, ReflectorConfig};
use informer_store::{Object, ResourceVersion, Store};
use informer_testkit::ApiServer;
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// Generous: the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(60);

/// Our client over kube's.
fn over_kube(server: &ApiServer) -> Client {
    let config = kube::Config::new(server.url().parse().unwrap());
    // Kube asks for one if another package of this build has it speak TLS; that one is set already is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let kube = kube::Client::try_from(config).unwrap();
    Client::from_service(tower::service_fn(move |request| {
        let kube = kube.clone();
        async move { kube.send(request).await }
    }))
}

async fn create(maps: &Api<ConfigMap>, name: &str) -> ResourceVersion {
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
    maps.create(&map).await.unwrap().resource_version().unwrap()
}

#[tokio::test]
async fn reflector_follows_over_kubes_client() {
    for mode in [ListMode::List, ListMode::Stream] {
        let server = ApiServer::builder()
            .create_namespaces(true)
            .start()
            .await
            .unwrap();
        let client = over_kube(&server);
        let maps = Api::<ConfigMap>::namespaced(client.clone(), "shop");
        for number in 0..25 {
            create(&maps, &format!("m{number}")).await;
        }
        let store = Arc::new(Store::new());
        let config = ReflectorConfig::default().list_mode(mode).page_size(10);
        let source = HttpListerWatcher::<ConfigMap>::all(client.clone());
        let reflector = Reflector::new(source, Arc::clone(&store))
            .config(config)
            .unwrap();
        let stop = CancellationToken::new();
        let task = tokio::spawn(reflector.run(stop.clone()));

        let newest = create(&maps, "last").await;
        let reached = tokio::time::timeout(PATIENCE, store.wait_until(&newest));
        reached.await.expect("the reflector lags").unwrap();
        assert_eq!(store.len(), 26, "{mode:?}");
        maps.delete("m3", &DeleteOptions::default()).await.unwrap();
        let newest = create(&maps, "after").await;
        let reached = tokio::time::timeout(PATIENCE, store.wait_until(&newest));
        reached.await.expect("the reflector lags").unwrap();
        assert_eq!(store.len(), 26, "{mode:?}");
        assert!(store.list().iter().all(|map| map.name() != "m3"));
        stop.cancel();
        task.await.unwrap();
    }
}

#[tokio::test]
async fn errors_and_discovery_work_over_kubes_client() {
    let server = ApiServer::builder()
        .create_namespaces(true)
        .start()
        .await
        .unwrap();
    let client = over_kube(&server);
    let maps = Api::<ConfigMap>::namespaced(client.clone(), "shop");
    assert!(maps.get("gone").await.unwrap_err().is_not_found());
    let deployments = client.find_resource("deploy").await.unwrap();
    assert_eq!(deployments.to_string(), "apps/v1/deployments");
    drop(server);
    assert!(maps.get("gone").await.is_err());
}
