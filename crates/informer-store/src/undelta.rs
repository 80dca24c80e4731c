//! A store that hands out its whole state after every change.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::key::{KeyError, KeyLike, ObjectKey};
use crate::object::Object;
use crate::replacement::Replacement;
use crate::sink::{Deletion, DeltaSink, Known, Replace, ReplaceEnd};
use crate::snapshot::Snapshot;
use crate::store::Store;
use crate::sync::{AtomicUsize, Mutex};
use crate::version::ResourceVersion;

/// A store that gives its whole state to a function after every change: for consumers that want to be told "this is
/// everything" and not "this changed". Reading gives nothing to the function.
///
/// What the function is given never goes back in time, and the last state is given. Changes that come while the
/// function is at work, from other threads or from itself, are given together when it is done. A handle can be cloned,
/// and a reflector can feed it.
///
/// ```
/// use informer_store::UndeltaStore;
/// use k8s_openapi::api::core::v1::ConfigMap;
/// # use std::sync::{Arc, Mutex};
///
/// # let sizes = Arc::new(Mutex::new(Vec::new()));
/// # let seen = sizes.clone();
/// let store = UndeltaStore::new(move |all: informer_store::Snapshot<ConfigMap>| {
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
    /// Changes that the function has not been given.
    due: AtomicUsize,
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
        self.due.fetch_add(1, Ordering::SeqCst);
        // Whoever holds the function looks for changes that are due after letting go of it.
        while self.due.load(Ordering::SeqCst) > 0 {
            let Some(mut push) = self.push.try_lock() else {
                return;
            };
            if self.due.swap(0, Ordering::SeqCst) > 0 {
                push(store.snapshot());
            }
        }
    }
}

impl<K: Object> UndeltaStore<K> {
    /// An empty store that gives its state to `push`.
    #[must_use]
    #[doc(alias = "NewUndeltaStore")]
    pub fn new(push: impl FnMut(Snapshot<K>) + Send + 'static) -> Self {
        let pusher = Pusher {
            push: Mutex::new(Box::new(push)),
            due: AtomicUsize::new(0),
        };
        Self {
            store: Store::new(),
            pusher: Arc::new(pusher),
        }
    }

    /// The store behind, to read from. What is written to it directly is not given to the function.
    #[must_use]
    pub const fn store(&self) -> &Store<K> {
        &self.store
    }

    fn then_push<R>(&self, result: R) -> R {
        self.pusher.push(&self.store);
        result
    }

    /// Adds an object, or replaces the one of the same key, which is returned.
    ///
    /// # Errors
    /// When the object has no name; the function is given nothing then.
    pub fn add(&self, object: impl Into<Arc<K>>) -> Result<Option<Arc<K>>, KeyError> {
        let old = self.store.add(object)?;
        Ok(self.then_push(old))
    }

    /// The same as [`add`](Self::add).
    ///
    /// # Errors
    /// When the object has no name; the function is given nothing then.
    pub fn update(&self, object: impl Into<Arc<K>>) -> Result<Option<Arc<K>>, KeyError> {
        self.add(object)
    }

    /// Takes the object of a key out. The function is given the state even if there was none.
    pub fn delete<Q: KeyLike + ?Sized>(&self, key: &Q) -> Option<Arc<K>> {
        let old = self.store.delete(key);
        self.then_push(old)
    }

    /// Replaces everything by these objects, in one step.
    ///
    /// # Errors
    /// When an object has no name; nothing was changed, and the function is given nothing.
    pub fn replace<I>(&self, objects: I, resource_version: ResourceVersion) -> Result<(), KeyError>
    where
        I: IntoIterator,
        I::Item: Into<Arc<K>>,
    {
        self.store.replace(objects, resource_version)?;
        self.then_push(());
        Ok(())
    }
}

impl<K: Object> DeltaSink<K> for UndeltaStore<K> {
    type Replace = UndeltaReplacement<K>;

    fn known(&self, key: &ObjectKey) -> Option<Known> {
        self.store.known(key)
    }

    fn add(&self, key: ObjectKey, object: Arc<K>) {
        DeltaSink::add(&self.store, key, object);
        self.then_push(());
    }

    fn update(&self, key: ObjectKey, object: Arc<K>) {
        DeltaSink::update(&self.store, key, object);
        self.then_push(());
    }

    fn delete(&self, key: ObjectKey, deletion: Deletion<K>) {
        DeltaSink::delete(&self.store, key, deletion);
        self.then_push(());
    }

    fn set_aside(&self, key: ObjectKey, resource_version: Option<ResourceVersion>) {
        self.store.set_aside(key, resource_version);
        self.then_push(());
    }

    /// Moves the resource version on; no object changed, so the function is given nothing.
    fn bookmark(&self, resource_version: ResourceVersion) {
        self.store.bookmark(resource_version);
    }

    fn resync(&self) {
        self.then_push(());
    }

    fn begin_replace(&self) -> UndeltaReplacement<K> {
        UndeltaReplacement {
            undelta: self.clone(),
            replacement: self.store.begin_replace(),
        }
    }
}

/// A whole list on its way into an [`UndeltaStore`].
#[derive(Debug)]
pub struct UndeltaReplacement<K: Object> {
    undelta: UndeltaStore<K>,
    replacement: Replacement<K>,
}

impl<K: Object> Replace<K> for UndeltaReplacement<K> {
    fn insert(&mut self, key: ObjectKey, object: Arc<K>) {
        self.replacement.insert(key, object);
    }

    fn keep(&mut self, key: ObjectKey) {
        self.replacement.keep(key);
    }

    fn set_aside(&mut self, key: ObjectKey) {
        self.replacement.set_aside(key);
    }

    fn remove(&mut self, key: &ObjectKey) {
        self.replacement.remove(key);
    }

    fn finish(self, end: ReplaceEnd) {
        self.replacement.finish(end);
        self.undelta.then_push(());
    }
}
