//! A list on its way to a sink.

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;

use crate::key::ObjectKey;
use crate::key_queue::{Item, KeyQueue};
use crate::version::ResourceVersion;

/// A list that is being received, to be handed to [`DeltaSink::replace`](crate::DeltaSink::replace) once it is
/// complete.
///
/// It holds each key once, in the order of the first insertion. A streaming list mixes changes into the initial state:
/// insert and remove as they are received. It costs a key and a pointer for each object.
///
/// ```
/// use informer_store::{DeltaSink, ListEnd, ObjectKey, ObjectList, Store};
/// use k8s_openapi::api::core::v1::ConfigMap;
///
/// let mut list = ObjectList::new();
/// list.insert(ObjectKey::namespaced("shop", "cart"), ConfigMap::default().into());
/// list.insert_undecodable(ObjectKey::namespaced("shop", "odd"));
/// assert_eq!(list.len(), 2);
///
/// let store: Store<ConfigMap> = Store::new();
/// DeltaSink::replace(&store, list, ListEnd::new(7.into()));
/// assert!(store.contains("shop/cart"));
/// ```
#[doc(alias = "PodList")]
pub struct ObjectList<K> {
    items: KeyQueue<Option<Arc<K>>, Infallible>,
}

impl<K> Default for ObjectList<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K> fmt::Debug for ObjectList<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.iter().map(|(key, _)| key))
            .finish()
    }
}

impl<K> ObjectList<K> {
    /// Makes an empty list.
    #[must_use]
    pub fn new() -> Self {
        Self {
            items: KeyQueue::new(),
        }
    }

    /// Inserts an object, in the place of what the list has of this key.
    pub fn insert(&mut self, key: ObjectKey, object: Arc<K>) {
        self.set(key, Some(object));
    }

    /// Inserts an object that cannot be decoded: it exists, so that the sink keeps what it has of it, as stale.
    pub fn insert_undecodable(&mut self, key: ObjectKey) {
        self.set(key, None);
    }

    fn set(&mut self, key: ObjectKey, object: Option<Arc<K>>) {
        self.items
            .push_back_or(key, object, |listed, object| *listed = object);
    }

    /// Removes a key. Returns `true` if the list had it.
    pub fn remove(&mut self, key: &ObjectKey) -> bool {
        self.items.remove(key).is_some()
    }

    /// Returns `true` if the list has this key, undecodable or not.
    #[must_use]
    pub fn contains(&self, key: &ObjectKey) -> bool {
        self.items.contains(key)
    }

    /// Returns the number of keys.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Returns `true` if the list has no key.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Returns keys and objects in the order of the list; `None` for an undecodable object.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&ObjectKey, Option<&Arc<K>>)> {
        self.items
            .iter()
            .map(|(key, object)| (key, object.as_ref()))
    }

    /// Makes a queue of what `change` makes of each item.
    #[doc(hidden)]
    pub fn filter_map<V, B>(
        self,
        change: impl FnMut(&ObjectKey, Option<Arc<K>>) -> Option<V>,
    ) -> KeyQueue<V, B> {
        self.items.filter_map(change)
    }

    /// Takes the list apart.
    #[doc(hidden)]
    pub fn into_items(self) -> impl DoubleEndedIterator<Item = (ObjectKey, Option<Arc<K>>)> {
        self.items.into_items().map(|item| match item {
            Item::Entry(key, object) => (key, object),
            Item::Barrier(never) => match never {},
        })
    }
}

impl<K> Extend<(ObjectKey, Arc<K>)> for ObjectList<K> {
    fn extend<I: IntoIterator<Item = (ObjectKey, Arc<K>)>>(&mut self, objects: I) {
        for (key, object) in objects {
            self.insert(key, object);
        }
    }
}

impl<K> FromIterator<(ObjectKey, Arc<K>)> for ObjectList<K> {
    fn from_iter<I: IntoIterator<Item = (ObjectKey, Arc<K>)>>(objects: I) -> Self {
        let mut list = Self::new();
        list.extend(objects);
        list
    }
}

/// The end of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListEnd {
    /// The resource version of the list.
    pub resource_version: ResourceVersion,
    /// `true` if the server's resource versions went back (a restored backup): the list holds even where it is older
    /// than what the sink has, and equal versions do not mean equal objects.
    pub rewind: bool,
}

impl ListEnd {
    /// Makes the end of an ordinary list of this resource version.
    #[must_use]
    pub const fn new(resource_version: ResourceVersion) -> Self {
        Self {
            resource_version,
            rewind: false,
        }
    }

    /// Sets whether the list is a rewind.
    #[must_use]
    pub const fn rewind(mut self, rewind: bool) -> Self {
        self.rewind = rewind;
        self
    }
}
