//! Controllers against an API server in memory, over HTTP.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use informer_client::Api;
use informer_controller::{
    Action, ControllerError, EventSource, ReconcileError, ReconcileRequest, predicate,
    retry_on_conflict,
};
use informer_store::ObjectKey;
use informer_testkit::{RequestMatcher, Status, Verb};
use informer_wire::StaticResource;
use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use parking_lot::Mutex;
use serde_json::{Value, json};
use support::{LIMIT, Running, Tally, controller, informer, map, server, until};
use tokio_util::sync::CancellationToken;

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
            watching(EventSource::existing_objects(&maps).when(predicate::any())),
        ),
    ];
    maps.start().expect("a runtime");
    maps.synced().deadline(LIMIT).await.expect("synced");
    // Which controllers have a key after a change; takes it from them.
    let queued = |change: &'static str| {
        let sources = &sources;
        async move {
            let any = &sources.last().expect("seven").1;
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
    assert_eq!(queued("creation").await.len(), 7);
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
    let any = &sources[6].1;
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
