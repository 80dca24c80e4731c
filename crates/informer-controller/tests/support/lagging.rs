//! A controller of config maps that writes secrets, of which its cache lags behind on demand.

use std::sync::Arc;

use informer_client::{Api, Client};
use informer_controller::{Action, Controller, EventSource, ReconcileError, ReconcileRequest};
use informer_shared::SharedInformer;
use informer_testkit::{ApiServer, RequestMatcher, Verb};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::{Running, controller, informer, map, server, until};

/// What each reconcile of a key saw: the number of secrets in the cache.
pub(crate) type Seen = Arc<Mutex<Vec<(String, usize)>>>;

pub(crate) struct World {
    pub(crate) server: ApiServer,
    pub(crate) client: Client,
    pub(crate) maps: SharedInformer<ConfigMap>,
    pub(crate) secrets: SharedInformer<Secret>,
    pub(crate) controller: Controller,
    pub(crate) seen: Seen,
}

pub(crate) fn secret(name: &str) -> Value {
    json!({"metadata": {"namespace": "shop", "name": name, "labels": {"of": name}}})
}

/// The replica that the informer of secrets watches.
pub(crate) const BEHIND: usize = 1;

pub(crate) async fn watched(server: &ApiServer, resource: &str) {
    let watch = RequestMatcher::verb(Verb::Watch).resource(resource);
    until("it is watched", || {
        server
            .requests()
            .iter()
            .any(|request| watch.matches(request))
    })
    .await;
}

pub(crate) async fn world(maps: &[&str]) -> World {
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
    pub(crate) fn hold(&self) {
        self.server
            .hold_replica(BEHIND, self.server.resource_version());
    }

    /// Starts a controller that notes whether the secret of a map is in the cache, and calls this with it and an `Api`.
    pub(crate) fn start<F, R>(self, reconcile: F) -> (Running, ApiServer, Seen)
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
pub(crate) async fn fill(
    api: Api<Secret>,
    name: String,
    is_there: bool,
) -> Result<(), ReconcileError> {
    if !is_there {
        api.create(&secret(&name)).await?;
    }
    Ok(())
}

pub(crate) fn of(seen: &Seen, name: &str) -> Vec<usize> {
    let seen = seen.lock();
    let own = seen.iter().filter(|(key, _)| key == name);
    own.map(|(_, there)| *there).collect()
}

pub(crate) fn touch(server: &ApiServer, name: &str, round: u32) {
    let change = json!({"data": {"round": round.to_string()}});
    server
        .merge_patch("configmaps", "shop", name, change)
        .expect("there");
}
