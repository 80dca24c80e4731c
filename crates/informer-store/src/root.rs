//! One version of everything a store holds. Cloned in constant time; changed in the parts that are written.
//!
//! # Invariants
//! - Slots are dense: `0..len` hold one object each. A removal moves the last object to the gap.
//! - The directory, the keys, the objects, their digests and every index speak of the same slots.
//! - Order depends on the sequence of writes alone, never on hashes.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::digest::DigestCell;
use crate::directory::Directory;
use crate::effects::Effects;
use crate::flags::Flags;
use crate::index::{Prepared, Table};
use crate::key::{KeyLike, ObjectKey, short_hash};
use crate::object::Object;
use crate::overlay::Overlay;
use crate::pages::PagedVec;
use crate::version::ResourceVersion;
use crate::watch::Tag;

pub(crate) struct Root<K> {
    directory: Directory,
    keys: PagedVec<ObjectKey, 32>,
    objects: PagedVec<Arc<K>, 8>,
    digests: PagedVec<DigestCell, 64>,
    indexes: Vec<Box<dyn Table<K>>>,
    /// Slots whose object is known to be out of date, since a newer copy could not be decoded.
    stale: Flags,
    /// Objects added by hand; `None` if there is none.
    pub(crate) overlay: Option<triomphe::Arc<Overlay<K>>>,
    pub(crate) resource_version: Option<ResourceVersion>,
    /// Counts the writes that were published.
    pub(crate) revision: u64,
}

/// What is to be said of an object before it is written: all that takes user code.
pub(crate) struct Plan {
    slot: Option<u32>,
    indexes: SmallVec<[Prepared; 2]>,
}

impl<K: Object> Clone for Root<K> {
    fn clone(&self) -> Self {
        Self {
            directory: self.directory.clone(),
            keys: self.keys.clone(),
            objects: self.objects.clone(),
            digests: self.digests.clone(),
            indexes: self
                .indexes
                .iter()
                .map(|index| index.boxed_clone())
                .collect(),
            stale: self.stale.clone(),
            overlay: self.overlay.clone(),
            resource_version: self.resource_version.clone(),
            revision: self.revision,
        }
    }
}

impl<K> Default for Root<K> {
    fn default() -> Self {
        Self {
            directory: Directory::default(),
            keys: PagedVec::default(),
            objects: PagedVec::default(),
            digests: PagedVec::default(),
            indexes: Vec::new(),
            stale: Flags::default(),
            overlay: None,
            resource_version: None,
            revision: 0,
        }
    }
}

impl<K: Object> Root<K> {
    pub(crate) const fn len(&self) -> usize {
        self.objects.len() as usize
    }

    #[inline]
    pub(crate) fn find<Q: KeyLike + ?Sized>(&self, key: &Q) -> Option<u32> {
        let text = key.as_text();
        self.directory.find(short_hash(key), |slot| {
            self.keys
                .get(slot)
                .is_some_and(|known| known.as_str() == text)
        })
    }

    /// The object that readers see.
    #[inline]
    pub(crate) fn get<Q: KeyLike + ?Sized>(&self, key: &Q) -> Option<&Arc<K>> {
        self.objects.get(self.find(key)?)
    }

    #[inline]
    pub(crate) fn object(&self, slot: u32) -> Option<&Arc<K>> {
        self.objects.get(slot)
    }

    pub(crate) fn key(&self, slot: u32) -> Option<&ObjectKey> {
        self.keys.get(slot)
    }

    pub(crate) fn digest(&self, slot: u32) -> Option<&DigestCell> {
        self.digests.get(slot)
    }

    pub(crate) const fn keys(&self) -> &PagedVec<ObjectKey, 32> {
        &self.keys
    }

    pub(crate) const fn objects(&self) -> &PagedVec<Arc<K>, 8> {
        &self.objects
    }

    pub(crate) const fn digests(&self) -> &PagedVec<DigestCell, 64> {
        &self.digests
    }

    pub(crate) const fn stale(&self) -> &Flags {
        &self.stale
    }

    pub(crate) fn indexes(&self) -> &[Box<dyn Table<K>>] {
        &self.indexes
    }

    pub(crate) fn index(&self, name: &str) -> Option<&dyn Table<K>> {
        self.indexes
            .iter()
            .find(|index| &**index.name() == name)
            .map(|index| &**index)
    }

    /// Asks the index functions for all that a write needs. Runs user code, changes nothing.
    pub(crate) fn plan(&self, key: &ObjectKey, object: &K) -> Plan {
        let slot = self.find(key);
        let indexes = self
            .indexes
            .iter()
            .map(|index| index.prepare(slot, key, object))
            .collect();
        Plan { slot, indexes }
    }

    /// Shows an object as planned on this version, and returns the one it replaces.
    pub(crate) fn place(
        &mut self,
        key: ObjectKey,
        object: Arc<K>,
        plan: Plan,
        effects: &mut Effects<K>,
    ) -> Option<Arc<K>> {
        let slot = plan.slot.unwrap_or(self.objects.len());
        if effects.changes.is_some() {
            let old = plan.slot.and_then(|slot| self.objects.get(slot));
            effects.change(&key, old, Some(&object));
        }
        self.touch(&key, slot, effects);
        for (index, prepared) in self.indexes.iter_mut().zip(plan.indexes) {
            if let Some(failure) = prepared.failure() {
                effects.fail(failure);
            }
            index.apply(slot, prepared);
        }
        self.touch_values(slot, effects);
        if plan.slot.is_none() {
            let hash_of = |slot| self.keys.get(slot).map_or(0, short_hash);
            self.directory.insert(short_hash(&key), slot, hash_of);
            self.keys.push(key);
            self.objects.push(object);
            self.digests.push(DigestCell::default());
            return None;
        }
        self.stale.set(slot, false);
        if self.digests.get(slot).is_some_and(DigestCell::is_known)
            && let Some(digest) = self.digests.get_mut(slot)
        {
            *digest = DigestCell::default();
        }
        self.objects
            .get_mut(slot)
            .map(|old| std::mem::replace(old, object))
    }

    /// Takes out the object that readers see of a key. The last object moves to its slot.
    pub(crate) fn take<Q: KeyLike + ?Sized>(
        &mut self,
        key: &Q,
        effects: &mut Effects<K>,
    ) -> Option<Arc<K>> {
        let slot = self.find(key)?;
        let last = self.objects.len().checked_sub(1)?;
        self.touch_values(slot, effects);
        for index in &mut self.indexes {
            index.swap_remove(slot);
        }
        self.stale.swap_remove(slot, last);
        let key = self.keys.swap_remove(slot)?;
        let object = self.objects.swap_remove(slot)?;
        self.digests.swap_remove(slot);
        self.directory.remove(short_hash(&key), slot);
        if let Some(moved) = self.keys.get(slot) {
            self.directory.renumber(short_hash(moved), last, slot);
        }
        effects.touch(Tag::key(&key));
        effects.change(&key, Some(&object), None);
        Some(object)
    }

    fn touch(&self, key: &ObjectKey, slot: u32, effects: &mut Effects<K>) {
        if effects.watched() {
            effects.touch(Tag::key(key));
            self.touch_values(slot, effects);
        }
    }

    fn touch_values(&self, slot: u32, effects: &mut Effects<K>) {
        if effects.watched() {
            for index in &self.indexes {
                index.touch(slot, &mut |tag| effects.touch(tag));
            }
        }
    }

    /// Says whether an object is out of date. False if it is not here.
    pub(crate) fn mark_stale<Q: KeyLike + ?Sized>(&mut self, key: &Q, is_stale: bool) -> bool {
        let Some(slot) = self.find(key) else {
            return false;
        };
        self.stale.set(slot, is_stale);
        true
    }

    /// Takes all objects out; the indexes stay, empty.
    pub(crate) fn clear(&mut self, effects: &mut Effects<K>) {
        for (key, object) in self.keys.iter().zip(self.objects.iter()) {
            effects.change(key, Some(object), None);
        }
        effects.touch_everything();
        let indexes = self.indexes.iter().map(|index| index.emptied()).collect();
        *self = Self {
            indexes,
            resource_version: self.resource_version.take(),
            revision: self.revision,
            ..Self::default()
        };
    }

    /// Adds an empty index and fills it. Runs user code.
    pub(crate) fn add_index(&mut self, mut index: Box<dyn Table<K>>, effects: &mut Effects<K>) {
        for (slot, (key, object)) in (0..).zip(self.keys.iter().zip(self.objects.iter())) {
            let prepared = index.prepare(None, key, object);
            if let Some(failure) = prepared.failure() {
                effects.fail(failure);
            }
            index.apply(slot, prepared);
        }
        self.indexes.push(index);
        effects.touch_everything();
    }

    /// Takes an index out. False if there is none of this name.
    pub(crate) fn remove_index(&mut self, name: &str, effects: &mut Effects<K>) -> bool {
        let before = self.indexes.len();
        self.indexes.retain(|index| &**index.name() != name);
        effects.touch_everything();
        self.indexes.len() < before
    }
}
