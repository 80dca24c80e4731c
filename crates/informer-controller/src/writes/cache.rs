//! The caches in which writes are to appear: those of a controller's informers, whatever their types.

use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use informer_client::Write;
use informer_shared::SharedInformer;
use informer_store::{Expectation, Object, ObjectKey, ObjectVersion, WaitError};

/// How often a cache is looked at though the object has not changed: its resource version may have passed the write.
const LOOK_PERIOD: Duration = Duration::from_millis(200);

/// The cache of one informer.
pub(crate) trait Cache: Send + Sync {
    /// Returns `true` if objects of this resource and namespace are in the cache, selectors aside.
    fn covers(&self, write: &Write) -> bool;

    /// Returns `true` if the cache is known to have what is expected.
    fn has(&self, expected: &Expectation) -> bool;

    /// Returns the version of the object that was received under a key.
    fn received(&self, key: &ObjectKey) -> Option<ObjectVersion>;

    /// Waits until the cache has what is expected; for ever, if its informer stops before.
    fn until(&self, expected: Expectation) -> BoxFuture<'static, ()>;
}

impl<K: Object> Cache for SharedInformer<K> {
    fn covers(&self, write: &Write) -> bool {
        let namespace = write.namespace.as_deref();
        self.collection()
            .is_some_and(|own| own.covers(&write.resource, namespace))
    }

    fn has(&self, expected: &Expectation) -> bool {
        match expected.is_met_by(&self.store().snapshot()) {
            Ok(is_met) => is_met,
            Err(WaitError::NotComparable { .. }) => {
                // A deletion of an unknown version: it is enough that the object is not there.
                let by_itself = expected.clone().own_version_only();
                by_itself.is_met_by(&self.store().snapshot()) == Ok(true)
            }
            Err(_) => false,
        }
    }

    fn received(&self, key: &ObjectKey) -> Option<ObjectVersion> {
        let snapshot = self.store().snapshot();
        snapshot
            .observed(key)
            .map(|object| ObjectVersion::of(&**object))
    }

    fn until(&self, expected: Expectation) -> BoxFuture<'static, ()> {
        let informer = self.clone();
        async move {
            let Some(key) = expected.key() else {
                return;
            };
            let mut changes = informer.store().watch_key(key);
            // Looked at after the watch of changes began, so that none is missed.
            while !informer.has(&expected) {
                match tokio::time::timeout(LOOK_PERIOD, changes.changed()).await {
                    Ok(Ok(())) | Err(_) => {}
                    Ok(Err(_)) => std::future::pending().await,
                }
            }
        }
        .boxed()
    }
}
