//! A store whose objects expire.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::key::{KeyBuffer, KeyError, KeyLike, KeyText, ObjectKey};
use crate::list::{List, Listed, Order};
use crate::mutant;
use crate::object::Object;
use crate::store::Store;
use crate::sync::Mutex;
use crate::version::ResourceVersion;

/// A store whose objects expire once they are older than their time to live. The time is passed in by the caller.
///
/// Expired objects go away when a method of this type meets them, or by [`purge`](Self::purge). An object as old as
/// its time to live is still there; writing it again makes it new.
///
/// ```
/// use std::time::{Duration, Instant};
/// use informer_store::TtlStore;
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
    /// Changed by the holder of the right to write only. No user code runs under it.
    stamps: Mutex<HashMap<ObjectKey, Stamp>>,
    ttl_of: Box<TtlOf<K>>,
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
        let is_over = age > self.ttl || (mutant!("store-expires-too-early") && age == self.ttl);
        !self.ttl.is_zero() && is_over
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
    /// A store in which every object lives this long. Zero is for ever.
    #[must_use]
    pub fn new(ttl: Duration) -> Self {
        Self::with_ttl_of(move |_| ttl)
    }

    /// A store in which every object lives as long as `ttl_of` says when it is written. Zero is for ever.
    #[must_use]
    #[doc(alias = "ExpirationPolicy")]
    pub fn with_ttl_of(ttl_of: impl Fn(&K) -> Duration + Send + Sync + 'static) -> Self {
        let stamps = Mutex::new(HashMap::new());
        Self {
            store: Store::new(),
            stamps,
            ttl_of: Box::new(ttl_of),
        }
    }

    /// The store behind, for snapshots, indexes and listers. It may still hold expired objects: call
    /// [`purge`](Self::purge) first where that matters. Write only through the methods of this type.
    #[must_use]
    pub const fn store(&self) -> &Store<K> {
        &self.store
    }

    /// Adds an object, or replaces the one of the same key. Returns that, unless it has expired.
    ///
    /// # Errors
    /// When the object has no name.
    pub fn add(&self, object: impl Into<Arc<K>>, now: Instant) -> Result<Option<Arc<K>>, KeyError> {
        let object = object.into();
        let key = ObjectKey::try_of(&*object)?;
        let stamp = Stamp {
            written: now,
            ttl: (self.ttl_of)(&object),
        };
        let mut batch = self.store.begin_batch();
        let old = batch.upsert(key.clone(), object);
        let mut stamps = self.stamps.lock();
        let before = stamps.insert(key, stamp);
        batch.commit();
        Ok(old.filter(|_| before.is_some_and(|before| !before.is_expired(now))))
    }

    /// The same as [`add`](Self::add).
    ///
    /// # Errors
    /// When the object has no name.
    pub fn update(
        &self,
        object: impl Into<Arc<K>>,
        now: Instant,
    ) -> Result<Option<Arc<K>>, KeyError> {
        self.add(object, now)
    }

    /// Takes an object out. Returns it, unless it has expired.
    pub fn delete<Q: KeyLike + ?Sized>(&self, key: &Q, now: Instant) -> Option<Arc<K>> {
        let mut batch = self.store.begin_batch();
        let old = batch.remove(key);
        let stamp = self.stamps.lock().remove(key.as_text());
        batch.commit();
        old.filter(|_| stamp.is_some_and(|stamp| !stamp.is_expired(now)))
    }

    /// Replaces everything by these objects, all written now.
    ///
    /// # Errors
    /// When an object has no name; nothing was changed then.
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
        let dated = |object: Arc<K>| {
            let stamp = Stamp {
                written: now,
                ttl: (self.ttl_of)(&object),
            };
            (stamp, object)
        };
        let objects: Vec<_> = objects.into_iter().map(Into::into).map(dated).collect();
        let mut batch = self.store.begin_batch();
        let mut list = List::with_capacity(objects.len());
        let mut fresh = HashMap::with_capacity(objects.len());
        for (stamp, object) in objects {
            let mut buffer = KeyBuffer::new();
            let text = KeyText::try_of(&*object, &mut buffer)?;
            let (slot, key) = batch.root().resolve(&text);
            fresh.insert(key.clone(), stamp);
            list.push(slot, key, Listed::Object(object));
        }
        list.write_to(&mut batch, Order::AsListed, resource_version);
        *self.stamps.lock() = fresh;
        batch.commit();
        Ok(())
    }

    /// The object of a key, unless it has expired.
    #[must_use]
    pub fn get<Q: KeyLike + ?Sized>(&self, key: &Q, now: Instant) -> Option<Arc<K>> {
        if self.is_expired(key.as_text(), now) {
            self.purge_one(key, now);
            return None;
        }
        self.store.get(key)
    }

    /// All objects that have not expired. The others go away.
    #[must_use]
    pub fn list(&self, now: Instant) -> Vec<Arc<K>> {
        self.purge(now);
        self.store.list()
    }

    /// The keys of all objects that have not expired. The others go away.
    #[must_use]
    pub fn keys(&self, now: Instant) -> Vec<ObjectKey> {
        self.purge(now);
        self.store.keys()
    }

    /// Takes the expired objects out, and returns them.
    pub fn purge(&self, now: Instant) -> Vec<Arc<K>> {
        if !self
            .stamps
            .lock()
            .values()
            .any(|stamp| stamp.is_expired(now))
        {
            return Vec::new();
        }
        let mut batch = self.store.begin_batch();
        let mut stamps = self.stamps.lock();
        let keys = batch.root().slots().map(|slot| &slot.key);
        let is_expired = |key: &&ObjectKey| stamps.get(*key).is_some_and(|s| s.is_expired(now));
        let expired: Vec<ObjectKey> = keys.filter(is_expired).cloned().collect();
        let objects = expired.iter().filter_map(|key| {
            stamps.remove(key);
            batch.remove(key)
        });
        let objects = objects.collect();
        batch.commit();
        objects
    }

    fn is_expired(&self, key: &str, now: Instant) -> bool {
        self.stamps
            .lock()
            .get(key)
            .is_some_and(|stamp| stamp.is_expired(now))
    }

    /// Takes one object out if it is still expired.
    fn purge_one<Q: KeyLike + ?Sized>(&self, key: &Q, now: Instant) {
        let mut batch = self.store.begin_batch();
        // Looked at again, now that nobody else writes.
        if self.is_expired(key.as_text(), now) {
            batch.remove(key);
            self.stamps.lock().remove(key.as_text());
            batch.commit();
        }
    }
}
