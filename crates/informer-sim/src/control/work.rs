//! The work of a leader, as a user would write it: each widget has a part with its value, made and removed by finalizer.

use std::sync::Arc;

use informer_client::{Api, Client, DeleteOptions, Patch};
use informer_controller::{
    Action, ControllerStatus, Finalizer, FinalizerStep, ReconcileError, ReconcileRequest,
};
use informer_shared::SharedInformer;
use informer_store::Object as _;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::chaos::{Chaos, Trouble};
use super::freeze::Freeze;
use super::ledger::{End, Ledger};
use super::{NAMESPACE, parts, widgets};
use crate::object::{Item, revision_of, value_of};
use crate::run::ON_PURPOSE;
use crate::trace::note;

pub(super) const FINALIZER: &str = "demo.example/part";

/// What the reconciles of one term work with.
pub(super) struct Desk {
    pub(super) process: String,
    pub(super) term: u64,
    pub(super) ledger: Arc<Ledger>,
    pub(super) chaos: Chaos,
    pub(super) freeze: Freeze,
    pub(super) widgets: SharedInformer<Item>,
    pub(super) parts: SharedInformer<Item>,
    /// With the gate.
    pub(super) client: Client,
    pub(super) status: watch::Receiver<ControllerStatus>,
    pub(super) server: Arc<informer_testkit::ApiServer>,
}

/// A reconcile that runs, for the ledger.
struct Running {
    desk: Arc<Desk>,
    key: String,
    end: End,
}

impl Running {
    fn end(mut self, end: End) {
        self.end = end;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let desk = &self.desk;
        desk.ledger
            .end(&desk.process, desk.term, &self.key, self.end);
    }
}

impl Desk {
    /// Reconciles a key. The future is one of the process.
    pub(super) fn reconcile(
        self: &Arc<Self>,
        request: ReconcileRequest,
    ) -> impl Future<Output = Result<Action, ReconcileError>> + Send + use<> {
        let desk = Arc::clone(self);
        let running = self.begin(&request);
        self.freeze.wrap(async move {
            let result = desk.work(&request).await;
            running.end(match &result {
                Ok(Action::RequeueAfter(delay)) => End::After(*delay),
                Ok(_) => End::Success,
                Err(error) => error
                    .error()
                    .downcast_ref::<informer_client::Error>()
                    .and_then(informer_client::Error::retry_after)
                    .map_or(End::Failure, End::FailureAfter),
            });
            result
        })
    }

    fn begin(self: &Arc<Self>, request: &ReconcileRequest) -> Running {
        let mut seen = Vec::new();
        if self.status.borrow().writes_given_up == 0 {
            seen.push(("widgets", self.version(&self.widgets, "widgets", request)));
            seen.push(("parts", self.version(&self.parts, "parts", request)));
        }
        note!(
            self.ledger.trace(),
            "{} reconciles {} {seen:?}",
            self.process,
            request.name()
        );
        self.ledger.begin(&self.process, request.name(), &seen);
        Running {
            desk: Arc::clone(self),
            key: request.name().to_owned(),
            end: End::Dropped,
        }
    }

    /// The version that a cache has of an object; of the whole cache if it has none.
    fn version(
        &self,
        informer: &SharedInformer<Item>,
        plural: &str,
        request: &ReconcileRequest,
    ) -> u64 {
        if let Some(item) = informer.store().get(&request.key) {
            return revision_of(&item);
        }
        if self.server.get(plural, NAMESPACE, request.name()).is_err() {
            return u64::MAX;
        }
        let version = informer.store().resource_version();
        version
            .and_then(|version| version.as_u64())
            .unwrap_or_default()
    }

    fn confirmed(&self, kind: &'static str, object: &Value) {
        let meta = &object["metadata"];
        let version = meta["resourceVersion"]
            .as_str()
            .and_then(|text| text.parse().ok());
        let name = meta["name"].as_str().unwrap_or_default();
        self.ledger
            .confirmed(&self.process, kind, name, version.unwrap_or_default());
    }

    async fn work(&self, request: &ReconcileRequest) -> Result<Action, ReconcileError> {
        let trouble = self.chaos.trouble();
        let comes_first = trouble != Trouble::None && self.chaos.bool();
        if comes_first && let Some(action) = Self::strike(trouble).await? {
            return Ok(action);
        }
        // A freeze may come in between.
        if let Some(pause) = self.chaos.pause() {
            tokio::time::sleep(pause).await;
        }
        self.provide(request).await?;
        if !comes_first && let Some(action) = Self::strike(trouble).await? {
            return Ok(action);
        }
        Ok(Action::Done)
    }

    async fn strike(trouble: Trouble) -> Result<Option<Action>, ReconcileError> {
        match trouble {
            Trouble::None => Ok(None),
            Trouble::Error => Err(std::io::Error::other(ON_PURPOSE).into()),
            Trouble::Panic => std::panic::panic_any(ON_PURPOSE),
            Trouble::Hang(time) => {
                tokio::time::sleep(time).await;
                Ok(None)
            }
            Trouble::Requeue => Ok(Some(Action::Requeue)),
            Trouble::RequeueAfter(delay) => Ok(Some(Action::RequeueAfter(delay))),
        }
    }

    async fn provide(&self, request: &ReconcileRequest) -> Result<(), ReconcileError> {
        let client = request.client(&self.client);
        let api = Api::<Value>::new(client.clone(), parts()).in_namespace(NAMESPACE);
        let part = self.parts.store().get(&request.key);
        let Some(widget) = self.widgets.store().get(&request.key) else {
            return match part {
                Some(_) => self.remove(&api, request.name()).await,
                None => Ok(()),
            };
        };
        let finalizer = Finalizer::new(client, widgets(), FINALIZER);
        match finalizer.step(&*widget) {
            FinalizerStep::Add => finalizer.add(&*widget).await?,
            FinalizerStep::Apply => {}
            FinalizerStep::CleanUp => {
                // The cache may lack a part that the leader before made.
                self.remove(&api, request.name()).await?;
                finalizer.remove(&*widget).await?;
                return Ok(());
            }
            _ => return Ok(()),
        }
        let value = value_of(&widget);
        let uid = widget.uid().map(|uid| uid.to_string()).unwrap_or_default();
        match part {
            None => {
                let part = json!({
                    "apiVersion": "demo.example/v1", "kind": "Part",
                    "metadata": {"name": request.name(), "namespace": NAMESPACE, "ownerReferences": [{
                        "apiVersion": "demo.example/v1", "kind": "Widget", "name": request.name(), "uid": uid,
                        "controller": true,
                    }]},
                    "data": {"value": value},
                });
                self.confirmed("parts", &api.create(&part).await?);
            }
            Some(part) if !is_owned(&part, &uid) => self.remove(&api, request.name()).await?,
            Some(part) if value_of(&part) != value => {
                let change = json!({"data": {"value": value}});
                let changed = api.patch(request.name(), &Patch::Merge(&change)).await?;
                self.confirmed("parts", &changed);
            }
            Some(_) => {}
        }
        Ok(())
    }

    async fn remove(&self, api: &Api<Value>, name: &str) -> Result<(), ReconcileError> {
        match api.delete(name, &DeleteOptions::default()).await {
            Err(error) if !error.is_not_found() => Err(error.into()),
            _ => Ok(()),
        }
    }
}

fn is_owned(part: &Item, uid: &str) -> bool {
    let mut owners = part.metadata.owner_references();
    owners.any(|owner| owner.uid.to_string() == uid)
}
