//! The reading side of a store.

use std::fmt;
use std::sync::Arc;

use super::Shared;
use crate::key::{KeyLike, ObjectKey};
use crate::object::Object;
use crate::snapshot::Snapshot;
use crate::version::ResourceVersion;

/// Reads a [`Store`](crate::Store) and cannot write to it: for whoever is given the cache of an informer.
///
/// Clones share the store. A store dereferences to its reader, so that all methods here are methods of the store too.
/// They are short forms for a [`snapshot`](Self::snapshot) that is used once; they wait for no transaction, and no
/// writer waits for them.
///
/// ```
/// use informer_store::{Store, StoreReader};
/// use k8s_openapi::api::core::v1::ConfigMap;
///
/// let store: Store<ConfigMap> = Store::new();
/// let reader: StoreReader<ConfigMap> = store.reader();
/// let mut map = ConfigMap::default();
/// map.metadata.name = Some("settings".into());
/// store.add(map)?;
/// assert!(reader.contains("settings"));
/// # Ok::<(), informer_store::KeyError>(())
/// ```
pub struct StoreReader<K> {
    pub(crate) shared: Arc<Shared<K>>,
}

impl<K> Clone for StoreReader<K> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<K: Object> fmt::Debug for StoreReader<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreReader")
            .field("snapshot", &self.snapshot())
            .finish()
    }
}

impl<K: Object> StoreReader<K> {
    /// Returns the present state, in constant time.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot<K> {
        Snapshot::new(self.shared.root())
    }

    /// Returns the object of a key. To look up many take a [`snapshot`](Self::snapshot), which returns references: most of
    /// the time of a look-up here is that of the object's reference count, which is rarely in the processor's cache.
    #[must_use]
    #[doc(alias = "GetByKey")]
    pub fn get<Q: KeyLike + ?Sized>(&self, key: &Q) -> Option<Arc<K>> {
        self.shared.read().get(key).cloned()
    }

    /// Returns `true` if there is an object of this key.
    #[must_use]
    pub fn contains<Q: KeyLike + ?Sized>(&self, key: &Q) -> bool {
        self.shared.read().find(key).is_some()
    }

    /// Returns the number of objects.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shared.read().len()
    }

    /// Returns `true` if there is no object.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns all objects.
    #[must_use]
    pub fn list(&self) -> Vec<Arc<K>> {
        self.snapshot().list()
    }

    /// Returns all keys.
    #[must_use]
    #[doc(alias = "ListKeys")]
    pub fn keys(&self) -> Vec<ObjectKey> {
        self.snapshot().keys().cloned().collect()
    }

    /// Returns the resource version up to which the store has everything; `None` before the first.
    #[must_use]
    #[doc(alias = "LastStoreSyncResourceVersion")]
    pub fn resource_version(&self) -> Option<ResourceVersion> {
        self.shared.read().resource_version.clone()
    }

    /// Returns the number of published writes. It only grows, and is no resource version.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.shared.read().revision
    }

    /// Returns `true` if the store was [closed](crate::Store::close): nothing feeds it any more.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.shared.is_closed()
    }
}
