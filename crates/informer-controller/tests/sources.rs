//! Event sources: which keys they queue, and what follows when a user's function panics or a source ends.

mod support;

use std::time::Duration;

use informer_controller::{Action, ControllerError, EventSource, predicate};
use informer_store::ObjectKey;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use serde_json::json;
use support::{LIMIT, Running, Tally, controller, informer, key, map, server, until};

// INV-CONTROL-6
#[tokio::test]
async fn source_that_panics_loses_no_other_event() {
    let (server, client) = server().await;
    let maps = informer::<ConfigMap>(&client);
    let is_odd = |map: &ConfigMap| map.data.is_none();
    let mapped = EventSource::mapped(&maps, move |map: &ConfigMap| {
        assert!(!is_odd(map), "a user's bug");
        Some(ObjectKey::namespaced(
            "mapped",
            map.metadata.name.as_deref()?,
        ))
    });
    let checked = EventSource::objects(&maps).when(predicate::changed(move |map: &ConfigMap| {
        assert!(!is_odd(map), "another");
        map.data.clone()
    }));
    let controller = controller()
        .watch(mapped)
        .and_then(|controller| controller.watch(checked))
        .expect("not stopped");
    let status = controller.status();
    let tally = Tally::default();
    let running = Running::start(controller, {
        let tally = tally.clone();
        move |request| {
            tally.count(&request.key);
            async { Ok(Action::Done) }
        }
    });
    maps.start().expect("a runtime");
    server
        .create(
            "configmaps",
            json!({"metadata": {"namespace": "shop", "name": "odd"}}),
        )
        .expect("new");
    server.create("configmaps", map("good")).expect("new");
    until("the other object", || tally.of("mapped/good") == 1).await;
    assert_eq!(tally.of("mapped/odd"), 0);
    // An event whose old object is odd still brings the new one, and an undecided predicate passes it.
    let repair = json!({"data": {"a": "1"}});
    server
        .merge_patch("configmaps", "shop", "odd", repair)
        .expect("there");
    until("the repaired object", || {
        tally.of("mapped/odd") == 1 && tally.of("shop/odd") == 2
    })
    .await;
    assert_eq!(status.borrow().source_panics, 3);
    let last = status.borrow().last_error.clone().expect("one");
    assert!(
        last.starts_with("shop/odd: event source panicked: "),
        "{last}"
    );
    running.end().await;
    server.shutdown().await;
}

// INV-CONTROL-4
#[tokio::test]
async fn event_queues_each_key_once() {
    let (server, client) = server().await;
    let maps = informer::<ConfigMap>(&client);
    // What takes a key between two additions of one event reconciles it twice.
    let source = EventSource::mapped(&maps, |_: &ConfigMap| [key("a"), key("b"), key("a")]);
    let controller = controller().watch(source).expect("not stopped");
    let queue = controller.queue().clone();
    maps.start().expect("a runtime");
    server.create("configmaps", map("m")).expect("new");
    until("both", || queue.len() == 2).await;
    let patch = json!({"data": {"a": "2"}});
    server
        .merge_patch("configmaps", "shop", "m", patch)
        .expect("there");
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(
        queue.stats().added,
        2,
        "the second event found both waiting"
    );
    server.shutdown().await;
}

// INV-CONTROL-4: the deletion of an owned object is news of its owner.
#[tokio::test]
async fn only_existing_objects_leave_the_queue_when_they_are_deleted() {
    let (server, client) = server().await;
    let owner = server.create("configmaps", map("owner")).expect("new");
    let (maps, pods) = (informer::<ConfigMap>(&client), informer::<Pod>(&client));
    let controller = controller()
        .watch(EventSource::existing_objects(&maps))
        .and_then(|controller| controller.watch(EventSource::owned_by(&pods, "", "ConfigMap")))
        .expect("not stopped");
    let queue = controller.queue().clone();
    maps.start().expect("a runtime");
    pods.start().expect("a runtime");
    let owners = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner",
        "uid": owner["metadata"]["uid"], "controller": true}]);
    let pod = json!({"metadata": {"namespace": "shop", "name": "p", "ownerReferences": owners}});
    server.create("pods", pod).expect("new");
    until("the pod", || pods.store().len() == 1 && queue.len() == 1).await;
    queue.try_get().expect("the owner").success();
    server.delete("pods", "shop", "p").expect("there");
    until("its owner", || queue.len() == 1).await;
    server.delete("configmaps", "shop", "owner").expect("there");
    until("the owner has left", || queue.is_empty()).await;
    server.shutdown().await;
}

// INV-CONTROL-4: the two predicates of most controllers, on a kind without generations.
#[tokio::test]
async fn generation_passes_what_has_none() {
    let (server, client) = server().await;
    let maps = informer::<ConfigMap>(&client);
    let source = EventSource::objects(&maps).when(predicate::generation());
    let controller = controller().watch(source).expect("not stopped");
    let queue = controller.queue().clone();
    maps.start().expect("a runtime");
    server.create("configmaps", map("m")).expect("new");
    until("it is queued", || queue.len() == 1).await;
    queue.try_get().expect("queued").success();
    let patch = json!({"data": {"a": "2"}});
    server
        .merge_patch("configmaps", "shop", "m", patch)
        .expect("there");
    until("a change of data", || queue.len() == 1).await;
    server.shutdown().await;
}

// INV-CONTROL-5
#[tokio::test]
async fn cache_that_is_not_synced_in_time_ends_the_controller() {
    let (server, client) = server().await;
    let (maps, pods) = (informer::<ConfigMap>(&client), informer::<Pod>(&client));
    let controller = controller()
        .cache_sync_timeout(Duration::from_millis(300))
        .watch(EventSource::objects(&maps))
        .and_then(|controller| controller.watch(EventSource::objects(&pods)))
        .expect("not stopped");
    maps.start().expect("a runtime");
    let running = Running::start(controller, |_| async { Ok(Action::Done) });
    let ended = tokio::time::timeout(LIMIT, running.task)
        .await
        .expect("in time");
    let error = ended.expect("no panic").expect_err("pods are not started");
    let ControllerError::NotSynced { source, .. } = &error else {
        panic!("{error:?}");
    };
    let why = source.to_string();
    assert!(why.contains("Pod") && why.contains("not started"), "{why}");
    server.shutdown().await;
}
