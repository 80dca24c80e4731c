//! The store: a handle through which one version after another is published.

mod indexes;
mod overlay;
mod reader;
mod reentry;
mod shared;
mod sink;

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

pub use self::reader::StoreReader;
pub(crate) use self::reentry::Writing;
pub(crate) use self::shared::{Shared, Turn};
use crate::key::{KeyBuffer, KeyError, KeyLike, KeyText, ObjectKey};
use crate::object::Object;
use crate::object_list::ListEnd;
use crate::root::{Plan, Root, Target};
use crate::transaction::{Listed, Precedence, Transaction};
use crate::version::ResourceVersion;

/// An indexed set of Kubernetes objects in memory.
///
/// A `Store` is a handle: clones share one set. It dereferences to its [`StoreReader`], which has the methods that
/// read; readers take a [`snapshot`](StoreReader::snapshot) and have one state of objects and indexes for as long as
/// they like. They wait for no transaction, and no writer waits for them.
///
/// Writes are made one at a time, singly or in a [`Transaction`] that is published as a whole. Index functions run
/// while a write is made: they may read the store; a write to it panics. So does a write beside a transaction of the
/// same thread, which would wait for itself for ever.
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
    reader: StoreReader<K>,
}

impl<K> Clone for Store<K> {
    fn clone(&self) -> Self {
        Self {
            reader: self.reader.clone(),
        }
    }
}

impl<K: Object> Default for Store<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K> Deref for Store<K> {
    type Target = StoreReader<K>;

    fn deref(&self) -> &StoreReader<K> {
        &self.reader
    }
}

impl<K> From<Store<K>> for StoreReader<K> {
    fn from(store: Store<K>) -> Self {
        store.reader
    }
}

impl<K: Object> fmt::Debug for Store<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store")
            .field("snapshot", &self.snapshot())
            .finish()
    }
}

impl<K: Object> Store<K> {
    /// Makes an empty store without indexes.
    #[must_use]
    #[doc(alias = "NewStore")]
    #[doc(alias = "NewIndexer")]
    pub fn new() -> Self {
        let shared = Arc::default();
        Self {
            reader: StoreReader { shared },
        }
    }

    /// Returns a handle that can only read.
    #[must_use]
    pub fn reader(&self) -> StoreReader<K> {
        self.reader.clone()
    }

    /// Adds an object, or replaces the one of the same key, which is returned.
    ///
    /// # Errors
    /// If the object has no name.
    pub fn add(&self, object: impl Into<Arc<K>>) -> Result<Option<Arc<K>>, KeyError> {
        let object = object.into();
        let mut buffer = KeyBuffer::new();
        let text = KeyText::try_of(&*object, &mut buffer)?;
        let turn = self.shared.turn();
        let target = turn.target(&text);
        Ok(self.write(turn, target, object))
    }

    /// Does the same as [`add`](Self::add).
    ///
    /// # Errors
    /// If the object has no name.
    pub fn update(&self, object: impl Into<Arc<K>>) -> Result<Option<Arc<K>>, KeyError> {
        self.add(object)
    }

    /// Adds an object under a key of the caller's choice, or replaces the one there, which is returned.
    pub fn upsert(&self, key: ObjectKey, object: Arc<K>) -> Option<Arc<K>> {
        let turn = self.shared.turn();
        let target = Root::<K>::target_in(turn.find(&key), key);
        self.write(turn, target, object)
    }

    /// Writes one object where it belongs.
    #[inline]
    fn write(&self, turn: Turn<'_, K>, target: Target, object: Arc<K>) -> Option<Arc<K>> {
        if turn.overlay.is_some() {
            let mut transaction = Transaction::in_turn(&self.shared, turn);
            let old = transaction.write(target, object);
            transaction.commit();
            return old;
        }
        let mut plan = Plan::default();
        if !turn.indexes().is_empty() {
            let _writing = Writing::to(self.shared.id);
            turn.plan(&target, &object, &mut plan);
        }
        self.shared.change(turn, |root, effects| {
            root.place(target, object, &mut plan, effects)
        })
    }

    /// Removes the object of a key and returns it.
    pub fn delete<Q: KeyLike + ?Sized>(&self, key: &Q) -> Option<Arc<K>> {
        let turn = self.shared.turn();
        turn.find(key)?;
        if turn.overlay.is_some() {
            let mut transaction = Transaction::in_turn(&self.shared, turn);
            let old = transaction.remove(key);
            transaction.commit();
            return old;
        }
        self.shared
            .change(turn, |root, effects| root.take(key, effects))
    }

    /// Replaces all objects by these, at this resource version, in one step. An object of the same UID and version as
    /// the stored one keeps its place and its `Arc`. Of several objects of one key the last is taken.
    ///
    /// # Errors
    /// If an object has no name; nothing was changed.
    pub fn replace<I>(&self, objects: I, resource_version: ResourceVersion) -> Result<(), KeyError>
    where
        I: IntoIterator,
        I::Item: Into<Arc<K>>,
    {
        let objects: Vec<Arc<K>> = objects.into_iter().map(Into::into).collect();
        let mut transaction = self.transaction();
        let mut list = Listed::with_capacity(objects.len());
        for object in objects {
            let mut buffer = KeyBuffer::new();
            let text = KeyText::try_of(&*object, &mut buffer)?;
            let (slot, key) = transaction.root().resolve(&text);
            list.push(slot, key, Some(object));
        }
        transaction.write_list(list, Precedence::Listed, &resource_version);
        transaction.end_list(&ListEnd::new(resource_version.clone()));
        transaction.set_resource_version(resource_version);
        transaction.commit();
        Ok(())
    }

    /// Begins a transaction: writes that are published together. Other writers wait until it is committed or dropped;
    /// readers do not.
    pub fn transaction(&self) -> Transaction<'_, K> {
        Transaction::new(&self.shared)
    }

    /// Sets the resource version up to which the store has everything.
    #[doc(alias = "Bookmark")]
    pub fn set_resource_version(&self, resource_version: ResourceVersion) {
        let mut transaction = self.transaction();
        transaction.set_resource_version(resource_version);
        transaction.commit();
    }

    /// Closes the store, since nothing feeds it any more: all waits for a resource version, an object or a change end
    /// with an error. Its objects can still be read, and written.
    pub fn close(&self) {
        self.shared.close();
    }
}
