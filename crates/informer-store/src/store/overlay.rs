//! Overlays of a store: objects written to the server before the watch sends them.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use crate::key::{KeyError, ObjectKey};
use crate::object::Object;
use crate::overlay::Overlaid;
use crate::store::Store;

impl<K: Object> Store<K> {
    /// Overlays an object that was written to the server, so that a controller reads its own writes before they are
    /// received. Readers and indexes have it at once; what a transaction returns as the old object, and so the events
    /// of handlers, are decided without it.
    ///
    /// The overlay ends when the same version or a newer one of the object is received, or its deletion, or a list that
    /// lacks it and is not older; and once the store has reached the object's resource version, which the bookmarks of
    /// a watch bring about within a minute or so. Where the server's versions cannot be compared, an object that is
    /// never received (the watch does not select it) stays: call [`expire_overlay`](Self::expire_overlay) from time to
    /// time. Where they are no single rising history, an object of a lower version than the store's is refused as
    /// outdated. The store keeps the newest 100 overlays, or as many as
    /// [`set_overlay_capacity`](Self::set_overlay_capacity) allows.
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    /// use informer_store::{Overlaid, Store};
    /// use k8s_openapi::api::core::v1::ConfigMap;
    ///
    /// # let mut created = ConfigMap::default();
    /// # created.metadata.name = Some("settings".into());
    /// let store: Store<ConfigMap> = Store::new();
    /// // `created` is the server's response to a create.
    /// let now = Instant::now();
    /// assert_eq!(store.overlay(created, now)?, Overlaid::Visible);
    /// assert!(store.contains("settings"));
    /// // It was never received: after five minutes it is removed.
    /// let later = now + Duration::from_secs(301);
    /// assert_eq!(store.expire_overlay(later - Duration::from_secs(300)), 1);
    /// assert!(!store.contains("settings"));
    /// # Ok::<(), informer_store::KeyError>(())
    /// ```
    ///
    /// # Errors
    /// If the object has no name.
    #[doc(alias = "MutationCache")]
    #[doc(alias = "Mutation")]
    pub fn overlay(&self, object: impl Into<Arc<K>>, now: Instant) -> Result<Overlaid, KeyError> {
        let object = object.into();
        Ok(self.overlay_as(ObjectKey::try_of(&*object)?, object, now))
    }

    /// Overlays an object under a key of the caller's choice. See [`overlay`](Self::overlay).
    pub fn overlay_as(&self, key: ObjectKey, object: Arc<K>, now: Instant) -> Overlaid {
        let mut transaction = self.transaction();
        let overlaid = transaction.overlay(key, object, now);
        transaction.commit();
        overlaid
    }

    /// Removes the overlays made before this moment. Returns how many. No informer calls it: whoever overlays knows how
    /// long to wait for the server.
    pub fn expire_overlay(&self, before: Instant) -> usize {
        let mut transaction = self.transaction();
        let count = transaction.expire_overlays(before);
        transaction.commit();
        count
    }

    /// Sets how many objects may be overlaid, and removes the oldest beyond that. With 0 every overlay is
    /// [refused](Overlaid::Refused).
    pub fn set_overlay_capacity(&self, capacity: usize) {
        self.shared.overlay_capacity.store(capacity, Relaxed);
        let mut transaction = self.transaction();
        transaction.remove_surplus_overlays();
        transaction.commit();
    }
}
