//! Keys wait until the caches have what their reconciles wrote.

mod support;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use informer_client::{Api, Client, DeleteOptions, Patch};
use informer_controller::{Action, Controller, EventSource, ReconcileError, ReconcileRequest};
use informer_shared::SharedInformer;
use informer_testkit::{ApiServer, RequestMatcher, Verb};
use k8s_openapi::api::core::v1::{ConfigMap, Secret, ServiceAccount};
use parking_lot::Mutex;
use serde_json::{Value, json};
use support::{Running, controller, informer, key, map, server, until};
use tokio::time::sleep;

/// What each reconcile of a key saw: the number of secrets in the cache.
type Seen = Arc<Mutex<Vec<(String, usize)>>>;

struct World {
    server: ApiServer,
    client: Client,
    maps: SharedInformer<ConfigMap>,
    secrets: SharedInformer<Secret>,
    controller: Controller,
    seen: Seen,
}

fn secret(name: &str) -> Value {
    json!({"metadata": {"namespace": "shop", "name": name, "labels": {"of": name}}})
}

/// The replica that the informer of secrets watches.
const BEHIND: usize = 1;

async fn watched(server: &ApiServer, resource: &str) {
    let watch = RequestMatcher::verb(Verb::Watch).resource(resource);
    until("it is watched", || {
        server
            .requests()
            .iter()
            .any(|request| watch.matches(request))
    })
    .await;
}

async fn world(maps: &[&str]) -> World {
    let (server, client) = server().await;
    for name in maps {
        server.create("configmaps", map(name)).expect("new");
    }
    let (maps, secrets) = (informer::<ConfigMap>(&client), informer::<Secret>(&client));
    let controller = controller()
        .watch(EventSource::objects(&maps))
        .and_then(|controller| controller.watch(EventSource::owned_by(&secrets, "", "ConfigMap")))
        .expect("not stopped");
    maps.start().expect("a runtime");
    watched(&server, "configmaps").await;
    // Their watch stays with this replica; all other requests go to the other.
    server.route_to(BEHIND);
    secrets.start().expect("a runtime");
    watched(&server, "secrets").await;
    server.route_to(0);
    World {
        server,
        client,
        maps,
        secrets,
        controller,
        seen: Seen::default(),
    }
}

impl World {
    /// Keeps everything that happens from now on from the cache of secrets.
    fn hold(&self) {
        self.server
            .hold_replica(BEHIND, self.server.resource_version());
    }

    /// Starts a controller that notes whether the secret of a map is in the cache, and calls this with it and an `Api`.
    fn start<F, R>(self, reconcile: F) -> (Running, ApiServer, Seen)
    where
        F: Fn(Api<Secret>, String, bool) -> R + Send + Sync + 'static,
        R: Future<Output = Result<(), ReconcileError>> + Send + 'static,
    {
        let (client, secrets, seen) = (self.client, self.secrets, Arc::clone(&self.seen));
        let running = Running::start(self.controller, move |request: ReconcileRequest| {
            // Kept alive as long as the controller.
            let _ = &self.maps;
            let api = Api::<Secret>::namespaced(request.client(&client), "shop");
            let is_there = secrets.store().get(&request.key).is_some();
            let name = request.name().to_owned();
            seen.lock().push((name.clone(), usize::from(is_there)));
            let reconciled = reconcile(api, name, is_there);
            async move { reconciled.await.map(|()| Action::Done) }
        });
        (running, self.server, self.seen)
    }
}

/// Creates the secret that the cache lacks.
async fn fill(api: Api<Secret>, name: String, is_there: bool) -> Result<(), ReconcileError> {
    if !is_there {
        api.create(&secret(&name)).await?;
    }
    Ok(())
}

fn of(seen: &Seen, name: &str) -> Vec<usize> {
    let seen = seen.lock();
    let own = seen.iter().filter(|(key, _)| key == name);
    own.map(|(_, there)| *there).collect()
}

fn touch(server: &ApiServer, name: &str, round: u32) {
    let change = json!({"data": {"round": round.to_string()}});
    server
        .merge_patch("configmaps", "shop", name, change)
        .expect("there");
}

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

// INV-CONTROL-9: many keys, every verb, a cache that lags now and then; by seed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_reconcile_sees_a_cache_without_its_own_writes() {
    for seed in 0..12 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let names = ["a", "b", "c", "d"];
        let mut world = world(&names).await;
        world.controller = world.controller.workers(3);
        let (status, store) = (world.controller.status(), world.secrets.store().clone());
        // What each key wrote last: its version, or that it was deleted.
        let written = Arc::new(Mutex::new(BTreeMap::<String, Option<u64>>::new()));
        let choices = Mutex::new(rng.fork());
        let (running, server, seen) = world.start(move |api, name, is_there| {
            let (cached, written) = (store.get(&key(&name)), Arc::clone(&written));
            if let Some(last) = written.lock().get(&name) {
                let version = |secret: &Secret| secret.metadata.resource_version.clone();
                let cached = cached.as_deref().and_then(version);
                let cached = cached.map(|text| text.parse::<u64>().expect("a number"));
                assert!(
                    cached >= *last && cached.is_some() == last.is_some(),
                    "{name}: {cached:?} {last:?}"
                );
            }
            let choice = choices.lock().u8(0..5);
            async move {
                let change = json!({"metadata": {"labels": {"n": fastrand::u32(..).to_string()}}});
                let object = if !is_there {
                    Some(api.create(&secret(&name)).await?)
                } else {
                    match choice {
                        0 => Some(api.patch(&name, &Patch::Merge(&change)).await?),
                        1 => {
                            let mut object = (*cached.expect("there")).clone();
                            object.type_ = None;
                            object.metadata.annotations =
                                Some([("n".into(), fastrand::u32(..).to_string())].into());
                            Some(api.replace(&name, &object).await?)
                        }
                        2 | 3 => {
                            api.delete(&name, &DeleteOptions::default()).await?;
                            None
                        }
                        _ => return Ok(()),
                    }
                };
                let version = object.and_then(|object| object.metadata.resource_version);
                written
                    .lock()
                    .insert(name, version.map(|text| text.parse().expect("a number")));
                Ok(())
            }
        });
        for round in 0..40 {
            match rng.u8(0..6) {
                0 => server.hold_replica(BEHIND, server.resource_version()),
                1 | 2 => server.release_replica(BEHIND),
                _ => touch(&server, names[rng.usize(..names.len())], round),
            }
            sleep(Duration::from_millis(rng.u64(0..6))).await;
        }
        server.release_replica(BEHIND);
        until("all is seen", || status.borrow().unseen_writes == 0).await;
        let end = status.borrow().clone();
        assert_eq!(
            (end.failures, end.waiting_for_writes),
            (0, 0),
            "seed {seed}: {:?}",
            end.last_error
        );
        assert!(seen.lock().len() > 10, "seed {seed}");
        running.end().await;
        server.shutdown().await;
    }
}
