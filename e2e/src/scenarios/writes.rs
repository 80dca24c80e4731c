//! A controller reads its own writes: what a real server answers to each of them is in the cache before its key goes on.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use informer::controller::{Action, Controller, EventSource, ReconcileError, ReconcileRequest};
use informer::store::{ObjectKey, StoreReader};
use informer::{Api, Client, InformerFactory};
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::world::World;

/// How long all steps of all keys may take.
const LIMIT: Duration = Duration::from_secs(60);

/// How many keys go through the steps, side by side.
const KEYS: usize = 20;

/// The last step.
const LAST: usize = 9;

/// What is known of a key: the next step, and whether the cache lacked a write.
type Steps = Arc<Mutex<std::collections::BTreeMap<String, usize>>>;

struct Caches {
    pods: StoreReader<Pod>,
    secrets: StoreReader<Secret>,
}

pub(crate) async fn run() -> anyhow::Result<()> {
    let world = World::start().await?;
    let client = world.informers_client(None)?;
    let factory = InformerFactory::new(client.clone());
    let maps = factory.informer::<ConfigMap>();
    let (pods, secrets) = (factory.informer::<Pod>(), factory.informer::<Secret>());
    let controller = Controller::new("writes")
        .workers(4)
        .watch(EventSource::objects(&maps))?
        .watch(EventSource::owned_by(&pods, "", "ConfigMap"))?
        .watch(EventSource::owned_by(&secrets, "", "ConfigMap"))?;
    let (queue, status) = (controller.queue().clone(), controller.status());
    factory.start()?;
    let caches = Arc::new(Caches {
        pods: pods.store().clone(),
        secrets: secrets.store().clone(),
    });
    let (steps, stop) = (Steps::default(), CancellationToken::new());
    let reconciler = {
        let (steps, caches, client) = (Arc::clone(&steps), Arc::clone(&caches), client.clone());
        move |request: ReconcileRequest| {
            let (steps, caches) = (Arc::clone(&steps), Arc::clone(&caches));
            let client = request.client(&client);
            async move {
                let key = ObjectKey::namespaced("default", request.name());
                let step = steps.lock().get(request.name()).copied().unwrap_or(0);
                if !request.name().starts_with('k') || step > LAST {
                    return Ok(Action::Done);
                }
                take(step, &client, &caches, &key).await?;
                steps.lock().insert(request.name().to_owned(), step + 1);
                // At once, as far as the queue goes: the cache had no time of its own.
                Ok(Action::RequeueAfter(Duration::ZERO))
            }
        }
    };
    let running = tokio::spawn({
        let stop = stop.clone();
        async move { controller.run(&stop, reconciler).await }
    });
    for number in 0..KEYS {
        queue.add(ObjectKey::namespaced("default", &format!("k{number}")));
    }
    let mut seen = status.clone();
    let all = seen.wait_for(|status| {
        let done = steps.lock().values().filter(|step| **step > LAST).count();
        done == KEYS || status.failures > 0
    });
    let ended = timeout(LIMIT, all).await.is_ok();
    stop.cancel();
    running.await?.context("the controller")?;
    let end = status.borrow().clone();
    println!(
        "{KEYS} keys, {} steps each: {} reconciles, {} live reads",
        LAST + 1,
        end.reconciles,
        end.live_reads
    );
    if let Some(error) = &end.last_error {
        bail!("{error}");
    }
    ensure!(ended, "steps are missing: {:?}", steps.lock());
    ensure!(
        (end.live_reads, end.writes_given_up) == (0, 0),
        "a cache did not see what the server answered"
    );
    factory.shutdown().await?;
    Ok(())
}

fn pod(name: &str) -> Value {
    json!({
        "metadata": {"name": name, "finalizers": ["example.org/held"]},
        "spec": {"containers": [{"name": "c", "image": "c"}], "automountServiceAccountToken": false},
    })
}

/// One step of a key: first that the cache has what the step before wrote.
async fn take(
    step: usize,
    client: &Client,
    caches: &Caches,
    key: &ObjectKey,
) -> Result<(), ReconcileError> {
    let pods = Api::<Pod>::namespaced(client.clone(), "default");
    let secrets = Api::<Secret>::namespaced(client.clone(), "default");
    let (name, now) = (key.name(), informer::client::DeleteOptions::default);
    let (pod_cached, secret_cached) = (caches.pods.get(key), caches.secrets.get(key));
    let label = |pod: &Pod| {
        pod.metadata
            .labels
            .as_ref()
            .and_then(|labels| labels.get("step").cloned())
    };
    let is = |what: bool| -> Result<(), ReconcileError> {
        let error = std::io::Error::other(format!("the cache lacks what step {step} expects"));
        if what { Ok(()) } else { Err(error.into()) }
    };
    let labelled = |step: &str| {
        informer::client::Patch::Merge(json!({"metadata": {"labels": {"step": step}}}))
    };
    match step {
        0 => drop(pods.create(&pod(name)).await?),
        1 => {
            is(pod_cached.is_some())?;
            drop(pods.patch(name, &labelled("1")).await?);
        }
        2 => {
            is(pod_cached.is_some_and(|pod| label(&pod).as_deref() == Some("1")))?;
            let status = informer::client::Patch::Merge(json!({"status": {"phase": "Running"}}));
            drop(pods.subresource("status").patch(name, &status).await?);
        }
        3 => {
            let phase = pod_cached.and_then(|pod| pod.status.as_ref()?.phase.clone());
            is(phase.as_deref() == Some("Running"))?;
            drop(pods.delete(name, &now().grace_period_seconds(0)).await?);
        }
        // It waits for its finalizer.
        4 => {
            is(pod_cached.is_some_and(|pod| pod.metadata.deletion_timestamp.is_some()))?;
            let free = informer::client::Patch::Merge(json!({"metadata": {"finalizers": null}}));
            drop(pods.patch(name, &free).await?);
        }
        5 => {
            is(pod_cached.is_none())?;
            drop(secrets.create(&json!({"metadata": {"name": name}})).await?);
        }
        // A status alone, without an object.
        6 => {
            is(secret_cached.is_some())?;
            drop(secrets.delete(name, &now()).await?);
        }
        7 => {
            is(secret_cached.is_none())?;
            drop(secrets.create(&json!({"metadata": {"name": name}})).await?);
            drop(secrets.delete(name, &now()).await?);
            drop(secrets.create(&json!({"metadata": {"name": name}})).await?);
        }
        8 => {
            is(secret_cached.is_some())?;
            drop(secrets.delete(name, &now()).await?);
        }
        _ => is(secret_cached.is_none())?,
    }
    Ok(())
}
