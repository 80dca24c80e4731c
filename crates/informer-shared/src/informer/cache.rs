//! The cache of an informer: reading it, waiting for it, indexing it, overlaying it.

use std::sync::Arc;
use std::time::Instant;

use informer_reflector::__private::call_hook;
use informer_store::{
    Expectation, IndexError, IndexFailure, Indexers, KeyError, Lister, Object, Overlaid,
    ResourceVersion, StoreReader,
};

use super::SharedInformer;
use crate::wait::{Wait, WaitError};

impl<K: Object> SharedInformer<K> {
    /// Returns the cache, to be read. It stays readable after the informer has stopped, and keeps nothing running.
    #[must_use]
    #[doc(alias = "GetStore")]
    #[doc(alias = "GetIndexer")]
    pub fn store(&self) -> &StoreReader<K> {
        &self.shared().store
    }

    /// Returns a lister, which reads the cache by namespace, name and selectors. It keeps nothing running: ask
    /// [`StoreReader::is_closed`] whether the cache is still fed.
    #[must_use]
    pub fn lister(&self) -> Lister<K> {
        Lister::new(self.store().clone(), self.name())
    }

    /// Waits until the cache's resource version is this one or a newer one.
    ///
    /// What the server sent before that version is cached then, where resource versions are one rising history. Where they
    /// are not (an aggregated server that gathers several stores), it promises nothing: wait for the object by
    /// [`wait_for`](Self::wait_for) and [`Expectation::own_version_only`].
    ///
    /// # Errors
    /// [`WaitError::Never`] at once if resource versions cannot be compared, or when the informer stops;
    /// [`WaitError::Deadline`].
    pub fn wait_until(&self, resource_version: ResourceVersion) -> Wait {
        self.wait_for(Expectation::version(resource_version))
    }

    /// Waits until the cache has what is expected: an object in the version that was written or a newer one, or a
    /// deletion.
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # use informer_shared::SharedInformer;
    /// # use informer_store::Expectation;
    /// # use k8s_openapi::api::core::v1::Pod;
    /// /// Returns once the cache has the pod that the server returned for a write.
    /// async fn cached(informer: &SharedInformer<Pod>, written: &Pod) -> Result<(), Box<dyn std::error::Error>> {
    ///     let expected = Expectation::written(written)?;
    ///     informer.wait_for(expected).deadline(Duration::from_secs(5)).await?;
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// [`WaitError::Never`] at once if resource versions cannot be compared, or when the informer stops;
    /// [`WaitError::Deadline`].
    pub fn wait_for(&self, expected: Expectation) -> Wait {
        let store = self.store().clone();
        let (watched, late) = (self.watched(), expected.clone());
        let unmet = |name: &str, expected: &Expectation| -> Arc<str> {
            Arc::from(format!("cache of {name} has not reached {expected}"))
        };
        let name = Arc::clone(&watched.name);
        let outcome = async move {
            let reached = store.wait_for(&expected).await;
            reached.map_err(|source| WaitError::Never {
                unmet: unmet(&name, &expected),
                source,
            })
        };
        Wait::new(outcome, move |deadline| WaitError::Deadline {
            unmet: unmet(&watched.name, &late),
            deadline,
            reason: watched.not_synced(),
        })
    }

    /// Returns the resource version up to which everything that the server sent was received, applied or not.
    #[must_use]
    #[doc(alias = "LastSyncResourceVersion")]
    pub fn last_sync_resource_version(&self) -> Option<ResourceVersion> {
        let reflector = self.shared().watched.reflector.borrow();
        reflector.resource_version.clone()
    }

    /// Adds indexes to the cache, all or none, at any time. Cached objects are indexed before this returns. Of a typed or
    /// ordered index, [`Index::named`](informer_store::Index::named) gives the handle to read it.
    ///
    /// # Errors
    /// If there is an index of one of the names, or a name occurs twice.
    #[doc(alias = "AddIndexers")]
    pub fn add_indexers(&self, indexers: &Indexers<K>) -> Result<(), IndexError> {
        self.shared().store.add_indexers(indexers)
    }

    /// Removes an index.
    ///
    /// # Errors
    /// If there is no index of this name.
    pub fn remove_index(&self, name: &str) -> Result<(), IndexError> {
        self.shared().store.remove_index(name)
    }

    /// Sets the function that is called for every index function that fails or panics. A later call replaces it. A panic in
    /// it is caught and logged.
    pub fn on_index_failure(&self, report: impl Fn(&IndexFailure) + Send + Sync + 'static) {
        let report = move |failure: &IndexFailure| {
            call_hook("report of index failures", || report(failure));
        };
        self.shared().store.on_index_failure(report);
    }

    /// Overlays the cache with an object that was written: readers and indexes have it at once, until the server's is
    /// received. Handlers do not receive it. See [`Store::overlay`](informer_store::Store::overlay).
    ///
    /// # Errors
    /// If the object has no name.
    #[doc(alias = "MutationCache")]
    #[doc(alias = "Mutation")]
    pub fn overlay(&self, object: impl Into<Arc<K>>) -> Result<Overlaid, KeyError> {
        self.shared().store.overlay(object, Instant::now())
    }

    /// Removes the overlays made before this moment. Returns how many.
    pub fn expire_overlay(&self, before: Instant) -> usize {
        self.shared().store.expire_overlay(before)
    }

    /// Sets how many objects may be overlaid, and removes the oldest beyond that; 0 refuses every overlay. The default is
    /// 100.
    pub fn set_overlay_capacity(&self, capacity: usize) {
        self.shared().store.set_overlay_capacity(capacity);
    }
}
