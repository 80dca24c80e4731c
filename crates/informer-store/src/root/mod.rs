//! One version of a store's state. Cloned in constant time; changed in the parts that are written.
//!
//! # Invariants
//! - Slots are dense: `0..len` have one object each. A removal moves the last object to the gap.
//! - The directory and every index refer to these slots.
//! - Order depends on the sequence of writes alone, never on hashes.

mod write;

use std::sync::Arc;

pub(crate) use self::write::Plan;
use crate::digest::DigestCell;
use crate::directory::Directory;
use crate::flags::Flags;
use crate::index::Table;
use crate::key::{KeyLike, KeyText, ObjectKey, short_hash};
use crate::object::Object;
use crate::overlay::Overlay;
use crate::pages::{Iter, PagedVec};
use crate::version::ResourceVersion;

pub(crate) struct Root<K> {
    directory: Directory,
    slots: PagedVec<Option<Slot<K>>, 8>,
    indexes: Vec<Box<dyn Table<K>>>,
    /// The slots of stale objects.
    stale: Flags,
    /// The overlaid objects; `None` if there is none.
    pub(crate) overlay: Option<triomphe::Arc<Overlay<K>>>,
    pub(crate) resource_version: Option<ResourceVersion>,
    /// Counts the writes that were published.
    pub(crate) revision: u64,
    /// Counts the changes of anything but the resource version.
    pub(crate) contents: u64,
}

/// One object and its key.
pub(crate) struct Slot<K> {
    pub(crate) key: ObjectKey,
    pub(crate) object: Arc<K>,
    /// Of this object: readers of several versions fill the cell of a page that these share.
    pub(crate) labels: DigestCell,
}

impl<K> Clone for Slot<K> {
    fn clone(&self) -> Self {
        Self {
            key: self.key.clone(),
            object: Arc::clone(&self.object),
            labels: self.labels.clone(),
        }
    }
}

/// The slots of a version, in order.
pub(crate) struct Slots<'a, K>(Iter<'a, Option<Slot<K>>, 8>);

impl<'a, K> Iterator for Slots<'a, K> {
    type Item = &'a Slot<K>;

    #[inline]
    fn next(&mut self) -> Option<&'a Slot<K>> {
        self.0.next()?.as_ref()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }

    #[inline]
    fn fold<A, F: FnMut(A, &'a Slot<K>) -> A>(self, value: A, mut add: F) -> A {
        self.0.fold(value, |value, slot| match slot {
            Some(slot) => add(value, slot),
            None => value,
        })
    }
}

impl<K> ExactSizeIterator for Slots<'_, K> {}

/// Where an object is to be written.
pub(crate) enum Target {
    /// Into this slot, under the key that it has.
    Old(u32),
    /// Into a new slot, under this key.
    New(ObjectKey),
}

impl Target {
    const fn old(&self) -> Option<u32> {
        match self {
            Self::Old(slot) => Some(*slot),
            Self::New(_) => None,
        }
    }
}

impl<K: Object> Clone for Root<K> {
    fn clone(&self) -> Self {
        Self {
            directory: self.directory.clone(),
            slots: self.slots.clone(),
            indexes: self
                .indexes
                .iter()
                .map(|index| index.boxed_clone())
                .collect(),
            stale: self.stale.clone(),
            overlay: self.overlay.clone(),
            resource_version: self.resource_version.clone(),
            revision: self.revision,
            contents: self.contents,
        }
    }
}

impl<K> Default for Root<K> {
    fn default() -> Self {
        Self {
            directory: Directory::default(),
            slots: PagedVec::default(),
            indexes: Vec::new(),
            stale: Flags::default(),
            overlay: None,
            resource_version: None,
            revision: 0,
            contents: 0,
        }
    }
}

impl<K: Object> Root<K> {
    pub(crate) const fn len(&self) -> usize {
        self.slots.len() as usize
    }

    /// Returns the slot of a key, and its number.
    #[inline]
    fn find_slot<Q: KeyLike + ?Sized>(&self, key: &Q) -> Option<(u32, &Slot<K>)> {
        let text = key.as_text();
        self.directory.find_map(short_hash(key), |number| {
            let slot = self.slot(number)?;
            is_same_text(slot.key.as_str(), text).then_some((number, slot))
        })
    }

    #[inline]
    pub(crate) fn find<Q: KeyLike + ?Sized>(&self, key: &Q) -> Option<u32> {
        self.find_slot(key).map(|(number, _)| number)
    }

    /// Returns the object of a key, overlaid or not.
    #[inline]
    pub(crate) fn get<Q: KeyLike + ?Sized>(&self, key: &Q) -> Option<&Arc<K>> {
        self.find_slot(key).map(|(_, slot)| &slot.object)
    }

    #[inline]
    pub(crate) fn object(&self, slot: u32) -> Option<&Arc<K>> {
        Some(&self.slot(slot)?.object)
    }

    pub(crate) fn key(&self, slot: u32) -> Option<&ObjectKey> {
        Some(&self.slot(slot)?.key)
    }

    #[inline]
    pub(crate) fn slot(&self, number: u32) -> Option<&Slot<K>> {
        self.slots.peek(number)?.as_ref()
    }

    /// Returns all slots, in order.
    pub(crate) fn slots(&self) -> Slots<'_, K> {
        Slots(self.slots.iter())
    }

    /// Returns the slot of a key, if there is one, and the key: the stored one, if any.
    pub(crate) fn resolve(&self, text: &KeyText<'_>) -> (Option<u32>, ObjectKey) {
        match self.find_slot(text) {
            Some((number, slot)) => (Some(number), slot.key.clone()),
            None => (None, text.to_key()),
        }
    }

    /// Returns where to write the object of a key. Counts no reference to a stored key, which would delay the reads
    /// that follow.
    pub(crate) fn target(&self, text: &KeyText<'_>) -> Target {
        self.find(text)
            .map_or_else(|| Target::New(text.to_key()), Target::Old)
    }

    /// Returns the same for a key whose slot was looked up.
    pub(crate) fn target_in(slot: Option<u32>, key: ObjectKey) -> Target {
        slot.map_or(Target::New(key), Target::Old)
    }

    /// Returns the key of a target; `None` only if its slot is not of this version.
    pub(crate) fn target_key<'a>(&'a self, target: &'a Target) -> Option<&'a ObjectKey> {
        match target {
            Target::Old(slot) => self.key(*slot),
            Target::New(key) => Some(key),
        }
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
}

/// Returns `true` if the texts are equal; at once if they are one, as for a key that was read from the store.
#[inline]
fn is_same_text(a: &str, b: &str) -> bool {
    std::ptr::eq(a, b) || a == b
}
