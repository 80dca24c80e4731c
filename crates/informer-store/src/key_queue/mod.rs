//! The queue under every other: entries by key in their order, and barriers between them.
//!
//! # Invariants
//! - `index` has each key once, with the position of its newest entry.
//! - Neither the first nor the last slot is a hole, and there are at most as many holes as items, and a chunk more.

mod chunks;
mod order;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use self::chunks::{CHUNK, Chunks};
use crate::key::ObjectKey;

/// Entries in their order, each found by its key, with barriers between them.
///
/// It holds any number of entries of a key and finds the newest. To hold one entry for each key, look for it with
/// [`get_mut`](Self::get_mut) first and change it. A barrier is a place in the order, to which its owner gives a
/// meaning: all items before it were popped once it is.
///
/// Pushing and popping take constant time and copy nothing in a long queue. Popping frees memory.
#[doc(hidden)]
pub struct KeyQueue<V, B = Infallible> {
    slots: Chunks<Option<Item<V, B>>>,
    index: HashTable<u32>,
    barriers: VecDeque<u32>,
    /// The slots without an item.
    holes: usize,
    /// The number of items that an emptied queue keeps room for.
    kept: usize,
}

/// The number of items that an emptied queue keeps room for by default.
const KEPT: usize = 64;

/// What a [`KeyQueue`] holds.
#[doc(hidden)]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item<V, B> {
    /// A key and what is queued of it.
    Entry(ObjectKey, V),
    /// A place in the order.
    Barrier(B),
}

impl<V, B> Default for KeyQueue<V, B> {
    fn default() -> Self {
        Self::keeping(KEPT)
    }
}

impl<V: fmt::Debug, B: fmt::Debug> fmt::Debug for KeyQueue<V, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.items()).finish()
    }
}

impl<V, B> KeyQueue<V, B> {
    /// Makes an empty queue, without memory.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes an empty queue that, whenever it is emptied, keeps its memory for about this many items (1,024 at most)
    /// and gives the rest back.
    #[must_use]
    pub fn keeping(items: usize) -> Self {
        let kept = items.min(CHUNK as usize);
        Self {
            slots: Chunks::keeping(kept),
            index: HashTable::new(),
            barriers: VecDeque::new(),
            holes: 0,
            kept,
        }
    }

    /// Returns the number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len() - self.holes - self.barriers.len()
    }

    /// Returns `true` if there is neither an entry nor a barrier.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.slots.len() == 0
    }

    /// Returns the number of different keys.
    #[must_use]
    pub fn keys(&self) -> usize {
        self.index.len()
    }

    /// Makes room in the index for this many more keys.
    pub fn reserve(&mut self, keys: usize) {
        self.index.reserve(keys, hasher(&self.slots));
    }

    // ----- by key -----

    #[inline]
    fn find(&self, key: &ObjectKey) -> Option<u32> {
        if self.index.is_empty() {
            return None;
        }
        let is_it = |&position: &u32| is_at(&self.slots, position, key);
        self.index.find(key.cached_hash(), is_it).copied()
    }

    /// Returns `true` if there is an entry of the key.
    #[must_use]
    pub fn contains(&self, key: &ObjectKey) -> bool {
        self.find(key).is_some()
    }

    /// Returns the newest entry of a key.
    #[must_use]
    pub fn get(&self, key: &ObjectKey) -> Option<&V> {
        Some(self.get_key_value(key)?.1)
    }

    /// Returns the newest entry of a key, and the key as it was pushed.
    #[must_use]
    pub fn get_key_value(&self, key: &ObjectKey) -> Option<(&ObjectKey, &V)> {
        as_entry(self.slots.get(self.find(key)?)?)
    }

    /// Returns the newest entry of a key, to be changed.
    pub fn get_mut(&mut self, key: &ObjectKey) -> Option<&mut V> {
        let position = self.find(key)?;
        match self.slots.get_mut(position)? {
            Some(Item::Entry(_, value)) => Some(value),
            _ => None,
        }
    }

    /// Removes the newest entry of a key. Takes time in proportion to the length of the queue if keys have several
    /// entries.
    pub fn remove(&mut self, key: &ObjectKey) -> Option<V> {
        let position = self.find(key)?;
        let item = self.slots.get_mut(position)?.take();
        self.holes += 1;
        let Some(Item::Entry(key, value)) = item else {
            return None;
        };
        self.forget(&key, position);
        self.trim();
        Some(value)
    }

    // ----- upkeep -----

    #[inline]
    fn index_entry(&mut self, key: &ObjectKey) -> Entry<'_, u32> {
        let slots = &self.slots;
        let is_it = |&position: &u32| is_at(slots, position, key);
        self.index.entry(key.cached_hash(), is_it, hasher(slots))
    }

    /// Removes a position from the index, if it is there: a newer entry of the key may be.
    #[inline]
    fn unindex(&mut self, key: &ObjectKey, position: u32) {
        remove_position(&mut self.index, key, position);
    }

    /// Removes an entry that was the newest of its key from the index, in favour of the one before it.
    fn forget(&mut self, key: &ObjectKey, position: u32) {
        self.unindex(key, position);
        if self.len() > self.index.len() {
            self.index_previous(key);
        }
    }

    #[cold]
    fn index_previous(&mut self, key: &ObjectKey) {
        let is_it =
            |slot: &Option<Item<V, B>>| as_entry(slot).is_some_and(|(other, _)| other == key);
        let mut back = self.slots.iter().rev();
        let Some(distance) = back.position(is_it) else {
            return;
        };
        let position = self.slots.end().wrapping_sub(distance as u32 + 1);
        let hasher = hasher(&self.slots);
        self.index
            .insert_unique(key.cached_hash(), position, hasher);
    }

    /// Removes the holes at the ends, those between them if they are many, and the index's memory if it is much.
    #[inline]
    fn trim(&mut self) {
        if self.holes > 0 {
            self.trim_holes();
        }
        // Buckets, as a capacity is less where entries were removed.
        if self.index.num_buckets() > 8 * self.index.len() + 2 * self.kept + 4 {
            self.shrink();
        }
    }

    fn trim_holes(&mut self) {
        while matches!(self.slots.front(), Some(None)) {
            self.slots.pop_front();
            self.holes -= 1;
        }
        while matches!(self.slots.back(), Some(None)) {
            self.slots.pop_back();
            self.holes -= 1;
        }
        if self.holes > self.slots.len() / 2 + CHUNK as usize {
            let sparse = self.take();
            self.push_all(sparse);
        }
    }

    #[cold]
    fn shrink(&mut self) {
        let room = self.index.len() * 2;
        self.index.shrink_to(room, hasher(&self.slots));
        if self.is_empty() {
            self.barriers = VecDeque::new();
        }
    }
}

#[inline]
fn remove_position(index: &mut HashTable<u32>, key: &ObjectKey, position: u32) {
    if let Ok(found) = index.find_entry(key.cached_hash(), |&at| at == position) {
        found.remove();
    }
}

/// Gives the hash of the key at a position.
fn hasher<V, B>(slots: &Chunks<Option<Item<V, B>>>) -> impl Fn(&u32) -> u64 {
    |&position| {
        let entry = slots.get(position).and_then(as_entry);
        entry.map_or(0, |(key, _)| key.cached_hash())
    }
}

#[inline]
fn is_at<V, B>(slots: &Chunks<Option<Item<V, B>>>, position: u32, key: &ObjectKey) -> bool {
    matches!(slots.get(position), Some(Some(Item::Entry(other, _))) if other == key)
}

const fn as_entry<V, B>(slot: &Option<Item<V, B>>) -> Option<(&ObjectKey, &V)> {
    match slot {
        Some(Item::Entry(key, value)) => Some((key, value)),
        _ => None,
    }
}
