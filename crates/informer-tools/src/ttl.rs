//! A store whose objects expire.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use informer_store::{
    DeltaSink, KeyError, KeyLike, ListEnd, Object, ObjectKey, ObjectList, ResourceVersion, Store,
};

use crate::sync::Mutex;

/// A store whose objects expire once they are older than their time to live. The time is an argument.
///
/// Expired objects are deleted when a method of this type meets them, or by [`purge`](Self::purge). An object whose age
/// equals its time to live is not expired; writing an object again resets its age.
///
/// ```
/// use std::time::{Duration, Instant};
///
/// use informer_tools::TtlStore;
/// use k8s_openapi::api::core::v1::Secret;
///
/// # let mut secret = Secret::default();
/// # secret.metadata.name = Some("token".into());
/// let tokens: TtlStore<Secret> = TtlStore::new(Duration::from_secs(60));
/// let now = Instant::now();
/// tokens.add(secret, now)?;
/// assert!(tokens.get("token", now + Duration::from_secs(60)).is_some());
/// assert!(tokens.get("token", now + Duration::from_secs(61)).is_none());
/// # Ok::<(), informer_store::KeyError>(())
/// ```
#[doc(alias = "ExpirationCache")]
#[doc(alias = "NewTTLStore")]
pub struct TtlStore<K: Object> {
    store: Store<K>,
    ttl_of: Box<TtlOf<K>>,
    /// Held by the one who writes, before the store's own lock and that of the stamps.
    turn: Mutex<()>,
    /// Changed by the one who writes, and behind the store: a stamp is never newer than its object.
    stamps: Mutex<HashMap<ObjectKey, Stamp>>,
}

type TtlOf<K> = dyn Fn(&K) -> Duration + Send + Sync;

#[derive(Clone, Copy)]
struct Stamp {
    written: Instant,
    ttl: Duration,
}

impl Stamp {
    fn is_expired(self, now: Instant) -> bool {
        let age = now.saturating_duration_since(self.written);
        !self.ttl.is_zero() && age > self.ttl
    }
}

impl<K: Object> fmt::Debug for TtlStore<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TtlStore")
            .field("store", &self.store)
            .finish_non_exhaustive()
    }
}

impl<K: Object> TtlStore<K> {
    /// Makes a store with one time to live for all objects. Zero: objects never expire.
    #[must_use]
    pub fn new(ttl: Duration) -> Self {
        Self::with_ttl_of(move |_| ttl)
    }

    /// Makes a store that asks `ttl_of` for the time to live of each object that is written. Zero: it never expires.
    ///
    /// `ttl_of` is called without a lock held; its panic passes to the caller, and nothing is written.
    #[must_use]
    #[doc(alias = "ExpirationPolicy")]
    pub fn with_ttl_of(ttl_of: impl Fn(&K) -> Duration + Send + Sync + 'static) -> Self {
        Self {
            store: Store::new(),
            ttl_of: Box::new(ttl_of),
            turn: Mutex::new(()),
            stamps: Mutex::new(HashMap::new()),
        }
    }

    /// Returns the underlying store, for snapshots, indexes and listers. It may hold expired objects: call
    /// [`purge`](Self::purge) first where that matters. Write only through the methods of this type: what is written to
    /// the store directly never expires. An index function may read the store, but not by methods of this type: they
    /// delete what is expired.
    #[must_use]
    pub const fn store(&self) -> &Store<K> {
        &self.store
    }

    /// Adds an object, or replaces the one of the same key. Returns the replaced object, unless it was expired.
    ///
    /// # Errors
    /// If the object has no name; nothing is changed.
    pub fn add(&self, object: impl Into<Arc<K>>, now: Instant) -> Result<Option<Arc<K>>, KeyError> {
        let object = object.into();
        let key = ObjectKey::try_of(&*object)?;
        let stamp = self.stamp(&object, now);
        let _turn = self.turn();
        let old = self.store.upsert(key.clone(), object);
        let old_stamp = self.stamps.lock().insert(key, stamp);
        Ok(old.filter(|_| !is_expired(old_stamp, now)))
    }

    /// The same as [`add`](Self::add).
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn update(
        &self,
        object: impl Into<Arc<K>>,
        now: Instant,
    ) -> Result<Option<Arc<K>>, KeyError> {
        self.add(object, now)
    }

    /// Deletes an object. Returns it, unless it was expired.
    pub fn delete<Q: KeyLike + ?Sized>(&self, key: &Q, now: Instant) -> Option<Arc<K>> {
        let _turn = self.turn();
        let old = self.store.delete(key);
        let stamp = self.stamps.lock().remove(key.as_text());
        old.filter(|_| !is_expired(stamp, now))
    }

    /// Replaces all objects by these, with the age zero.
    ///
    /// # Errors
    /// If an object has no name; nothing is changed.
    pub fn replace<I>(
        &self,
        objects: I,
        resource_version: ResourceVersion,
        now: Instant,
    ) -> Result<(), KeyError>
    where
        I: IntoIterator,
        I::Item: Into<Arc<K>>,
    {
        let mut list = ObjectList::new();
        let mut stamps = HashMap::new();
        for object in objects {
            let object = object.into();
            let key = ObjectKey::try_of(&*object)?;
            stamps.insert(key.clone(), self.stamp(&object, now));
            list.insert(key, object);
        }
        let turn = self.turn();
        // Replaced objects are dropped under no lock.
        let before = self.store.snapshot();
        // The caller's objects hold, whatever their versions.
        let end = ListEnd::new(resource_version).rewind(true);
        DeltaSink::replace(&self.store, list, end);
        *self.stamps.lock() = stamps;
        drop(turn);
        drop(before);
        Ok(())
    }

    /// Returns the object of a key, unless it is expired.
    #[must_use]
    pub fn get<Q: KeyLike + ?Sized>(&self, key: &Q, now: Instant) -> Option<Arc<K>> {
        if self.has_expired(key.as_text(), now) {
            self.purge_one(key, now);
            return None;
        }
        self.store.get(key)
    }

    /// Returns all objects that are not expired, and deletes the others.
    #[must_use]
    pub fn list(&self, now: Instant) -> Vec<Arc<K>> {
        self.purge(now);
        self.store.list()
    }

    /// Returns the keys of all objects that are not expired, and deletes the others.
    #[must_use]
    pub fn keys(&self, now: Instant) -> Vec<ObjectKey> {
        self.purge(now);
        self.store.keys()
    }

    /// Deletes the expired objects in one step, and returns them.
    pub fn purge(&self, now: Instant) -> Vec<Arc<K>> {
        let has_expired = |stamps: &HashMap<_, Stamp>| stamps.values().any(|s| s.is_expired(now));
        if !has_expired(&self.stamps.lock()) {
            return Vec::new();
        }
        let _turn = self.turn();
        let expired: Vec<_> = {
            let stamps = self.stamps.lock();
            let keys = self.store.keys().into_iter();
            keys.filter(|key| is_expired(stamps.get(key).copied(), now))
                .collect()
        };
        let mut transaction = self.store.transaction();
        let objects = expired.iter().filter_map(|key| transaction.remove(key));
        let objects = objects.collect();
        transaction.commit();
        let mut stamps = self.stamps.lock();
        for key in &expired {
            stamps.remove(key);
        }
        objects
    }

    /// Waits for the turn to write.
    ///
    /// # Panics
    /// Within an index function of the store, as each write does that would wait for itself.
    fn turn(&self) -> impl Sized + '_ {
        drop(self.store.transaction());
        self.turn.lock()
    }

    fn stamp(&self, object: &K, now: Instant) -> Stamp {
        Stamp {
            written: now,
            ttl: (self.ttl_of)(object),
        }
    }

    fn has_expired(&self, key: &str, now: Instant) -> bool {
        is_expired(self.stamps.lock().get(key).copied(), now)
    }

    /// Deletes one object if it is still expired.
    fn purge_one<Q: KeyLike + ?Sized>(&self, key: &Q, now: Instant) {
        let _turn = self.turn();
        // It may have been written again before this turn.
        if self.has_expired(key.as_text(), now) {
            self.store.delete(key);
            self.stamps.lock().remove(key.as_text());
        }
    }
}

fn is_expired(stamp: Option<Stamp>, now: Instant) -> bool {
    stamp.is_some_and(|stamp| stamp.is_expired(now))
}
