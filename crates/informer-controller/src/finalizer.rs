//! Finalizers: a word that keeps an object from going before its cleanup is done.

use informer_client::{Api, Client, Error, Patch};
use informer_store::ObjectKey;
use informer_wire::Resource;
use serde_json::{Value, json};

use crate::conflict::retry_on_conflict;

/// What is to be done about an object's finalizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// The object lives and lacks the finalizer: [add it](Finalizer::add) before anything else.
    Add,
    /// The object lives: bring it in order.
    Apply,
    /// The object is to go: clean up, then [remove the finalizer](Finalizer::remove).
    CleanUp,
    /// The object is to go, and this finalizer does not hold it.
    Leave,
}

/// A finalizer of a controller's, on objects of one resource.
///
/// ```no_run
/// use informer_client::Client;
/// use informer_controller::{Action, Finalizer, FinalizerStep, ReconcileError};
/// use informer_store::{Object, ObjectKey};
/// use informer_wire::StaticResource;
/// use k8s_openapi::api::core::v1::PersistentVolume;
///
/// async fn reconcile(client: Client, volume: &PersistentVolume) -> Result<Action, ReconcileError> {
///     let finalizer = Finalizer::new(client, PersistentVolume::resource(), "example.org/disk");
///     let meta = &volume.metadata;
///     let set = meta.finalizers.iter().flatten().map(String::as_str);
///     match finalizer.step(meta.deletion_timestamp.is_some(), set) {
///         FinalizerStep::Add => finalizer.add(&ObjectKey::of(volume)).await?,
///         FinalizerStep::Apply => { /* make the disk */ }
///         FinalizerStep::CleanUp => {
///             /* delete the disk */
///             finalizer.remove(&ObjectKey::of(volume)).await?;
///         }
///         _ => {}
///     }
///     Ok(Action::Done)
/// }
/// ```
#[derive(Debug, Clone)]
pub struct Finalizer {
    api: Api<Value>,
    name: String,
}

impl Finalizer {
    /// A finalizer of this name, as `example.org/cleanup`.
    #[must_use]
    pub fn new(client: Client, resource: Resource, name: impl Into<String>) -> Self {
        Self {
            api: Api::new(client, resource),
            name: name.into(),
        }
    }

    /// What is to be done about an object, by whether it has a deletion time, and its finalizers.
    pub fn step<'a>(
        &self,
        is_deleted: bool,
        finalizers: impl IntoIterator<Item = &'a str>,
    ) -> Step {
        let is_set = finalizers.into_iter().any(|name| name == self.name);
        match (is_deleted, is_set) {
            (false, false) => Step::Add,
            (false, true) => Step::Apply,
            (true, true) => Step::CleanUp,
            (true, false) => Step::Leave,
        }
    }

    /// Adds the finalizer to an object, if it lacks it.
    ///
    /// # Errors
    /// When the object is gone or the server refuses; it does so for objects that are to go.
    #[doc(alias = "AddFinalizer")]
    pub async fn add(&self, key: &ObjectKey) -> Result<(), Error> {
        self.change(key, |finalizers| {
            let lacks = !finalizers.contains(&self.name);
            if lacks {
                finalizers.push(self.name.clone());
            }
            lacks
        })
        .await
    }

    /// Removes the finalizer from an object. One that is gone is fine.
    ///
    /// # Errors
    /// When the server refuses.
    #[doc(alias = "RemoveFinalizer")]
    pub async fn remove(&self, key: &ObjectKey) -> Result<(), Error> {
        let removed = self.change(key, |finalizers| {
            let before = finalizers.len();
            finalizers.retain(|name| *name != self.name);
            finalizers.len() < before
        });
        match removed.await {
            Err(error) if error.is_not_found() => Ok(()),
            result => result,
        }
    }

    /// Changes the finalizers of an object, and of no other that has its name later.
    async fn change(
        &self,
        key: &ObjectKey,
        change: impl Fn(&mut Vec<String>) -> bool,
    ) -> Result<(), Error> {
        let api = match key.namespace() {
            Some(namespace) => self.api.clone().in_namespace(namespace),
            None => self.api.clone(),
        };
        retry_on_conflict(|| async {
            let meta = &api.get(key.name()).await?["metadata"];
            let texts = meta["finalizers"].as_array().into_iter().flatten();
            let mut finalizers: Vec<_> =
                texts.filter_map(Value::as_str).map(str::to_owned).collect();
            if !change(&mut finalizers) {
                return Ok(());
            }
            // A list is replaced as a whole: only on top of the version that was read.
            let patch = json!({"metadata": {
                "resourceVersion": meta["resourceVersion"], "uid": meta["uid"], "finalizers": finalizers,
            }});
            api.patch(key.name(), &Patch::Merge(patch)).await.map(drop)
        })
        .await
    }
}
