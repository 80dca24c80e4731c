//! An API server in memory, informers and controllers for tests of this crate.
#![allow(dead_code, reason = "not every test needs everything")]

pub(crate) mod lagging;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use informer_client::{Client, Cluster, Config};
use informer_controller::{Action, Controller, ControllerError, ReconcileError, ReconcileRequest};
use informer_reflector::http::HttpListerWatcher;
use informer_shared::SharedInformer;
use informer_store::{Object, ObjectKey};
use informer_testkit::ApiServer;
use informer_wire::{FromWire, StaticResource};
use informer_workqueue::{ExponentialRateLimiter, WorkQueue, WorkQueueConfig};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub(crate) const LIMIT: Duration = Duration::from_secs(30);

pub(crate) async fn server() -> (ApiServer, Client) {
    let server = ApiServer::start().await.expect("a server");
    let cluster = Cluster::new(&server.url()).expect("a URL");
    let client = Client::new(Config::new(cluster)).expect("a client");
    shop(&server);
    (server, client)
}

/// Makes the namespace of the tests.
pub(crate) fn shop(server: &ApiServer) {
    let shop = json!({"metadata": {"name": "shop"}});
    server.create("namespaces", shop).expect("new");
}

pub(crate) fn informer<K: Object + FromWire + StaticResource>(
    client: &Client,
) -> SharedInformer<K> {
    let source = HttpListerWatcher::<K>::all(client.clone());
    SharedInformer::builder(source)
        .build()
        .expect("one name for each index")
}

/// A controller that tries again quickly.
pub(crate) fn controller() -> Controller {
    let limiter = ExponentialRateLimiter::new(Duration::from_millis(5), Duration::from_millis(50));
    Controller::with_queue(
        "test",
        WorkQueue::with_config(WorkQueueConfig::new().rate_limiter(limiter)),
    )
}

pub(crate) fn map(name: &str) -> Value {
    json!({"metadata": {"namespace": "shop", "name": name}, "data": {"a": "1"}})
}

pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let waited = tokio::time::timeout(LIMIT, async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    assert!(waited.await.is_ok(), "never: {what}");
}

/// A controller at work in the background, stopped by `end`.
pub(crate) struct Running {
    pub(crate) stop: CancellationToken,
    pub(crate) task: JoinHandle<Result<(), ControllerError>>,
}

impl Running {
    pub(crate) fn start<F, R>(controller: Controller, reconcile: F) -> Self
    where
        F: Fn(ReconcileRequest) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Action, ReconcileError>> + Send + 'static,
    {
        let stop = CancellationToken::new();
        let task = tokio::spawn({
            let stop = stop.clone();
            async move { controller.run(&stop, reconcile).await }
        });
        Self { stop, task }
    }

    pub(crate) async fn end(self) {
        self.stop.cancel();
        self.task.await.expect("no panic").expect("stopped");
    }
}

/// Counts how often each key was reconciled.
#[derive(Clone, Default)]
pub(crate) struct Tally(pub(crate) Arc<Mutex<BTreeMap<String, u32>>>);

impl Tally {
    pub(crate) fn count(&self, key: &ObjectKey) -> u32 {
        let mut tally = self.0.lock();
        let times = tally.entry(key.to_string()).or_default();
        *times += 1;
        *times
    }

    pub(crate) fn of(&self, key: &str) -> u32 {
        self.0.lock().get(key).copied().unwrap_or_default()
    }
}

pub(crate) fn key(name: &str) -> ObjectKey {
    ObjectKey::namespaced("shop", name)
}
