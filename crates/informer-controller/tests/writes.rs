//! Keys wait until the caches have what their reconciles wrote.

mod support;

use std::sync::Arc;
use std::time::Duration;

use informer_client::{Api, Client, DeleteOptions};
use informer_controller::{Action, Controller, EventSource, ReconcileRequest};
use informer_shared::SharedInformer;
use informer_testkit::{ApiServer, RequestMatcher, Verb};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
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

    /// Starts a controller that makes a secret for each map, named as it, and `extra` that its cache says is missing.
    fn start(self) -> (Running, ApiServer, Seen) {
        let (client, secrets, seen) = (self.client, self.secrets, Arc::clone(&self.seen));
        let running = Running::start(self.controller, move |request: ReconcileRequest| {
            let api = Api::<Secret>::namespaced(request.client(&client), "shop");
            let is_there = secrets.store().get(&request.key).is_some();
            seen.lock()
                .push((request.name().to_owned(), usize::from(is_there)));
            // Kept alive as long as the controller.
            let _ = &self.maps;
            async move {
                if !is_there {
                    api.create(&secret(request.name())).await?;
                }
                Ok(Action::Done)
            }
        });
        (running, self.server, self.seen)
    }
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
    let (running, server, seen) = world.start();
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
