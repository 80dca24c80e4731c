//! The store: a handle through which one version after another is published.

mod indexes;
mod shared;

use std::fmt;
use std::sync::Arc;

pub(crate) use shared::{Shared, Turn};

use crate::batch::Batch;
use crate::key::{KeyBuffer, KeyError, KeyLike, KeyText, ObjectKey};
use crate::list::{List, Listed, Order};
use crate::object::Object;
use crate::root::{Plan, Root, Target};
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

impl<K: Object> Store<K> {
    /// An empty store without indexes.
    #[must_use]
    #[doc(alias = "NewStore")]
    #[doc(alias = "NewIndexer")]
    pub fn new() -> Self {
        Self {
            shared: Arc::default(),
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
        let mut buffer = KeyBuffer::new();
        let text = KeyText::try_of(&*object, &mut buffer)?;
        let turn = self.shared.turn();
        let target = turn.target(&text);
        Ok(self.write(turn, target, object))
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
        let turn = self.shared.turn();
        let target = Root::<K>::target_in(turn.find(&key), key);
        self.write(turn, target, object)
    }

    /// Writes one object where it belongs.
    #[inline]
    fn write(&self, turn: Turn<'_, K>, target: Target, object: Arc<K>) -> Option<Arc<K>> {
        if turn.overlay.is_some() {
            let mut batch = Batch::in_turn(&self.shared, turn);
            let old = batch.write(target, object);
            batch.commit();
            return old;
        }
        let mut plan = Plan::default();
        turn.plan(&target, &object, &mut plan);
        self.shared.change(turn, |root, effects| {
            root.place(target, object, &mut plan, effects)
        })
    }

    /// Takes the object of a key out.
    pub fn delete<Q: KeyLike + ?Sized>(&self, key: &Q) -> Option<Arc<K>> {
        let turn = self.shared.turn();
        turn.find(key)?;
        if turn.overlay.is_some() {
            let mut batch = Batch::in_turn(&self.shared, turn);
            let old = batch.remove(key);
            batch.commit();
            return old;
        }
        self.shared
            .change(turn, |root, effects| root.take(key, effects))
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
        let objects: Vec<Arc<K>> = objects.into_iter().map(Into::into).collect();
        let mut batch = self.begin_batch();
        let mut list = List::with_capacity(objects.len());
        for object in objects {
            let mut buffer = KeyBuffer::new();
            let text = KeyText::try_of(&*object, &mut buffer)?;
            let (slot, key) = batch.root().resolve(&text);
            list.push(slot, key, Listed::Object(object));
        }
        list.write_to(&mut batch, Order::AsListed, resource_version);
        batch.commit();
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
        let mut batch = self.begin_batch();
        batch.set_resource_version(resource_version);
        batch.commit();
    }

    // ----- reads -----

    /// The object of a key.
    #[must_use]
    #[doc(alias = "GetByKey")]
    pub fn get<Q: KeyLike + ?Sized>(&self, key: &Q) -> Option<Arc<K>> {
        self.shared.read().get(key).cloned()
    }

    /// True if there is an object of this key.
    #[must_use]
    pub fn contains<Q: KeyLike + ?Sized>(&self, key: &Q) -> bool {
        self.shared.read().find(key).is_some()
    }

    /// How many objects there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shared.read().len()
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
        self.shared.read().resource_version.clone()
    }

    /// How many writes were published. It only grows, and is no resource version.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.shared.read().revision
    }

    /// Says that nothing will feed the store any more: whoever waits for a resource version or a change is woken with
    /// an error. What it holds can still be read, and written.
    pub fn close(&self) {
        self.shared.close();
    }
}
