//! Controllers against an API server in memory, over HTTP.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use informer_client::{Api, Client, Cluster, Config};
use informer_controller::{
    Action, Controller, ControllerError, EventRecorder, EventSource, EventType, Finalizer,
    FinalizerStep, ObjectReference, ReconcileError, ReconcileRequest, predicate, retry_on_conflict,
};
use informer_reflector::http::HttpListerWatcher;
use informer_shared::SharedInformer;
use informer_store::{Object, ObjectKey};
use informer_testkit::{ApiServer, Fault, RequestMatcher, Status, Verb};
use informer_wire::{FromWire, StaticResource};
use informer_workqueue::{ExponentialRateLimiter, WorkQueue, WorkQueueConfig};
use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

const LIMIT: Duration = Duration::from_secs(30);

async fn server() -> (ApiServer, Client) {
    let server = ApiServer::start().await.expect("a server");
    let cluster = Cluster::new(&server.url()).expect("a URL");
    let client = Client::new(Config::new(cluster)).expect("a client");
    (server, client)
}

fn informer<K: Object + FromWire + StaticResource>(client: &Client) -> SharedInformer<K> {
    let source = HttpListerWatcher::<K>::all(client.clone());
    SharedInformer::builder(source)
        .build()
        .expect("one name for each index")
}

/// A controller that tries again quickly.
fn controller() -> Controller {
    let limiter = ExponentialRateLimiter::new(Duration::from_millis(5), Duration::from_millis(50));
    Controller::with_queue(
        "test",
        WorkQueue::with_config(WorkQueueConfig::new().rate_limiter(limiter)),
    )
}

fn map(name: &str) -> Value {
    json!({"metadata": {"namespace": "shop", "name": name}, "data": {"a": "1"}})
}

async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let waited = tokio::time::timeout(LIMIT, async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    assert!(waited.await.is_ok(), "never: {what}");
}

/// A controller at work in the background, stopped by `end`.
struct Running {
    stop: CancellationToken,
    task: JoinHandle<Result<(), ControllerError>>,
}

impl Running {
    fn start<F, R>(controller: Controller, reconcile: F) -> Self
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

    async fn end(self) {
        self.stop.cancel();
        self.task.await.expect("no panic").expect("stopped");
    }
}

/// Counts how often each key was reconciled.
#[derive(Clone, Default)]
struct Tally(Arc<Mutex<BTreeMap<String, u32>>>);

impl Tally {
    fn count(&self, key: &ObjectKey) -> u32 {
        let mut tally = self.0.lock();
        let times = tally.entry(key.to_string()).or_default();
        *times += 1;
        *times
    }

    fn of(&self, key: &str) -> u32 {
        self.0.lock().get(key).copied().unwrap_or_default()
    }
}

// INV-CONTROL-1, INV-CONTROL-2
#[tokio::test]
async fn reconciling_starts_after_sync_with_one_key_at_a_time() {
    let (server, client) = server().await;
    for number in 0..50 {
        server
            .create("configmaps", map(&format!("m{number}")))
            .expect("new");
    }
    let (maps, pods) = (informer::<ConfigMap>(&client), informer::<Pod>(&client));
    let controller = controller()
        .workers(8)
        .watch(EventSource::objects(&maps))
        .and_then(|controller| controller.watch(EventSource::owned_by(&pods, "", "ConfigMap")))
        .expect("not stopped");
    let (busy, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (tally, running) = (
        Tally::default(),
        Arc::new(Mutex::new(std::collections::BTreeSet::new())),
    );
    let work = {
        let (tally, store, running) = (tally.clone(), maps.store().clone(), Arc::clone(&running));
        let (busy, most, synced) = (Arc::clone(&busy), Arc::clone(&most), pods.clone());
        move |request: ReconcileRequest| {
            assert!(synced.has_synced());
            assert_eq!(store.len(), 50);
            assert!(running.lock().insert(request.key.clone()), "twice at once");
            most.fetch_max(busy.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            let (tally, running, busy) = (tally.clone(), Arc::clone(&running), Arc::clone(&busy));
            async move {
                tokio::time::sleep(Duration::from_millis(2)).await;
                busy.fetch_sub(1, Ordering::SeqCst);
                running.lock().remove(&request.key);
                tally.count(&request.key);
                Ok(Action::Done)
            }
        }
    };
    let controller = Running::start(controller, work);
    maps.start().expect("a runtime");
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(tally.0.lock().len(), 0, "the cache of pods is not filled");
    pods.start().expect("a runtime");
    until("all are reconciled", || tally.0.lock().len() == 50).await;
    for round in 0..20 {
        server
            .merge_patch(
                "configmaps",
                "shop",
                "m7",
                json!({"data": {"a": format!("round {round}")}}),
            )
            .expect("there");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    until("changes are reconciled", || tally.of("shop/m7") > 1).await;
    assert!(
        (2..=8).contains(&most.load(Ordering::SeqCst)),
        "{most:?} at once"
    );
    controller.end().await;
    server.shutdown().await;
}

// INV-CONTROL-3
#[tokio::test]
async fn errors_and_panics_are_retried_unless_terminal() {
    let (server, client) = server().await;
    for name in ["fails", "panics", "terminal", "requeues", "later"] {
        server.create("configmaps", map(name)).expect("new");
    }
    let maps = informer::<ConfigMap>(&client);
    let controller = controller()
        .workers(2)
        .watch(EventSource::objects(&maps))
        .expect("not stopped");
    let queue = controller.queue().clone();
    let (tally, failures) = (Tally::default(), Arc::new(AtomicU32::new(0)));
    let work = {
        let (tally, failures) = (tally.clone(), Arc::clone(&failures));
        move |request: ReconcileRequest| {
            let (time, failures) = (tally.count(&request.key), Arc::clone(&failures));
            async move {
                let failed = || std::io::Error::other("as the test wants");
                match (request.name(), time) {
                    ("fails", 1..4) => Err(failed().into()),
                    ("fails", _) => {
                        failures.store(request.failures, Ordering::SeqCst);
                        Ok(Action::Done)
                    }
                    ("panics", 1..3) => panic!("a panic that the test wants"),
                    ("terminal", _) => Err(ReconcileError::terminal(failed())),
                    ("requeues", 1..3) => Ok(Action::Requeue),
                    ("later", 1) => Ok(Action::RequeueAfter(Duration::from_millis(20))),
                    ("later", 2) => Err(ReconcileError::retry_after(
                        failed(),
                        Duration::from_millis(1),
                    )),
                    _ => Ok(Action::Done),
                }
            }
        }
    };
    let controller = Running::start(controller, work);
    maps.start().expect("a runtime");
    for (key, times) in [
        ("fails", 4),
        ("panics", 3),
        ("terminal", 1),
        ("requeues", 3),
        ("later", 3),
    ] {
        until(key, || tally.of(&format!("shop/{key}")) == times).await;
    }
    assert_eq!(failures.load(Ordering::SeqCst), 3);
    until("nothing is queued", || queue.stats().known == 0).await;
    assert_eq!(queue.stats().given_up, 1);
    // A change brings back what was given up.
    server
        .merge_patch(
            "configmaps",
            "shop",
            "terminal",
            json!({"data": {"a": "2"}}),
        )
        .expect("there");
    until("a change", || tally.of("shop/terminal") == 2).await;
    controller.end().await;
    server.shutdown().await;
}

// INV-CONTROL-3: a wait that the server asks for is kept, and conflicts are distinguished.
#[tokio::test]
async fn server_response_decides_when_key_is_retried() {
    let (server, client) = server().await;
    server.create("configmaps", map("m")).expect("new");
    let api = Api::<ConfigMap>::namespaced(client, "shop");
    let busy = Status::failure(429, "TooManyRequests", "slow down").with_retry_after(7);
    server.fail_next(RequestMatcher::verb(Verb::Get).resource("configmaps"), busy);
    let error: ReconcileError = api.get("m").await.expect_err("busy").into();
    assert!(!error.is_conflict() && !error.is_terminal());
    assert!(format!("{error:?}").contains("7s"), "{error:?}");
    let stale = api.get("m").await.expect("there");
    server
        .merge_patch("configmaps", "shop", "m", json!({"data": {"a": "2"}}))
        .expect("there");
    let error: ReconcileError = api.replace("m", &stale).await.expect_err("stale").into();
    assert!(error.is_conflict());
    server.shutdown().await;
}

#[tokio::test]
async fn write_with_conflict_is_retried_after_reading_again() {
    let (server, client) = server().await;
    server.create("configmaps", map("counter")).expect("new");
    let api = Api::<ConfigMap>::namespaced(client, "shop");
    let writers = (0..4).map(|_| {
        let api = api.clone();
        async move {
            let written = retry_on_conflict(|| async {
                let mut map = api.get("counter").await?;
                let data = map.data.get_or_insert_default();
                let count: u32 = data.get("n").and_then(|n| n.parse().ok()).unwrap_or(0);
                data.insert("n".to_owned(), (count + 1).to_string());
                api.replace("counter", &map).await
            });
            written.await.expect("written in time");
        }
    });
    futures_util::future::join_all(writers).await;
    let stored = server.get("configmaps", "shop", "counter").expect("there");
    assert_eq!(stored["data"]["n"], "4");
    server.shutdown().await;
}

// INV-CONTROL-4
#[tokio::test]
async fn owners_and_mapped_keys_are_reconciled() {
    let (server, client) = server().await;
    let owner = |kind: &str, controller: bool| json!([{"apiVersion": "apps/v1", "kind": kind, "name": "set", "uid": "u", "controller": controller}]);
    let pod = |name: &str, owners: Value| json!({"metadata": {"namespace": "shop", "name": name, "ownerReferences": owners}});
    let (pods, maps) = (informer::<Pod>(&client), informer::<ConfigMap>(&client));
    let controller = controller()
        .watch(EventSource::owned_by_resource(
            &pods,
            &ReplicaSet::resource(),
        ))
        .and_then(|controller| {
            controller.watch(EventSource::mapped(&maps, |map: &ConfigMap| {
                let used_by = map.metadata.annotations.as_ref()?.get("used-by")?;
                Some(ObjectKey::namespaced("shop", used_by))
            }))
        })
        .expect("not stopped");
    let tally = Tally::default();
    let controller = Running::start(controller, {
        let tally = tally.clone();
        move |request| {
            tally.count(&request.key);
            async { Ok(Action::Done) }
        }
    });
    pods.start().expect("a runtime");
    maps.start().expect("a runtime");
    server
        .create("pods", pod("other-kind", owner("StatefulSet", true)))
        .expect("new");
    server
        .create("pods", pod("no-controller", owner("ReplicaSet", false)))
        .expect("new");
    server
        .create("pods", pod("owned", owner("ReplicaSet", true)))
        .expect("new");
    until("the owner", || tally.of("shop/set") == 1).await;
    server.delete("pods", "shop", "owned").expect("there");
    until("the owner of the deleted object", || {
        tally.of("shop/set") == 2
    })
    .await;

    let mut mapped = map("m");
    mapped["metadata"]["annotations"] = json!({"used-by": "one"});
    server.create("configmaps", mapped).expect("new");
    until("the first", || tally.of("shop/one") == 1).await;
    // A move queues both the old and the new owner.
    server
        .merge_patch(
            "configmaps",
            "shop",
            "m",
            json!({"metadata": {"annotations": {"used-by": "two"}}}),
        )
        .expect("there");
    until("the old and the new", || {
        tally.of("shop/one") == 2 && tally.of("shop/two") == 1
    })
    .await;
    assert_eq!(tally.0.lock().len(), 3);
    controller.end().await;
    server.shutdown().await;
}

// INV-CONTROL-4
#[tokio::test]
async fn predicates_pass_updates_of_their_part_alone() {
    let (server, client) = server().await;
    let maps = informer::<ConfigMap>(&client);
    let watching =
        |source: EventSource<ConfigMap>| controller().watch(source).expect("not stopped");
    let sources = [
        (
            "labels",
            watching(EventSource::objects(&maps).when(predicate::labels())),
        ),
        (
            "annotations",
            watching(EventSource::objects(&maps).when(predicate::annotations())),
        ),
        (
            "finalizers",
            watching(EventSource::objects(&maps).when(predicate::finalizers())),
        ),
        (
            "generation",
            watching(EventSource::objects(&maps).when(predicate::generation())),
        ),
        (
            "data",
            watching(
                EventSource::objects(&maps)
                    .when(predicate::changed(|map: &ConfigMap| map.data.clone())),
            ),
        ),
        (
            "either",
            watching(EventSource::objects(&maps).when(predicate::either(
                predicate::labels(),
                predicate::annotations(),
            ))),
        ),
        (
            "both",
            watching(
                EventSource::objects(&maps)
                    .when(predicate::labels())
                    .when(predicate::annotations()),
            ),
        ),
        (
            "any",
            watching(
                EventSource::objects(&maps)
                    .when(predicate::any())
                    .forget_deleted(),
            ),
        ),
    ];
    maps.start().expect("a runtime");
    maps.synced().deadline(LIMIT).await.expect("synced");
    // Which controllers have a key after a change; takes it from them.
    let queued = |change: &'static str| {
        let sources = &sources;
        async move {
            let any = &sources.last().expect("eight").1;
            until(change, || !any.queue().is_empty()).await;
            // Other handlers of the same event may be a little later.
            tokio::time::sleep(Duration::from_millis(50)).await;
            let mut queued = Vec::new();
            for (name, controller) in sources {
                if let Some(work) = controller.queue().try_get() {
                    work.success();
                    queued.push(*name);
                }
            }
            queued
        }
    };
    let patch = |patch: Value| {
        drop(
            server
                .merge_patch("configmaps", "shop", "m", patch)
                .expect("there"),
        )
    };
    server.create("configmaps", map("m")).expect("new");
    assert_eq!(queued("creation").await.len(), 8);
    patch(json!({"metadata": {"labels": {"a": "b"}}}));
    assert_eq!(queued("labels").await, ["labels", "either", "any"]);
    patch(json!({"metadata": {"annotations": {"a": "b"}}}));
    assert_eq!(
        queued("annotations").await,
        ["annotations", "either", "any"]
    );
    patch(json!({"data": {"a": "2"}}));
    assert_eq!(queued("data").await, ["data", "any"]);
    patch(json!({"metadata": {"labels": {"a": "c"}, "annotations": {"a": "c"}}}));
    assert_eq!(
        queued("both").await,
        ["labels", "annotations", "either", "both", "any"]
    );
    patch(json!({"metadata": {"finalizers": ["example.org/x"]}}));
    assert_eq!(queued("finalizers").await, ["finalizers", "any"]);
    patch(json!({"metadata": {"finalizers": null}}));
    assert_eq!(queued("finalizers").await, ["finalizers", "any"]);
    // A deletion brings the key, or takes it out.
    let any = &sources[7].1;
    any.queue().add_after(
        ObjectKey::namespaced("shop", "m"),
        Duration::from_secs(3600),
    );
    server.delete("configmaps", "shop", "m").expect("there");
    until("deleted", || sources[0].1.queue().len() == 1).await;
    until("out of the queue", || any.queue().stats().known == 0).await;
    server.shutdown().await;
}

// INV-CONTROL-5
#[tokio::test]
async fn stop_waits_for_running_reconciles_and_starts_none() {
    let (server, client) = server().await;
    for number in 0..10 {
        server
            .create("configmaps", map(&format!("m{number}")))
            .expect("new");
    }
    let maps = informer::<ConfigMap>(&client);
    let controller = controller()
        .workers(2)
        .watch(EventSource::objects(&maps))
        .expect("not stopped");
    let (begun, ended) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let gate = CancellationToken::new();
    let running = Running::start(controller, {
        let (begun, ended, gate) = (Arc::clone(&begun), Arc::clone(&ended), gate.clone());
        move |_| {
            let (begun, ended, gate) = (Arc::clone(&begun), Arc::clone(&ended), gate.clone());
            async move {
                begun.fetch_add(1, Ordering::SeqCst);
                gate.cancelled().await;
                ended.fetch_add(1, Ordering::SeqCst);
                Ok(Action::Done)
            }
        }
    });
    maps.start().expect("a runtime");
    until("both work", || begun.load(Ordering::SeqCst) == 2).await;
    running.stop.cancel();
    tokio::time::sleep(Duration::from_millis(50)).await;
    gate.cancel();
    running.end().await;
    assert_eq!(
        (begun.load(Ordering::SeqCst), ended.load(Ordering::SeqCst)),
        (2, 2)
    );
    server.shutdown().await;
}

// INV-CONTROL-5
#[tokio::test]
async fn reconcile_is_dropped_after_grace_period() {
    let (server, client) = server().await;
    server.create("configmaps", map("m")).expect("new");
    let maps = informer::<ConfigMap>(&client);
    let controller = controller()
        .grace(Duration::from_millis(20))
        .watch(EventSource::objects(&maps))
        .expect("not stopped");
    let queue = controller.queue().clone();
    let running = Running::start(controller, |_| std::future::pending());
    maps.start().expect("a runtime");
    until("it works", || queue.stats().processing == 1).await;
    running.end().await;
    until("it is dropped", || queue.stats().known == 0).await;
    server.shutdown().await;
}

// INV-CONTROL-5
#[tokio::test]
async fn controller_ends_with_error_when_informer_stops() {
    let (server, client) = server().await;
    let maps = informer::<ConfigMap>(&client);
    let before = controller()
        .watch(EventSource::objects(&maps))
        .expect("not stopped");
    let while_running = controller()
        .watch(EventSource::objects(&maps))
        .expect("not stopped");
    maps.start().expect("a runtime");
    let running = Running::start(while_running, |_| async { Ok(Action::Done) });
    tokio::time::sleep(Duration::from_millis(50)).await;
    maps.stop().await.expect("stopped");
    let ended = tokio::time::timeout(LIMIT, running.task)
        .await
        .expect("it ends")
        .expect("no panic");
    assert!(
        matches!(
            ended,
            Err(ControllerError::InformerStopped { .. } | ControllerError::NotSynced { .. })
        ),
        "{ended:?}"
    );
    let stop = CancellationToken::new();
    let ended = before.run(&stop, |_| async { Ok(Action::Done) });
    tokio::time::timeout(LIMIT, ended)
        .await
        .expect("it ends")
        .expect_err("stopped");
    assert!(controller().watch(EventSource::objects(&maps)).is_err());
    server.shutdown().await;
}

#[tokio::test]
async fn finalizer_keeps_deleted_object_until_removed() {
    let (server, client) = server().await;
    server.create("configmaps", map("m")).expect("new");
    let finalizer = Finalizer::new(client, ConfigMap::resource(), "example.org/x");
    let key = ObjectKey::namespaced("shop", "m");
    let step = |finalizer: &Finalizer| {
        let map = server.get("configmaps", "shop", "m").expect("there");
        let meta = &map["metadata"];
        let set = meta["finalizers"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str);
        finalizer.step(meta["deletionTimestamp"].is_string(), set)
    };
    assert_eq!(step(&finalizer), FinalizerStep::Add);
    // Another writes between reading and writing: neither undoes the other's change.
    let other = Finalizer::clone(&finalizer);
    finalizer.add(&key).await.expect("there");
    other.add(&key).await.expect("there already");
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
    finalizer.remove(&key).await.expect("there");
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
        .remove(&key)
        .await
        .expect("a deleted object is no error");
    assert!(
        finalizer
            .add(&key)
            .await
            .is_err_and(|error| error.is_not_found())
    );
    server.shutdown().await;
}

#[tokio::test]
async fn concurrent_finalizer_additions_are_all_kept() {
    let (server, client) = server().await;
    server.create("configmaps", map("m")).expect("new");
    let key = ObjectKey::namespaced("shop", "m");
    let names = ["example.org/a", "example.org/b", "example.org/c"];
    let added = names.map(|name| {
        let finalizer = Finalizer::new(client.clone(), ConfigMap::resource(), name);
        let key = key.clone();
        async move { finalizer.add(&key).await }
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

#[tokio::test]
async fn events_are_written_and_repetitions_counted_in_series() {
    let (server, client) = server().await;
    server.create("configmaps", map("m")).expect("new");
    let stored: ConfigMap =
        serde_json::from_value(server.get("configmaps", "shop", "m").expect("there"))
            .expect("a map");
    let regarding = ObjectReference::of(&ConfigMap::resource(), &stored);
    let period = Duration::from_secs(3600);
    let recorder = EventRecorder::with_series_period(client, "example.org/test", "one", period);
    // The first write meets a server that is busy.
    server.fail_next(
        RequestMatcher::verb(Verb::Create),
        Fault::from(Status::failure(503, "ServiceUnavailable", "busy")),
    );
    for _ in 0..5 {
        recorder.record(
            &regarding,
            EventType::Warning,
            "Failed",
            "Try",
            "the disk is full",
        );
    }
    recorder.record(
        &regarding,
        EventType::Normal,
        "Worked",
        "Try",
        &"long".repeat(1000),
    );
    recorder.flush().await;
    let events = || {
        server
            .list("events.events.k8s.io", "shop")
            .or_else(|_| server.list("events", "shop"))
            .expect("listed")
    };
    let find = |reason: &str| {
        events()
            .into_iter()
            .find(|event| event["reason"] == reason)
            .expect(reason)
    };
    let failed = find("Failed");
    assert_eq!(failed["series"]["count"], 5);
    assert_eq!(
        failed["regarding"]["uid"].as_str(),
        stored.metadata.uid.as_deref()
    );
    assert_eq!(
        (&failed["type"], &failed["action"]),
        (&json!("Warning"), &json!("Try"))
    );
    assert_eq!(failed["reportingController"], "example.org/test");
    assert_eq!(find("Worked")["note"].as_str().map(str::len), Some(1024));
    assert_eq!(events().len(), 2);
    // An event that has expired on the server is created again by the next repetition but one.
    let name = failed["metadata"]["name"].as_str().expect("named");
    server
        .delete("events.events.k8s.io", "shop", name)
        .or_else(|_| server.delete("events", "shop", name))
        .expect("there");
    for _ in 0..2 {
        recorder.record(&regarding, EventType::Warning, "Failed", "Try", "again");
        recorder.flush().await;
    }
    assert_eq!(find("Failed")["note"], "again");
    assert_eq!(recorder.dropped(), 0);
    server.shutdown().await;
}
