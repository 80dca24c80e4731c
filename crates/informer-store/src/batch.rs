//! Writes that are published together.

use std::fmt;
use std::sync::Arc;

use parking_lot::MutexGuard;

use crate::key::{KeyError, KeyLike, ObjectKey};
use crate::object::Object;
use crate::root::Root;
use crate::store::{Shared, Writer};
use crate::version::ResourceVersion;

/// Writes on their way into a [`Store`](crate::Store): readers see all of them, after [`commit`](Self::commit), or
/// none, if the batch is dropped before.
///
/// A batch is built beside the published state, so that readers never wait for it. It sees its own writes.
///
/// ```
/// use informer_store::Store;
/// use k8s_openapi::api::core::v1::ConfigMap;
///
/// let map = |name: &str| {
///     let mut map = ConfigMap::default();
///     map.metadata.name = Some(name.into());
///     map
/// };
/// let store: Store<ConfigMap> = Store::new();
/// let mut batch = store.begin_batch();
/// batch.add(map("one"))?;
/// batch.add(map("two"))?;
/// assert!(store.is_empty());
/// batch.commit();
/// assert_eq!(store.len(), 2);
/// # Ok::<(), informer_store::KeyError>(())
/// ```
#[must_use = "a batch that is not committed changes nothing"]
pub struct Batch<'a, K: Object> {
    shared: &'a Shared<K>,
    writer: MutexGuard<'a, Writer>,
    root: Root<K>,
    is_changed: bool,
}

impl<K: Object> fmt::Debug for Batch<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch")
            .field("is_changed", &self.is_changed)
            .finish_non_exhaustive()
    }
}

impl<'a, K: Object> Batch<'a, K> {
    pub(crate) fn new(shared: &'a Shared<K>) -> Self {
        let writer = shared.lock_writer();
        let root = Root::clone(&*shared.root());
        Self {
            shared,
            writer,
            root,
            is_changed: false,
        }
    }

    /// Adds an object, or replaces the one of the same key, which is returned. A transaction of client-go goes on
    /// after an object without a key; so can the caller of this.
    ///
    /// # Errors
    /// When the object has no name; the batch is as it was.
    pub fn add(&mut self, object: impl Into<Arc<K>>) -> Result<Option<Arc<K>>, KeyError> {
        let object = object.into();
        Ok(self.upsert(ObjectKey::try_of(&*object)?, object))
    }

    /// Adds an object under this key, or replaces the one there, which is returned.
    pub fn upsert(&mut self, key: ObjectKey, object: Arc<K>) -> Option<Arc<K>> {
        self.is_changed = true;
        let plan = self.root.plan(&key, &object);
        self.root.put(key, object, plan)
    }

    /// Takes the object of a key out.
    pub fn remove<Q: KeyLike + ?Sized>(&mut self, key: &Q) -> Option<Arc<K>> {
        let removed = self.root.remove(key);
        self.is_changed |= removed.is_some();
        removed
    }

    /// Takes all objects out.
    pub fn clear(&mut self) {
        self.is_changed = true;
        self.root.clear();
    }

    /// The object of a key as this batch leaves it.
    #[must_use]
    pub fn get<Q: KeyLike + ?Sized>(&self, key: &Q) -> Option<&Arc<K>> {
        self.root.get(key)
    }

    /// True if this batch leaves an object of this key.
    #[must_use]
    pub fn contains<Q: KeyLike + ?Sized>(&self, key: &Q) -> bool {
        self.root.find(key).is_some()
    }

    /// How many objects this batch leaves.
    #[must_use]
    pub fn len(&self) -> usize {
        self.root.len()
    }

    /// True if this batch leaves no object.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.root.len() == 0
    }

    /// The resource version as this batch leaves it.
    #[must_use]
    pub fn resource_version(&self) -> Option<&ResourceVersion> {
        self.root.resource_version.as_ref()
    }

    /// Sets the resource version up to which the store has everything once this batch is committed.
    pub fn set_resource_version(&mut self, resource_version: ResourceVersion) {
        self.is_changed |= self.root.resource_version.as_ref() != Some(&resource_version);
        self.root.resource_version = Some(resource_version);
    }

    /// Marks an object as out of date, since a newer copy of it could not be decoded. A later write of the object
    /// clears the mark. Returns false if there is no such object.
    pub fn mark_stale<Q: KeyLike + ?Sized>(&mut self, key: &Q) -> bool {
        let is_here = self.root.mark_stale(key);
        self.is_changed |= is_here;
        is_here
    }

    pub(crate) const fn root(&self) -> &Root<K> {
        &self.root
    }

    /// Publishes all of it in one step. A batch that changed nothing publishes nothing.
    pub fn commit(mut self) {
        if self.is_changed {
            self.shared.publish(&mut self.writer, self.root);
        }
    }
}
