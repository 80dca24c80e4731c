//! The store: a handle through which one version after another is published.
//!
//! # Lock order
//! `writer`, then `root`. `writer` is held by one write or batch at a time and while index functions run; `root` for
//! a clone, a swap, or one change in place. No user code runs under `root`.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use event_listener::Event;
use parking_lot::{Mutex, MutexGuard, RwLock};

use crate::batch::Batch;
use crate::index::{Index, IndexError, IndexOutcome, IndexStatus, IndexValues, Indexers};
use crate::key::{KeyError, KeyLike, ObjectKey};
use crate::object::Object;
use crate::root::Root;
use crate::sink::Replace;
use crate::snapshot::Snapshot;
use crate::version::ResourceVersion;

/// An indexed set of Kubernetes objects in memory.
///
/// A `Store` is a handle: clones share one set. Readers take a [`snapshot`](Self::snapshot) and see one state of
/// objects and indexes for as long as they like; they wait for no writer, and no writer waits for them. The reading
/// methods of the store itself are short forms for a snapshot that is used once.
///
/// Writes come one at a time, singly or in a [`Batch`] that is published as a whole. Index functions run while a write
/// is made; they may read the store but must not write to it.
///
/// ```
/// use informer_store::{IndexValues, Store};
/// use k8s_openapi::api::core::v1::Pod;
///
/// let store: Store<Pod> = Store::new();
/// store.add_namespace_index()?;
///
/// let mut pod = Pod::default();
/// pod.metadata.name = Some("cart-1".into());
/// pod.metadata.namespace = Some("shop".into());
/// store.add(pod)?;
///
/// assert!(store.contains("shop/cart-1"));
/// assert_eq!(store.by_index("namespace", "shop")?.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(alias = "Indexer")]
#[doc(alias = "ThreadSafeStore")]
pub struct Store<K> {
    pub(crate) shared: Arc<Shared<K>>,
}

pub(crate) struct Shared<K> {
    root: RwLock<triomphe::Arc<Root<K>>>,
    writer: Mutex<Writer>,
    /// Told of every publication.
    pub(crate) published: Event,
    closed: AtomicBool,
}

/// What belongs to whoever writes at the moment.
#[derive(Default)]
pub(crate) struct Writer {}

impl<K> Clone for Store<K> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<K: Object> Default for Store<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Object> fmt::Debug for Store<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store")
            .field("snapshot", &self.snapshot())
            .finish()
    }
}

impl<K: Object> Shared<K> {
    pub(crate) fn lock_writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock()
    }

    pub(crate) fn root(&self) -> triomphe::Arc<Root<K>> {
        triomphe::Arc::clone(&self.root.read())
    }

    /// Puts a new version in the place of the old one. The writer's lock is held by the caller.
    pub(crate) fn publish(&self, _writer: &mut Writer, mut root: Root<K>) {
        root.revision += 1;
        let root = triomphe::Arc::new(root);
        let old = std::mem::replace(&mut *self.root.write(), root);
        self.published.notify(usize::MAX);
        // Freed here, after the lock.
        drop(old);
    }

    /// Makes one change: in place if nobody else holds this version, beside it if somebody does.
    fn change<R>(&self, writer: &mut Writer, change: impl FnOnce(&mut Root<K>) -> R) -> R {
        let mut published = self.root.write();
        if let Some(root) = triomphe::Arc::get_mut(&mut published) {
            let result = change(root);
            root.revision += 1;
            drop(published);
            self.published.notify(usize::MAX);
            return result;
        }
        let mut root = Root::clone(&published);
        drop(published);
        let result = change(&mut root);
        self.publish(writer, root);
        result
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }
}

impl<K: Object> Store<K> {
    /// An empty store without indexes.
    #[must_use]
    #[doc(alias = "NewStore")]
    #[doc(alias = "NewIndexer")]
    pub fn new() -> Self {
        Self {
            shared: Arc::new(Shared {
                root: RwLock::new(triomphe::Arc::new(Root::default())),
                writer: Mutex::new(Writer::default()),
                published: Event::new(),
                closed: AtomicBool::new(false),
            }),
        }
    }

    /// The present state, in constant time.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot<K> {
        Snapshot::new(self.shared.root())
    }

    // ----- writes -----

    /// Adds an object, or replaces the one of the same key, which is returned.
    ///
    /// # Errors
    /// When the object has no name.
    pub fn add(&self, object: impl Into<Arc<K>>) -> Result<Option<Arc<K>>, KeyError> {
        let object = object.into();
        Ok(self.upsert(ObjectKey::try_of(&*object)?, object))
    }

    /// The same as [`add`](Self::add).
    ///
    /// # Errors
    /// When the object has no name.
    pub fn update(&self, object: impl Into<Arc<K>>) -> Result<Option<Arc<K>>, KeyError> {
        self.add(object)
    }

    /// Adds an object under a key of the caller's choice, or replaces the one there, which is returned.
    pub fn upsert(&self, key: ObjectKey, object: Arc<K>) -> Option<Arc<K>> {
        let mut writer = self.shared.lock_writer();
        let plan = self.shared.root().plan(&key, &object);
        self.shared
            .change(&mut writer, |root| root.put(key, object, plan))
    }

    /// Takes the object of a key out.
    pub fn delete<Q: KeyLike + ?Sized>(&self, key: &Q) -> Option<Arc<K>> {
        let mut writer = self.shared.lock_writer();
        if !self.contains(key) {
            return None;
        }
        self.shared.change(&mut writer, |root| root.remove(key))
    }

    /// Replaces everything by these objects, at this resource version, in one step. Objects equal to those stored (in
    /// UID and resource version, or the same allocation) keep their place and their `Arc`. Of several objects of one
    /// key the last is taken.
    ///
    /// # Errors
    /// When an object has no name; nothing was changed then.
    pub fn replace<I>(&self, objects: I, resource_version: ResourceVersion) -> Result<(), KeyError>
    where
        I: IntoIterator,
        I::Item: Into<Arc<K>>,
    {
        let mut replacement = self.begin_replacement();
        for object in objects {
            let object = object.into();
            replacement.insert(ObjectKey::try_of(&*object)?, object);
        }
        replacement.commit(Some(resource_version));
        Ok(())
    }

    /// Starts a batch of writes that are published together. Other writers wait until it is committed or dropped;
    /// readers do not.
    #[doc(alias = "Transaction")]
    pub fn begin_batch(&self) -> Batch<'_, K> {
        Batch::new(&self.shared)
    }

    /// Sets the resource version up to which the store has everything.
    #[doc(alias = "Bookmark")]
    pub fn set_resource_version(&self, resource_version: ResourceVersion) {
        let mut writer = self.shared.lock_writer();
        self.shared.change(&mut writer, |root| {
            root.resource_version = Some(resource_version)
        });
    }

    // ----- reads -----

    /// The object of a key.
    #[must_use]
    #[doc(alias = "GetByKey")]
    pub fn get<Q: KeyLike + ?Sized>(&self, key: &Q) -> Option<Arc<K>> {
        self.shared.root.read().get(key).cloned()
    }

    /// True if there is an object of this key.
    #[must_use]
    pub fn contains<Q: KeyLike + ?Sized>(&self, key: &Q) -> bool {
        self.shared.root.read().find(key).is_some()
    }

    /// How many objects there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shared.root.read().len()
    }

    /// True if there is no object.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All objects.
    #[must_use]
    pub fn list(&self) -> Vec<Arc<K>> {
        self.snapshot().list()
    }

    /// All keys.
    #[must_use]
    #[doc(alias = "ListKeys")]
    pub fn keys(&self) -> Vec<ObjectKey> {
        self.snapshot().keys().cloned().collect()
    }

    /// The resource version up to which the store has everything; `None` before the first.
    #[must_use]
    #[doc(alias = "LastStoreSyncResourceVersion")]
    pub fn resource_version(&self) -> Option<ResourceVersion> {
        self.shared.root.read().resource_version.clone()
    }

    /// How many writes were published. It only grows, and is no resource version.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.shared.root.read().revision
    }

    // ----- indexes -----

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
        V: std::hash::Hash + Eq + Send + Sync + 'static,
        F: Fn(&K, &mut IndexValues<'_, V>) -> R + Send + Sync + 'static,
        R: IndexOutcome,
    {
        self.add_indexers(&Indexers::new().typed_index::<V, F, R>(name, function))?;
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
        let mut writer = self.shared.lock_writer();
        let mut root = Root::clone(&*self.shared.root());
        let tables = indexers.make(|name| root.index(name).is_some())?;
        for table in tables {
            root.add_index(table);
        }
        self.shared.publish(&mut writer, root);
        Ok(())
    }

    /// Takes an index away.
    ///
    /// # Errors
    /// When there is no index of this name.
    pub fn remove_index(&self, name: &str) -> Result<(), IndexError> {
        let mut writer = self.shared.lock_writer();
        let mut root = Root::clone(&*self.shared.root());
        if !root.remove_index(name) {
            return Err(IndexError::NotFound {
                name: name.to_owned(),
            });
        }
        self.shared.publish(&mut writer, root);
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
        V: std::borrow::Borrow<Q> + std::hash::Hash + Eq + Send + Sync + 'static,
        Q: std::hash::Hash + Eq + ?Sized,
    {
        Ok(self.snapshot().by(index, value)?.cloned().collect())
    }

    /// Says that nothing will feed the store any more: whoever waits for a resource version or a change is woken with
    /// an error. What it holds can still be read, and written.
    pub fn close(&self) {
        self.shared.closed.store(true, Ordering::Release);
        self.shared.published.notify(usize::MAX);
    }
}
