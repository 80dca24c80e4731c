//! One version of a store, for as long as its holder likes.

use std::any::type_name;
use std::borrow::Borrow;
use std::fmt;
use std::hash::Hash;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use crate::index::{Index, IndexError, IndexStatus, Table, TableOf};
use crate::key::{KeyLike, ObjectKey};
use crate::object::Object;
use crate::pages::cloned;
use crate::posting::{Posting, PostingIter};
use crate::root::{Root, Slot};
use crate::selector::Selector;
use crate::version::ResourceVersion;

/// A consistent view of all objects and all indexes of a [`Store`](crate::Store) at one moment.
///
/// Taking one costs the same for ten objects as for a million. It never changes, holds no lock, hinders no writer,
/// and hands objects out by reference. While it lives it keeps the objects it shows, so do not hold one for ever.
///
/// Objects come in an order that depends on the sequence of writes alone.
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

    /// How many objects there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.root.len()
    }

    /// True if there is no object.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The object of a key, by reference.
    #[must_use]
    #[doc(alias = "GetByKey")]
    #[inline]
    pub fn get<Q: KeyLike + ?Sized>(&self, key: &Q) -> Option<&Arc<K>> {
        self.root.get(key)
    }

    /// True if there is an object of this key.
    #[must_use]
    pub fn contains<Q: KeyLike + ?Sized>(&self, key: &Q) -> bool {
        self.root.find(key).is_some()
    }

    /// The key the store holds for this text or key, by reference.
    #[must_use]
    pub fn key<Q: KeyLike + ?Sized>(&self, key: &Q) -> Option<&ObjectKey> {
        self.root.key(self.root.find(key)?)
    }

    /// All keys and objects.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&ObjectKey, &Arc<K>)> {
        self.root.slots().map(|slot| (&slot.key, &slot.object))
    }

    /// All objects, by reference.
    pub fn objects(&self) -> impl ExactSizeIterator<Item = &Arc<K>> {
        self.root.slots().map(|slot| &slot.object)
    }

    /// All keys, by reference.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &ObjectKey> {
        self.root.slots().map(|slot| &slot.key)
    }

    /// All objects in a vector. To look at each of them [`objects`](Self::objects) is cheaper.
    #[must_use]
    pub fn list(&self) -> Vec<Arc<K>> {
        cloned(self.objects())
    }

    /// The resource version up to which the store had everything; `None` before the first.
    #[must_use]
    #[doc(alias = "LastStoreSyncResourceVersion")]
    pub fn resource_version(&self) -> Option<&ResourceVersion> {
        self.root.resource_version.as_ref()
    }

    /// How many writes the store had published. It only grows, and is no resource version.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.root.revision
    }

    /// How often the objects, their marks or the indexes of the store had changed; a resource version that moves alone,
    /// as with a bookmark, is no change. Two snapshots of one store with the same number hold the same.
    #[must_use]
    pub fn contents_revision(&self) -> u64 {
        self.root.contents
    }

    /// What the server said last of a key: the object without what was [added by hand](crate::Store::overlay).
    #[must_use]
    pub fn base<Q: KeyLike + ?Sized>(&self, key: &Q) -> Option<&Arc<K>> {
        self.root.base(key)
    }

    /// True if the object of this key was [added by hand](crate::Store::overlay), and the server has not told of it yet.
    #[must_use]
    pub fn is_overlaid<Q: KeyLike + ?Sized>(&self, key: &Q) -> bool {
        self.root.is_overlaid(key)
    }

    /// True if a newer copy of the object came in but could not be decoded, so that this one is out of date.
    #[must_use]
    pub fn is_stale<Q: KeyLike + ?Sized>(&self, key: &Q) -> bool {
        self.root
            .find(key)
            .is_some_and(|slot| self.root.stale().get(slot))
    }

    /// How many objects are out of date in this way.
    #[must_use]
    pub fn stale_count(&self) -> usize {
        self.root.stale().count() as usize
    }

    /// The keys of all objects that are out of date in this way.
    pub fn stale_keys(&self) -> impl Iterator<Item = &ObjectKey> {
        self.root
            .stale()
            .iter()
            .filter_map(|slot| self.root.key(slot))
    }

    /// The names of the indexes, in the order they were added.
    #[must_use]
    pub fn index_names(&self) -> Vec<Arc<str>> {
        self.root
            .indexes()
            .iter()
            .map(|index| Arc::clone(index.name()))
            .collect()
    }

    /// How an index stands: its values, and where its function failed.
    ///
    /// # Errors
    /// When there is no index of this name.
    pub fn index_status(&self, index: &str) -> Result<IndexStatus, IndexError> {
        self.table(index).map(Table::status)
    }

    /// The keys of the objects that are left out of an index, since its function failed or panicked on them.
    ///
    /// # Errors
    /// When there is no index of this name.
    pub fn left_out(&self, index: &str) -> Result<impl Iterator<Item = &ObjectKey>, IndexError> {
        Ok(self
            .table(index)?
            .left_out()
            .iter()
            .filter_map(|slot| self.root.key(slot)))
    }

    /// The objects that have a value in a text index. Each is there once; an unknown value has none.
    ///
    /// # Errors
    /// When there is no text index of this name.
    pub fn visit_index(&self, index: &str, value: &str) -> Result<Indexed<'_, K>, IndexError> {
        let slots = self.table_of::<String>(index)?.slots(value);
        Ok(self.indexed(slots))
    }

    /// The same as [`visit_index`](Self::visit_index), collected.
    ///
    /// # Errors
    /// When there is no text index of this name.
    #[doc(alias = "ByIndex")]
    pub fn by_index(&self, index: &str, value: &str) -> Result<Vec<Arc<K>>, IndexError> {
        Ok(cloned(self.visit_index(index, value)?))
    }

    /// The keys of the objects that have a value in a text index, in the order of their texts.
    ///
    /// # Errors
    /// When there is no text index of this name.
    #[doc(alias = "IndexKeys")]
    pub fn index_keys(&self, index: &str, value: &str) -> Result<Vec<ObjectKey>, IndexError> {
        let mut keys: Vec<_> = self.visit_index(index, value)?.keys().cloned().collect();
        keys.sort_unstable();
        Ok(keys)
    }

    /// The objects that share at least one value of an index with this object, which need not be in the store. Each
    /// is there once. If the index function fails on the object, there are none.
    ///
    /// # Errors
    /// When there is no text index of this name.
    #[doc(alias = "Index")]
    pub fn index(&self, index: &str, object: &K) -> Result<Vec<Arc<K>>, IndexError> {
        let table = self.table_of::<String>(index)?;
        Ok(self.union_of(table.postings_of(object)))
    }

    /// All values of a text index that have an object, in no particular order. There is no such value if there is no
    /// such index.
    #[must_use]
    #[doc(alias = "ListIndexFuncValues")]
    pub fn list_index_values(&self, index: &str) -> Vec<Arc<String>> {
        let table = self.table_of::<String>(index);
        table
            .map(|table| {
                table
                    .entries()
                    .map(|(value, _)| Arc::clone(value))
                    .collect()
            })
            .unwrap_or_default()
    }

    /// The objects that have a value in an index of any type.
    ///
    /// # Errors
    /// When there is no index of this name with values of this type.
    pub fn by<V, Q>(&self, index: &Index<V>, value: &Q) -> Result<Indexed<'_, K>, IndexError>
    where
        V: Borrow<Q> + Hash + Eq + Send + Sync + 'static,
        Q: Hash + Eq + ?Sized,
    {
        let slots = self.table_of::<V>(index.name())?.slots(value);
        Ok(self.indexed(slots))
    }

    /// All values of an index of any type, and the objects of each, in no particular order.
    ///
    /// # Errors
    /// When there is no index of this name with values of this type.
    pub fn values<'a, V>(
        &'a self,
        index: &Index<V>,
    ) -> Result<impl Iterator<Item = (&'a Arc<V>, Indexed<'a, K>)> + use<'a, K, V>, IndexError>
    where
        V: Hash + Eq + Send + Sync + 'static,
    {
        let table = self.table_of::<V>(index.name())?;
        Ok(table
            .entries()
            .map(|(value, slots)| (value, self.indexed(Some(slots)))))
    }

    /// The values of an ordered index within bounds, and the objects of each, in the order of the values.
    ///
    /// # Errors
    /// When there is no ordered index of this name with values of this type.
    pub fn range<'a, V, Q, R>(
        &'a self,
        index: &Index<V>,
        range: R,
    ) -> Result<impl Iterator<Item = (&'a V, Indexed<'a, K>)> + use<'a, K, V, Q, R>, IndexError>
    where
        V: Borrow<Q> + Ord + Hash + Send + Sync + 'static,
        Q: Ord + ?Sized,
        R: RangeBounds<Q>,
    {
        let found = self.table_of::<V>(index.name())?.range(range);
        let found = found.ok_or_else(|| IndexError::NotOrdered {
            name: index.name().to_owned(),
        })?;
        Ok(found.map(|(value, slots)| (value, self.indexed(Some(slots)))))
    }

    /// The values of an ordered text index that start with `prefix`, and the objects of each, in order.
    ///
    /// # Errors
    /// When there is no ordered text index of this name.
    pub fn prefix<'a>(
        &'a self,
        index: &Index,
        prefix: &'a str,
    ) -> Result<impl Iterator<Item = (&'a String, Indexed<'a, K>)> + use<'a, K>, IndexError> {
        let from = (Bound::Included(prefix), Bound::Unbounded);
        let values = self.range::<String, str, _>(index, from)?;
        Ok(values.take_while(move |(value, _)| value.starts_with(prefix)))
    }

    fn table(&self, name: &str) -> Result<&dyn Table<K>, IndexError> {
        self.root.index(name).ok_or_else(|| IndexError::NotFound {
            name: name.to_owned(),
        })
    }

    fn table_of<V>(&self, name: &str) -> Result<&TableOf<K, V>, IndexError>
    where
        V: Hash + Eq + Send + Sync + 'static,
    {
        let wanted = type_name::<V>();
        let wrong = || IndexError::WrongType {
            name: name.to_owned(),
            wanted,
        };
        self.table(name)?.as_any().downcast_ref().ok_or_else(wrong)
    }

    fn indexed<'a>(&'a self, slots: Option<&'a Posting>) -> Indexed<'a, K> {
        Indexed {
            root: &self.root,
            slots: slots.map(Posting::iter).unwrap_or_default(),
        }
    }

    fn union_of<'a>(&self, postings: impl Iterator<Item = &'a Posting>) -> Vec<Arc<K>> {
        let postings: Vec<_> = postings.collect();
        if let [only] = postings.as_slice() {
            return self.indexed(Some(only)).cloned().collect();
        }
        let mut slots: Vec<u32> = postings.into_iter().flat_map(Posting::iter).collect();
        slots.sort_unstable();
        slots.dedup();
        slots
            .into_iter()
            .filter_map(|slot| self.root.object(slot).cloned())
            .collect()
    }
}

/// The objects that have one index value, by reference. [`keys`](Self::keys) and [`entries`](Self::entries) give
/// their keys.
pub struct Indexed<'a, K> {
    root: &'a Root<K>,
    slots: PostingIter<'a>,
}

impl<K> fmt::Debug for Indexed<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Indexed({})", self.slots.len())
    }
}

impl<K> Clone for Indexed<'_, K> {
    fn clone(&self) -> Self {
        Self {
            root: self.root,
            slots: self.slots.clone(),
        }
    }
}

impl<'a, K: Object> Indexed<'a, K> {
    /// Their keys.
    pub fn keys(self) -> impl Iterator<Item = &'a ObjectKey> {
        let root = self.root;
        self.slots.filter_map(move |slot| root.key(slot))
    }

    pub(crate) fn select<S: Selector>(self, selector: &S) -> impl Iterator<Item = &'a Arc<K>> {
        let root = self.root;
        let slots = self.slots.filter_map(|slot| root.slot(slot));
        slots
            .filter(|slot| slot.is_chosen(selector))
            .map(|slot| &slot.object)
    }

    /// Their keys and themselves.
    pub fn entries(self) -> impl Iterator<Item = (&'a ObjectKey, &'a Arc<K>)> {
        let root = self.root;
        self.slots
            .filter_map(move |slot| Some((root.key(slot)?, root.object(slot)?)))
    }
}

impl<'a, K: Object> Iterator for Indexed<'a, K> {
    type Item = &'a Arc<K>;

    #[inline]
    fn next(&mut self) -> Option<&'a Arc<K>> {
        self.root.object(self.slots.next()?)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.slots.size_hint()
    }
}

impl<K: Object> ExactSizeIterator for Indexed<'_, K> {}

impl<K: Object> Slot<K> {
    /// Looks at the object only if the digest of its labels leaves the answer open.
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
