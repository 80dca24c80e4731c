//! Indexes of a store: adding them, taking them away, asking them.

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
use crate::store::Store;

impl<K: Object> Store<K> {
    /// Adds an index whose values are texts. Objects that are here already are entered before this returns, at any
    /// time in the store's life.
    ///
    /// # Errors
    /// When an index of this name is here.
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
    /// When an index of this name is here.
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
    /// When an index of this name is here.
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

    /// Adds the index by namespace, unless it is here.
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
    /// When an index of one of the names is here, or a name occurs twice.
    pub fn add_indexers(&self, indexers: &Indexers<K>) -> Result<(), IndexError> {
        let mut batch = self.begin_batch();
        let tables = indexers.make(|name| batch.root().index(name).is_some())?;
        let (root, effects) = batch.root_mut();
        tables
            .into_iter()
            .for_each(|table| root.add_index(table, effects));
        batch.commit();
        Ok(())
    }

    /// Takes an index away.
    ///
    /// # Errors
    /// When there is no index of this name.
    pub fn remove_index(&self, name: &str) -> Result<(), IndexError> {
        let mut batch = self.begin_batch();
        let (root, effects) = batch.root_mut();
        if !root.remove_index(name, effects) {
            return Err(IndexError::NotFound {
                name: name.to_owned(),
            });
        }
        batch.commit();
        Ok(())
    }

    /// The names of the indexes, in the order they were added.
    #[must_use]
    #[doc(alias = "GetIndexers")]
    pub fn index_names(&self) -> Vec<String> {
        self.snapshot()
            .index_names()
            .iter()
            .map(|name| name.to_string())
            .collect()
    }

    /// How an index stands. See [`Snapshot::index_status`].
    ///
    /// # Errors
    /// When there is no index of this name.
    pub fn index_status(&self, index: &str) -> Result<IndexStatus, IndexError> {
        self.snapshot().index_status(index)
    }

    /// The objects that have a value in a text index. See [`Snapshot::by_index`].
    ///
    /// # Errors
    /// When there is no text index of this name.
    #[doc(alias = "ByIndex")]
    pub fn by_index(&self, index: &str, value: &str) -> Result<Vec<Arc<K>>, IndexError> {
        self.snapshot().by_index(index, value)
    }

    /// The keys of the objects that have a value in a text index, sorted. See [`Snapshot::index_keys`].
    ///
    /// # Errors
    /// When there is no text index of this name.
    #[doc(alias = "IndexKeys")]
    pub fn index_keys(&self, index: &str, value: &str) -> Result<Vec<ObjectKey>, IndexError> {
        self.snapshot().index_keys(index, value)
    }

    /// The objects that share an index value with this one. See [`Snapshot::index`].
    ///
    /// # Errors
    /// When there is no text index of this name.
    #[doc(alias = "Index")]
    pub fn index(&self, index: &str, object: &K) -> Result<Vec<Arc<K>>, IndexError> {
        self.snapshot().index(index, object)
    }

    /// All values of a text index that have an object. See [`Snapshot::list_index_values`].
    #[must_use]
    #[doc(alias = "ListIndexFuncValues")]
    pub fn list_index_values(&self, index: &str) -> Vec<Arc<String>> {
        self.snapshot().list_index_values(index)
    }

    /// The objects that have a value in an index of any type. See [`Snapshot::by`].
    ///
    /// # Errors
    /// When there is no index of this name with values of this type.
    pub fn by<V, Q>(&self, index: &Index<V>, value: &Q) -> Result<Vec<Arc<K>>, IndexError>
    where
        V: Borrow<Q> + Hash + Eq + Send + Sync + 'static,
        Q: Hash + Eq + ?Sized,
    {
        Ok(cloned(self.snapshot().by(index, value)?))
    }

    /// Has this called for every index function that fails or panics, after the write was published and outside all
    /// locks. There is one such function a store; the newest counts.
    ///
    /// Without it failures are not lost: see [`index_status`](Self::index_status).
    pub fn on_index_failure(&self, report: impl Fn(&IndexFailure) + Send + Sync + 'static) {
        self.shared.set_failure_report(Arc::new(report));
    }
}
