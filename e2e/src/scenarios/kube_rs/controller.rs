//! The controller: it keeps a copy, named NAME-copy, of each config map labelled role=source.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{FutureExt as _, StreamExt as _, pin_mut};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::runtime::controller::{Action, Controller};
use kube::runtime::events::{Event, EventType, Recorder};
use kube::runtime::finalizer::{self, Event as Finalizer, finalizer};
use kube::runtime::watcher;
use kube::{Api, Client, Resource as _, ResourceExt as _};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::{Notify, oneshot};

use super::NAMESPACE;

const FINALIZER: &str = "copier.example/copy";
const MANAGER: &str = "copier";

/// What a watch beside the controller has received, for each object.
#[derive(Debug, Default)]
pub(super) struct Heard {
    of: Mutex<BTreeMap<String, Vec<String>>>,
    failure: Mutex<Option<String>>,
    ready: Notify,
}

impl Heard {
    fn note(&self, what: &str, object: &ConfigMap) {
        let line = format!(
            "{what} data={} annotations={:?} finalizers={:?} deleting={}",
            json!(object.data),
            object.annotations(),
            object.finalizers(),
            object.meta().deletion_timestamp.is_some()
        );
        let mut of = self.of.lock();
        of.entry(object.name_any()).or_default().push(line);
    }

    /// Waits until the watch has begun, so that it receives everything from then on.
    pub(super) async fn ready(&self) {
        self.ready.notified().await;
    }

    /// The controller's last failure.
    pub(super) fn failure(&self) -> String {
        let failure = self.failure.lock().clone();
        failure.unwrap_or_else(|| "none".to_owned())
    }

    /// A line for each event, in the order of names.
    pub(super) fn lines(&self) -> Vec<String> {
        let of = self.of.lock();
        let each = of
            .iter()
            .flat_map(|(name, lines)| lines.iter().map(move |line| format!("heard {name} {line}")));
        each.collect()
    }
}

struct Copier {
    maps: Api<ConfigMap>,
    recorder: Recorder,
}

type Failure = finalizer::Error<kube::Error>;

/// Runs until it is stopped.
pub(super) async fn run(client: Client, heard: Arc<Heard>, stopped: oneshot::Receiver<()>) {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), NAMESPACE);
    let of = |role: &str| watcher::Config::default().labels(&format!("role={role}"));
    let copier = Arc::new(Copier {
        maps: maps.clone(),
        recorder: Recorder::new(client, MANAGER.into()),
    });
    let stopped = stopped.map(drop).shared();
    let controller = Controller::new(maps.clone(), of("source"))
        .owns(maps.clone(), of("copy"))
        .graceful_shutdown_on(stopped.clone())
        .run(
            reconcile,
            |_, _, _| Action::requeue(Duration::from_millis(50)),
            copier,
        )
        .for_each(|outcome| {
            if let Err(error) = outcome {
                *heard.failure.lock() = Some(error.to_string());
            }
            std::future::ready(())
        });
    let watch = watcher(
        maps,
        watcher::Config::default().labels("role in (source,copy)"),
    );
    let watch = watch.take_until(stopped).for_each(|event| {
        match event {
            Ok(watcher::Event::Apply(object) | watcher::Event::InitApply(object)) => {
                heard.note("applied", &object);
            }
            Ok(watcher::Event::Delete(object)) => heard.note("deleted", &object),
            Ok(watcher::Event::InitDone) => heard.ready.notify_one(),
            Ok(watcher::Event::Init) | Err(_) => {}
        }
        std::future::ready(())
    });
    pin_mut!(controller, watch);
    futures_util::future::join(controller, watch).await;
}

async fn reconcile(source: Arc<ConfigMap>, copier: Arc<Copier>) -> Result<Action, Failure> {
    let at_work = Arc::clone(&copier);
    finalizer(
        &copier.maps,
        FINALIZER,
        source,
        async move |event| match event {
            Finalizer::Apply(source) => at_work.apply(&source).await,
            Finalizer::Cleanup(source) => at_work.clean_up(&source).await,
        },
    )
    .await
}

impl Copier {
    async fn apply(&self, source: &ConfigMap) -> Result<Action, kube::Error> {
        let name = format!("{}-copy", source.name_any());
        let wanted = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": name,
                "labels": { "role": "copy" },
                "ownerReferences": [source.controller_owner_ref(&())],
            },
            "data": source.data,
        });
        let applied = self
            .maps
            .patch(&name, &PatchParams::apply(MANAGER), &Patch::Apply(&wanted))
            .await;
        let said = match applied {
            Ok(copy) => copy.data.map_or(0, |data| data.len()).to_string(),
            // Another manager owns a field, and only a change can help.
            Err(kube::Error::Api(status)) if status.code == 409 => "refused".to_owned(),
            Err(error) => return Err(error),
        };
        if source.annotations().get("copied") != Some(&said) {
            self.tell(source, &said).await?;
            let patch = json!({ "metadata": { "annotations": { "copied": said } } });
            let patch: Patch<Value> = Patch::Merge(patch);
            self.maps
                .patch(&source.name_any(), &PatchParams::default(), &patch)
                .await?;
        }
        Ok(Action::await_change())
    }

    async fn clean_up(&self, source: &ConfigMap) -> Result<Action, kube::Error> {
        let name = format!("{}-copy", source.name_any());
        match self.maps.delete(&name, &DeleteParams::background()).await {
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(error) => return Err(error),
            Ok(_) => {}
        }
        Ok(Action::await_change())
    }

    async fn tell(&self, source: &ConfigMap, said: &str) -> Result<(), kube::Error> {
        let event = Event {
            type_: EventType::Normal,
            reason: "Copied".to_owned(),
            note: Some(said.to_owned()),
            action: "Copy".to_owned(),
            secondary: None,
        };
        self.recorder.publish(&event, &source.object_ref(&())).await
    }
}
