//! A store that hands out its whole state after every change.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use informer_store::{
    Deletion, DeltaSink, KeyError, KeyLike, ListEnd, Object, ObjectKey, ObjectList,
    ResourceVersion, Snapshot, Store,
};

use crate::sync::{AtomicUsize, Mutex};

/// A store that passes its whole state to a function after every change, for consumers that need "this is everything"
/// instead of "this changed". Reading passes nothing.
///
/// The states that the function receives never go back in time, and it receives the last one. Changes made while it
/// runs, by other threads or by itself, are passed together when it returns. Clones share one store, and a reflector can
/// feed it.
///
/// A panic of the function passes to the caller who wrote. The change is stored, and the next change passes the state
/// again.
///
/// ```
/// use informer_store::Snapshot;
/// use informer_tools::UndeltaStore;
/// use k8s_openapi::api::core::v1::ConfigMap;
/// # use std::sync::{Arc, Mutex};
///
/// # let sizes = Arc::new(Mutex::new(Vec::new()));
/// # let seen = sizes.clone();
/// let store = UndeltaStore::new(move |all: Snapshot<ConfigMap>| {
///     // Rewrite a file, say.
/// #   seen.lock().unwrap().push(all.len());
/// });
/// let mut map = ConfigMap::default();
/// map.metadata.name = Some("settings".into());
/// store.add(map)?;
/// store.delete("settings");
/// # assert_eq!(*sizes.lock().unwrap(), [1, 0]);
/// # Ok::<(), informer_store::KeyError>(())
/// ```
pub struct UndeltaStore<K: Object> {
    store: Store<K>,
    pusher: Arc<Pusher<K>>,
}

struct Pusher<K> {
    /// Held while the function runs, but nobody waits for it.
    push: Mutex<Box<dyn FnMut(Snapshot<K>) + Send>>,
    /// The number of changes that were not passed on.
    pending: AtomicUsize,
}

impl<K: Object> Clone for UndeltaStore<K> {
    fn clone(&self) -> Self {
        Self {
            store: self.store.clone(),
            pusher: Arc::clone(&self.pusher),
        }
    }
}

impl<K: Object> fmt::Debug for UndeltaStore<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UndeltaStore")
            .field("store", &self.store)
            .finish_non_exhaustive()
    }
}

impl<K: Object> Pusher<K> {
    fn push(&self, store: &Store<K>) {
        self.pending.fetch_add(1, Ordering::SeqCst);
        // Who holds the function looks for pending changes again after releasing it.
        while self.pending.load(Ordering::SeqCst) > 0 {
            let Some(mut push) = self.push.try_lock() else {
                return;
            };
            if self.pending.swap(0, Ordering::SeqCst) > 0 {
                push(store.snapshot());
            }
        }
    }
}

impl<K: Object> UndeltaStore<K> {
    /// Makes an empty store that passes its state to `push`.
    #[must_use]
    #[doc(alias = "NewUndeltaStore")]
    pub fn new(push: impl FnMut(Snapshot<K>) + Send + 'static) -> Self {
        let pusher = Pusher {
            push: Mutex::new(Box::new(push)),
            pending: AtomicUsize::new(0),
        };
        Self {
            store: Store::new(),
            pusher: Arc::new(pusher),
        }
    }

    /// Returns the underlying store, to read from. What is written to it directly is not passed to the function.
    #[must_use]
    pub const fn store(&self) -> &Store<K> {
        &self.store
    }

    fn push(&self) {
        self.pusher.push(&self.store);
    }

    /// Adds an object, or replaces the one of the same key, which is returned.
    ///
    /// # Errors
    /// If the object has no name; nothing is changed, and nothing passed to the function.
    pub fn add(&self, object: impl Into<Arc<K>>) -> Result<Option<Arc<K>>, KeyError> {
        let old = self.store.add(object)?;
        self.push();
        Ok(old)
    }

    /// The same as [`add`](Self::add).
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn update(&self, object: impl Into<Arc<K>>) -> Result<Option<Arc<K>>, KeyError> {
        self.add(object)
    }

    /// Deletes the object of a key, and returns it. The state is passed to the function even if there was none.
    pub fn delete<Q: KeyLike + ?Sized>(&self, key: &Q) -> Option<Arc<K>> {
        let old = self.store.delete(key);
        self.push();
        old
    }

    /// Replaces all objects by these, in one step.
    ///
    /// # Errors
    /// If an object has no name; nothing is changed, and nothing passed to the function.
    pub fn replace<I>(&self, objects: I, resource_version: ResourceVersion) -> Result<(), KeyError>
    where
        I: IntoIterator,
        I::Item: Into<Arc<K>>,
    {
        self.store.replace(objects, resource_version)?;
        self.push();
        Ok(())
    }
}

impl<K: Object> DeltaSink<K> for UndeltaStore<K> {
    fn newest(&self, key: &ObjectKey) -> Option<(ObjectKey, Arc<K>)> {
        self.store.newest(key)
    }

    fn add(&self, key: ObjectKey, object: Arc<K>) {
        DeltaSink::add(&self.store, key, object);
        self.push();
    }

    fn update(&self, key: ObjectKey, object: Arc<K>) {
        DeltaSink::update(&self.store, key, object);
        self.push();
    }

    fn delete(&self, key: ObjectKey, deletion: Deletion<K>) {
        DeltaSink::delete(&self.store, key, deletion);
        self.push();
    }

    fn undecodable(&self, key: ObjectKey, resource_version: Option<ResourceVersion>) {
        self.store.undecodable(key, resource_version);
        self.push();
    }

    /// Moves the resource version on. No object changed, so nothing is passed to the function.
    fn bookmark(&self, resource_version: ResourceVersion) {
        self.store.bookmark(resource_version);
    }

    /// Passes the state to the function again.
    fn resync(&self) {
        self.push();
    }

    fn replace(&self, list: ObjectList<K>, end: ListEnd) {
        DeltaSink::replace(&self.store, list, end);
        self.push();
    }
}
