//! Indexes of a store: adding, removing and reading them.

use std::borrow::Borrow;
use std::hash::Hash;
use std::sync::Arc;

use crate::index::{
    Index, IndexError, IndexFailure, IndexOutcome, IndexStatus, IndexValues, Indexers,
};
use crate::key::ObjectKey;
use crate::object::Object;
use crate::pages::cloned;
#[cfg(doc)]
use crate::snapshot::Snapshot;
use crate::store::{Store, StoreReader};

impl<K: Object> Store<K> {
    /// Adds an index whose values are texts, at any time. Stored objects are indexed before this returns.
    ///
    /// # Errors
    /// If there is an index of this name.
    #[doc(alias = "AddIndexers")]
    pub fn add_index<F, R>(&self, name: &str, function: F) -> Result<Index, IndexError>
    where
        F: Fn(&K, &mut IndexValues<'_, String>) -> R + Send + Sync + 'static,
        R: IndexOutcome,
    {
        self.add_typed_index::<String, F, R>(name, function)
    }

    /// Adds an index whose values are of any type that can be hashed.
    ///
    /// # Errors
    /// If there is an index of this name.
    pub fn add_typed_index<V, F, R>(&self, name: &str, function: F) -> Result<Index<V>, IndexError>
    where
        V: Hash + Eq + Send + Sync + 'static,
        F: Fn(&K, &mut IndexValues<'_, V>) -> R + Send + Sync + 'static,
        R: IndexOutcome,
    {
        self.add_indexers(&Indexers::new().typed_index::<V, F, R>(name, function))?;
        Ok(Index::named(name))
    }

    /// Adds an index that can also be asked for ranges of its values ([`Snapshot::range`]), and texts for a prefix
    /// ([`Snapshot::prefix`]).
    ///
    /// ```
    /// use informer_store::{Index, IndexValues, Store};
    /// use k8s_openapi::api::core::v1::Pod;
    ///
    /// let store: Store<Pod> = Store::new();
    /// let by_name: Index = store.add_ordered_index("name", |pod: &Pod, values: &mut IndexValues<'_>| {
    ///     values.extend(pod.metadata.name.as_ref());
    /// })?;
    /// let snapshot = store.snapshot();
    /// for (name, pods) in snapshot.prefix(&by_name, "cart-")? {
    ///     println!("{name}: {} pods", pods.len());
    /// }
    /// assert_eq!(snapshot.range(&by_name, "a".to_owned().."c".to_owned())?.count(), 0);
    /// # Ok::<(), informer_store::IndexError>(())
    /// ```
    ///
    /// # Errors
    /// If there is an index of this name.
    pub fn add_ordered_index<V, F, R>(
        &self,
        name: &str,
        function: F,
    ) -> Result<Index<V>, IndexError>
    where
        V: Ord + Hash + Send + Sync + 'static,
        F: Fn(&K, &mut IndexValues<'_, V>) -> R + Send + Sync + 'static,
        R: IndexOutcome,
    {
        self.add_indexers(&Indexers::new().ordered_index::<V, F, R>(name, function))?;
        Ok(Index::named(name))
    }

    /// Adds the index by namespace, unless there is one.
    ///
    /// # Errors
    /// Never: `Result` as for the others.
    pub fn add_namespace_index(&self) -> Result<(), IndexError> {
        match self.add_indexers(&Indexers::new().namespace()) {
            Err(IndexError::Exists { .. }) => Ok(()),
            other => other,
        }
    }

    /// Adds several indexes, all or none.
    ///
    /// # Errors
    /// If there is an index of one of the names, or a name occurs twice.
    pub fn add_indexers(&self, indexers: &Indexers<K>) -> Result<(), IndexError> {
        let mut transaction = self.transaction();
        let tables = indexers.make(|name| transaction.root().index(name).is_some())?;
        let (root, effects) = transaction.root_mut();
        tables
            .into_iter()
            .for_each(|table| root.add_index(table, effects));
        transaction.commit();
        Ok(())
    }

    /// Removes an index.
    ///
    /// # Errors
    /// If there is no index of this name.
    pub fn remove_index(&self, name: &str) -> Result<(), IndexError> {
        let mut transaction = self.transaction();
        let (root, effects) = transaction.root_mut();
        if !root.remove_index(name, effects) {
            return Err(IndexError::NotFound {
                name: name.to_owned(),
            });
        }
        transaction.commit();
        Ok(())
    }

    /// Sets the function that is called for every index function that fails or panics, after the write was published
    /// and outside all locks: it may use the store. A store has one; a later call replaces it.
    ///
    /// [`index_status`](StoreReader::index_status) counts failures with or without it.
    pub fn on_index_failure(&self, report: impl Fn(&IndexFailure) + Send + Sync + 'static) {
        self.shared.set_failure_report(Arc::new(report));
    }
}

impl<K: Object> StoreReader<K> {
    /// Returns the names of the indexes, in the order they were added.
    #[must_use]
    #[doc(alias = "GetIndexers")]
    pub fn index_names(&self) -> Vec<String> {
        self.snapshot()
            .index_names()
            .iter()
            .map(|name| name.to_string())
            .collect()
    }

    /// Returns the status of an index. See [`Snapshot::index_status`].
    ///
    /// # Errors
    /// If there is no index of this name.
    pub fn index_status(&self, index: &str) -> Result<IndexStatus, IndexError> {
        self.snapshot().index_status(index)
    }

    /// Returns the objects that have a value in a text index. See [`Snapshot::by_index`].
    ///
    /// # Errors
    /// If there is no text index of this name.
    #[doc(alias = "ByIndex")]
    pub fn by_index(&self, index: &str, value: &str) -> Result<Vec<Arc<K>>, IndexError> {
        self.snapshot().by_index(index, value)
    }

    /// Returns the keys of the objects that have a value in a text index, sorted. See [`Snapshot::index_keys`].
    ///
    /// # Errors
    /// If there is no text index of this name.
    #[doc(alias = "IndexKeys")]
    pub fn index_keys(&self, index: &str, value: &str) -> Result<Vec<ObjectKey>, IndexError> {
        self.snapshot().index_keys(index, value)
    }

    /// Returns the objects that share an index value with this one. See [`Snapshot::index`].
    ///
    /// # Errors
    /// If there is no text index of this name.
    #[doc(alias = "Index")]
    pub fn index(&self, index: &str, object: &K) -> Result<Vec<Arc<K>>, IndexError> {
        self.snapshot().index(index, object)
    }

    /// Returns all values of a text index that have an object. See [`Snapshot::list_index_values`].
    #[must_use]
    #[doc(alias = "ListIndexFuncValues")]
    pub fn list_index_values(&self, index: &str) -> Vec<Arc<String>> {
        self.snapshot().list_index_values(index)
    }

    /// Returns the objects that have a value in an index of any type. See [`Snapshot::by`].
    ///
    /// # Errors
    /// If there is no index of this name with values of this type.
    pub fn by<V, Q>(&self, index: &Index<V>, value: &Q) -> Result<Vec<Arc<K>>, IndexError>
    where
        V: Borrow<Q> + Hash + Eq + Send + Sync + 'static,
        Q: Hash + Eq + ?Sized,
    {
        Ok(cloned(self.snapshot().by(index, value)?))
    }
}
