//! An example: a small controller, and tests of it against the API server in memory. The guide
//! `informer::guide::testing_your_controller` explains it.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::time::Duration;

use informer::client::{Error, Patch};
use informer::controller::{Action, Controller, EventSource, ReconcileError, ReconcileRequest};
use informer::http::HttpListerWatcher;
use informer::store::StoreReader;
use informer::{Api, Client, SharedInformer};
use informer_testkit::{
    ApiServer, Fault, RecordedBodies, RequestMatcher, Status, Verb, eventually,
};
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::json;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

// The controller. It writes into each ConfigMap how many keys its data has.

/// Runs the controller in the namespace `shop` until it is stopped.
async fn run(client: Client, stop: CancellationToken) -> Result<(), Box<dyn std::error::Error>> {
    let lister = HttpListerWatcher::<ConfigMap>::namespaced(client.clone(), "shop");
    let maps = SharedInformer::builder(lister).build()?;
    let controller = Controller::new("counter").watch(EventSource::objects(&maps))?;
    maps.start()?;
    let (store, api) = (maps.store().clone(), Api::namespaced(client, "shop"));
    let reconcile = move |request| reconcile(store.clone(), api.clone(), request);
    controller.run(&stop, reconcile).await?;
    Ok(())
}

async fn reconcile(
    store: StoreReader<ConfigMap>,
    api: Api<ConfigMap>,
    request: ReconcileRequest,
) -> Result<Action, ReconcileError> {
    let Some(map) = store.get(&request.key) else {
        return Ok(Action::Done);
    };
    let keys = map.data.as_ref().map_or(0, |data| data.len()).to_string();
    let annotations = map.metadata.annotations.as_ref();
    if annotations.and_then(|all| all.get("keys")) == Some(&keys) {
        return Ok(Action::Done);
    }
    let patch = Patch::Merge(json!({"metadata": {"annotations": {"keys": keys}}}));
    match api.patch(request.key.name(), &patch).await {
        // It was deleted meanwhile.
        Err(error) if error.is_not_found() => Ok(Action::Done),
        result => result.map(|_| Action::Done).map_err(Error::into),
    }
}

// Its tests.

/// Long enough for every backoff; in paused time it passes in a moment.
const PATIENCE: Duration = Duration::from_secs(300);

/// A server with the namespace of the tests.
fn server() -> Arc<ApiServer> {
    let server = ApiServer::builder()
        .seed(1)
        .recorded_bodies(RecordedBodies::WithoutSecrets)
        .in_memory();
    server
        .create("namespaces", json!({"metadata": {"name": "shop"}}))
        .unwrap();
    Arc::new(server)
}

fn start(server: &ApiServer) -> JoinHandle<()> {
    let client = server.client_as("counter");
    tokio::spawn(async move { run(client, CancellationToken::new()).await.unwrap() })
}

fn create(server: &ApiServer, name: &str) {
    let map =
        json!({"metadata": {"namespace": "shop", "name": name}, "data": {"a": "1", "b": "2"}});
    server.create("configmaps", map).unwrap();
}

/// Waits until a map has this count.
async fn counted(server: &ApiServer, name: &str, keys: &str) {
    let maps = server.objects::<ConfigMap>();
    let is_counted = |map: &ConfigMap| {
        let annotations = map.metadata.annotations.as_ref();
        annotations.is_some_and(|all| all.get("keys").is_some_and(|found| found == keys))
    };
    maps.until("shop", name, PATIENCE, is_counted)
        .await
        .unwrap();
}

fn patches() -> RequestMatcher {
    RequestMatcher::verb(Verb::Patch)
        .resource("configmaps")
        .client("counter")
}

#[tokio::test(start_paused = true)]
async fn keys_are_counted_and_counted_again() {
    let server = server();
    create(&server, "a");
    start(&server);
    counted(&server, "a", "2").await;
    let change = json!({"data": {"b": null}});
    server
        .merge_patch("configmaps", "shop", "a", change)
        .unwrap();
    counted(&server, "a", "1").await;

    // What it sent: its own annotation and nothing else.
    let requests = server.requests().into_iter();
    let sent: Vec<_> = requests
        .filter(|r| patches().matches(r))
        .map(|r| r.json())
        .collect();
    let patch = |keys| Some(json!({"metadata": {"annotations": {"keys": keys}}}));
    assert_eq!(sent, [patch("2"), patch("1")]);
}

#[tokio::test(start_paused = true)]
async fn failures_are_retried() {
    let faults: [Fault; 4] = [
        Status::failure(500, "InternalError", "etcdserver: leader changed").into(),
        Status::failure(429, "TooManyRequests", "slow down")
            .with_retry_after(1)
            .into(),
        Fault::Disconnect,
        Fault::LoseResponse,
    ];
    for fault in faults {
        let server = server();
        start(&server);
        server.fail(patches(), fault, 3);
        create(&server, "a");
        counted(&server, "a", "2").await;
    }
}

#[tokio::test(start_paused = true)]
async fn object_that_is_deleted_before_the_write_is_left_alone() {
    let server = server();
    let other = Arc::clone(&server);
    server.before_next(patches(), async move |request| {
        other.delete("configmaps", "shop", &request.name).unwrap();
    });
    start(&server);
    create(&server, "a");
    create(&server, "b");
    counted(&server, "b", "2").await;
    tokio::time::sleep(PATIENCE).await;
    let of_a = patches().name("a");
    let tried = server.requests().iter().filter(|r| of_a.matches(r)).count();
    assert_eq!(tried, 1);
}

#[tokio::test(start_paused = true)]
async fn missing_rights_are_no_end() {
    let server = server();
    server.forbid(Verb::Watch, "configmaps");
    start(&server);
    create(&server, "a");
    eventually(PATIENCE, async || {
        let watch = RequestMatcher::verb(Verb::Watch);
        let tried = server
            .requests()
            .iter()
            .filter(|r| watch.matches(r))
            .count();
        if tried > 3 {
            Ok(())
        } else {
            Err(format!("{tried} watches"))
        }
    })
    .await
    .unwrap();
    server.allow(Verb::Watch, "configmaps");
    counted(&server, "a", "2").await;
}

#[tokio::test(start_paused = true)]
async fn crash_before_a_write_loses_nothing() {
    let server = server();
    let mut held = server.hold_next(patches());
    let process = start(&server);
    create(&server, "a");
    held.received().await;
    // The process ends; its request was not carried out.
    server.fence("counter");
    process.abort();
    drop(held);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(server.get("configmaps", "shop", "a").unwrap()["metadata"]["annotations"].is_null());
    // It is started again.
    start(&server);
    counted(&server, "a", "2").await;
}
