//! Keys wait until the caches have what their reconciles wrote.

mod support;

use std::sync::Arc;
use std::time::{Duration, Instant};

use informer_client::{Api, DeleteOptions};
use informer_controller::{Action, EventSource, ReconcileError, ReconcileRequest};
use informer_testkit::{RequestMatcher, Verb};
use k8s_openapi::api::core::v1::{Secret, ServiceAccount};
use parking_lot::Mutex;
use serde_json::json;
use support::lagging::{BEHIND, fill, of, secret, touch, world};
use support::{Running, controller, map, until};
use tokio::time::sleep;

// INV-CONTROL-9: one worker, a cache that lacks the write, other keys.
#[tokio::test]
async fn key_waits_for_its_write_without_a_worker() {
    let world = world(&["a"]).await;
    let status = world.controller.status();
    world.hold();
    let (running, server, seen) = world.start(fill);
    until("the first reconcile", || of(&seen, "a") == [0]).await;
    until("it wrote", || status.borrow().unseen_writes == 1).await;
    for round in 0..5 {
        touch(&server, "a", round);
        sleep(Duration::from_millis(20)).await;
    }
    until("it waits", || status.borrow().waiting_for_writes == 1).await;
    assert_eq!(status.borrow().running.len(), 0);
    server.create("configmaps", map("b")).expect("new");
    until("others are reconciled", || of(&seen, "b") == [0]).await;
    assert_eq!(of(&seen, "a"), [0], "not on a cache without its own write");
    server.release_replica(BEHIND);
    until("it goes on", || of(&seen, "a") == [0, 1]).await;
    until("all is seen", || status.borrow().unseen_writes == 0).await;
    let end = status.borrow().clone();
    assert_eq!(
        (end.waiting_for_writes, end.failures, end.writes_given_up),
        (0, 0, 0)
    );
    running.end().await;
    server.shutdown().await;
}

/// Deletes the secret that the cache has.
async fn empty(api: Api<Secret>, name: String, is_there: bool) -> Result<(), ReconcileError> {
    if is_there {
        api.delete(&name, &DeleteOptions::default()).await?;
    }
    Ok(())
}

// INV-CONTROL-9: a server that sends no version of a deletion, and finalizers.
#[tokio::test]
async fn key_waits_for_its_deletes() {
    for finalizers in [json!([]), json!(["example.org/held"])] {
        let world = world(&[]).await;
        let (status, secrets) = (world.controller.status(), world.secrets.clone());
        let mut object = secret("a");
        object["metadata"]["finalizers"] = finalizers.clone();
        world.server.create("secrets", object).expect("new");
        until("it is cached", || secrets.store().len() == 1).await;
        world.hold();
        let (running, server, seen) = world.start(empty);
        server.create("configmaps", map("a")).expect("new");
        until("it wrote", || status.borrow().unseen_writes == 1).await;
        touch(&server, "a", 0);
        until("it waits", || status.borrow().waiting_for_writes == 1).await;
        sleep(Duration::from_millis(50)).await;
        assert_eq!(of(&seen, "a"), [1]);
        server.release_replica(BEHIND);
        let is_kept = usize::from(finalizers != json!([]));
        // One that has a finalizer is deleted again, which changes nothing.
        until("it goes on", || of(&seen, "a") == [1, is_kept]).await;
        assert_eq!(
            status.borrow().failures,
            0,
            "{:?}",
            status.borrow().last_error
        );
        running.end().await;
        server.shutdown().await;
    }
}

// INV-CONTROL-10: what the cache never shows, because it is as if it had never been.
#[tokio::test]
async fn overtaken_write_is_found_by_a_live_read() {
    let mut world = world(&[]).await;
    world.controller = world.controller.write_deadline(Duration::from_millis(200));
    let (status, maps) = (world.controller.status(), world.maps.clone());
    world.hold();
    let (running, server, seen) = world.start(fill);
    server.create("configmaps", map("a")).expect("new");
    until("it wrote", || status.borrow().unseen_writes == 1).await;
    server.delete("secrets", "shop", "a").expect("there");
    until("the read says so", || status.borrow().unseen_writes == 0).await;
    let now = status.borrow().clone();
    assert_eq!((now.live_reads, now.writes_given_up), (1, 0));
    touch(&server, "a", 0);
    until("it goes on", || of(&seen, "a").len() == 2).await;
    assert!(maps.has_synced());
    running.end().await;
    server.shutdown().await;
}

// INV-CONTROL-10: a cache that never has the write.
#[tokio::test]
async fn key_goes_on_without_its_write_after_three_reads() {
    let mut world = world(&[]).await;
    let deadline = Duration::from_millis(100);
    world.controller = world.controller.write_deadline(deadline);
    let status = world.controller.status();
    world.hold();
    let (running, server, seen) = world.start(|api, name, is_there| async move {
        match fill(api, name, is_there).await {
            // What a stale cache leads to.
            Err(error) if error.to_string().contains("already exists") => Ok(()),
            result => result,
        }
    });
    let began = Instant::now();
    server.create("configmaps", map("a")).expect("new");
    until("it wrote", || status.borrow().unseen_writes == 1).await;
    touch(&server, "a", 0);
    until("it waits", || status.borrow().waiting_for_writes == 1).await;
    until("it goes on", || of(&seen, "a") == [0, 0]).await;
    assert!(began.elapsed() >= 7 * deadline);
    let now = status.borrow().clone();
    assert_eq!((now.live_reads, now.writes_given_up), (3, 1));
    let gets = RequestMatcher::verb(Verb::Get).resource("secrets");
    let requests = server.requests();
    assert_eq!(
        requests
            .iter()
            .filter(|request| gets.matches(request))
            .count(),
        3
    );
    running.end().await;
    server.shutdown().await;
}

// INV-CONTROL-9: what nobody watches would be waited for in vain.
#[tokio::test]
async fn unwatched_writes_and_dry_runs_are_not_waited_for() {
    let world = world(&["a"]).await;
    let (status, client) = (world.controller.status(), world.client.clone());
    world.hold();
    let (running, server, seen) = world.start(move |api, name, _| {
        let accounts = Api::<ServiceAccount>::namespaced(client.clone(), "shop");
        async move {
            let _ = accounts.create(&json!({"metadata": {"name": name}})).await;
            api.dry_run(true).create(&secret(&name)).await?;
            Ok(())
        }
    });
    until("the first", || status.borrow().reconciles == 1).await;
    touch(&server, "a", 0);
    until("the second", || of(&seen, "a").len() == 2).await;
    assert_eq!(
        (status.borrow().unseen_writes, status.borrow().failures),
        (0, 0)
    );
    running.end().await;
    server.shutdown().await;
}

// INV-CONTROL-9, INV-CONTROL-4: a source of existing objects takes a deleted one off.
#[tokio::test]
async fn deleted_object_is_not_reconciled_after_its_wait() {
    let mut world = world(&[]).await;
    world.controller = controller()
        .watch(EventSource::existing_objects(&world.maps))
        .and_then(|controller| {
            controller.watch(EventSource::owned_by(&world.secrets, "", "ConfigMap"))
        })
        .expect("not stopped");
    let status = world.controller.status();
    world.hold();
    let (running, server, seen) = world.start(fill);
    server.create("configmaps", map("a")).expect("new");
    until("it wrote", || status.borrow().unseen_writes == 1).await;
    touch(&server, "a", 0);
    until("it waits", || status.borrow().waiting_for_writes == 1).await;
    server.delete("configmaps", "shop", "a").expect("there");
    until("it is off", || status.borrow().waiting_for_writes == 0).await;
    server.release_replica(BEHIND);
    until("all is seen", || status.borrow().unseen_writes == 0).await;
    sleep(Duration::from_millis(50)).await;
    assert_eq!(of(&seen, "a"), [0]);
    running.end().await;
    server.shutdown().await;
}

// INV-CONTROL-9: a failure stays one.
#[tokio::test]
async fn failures_of_a_key_are_kept_while_it_waits() {
    let world = world(&["a"]).await;
    let status = world.controller.status();
    world.hold();
    let (client, secrets) = (world.client.clone(), world.secrets.clone());
    let maps = world.maps.clone();
    let failures = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&failures);
    let running = Running::start(world.controller, move |request: ReconcileRequest| {
        let (_, _) = (&maps, &secrets);
        noted.lock().push(request.failures);
        let api = Api::<Secret>::namespaced(request.client(&client), "shop");
        async move {
            if request.failures == 0 {
                api.create(&secret(request.name())).await?;
                return Err(std::io::Error::other("after its write").into());
            }
            Ok(Action::Done)
        }
    });
    until("it waits", || status.borrow().waiting_for_writes == 1).await;
    assert_eq!(*failures.lock(), [0]);
    world.server.release_replica(BEHIND);
    until("it is retried", || failures.lock().len() == 2).await;
    assert_eq!(*failures.lock(), [0, 1]);
    running.end().await;
    world.server.shutdown().await;
}
