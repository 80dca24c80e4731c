//! Finalizers: they keep an object until its cleanup is done.

use informer_client::{Api, Client, Error, Patch};
use informer_store::{Object, ObjectKey, ObjectMetadata, Uid};
use informer_wire::{Resource, Status};
use serde_json::{Value, json};

use crate::conflict::retry_on_conflict;

/// The next step for an object with respect to a finalizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[must_use = "each step but `Leave` asks for something to be done"]
pub enum FinalizerStep {
    /// The object exists without the finalizer: [add it](Finalizer::add) before anything else.
    Add,
    /// The object exists with the finalizer: reconcile it.
    Apply,
    /// The object is being deleted: clean up, then [remove the finalizer](Finalizer::remove).
    CleanUp,
    /// The object is being deleted, and does not have the finalizer: do nothing.
    Leave,
}

/// A controller's finalizer on the objects of one resource.
///
/// ```no_run
/// use informer_client::Client;
/// use informer_controller::{Action, Finalizer, FinalizerStep, ReconcileError};
/// use informer_wire::StaticResource;
/// use k8s_openapi::api::core::v1::PersistentVolume;
///
/// async fn reconcile(client: Client, volume: &PersistentVolume) -> Result<Action, ReconcileError> {
///     let finalizer = Finalizer::new(client, PersistentVolume::resource(), "example.org/disk");
///     match finalizer.step(volume) {
///         // Then go on: the event of this change may not pass the source's predicates.
///         FinalizerStep::Add => finalizer.add(volume).await?,
///         FinalizerStep::Apply => {}
///         FinalizerStep::CleanUp => {
///             /* delete the disk */
///             finalizer.remove(volume).await?;
///             return Ok(Action::Done);
///         }
///         _ => return Ok(Action::Done),
///     }
///     /* make the disk */
///     Ok(Action::Done)
/// }
/// ```
#[derive(Debug, Clone)]
pub struct Finalizer {
    api: Api<Value>,
    name: String,
}

impl Finalizer {
    /// Makes a finalizer of this name, as `example.org/cleanup`.
    #[must_use]
    pub fn new(client: Client, resource: Resource, name: impl Into<String>) -> Self {
        Self {
            api: Api::new(client, resource),
            name: name.into(),
        }
    }

    /// Returns the next step for an object.
    pub fn step<K: Object>(&self, object: &K) -> FinalizerStep {
        let metadata = object.metadata();
        let is_set = metadata.finalizers().any(|name| name == self.name);
        match (metadata.is_being_deleted(), is_set) {
            (false, false) => FinalizerStep::Add,
            (false, true) => FinalizerStep::Apply,
            (true, true) => FinalizerStep::CleanUp,
            (true, false) => FinalizerStep::Leave,
        }
    }

    /// Adds the finalizer to an object, as it is now on the server.
    ///
    /// # Errors
    /// If the object does not exist any more, which one of the same name and another UID does not change, or if the server
    /// refuses, as it does for objects that are being deleted.
    #[doc(alias = "AddFinalizer")]
    pub async fn add<K: Object>(&self, object: &K) -> Result<(), Error> {
        self.change(object, |finalizers| {
            let lacks = !finalizers.contains(&self.name);
            if lacks {
                finalizers.push(self.name.clone());
            }
            lacks
        })
        .await
    }

    /// Removes the finalizer from an object. One that does not exist any more is no error; one of the same name and another
    /// UID is left alone.
    ///
    /// # Errors
    /// If the server refuses.
    #[doc(alias = "RemoveFinalizer")]
    pub async fn remove<K: Object>(&self, object: &K) -> Result<(), Error> {
        let removed = self.change(object, |finalizers| {
            let before = finalizers.len();
            finalizers.retain(|name| *name != self.name);
            finalizers.len() < before
        });
        match removed.await {
            Err(error) if error.is_not_found() => Ok(()),
            result => result,
        }
    }

    /// Changes the finalizers of an object, never those of a recreated one.
    async fn change<K: Object>(
        &self,
        object: &K,
        change: impl Fn(&mut Vec<String>) -> bool,
    ) -> Result<(), Error> {
        let (key, uid) = (ObjectKey::of(object), object.uid());
        let api = match key.namespace() {
            Some(namespace) => self.api.clone().in_namespace(namespace),
            None => self.api.clone(),
        };
        retry_on_conflict(|| async {
            let meta = &api.get(key.name()).await?["metadata"];
            let present = meta["uid"].as_str().map(Uid::new);
            if uid.is_some() && present != uid {
                return Err(self.recreated(&key));
            }
            let texts = meta["finalizers"].as_array().into_iter().flatten();
            let mut finalizers: Vec<_> =
                texts.filter_map(Value::as_str).map(str::to_owned).collect();
            if !change(&mut finalizers) {
                return Ok(());
            }
            // The patch replaces the whole list: only on top of the resource version that was read.
            let patch = json!({"metadata": {
                "resourceVersion": meta["resourceVersion"], "uid": meta["uid"], "finalizers": finalizers,
            }});
            api.patch(key.name(), &Patch::Merge(patch)).await.map(drop)
        })
        .await
    }

    fn recreated(&self, key: &ObjectKey) -> Error {
        let resource = &self.api.resource().plural;
        let why = format!("{resource} {:?} was deleted and created again", key.name());
        Error::from_status(Status::failure(404, "NotFound", why))
    }
}
