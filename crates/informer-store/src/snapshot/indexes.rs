//! The indexes of a snapshot.

use std::any::type_name;
use std::borrow::Borrow;
use std::fmt;
use std::hash::Hash;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use super::Snapshot;
use crate::index::{Index, IndexError, IndexStatus, Table, TableOf};
use crate::key::ObjectKey;
use crate::object::Object;
use crate::pages::cloned;
use crate::posting::{Posting, PostingIter};
use crate::root::Root;
use crate::selector::Selector;

impl<K: Object> Snapshot<K> {
    /// Returns the names of the indexes, in the order they were added.
    #[must_use]
    pub fn index_names(&self) -> Vec<Arc<str>> {
        self.root
            .indexes()
            .iter()
            .map(|index| Arc::clone(index.name()))
            .collect()
    }

    /// Returns the status of an index: its values, and the failures of its function.
    ///
    /// # Errors
    /// If there is no index of this name.
    pub fn index_status(&self, index: &str) -> Result<IndexStatus, IndexError> {
        self.table(index).map(Table::status)
    }

    /// Returns the keys of the objects that are not in an index, since its function failed or panicked on them.
    ///
    /// # Errors
    /// If there is no index of this name.
    pub fn unindexed_keys(
        &self,
        index: &str,
    ) -> Result<impl Iterator<Item = &ObjectKey>, IndexError> {
        Ok(self
            .table(index)?
            .unindexed()
            .iter()
            .filter_map(|slot| self.root.key(slot)))
    }

    /// Returns the objects that have a value in a text index, each once; none for an unknown value.
    ///
    /// # Errors
    /// If there is no text index of this name.
    pub fn visit_index(&self, index: &str, value: &str) -> Result<Indexed<'_, K>, IndexError> {
        let slots = self.table_of::<String>(index)?.slots(value);
        Ok(self.indexed(slots))
    }

    /// Returns the same as [`visit_index`](Self::visit_index), collected.
    ///
    /// # Errors
    /// If there is no text index of this name.
    #[doc(alias = "ByIndex")]
    pub fn by_index(&self, index: &str, value: &str) -> Result<Vec<Arc<K>>, IndexError> {
        Ok(cloned(self.visit_index(index, value)?))
    }

    /// Returns the keys of the objects that have a value in a text index, sorted.
    ///
    /// # Errors
    /// If there is no text index of this name.
    #[doc(alias = "IndexKeys")]
    pub fn index_keys(&self, index: &str, value: &str) -> Result<Vec<ObjectKey>, IndexError> {
        let mut keys: Vec<_> = self.visit_index(index, value)?.keys().cloned().collect();
        keys.sort_unstable();
        Ok(keys)
    }

    /// Returns the objects that share at least one value of an index with this object, which need not be in the store,
    /// each once; none if the index function fails on the object.
    ///
    /// # Errors
    /// If there is no text index of this name.
    #[doc(alias = "Index")]
    pub fn index(&self, index: &str, object: &K) -> Result<Vec<Arc<K>>, IndexError> {
        let table = self.table_of::<String>(index)?;
        Ok(self.union_of(table.postings_of(object)))
    }

    /// Returns all values of a text index that have an object, in no particular order; none if there is no such index.
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

    /// Returns the objects that have a value in an index of any type.
    ///
    /// # Errors
    /// If there is no index of this name with values of this type.
    pub fn by<V, Q>(&self, index: &Index<V>, value: &Q) -> Result<Indexed<'_, K>, IndexError>
    where
        V: Borrow<Q> + Hash + Eq + Send + Sync + 'static,
        Q: Hash + Eq + ?Sized,
    {
        let slots = self.table_of::<V>(index.name())?.slots(value);
        Ok(self.indexed(slots))
    }

    /// Returns all values of an index of any type, and the objects of each, in no particular order.
    ///
    /// # Errors
    /// If there is no index of this name with values of this type.
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

    /// Returns the values of an ordered index within bounds, and the objects of each, in the order of the values.
    ///
    /// # Errors
    /// If there is no ordered index of this name with values of this type.
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

    /// Returns the values of an ordered text index that start with `prefix`, and the objects of each, in order.
    ///
    /// # Errors
    /// If there is no ordered text index of this name.
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
    /// Returns their keys.
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

    /// Returns their keys and themselves.
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
