//! A whole list on its way into a store, and the store as a sink of changes.

use std::sync::Arc;

use crate::batch::Batch;
use crate::directory::Directory;
use crate::key::{ObjectKey, short_hash};
use crate::list::{List, Listed, Order};
use crate::mutant;
use crate::object::Object;
use crate::overlay::is_older;
use crate::sink::{Deletion, DeltaSink, Known, Replace, ReplaceEnd};
use crate::store::Store;
use crate::version::ResourceVersion;

/// A whole list on its way into a [`Store`]: see [`Replace`]. It costs a key and a pointer for each object.
pub struct Replacement<K: Object> {
    store: Store<K>,
    /// In the order of the list; `None` where a later entry of the same key took over.
    entries: Vec<Option<(ObjectKey, Listed<K>)>>,
    by_key: Directory,
}

impl<K: Object> std::fmt::Debug for Replacement<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Replacement({} entries)", self.entries.len())
    }
}

impl<K: Object> Store<K> {
    pub(crate) fn begin_replacement(&self) -> Replacement<K> {
        Replacement {
            store: self.clone(),
            entries: Vec::new(),
            by_key: Directory::default(),
        }
    }
}

impl<K: Object> Replacement<K> {
    fn position(&self, key: &ObjectKey) -> Option<u32> {
        self.by_key.find(
            short_hash(key),
            |at| matches!(self.entries.get(at as usize), Some(Some((known, _))) if known == key),
        )
    }

    fn set(&mut self, key: ObjectKey, listed: Listed<K>) {
        self.remove(&key);
        let hash_of = |at: u32| {
            let entry = self.entries.get(at as usize).and_then(Option::as_ref);
            entry.map_or(0, |(key, _)| short_hash(key))
        };
        self.by_key
            .insert(short_hash(&key), self.entries.len() as u32, hash_of);
        self.entries.push(Some((key, listed)));
    }

    fn apply(self, resource_version: ResourceVersion, order: Order) {
        let store = self.store.clone();
        let mut batch = store.begin_batch();
        let is_known = |known: &ResourceVersion| resource_version.is_older_than(known);
        // Everything that an older list says has happened before what the store knows.
        let is_stale = batch.resource_version().is_some_and(is_known);
        if order == Order::Forward && is_stale && !mutant!("store-older-list-wins") {
            return;
        }
        let mut list = List::with_capacity(self.entries.len());
        for (key, listed) in self.entries.into_iter().flatten() {
            list.push(batch.root().find(&key), key, listed);
        }
        list.write_to(&mut batch, order, resource_version);
        batch.commit();
    }
}

impl<K: Object> Replace<K> for Replacement<K> {
    fn insert(&mut self, key: ObjectKey, object: Arc<K>) {
        self.set(key, Listed::Object(object));
    }

    fn keep(&mut self, key: ObjectKey) {
        self.set(key, Listed::Kept);
    }

    fn set_aside(&mut self, key: ObjectKey) {
        self.set(key, Listed::SetAside);
    }

    fn remove(&mut self, key: &ObjectKey) {
        let Some(at) = self.position(key) else { return };
        self.by_key.remove(short_hash(key), at);
        self.entries[at as usize] = None;
    }

    fn finish(self, end: ReplaceEnd) {
        let order = if end.rewind {
            Order::Rewind
        } else {
            Order::Forward
        };
        self.apply(end.resource_version, order);
    }
}

/// A reflector can feed a store without a queue between them. Older copies never replace newer ones, but for a list
/// that says the server went back in time.
impl<K: Object> DeltaSink<K> for Store<K> {
    type Replace = Replacement<K>;

    fn known(&self, key: &ObjectKey) -> Option<Known> {
        self.shared
            .root()
            .base(key)
            .map(|object| Known::of(&**object))
    }

    fn add(&self, key: ObjectKey, object: Arc<K>) {
        let mut batch = self.begin_batch();
        // A watch that starts at no version first tells of what is there, in no order.
        let is_anywhere = batch
            .resource_version()
            .is_none_or(ResourceVersion::is_unset);
        let is_anywhere = is_anywhere && !mutant!("store-version-runs-ahead");
        let resource_version = object.resource_version().filter(|_| !is_anywhere);
        write_if_newer(&mut batch, key, object);
        advance(&mut batch, resource_version);
        batch.commit();
    }

    fn update(&self, key: ObjectKey, object: Arc<K>) {
        let mut batch = self.begin_batch();
        let resource_version = object.resource_version();
        write_if_newer(&mut batch, key, object);
        advance(&mut batch, resource_version);
        batch.commit();
    }

    fn delete(&self, key: ObjectKey, deletion: Deletion<K>) {
        let mut batch = self.begin_batch();
        if !crate::mutant!("store-lose-deletions") {
            batch.delete(&key, &deletion);
        }
        if !crate::mutant!("store-forget-version-of-deletions") {
            advance(&mut batch, deletion.resource_version);
        }
        batch.commit();
    }

    fn set_aside(&self, key: ObjectKey, resource_version: Option<ResourceVersion>) {
        let mut batch = self.begin_batch();
        batch.mark_stale(&key);
        advance(&mut batch, resource_version);
        batch.commit();
    }

    fn bookmark(&self, resource_version: ResourceVersion) {
        let mut batch = self.begin_batch();
        advance(&mut batch, Some(resource_version));
        batch.commit();
    }

    fn resync(&self) {}

    fn begin_replace(&self) -> Replacement<K> {
        self.begin_replacement()
    }
}

/// Writes what a watch told of, unless that is known or outdated.
fn write_if_newer<K: Object>(batch: &mut Batch<'_, K>, key: ObjectKey, object: Arc<K>) {
    let is_outdated = match batch.get(&key) {
        Some(stored) => {
            let same = Known::of(&**stored).is_same_copy(&Known::of(&*object));
            same || is_older(&*object, &**stored)
        }
        // What is older than all that is here has been deleted since.
        None => object
            .resource_version()
            .zip(batch.resource_version())
            .is_some_and(|(own, known)| own.is_older_than(known)),
    };
    if !is_outdated || mutant!("store-older-copy-wins") {
        batch.upsert(key, object);
    }
}

/// Moves the resource version on, never back.
fn advance<K: Object>(batch: &mut Batch<'_, K>, resource_version: Option<ResourceVersion>) {
    let Some(new) = resource_version else { return };
    if !batch
        .resource_version()
        .is_some_and(|known| new.is_older_than(known))
    {
        batch.set_resource_version(new);
    }
}
