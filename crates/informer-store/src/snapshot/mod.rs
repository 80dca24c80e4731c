//! One state of a store, for as long as it is held.

mod indexes;

use std::fmt;
use std::sync::Arc;

pub use self::indexes::Indexed;
use crate::key::{KeyLike, ObjectKey};
use crate::object::Object;
use crate::pages::cloned;
use crate::root::{Root, Slot};
use crate::selector::Selector;
use crate::version::ResourceVersion;

/// A consistent view of all objects and all indexes of a [`Store`](crate::Store) at one moment.
///
/// Taking one costs the same for ten objects as for a million. It never changes, holds no lock, delays no writer, and
/// returns objects by reference. While it exists it keeps its objects in memory, so do not hold one for ever.
///
/// The order of objects depends on the sequence of writes alone.
///
/// ```
/// use std::sync::Arc;
/// use informer_store::Store;
/// use k8s_openapi::api::core::v1::ConfigMap;
///
/// let store: Store<ConfigMap> = Store::new();
/// let mut map = ConfigMap::default();
/// map.metadata.name = Some("settings".into());
/// map.metadata.namespace = Some("shop".into());
/// store.add(map)?;
///
/// let before = store.snapshot();
/// store.delete("shop/settings");
/// assert!(before.get("shop/settings").is_some());
/// assert!(store.snapshot().get("shop/settings").is_none());
/// # Ok::<(), informer_store::KeyError>(())
/// ```
pub struct Snapshot<K> {
    root: triomphe::Arc<Root<K>>,
}

impl<K> Clone for Snapshot<K> {
    fn clone(&self) -> Self {
        Self {
            root: triomphe::Arc::clone(&self.root),
        }
    }
}

impl<K: Object> fmt::Debug for Snapshot<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot")
            .field("len", &self.len())
            .field("resource_version", &self.resource_version())
            .field("revision", &self.revision())
            .finish_non_exhaustive()
    }
}

impl<K: Object> Snapshot<K> {
    pub(crate) fn root(&self) -> &Root<K> {
        &self.root
    }

    pub(crate) const fn new(root: triomphe::Arc<Root<K>>) -> Self {
        Self { root }
    }

    /// Returns the number of objects.
    #[must_use]
    pub fn len(&self) -> usize {
        self.root.len()
    }

    /// Returns `true` if there is no object.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the object of a key.
    #[must_use]
    #[doc(alias = "GetByKey")]
    #[inline]
    pub fn get<Q: KeyLike + ?Sized>(&self, key: &Q) -> Option<&Arc<K>> {
        self.root.get(key)
    }

    /// Returns `true` if there is an object of this key.
    #[must_use]
    pub fn contains<Q: KeyLike + ?Sized>(&self, key: &Q) -> bool {
        self.root.find(key).is_some()
    }

    /// Returns the stored key that equals this text or key.
    #[must_use]
    pub fn key<Q: KeyLike + ?Sized>(&self, key: &Q) -> Option<&ObjectKey> {
        self.root.key(self.root.find(key)?)
    }

    /// Returns all keys and objects.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&ObjectKey, &Arc<K>)> {
        self.root.slots().map(|slot| (&slot.key, &slot.object))
    }

    /// Returns all objects, by reference.
    pub fn objects(&self) -> impl ExactSizeIterator<Item = &Arc<K>> {
        self.root.slots().map(|slot| &slot.object)
    }

    /// Returns all keys, by reference.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &ObjectKey> {
        self.root.slots().map(|slot| &slot.key)
    }

    /// Returns all objects in a vector. To read each of them [`objects`](Self::objects) is cheaper.
    #[must_use]
    pub fn list(&self) -> Vec<Arc<K>> {
        cloned(self.objects())
    }

    /// Returns the resource version up to which the store had everything; `None` before the first.
    #[must_use]
    #[doc(alias = "LastStoreSyncResourceVersion")]
    pub fn resource_version(&self) -> Option<&ResourceVersion> {
        self.root.resource_version.as_ref()
    }

    /// Returns the number of writes the store had published. It only grows, and is no resource version.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.root.revision
    }

    /// Returns how often the objects, their marks or the indexes of the store had changed; a resource version that
    /// changes alone, as with a bookmark, does not count. Two snapshots of one store with the same number are equal.
    #[must_use]
    pub fn contents_revision(&self) -> u64 {
        self.root.contents
    }

    /// Returns the object of a key that was received last: what [`get`](Self::get) returns, without
    /// [overlays](crate::Store::overlay).
    #[must_use]
    pub fn observed<Q: KeyLike + ?Sized>(&self, key: &Q) -> Option<&Arc<K>> {
        self.root.observed(key)
    }

    /// Returns `true` if the object of this key is [overlaid](crate::Store::overlay): written locally, and not yet
    /// received.
    #[must_use]
    pub fn is_overlaid<Q: KeyLike + ?Sized>(&self, key: &Q) -> bool {
        self.root.is_overlaid(key)
    }

    /// Returns `true` if the object is stale: a newer version of it was received and cannot be decoded.
    #[must_use]
    pub fn is_stale<Q: KeyLike + ?Sized>(&self, key: &Q) -> bool {
        self.root
            .find(key)
            .is_some_and(|slot| self.root.stale().get(slot))
    }

    /// Returns the number of stale objects.
    #[must_use]
    pub fn stale_count(&self) -> usize {
        self.root.stale().count() as usize
    }

    /// Returns the keys of all stale objects.
    pub fn stale_keys(&self) -> impl Iterator<Item = &ObjectKey> {
        self.root
            .stale()
            .iter()
            .filter_map(|slot| self.root.key(slot))
    }
}

impl<K: Object> Slot<K> {
    /// Reads the object only if the digest of its labels does not decide.
    #[inline]
    pub(crate) fn is_chosen<S: Selector>(&self, selector: &S) -> bool {
        let decided = if selector.reads_labels() {
            selector.decide(self.labels.of(self.object.metadata()))
        } else {
            None
        };
        decided.unwrap_or_else(|| selector.matches(self.object.metadata()))
    }
}
