//! A whole program on a server in memory: requests, a watch, an informer, a controller, events and an election, in paused
//! time and without an I/O driver.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::time::Duration;

use informer::client::Patch;
use informer::controller::{
    Action, Controller, EventRecorder, EventSource, EventType, ObjectReference, ReconcileRequest,
};
use informer::http::HttpListerWatcher;
use informer::leader_election::{ElectionConfig, HttpLeaseLock, LeaderElector};
use informer::{Api, Client, SharedInformer, StaticResource as _};
use informer_testkit::{ApiServer, Fault, RequestMatcher, TestClock, Verb};
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Runs a test in paused time, on a runtime that can do nothing but compute and wait.
fn simulate(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(test);
}

fn map(name: &str) -> ConfigMap {
    let mut map = ConfigMap::default();
    map.metadata.name = Some(name.to_owned());
    map
}

/// A replica of an operator that marks each map of the namespace `shop`, while it leads.
async fn operate(client: Client, clock: TestClock, name: String) {
    let stop = CancellationToken::new();
    let lister = HttpListerWatcher::<ConfigMap>::namespaced(client.clone(), "shop");
    let maps = SharedInformer::builder(lister).build().unwrap();
    let recorder = EventRecorder::new(client.clone(), "example.org/marker", &name)
        .unwrap()
        .with_clock(&clock);
    let lock = HttpLeaseLock::new(client.clone(), "shop", "marker");
    let config = ElectionConfig::new(name.clone()).seed(1).clock(&clock);
    let elector = LeaderElector::new(lock, config).unwrap();
    let api = Api::<ConfigMap>::namespaced(client.gated(elector.gate()), "shop");
    let controller = Controller::new("marker")
        .watch(EventSource::objects(&maps))
        .unwrap();
    maps.start().unwrap();
    let reconcile = {
        let store = maps.store().clone();
        move |request: ReconcileRequest| {
            let (map, api) = (store.get(&request.key), api.clone());
            let (recorder, name) = (recorder.clone(), name.clone());
            async move {
                let Some(map) = map.filter(|map| map.data.is_none()) else {
                    return Ok(Action::Done);
                };
                let mark = json!({"data": {"by": name}});
                api.patch(request.key.name(), &Patch::Merge(&mark)).await?;
                let about = ObjectReference::of(&ConfigMap::resource(), &*map);
                recorder.record(&about, EventType::Normal, "Marked", "Mark", "as all are");
                Ok(Action::Done)
            }
        }
    };
    let led = elector
        .run(&stop, |lost| async move {
            controller.run(&lost, reconcile).await
        })
        .await
        .unwrap();
    led.worked().transpose().unwrap();
}

fn start(server: &ApiServer, clock: &TestClock, name: &str) -> JoinHandle<()> {
    tokio::spawn(operate(
        server.client_as(name),
        clock.clone(),
        name.to_owned(),
    ))
}

/// Waits until a map is marked, and returns by whom.
async fn marked(server: &ApiServer, name: &str) -> Value {
    let wait = async {
        loop {
            let map = server.get("configmaps", "shop", name).unwrap();
            if map["data"].is_object() {
                return map["data"]["by"].clone();
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(600), wait)
        .await
        .unwrap()
}

fn server(clock: &TestClock) -> ApiServer {
    let server = ApiServer::builder().seed(1).clock(clock).in_memory();
    server
        .create("namespaces", json!({"metadata": {"name": "shop"}}))
        .unwrap();
    server
}

fn noon() -> TestClock {
    TestClock::starting_at("2026-06-01T12:00:00Z".parse().unwrap())
}

#[test]
fn whole_program_runs_in_paused_time_without_io() {
    simulate(async {
        let clock = noon();
        let server = server(&clock);
        let api = Api::<ConfigMap>::namespaced(server.client(), "shop");

        // Requests of each kind.
        let created = api.create(&map("a")).await.unwrap();
        let time = created.metadata.creation_timestamp.clone().unwrap();
        assert_eq!(time.0, clock.now());
        let mut changed = created;
        changed.immutable = Some(false);
        let replaced = api.replace("a", &changed).await.unwrap();
        assert_eq!(replaced.immutable, Some(false));
        assert!(api.replace("a", &changed).await.unwrap_err().is_conflict());
        assert!(api.get("b").await.unwrap_err().is_not_found());

        // The operator does its work, and what it writes has the test's time of day.
        let first = start(&server, &clock, "operator-0");
        assert_eq!(marked(&server, "a").await, "operator-0");
        tokio::time::sleep(Duration::from_secs(60)).await;
        let second = start(&server, &clock, "operator-1");
        let lease = server.get("leases", "shop", "marker").unwrap();
        assert_eq!(lease["spec"]["holderIdentity"], "operator-0");
        let renewed = lease["spec"]["renewTime"].as_str().unwrap();
        assert!(renewed.starts_with("2026-06-01T12:0"), "{renewed}");
        let events = server.list("events.events.k8s.io", "shop").unwrap();
        assert_eq!(events.len(), 1);
        let time = events[0]["eventTime"].as_str().unwrap();
        assert!(time.starts_with("2026-06-01T12:00:"), "{time}");

        // Its process ends without a word; the other takes over when the lease has ended.
        server.fence("operator-0");
        first.abort();
        let fenced = server.requests().len();
        api.create(&map("b")).await.unwrap();
        assert_eq!(marked(&server, "b").await, "operator-1");
        let later = &server.requests()[fenced..];
        assert!(later.iter().all(|request| request.client != "operator-0"));
        assert!(later.iter().any(|request| request.client == "operator-1"));

        api.delete("b", &Default::default()).await.unwrap();
        assert!(server.get("configmaps", "shop", "b").is_err());
        second.abort();
    });
}

#[test]
fn same_seed_gives_the_same_requests_at_the_same_times() {
    let run = || {
        let log = Arc::new(parking_lot::Mutex::new(Vec::new()));
        let writes = Arc::clone(&log);
        simulate(async move {
            let clock = noon();
            let server = server(&clock);
            let lost = RequestMatcher::verb(Verb::Patch).client("operator-0");
            server.fail(lost, Fault::LoseResponse, 2);
            let running = start(&server, &clock, "operator-0");
            let api = Api::<ConfigMap>::namespaced(server.client_as("user"), "shop");
            for name in ["a", "b", "c"] {
                api.create(&map(name)).await.unwrap();
                tokio::time::sleep(Duration::from_secs(3)).await;
                assert_eq!(marked(&server, name).await, "operator-0");
            }
            running.abort();
            let requests = server.requests().into_iter();
            // Names of events are random.
            let requests = requests.filter(|request| request.resource != "events");
            writes
                .lock()
                .extend(requests.map(|r| (r.time, r.client, r.method, r.path)));
        });
        Arc::into_inner(log).unwrap().into_inner()
    };
    let first = run();
    assert!(first.len() > 10, "{first:?}");
    assert_eq!(first, run());
}
