//! The queue as a sequence: both ends, barriers, and all of it.

use std::collections::VecDeque;

use hashbrown::hash_table::Entry;

use super::{Item, KeyQueue, as_entry, remove_position};
use crate::key::ObjectKey;

impl<V, B> KeyQueue<V, B> {
    /// Adds an entry at the end. It is the newest of its key.
    #[inline]
    pub fn push_back(&mut self, key: ObjectKey, value: V) {
        let position = self.slots.end();
        match self.index_entry(&key) {
            Entry::Occupied(mut entry) => *entry.get_mut() = position,
            Entry::Vacant(entry) => drop(entry.insert(position)),
        }
        self.slots.push_back(Some(Item::Entry(key, value)));
    }

    /// Changes the newest entry of a key by a value, and returns the key; or adds the value at the end if there is no
    /// entry.
    #[inline]
    pub fn push_back_or(
        &mut self,
        key: ObjectKey,
        value: V,
        change: impl FnOnce(&mut V, V),
    ) -> Option<ObjectKey> {
        let end = self.slots.end();
        let position = match self.index_entry(&key) {
            Entry::Occupied(entry) => *entry.get(),
            Entry::Vacant(entry) => {
                entry.insert(end);
                self.slots.push_back(Some(Item::Entry(key, value)));
                return None;
            }
        };
        if let Some(Some(Item::Entry(_, newest))) = self.slots.get_mut(position) {
            change(newest, value);
        }
        Some(key)
    }

    /// Adds an entry at the front. It is the newest of its key only if there is no other.
    pub fn push_front(&mut self, key: ObjectKey, value: V) {
        let position = self.slots.first().wrapping_sub(1);
        if let Entry::Vacant(entry) = self.index_entry(&key) {
            entry.insert(position);
        }
        self.slots.push_front(Some(Item::Entry(key, value)));
    }

    /// Adds a barrier at the end.
    pub fn push_barrier(&mut self, barrier: B) {
        self.barriers.push_back(self.slots.end());
        self.slots.push_back(Some(Item::Barrier(barrier)));
    }

    /// Adds a barrier at the front.
    pub fn push_barrier_front(&mut self, barrier: B) {
        self.slots.push_front(Some(Item::Barrier(barrier)));
        self.barriers.push_front(self.slots.first());
    }

    /// Returns the number of barriers.
    #[must_use]
    pub fn barriers(&self) -> usize {
        self.barriers.len()
    }

    /// Returns the last barrier.
    #[must_use]
    pub fn last_barrier(&self) -> Option<&B> {
        match self.slots.get(*self.barriers.back()?)? {
            Some(Item::Barrier(barrier)) => Some(barrier),
            _ => None,
        }
    }

    /// Returns the last barrier, to be changed.
    pub fn last_barrier_mut(&mut self) -> Option<&mut B> {
        match self.slots.get_mut(*self.barriers.back()?)? {
            Some(Item::Barrier(barrier)) => Some(barrier),
            _ => None,
        }
    }

    /// Removes the last barrier.
    pub fn take_barrier(&mut self) -> Option<B> {
        let position = self.barriers.pop_back()?;
        let item = self.slots.get_mut(position)?.take();
        self.holes += 1;
        self.trim();
        match item? {
            Item::Barrier(barrier) => Some(barrier),
            Item::Entry(..) => None,
        }
    }

    /// Returns the first item.
    #[must_use]
    pub fn front(&self) -> Option<&Item<V, B>> {
        self.slots.front()?.as_ref()
    }

    /// Returns the last item.
    #[must_use]
    pub fn back(&self) -> Option<&Item<V, B>> {
        self.slots.back()?.as_ref()
    }

    /// Removes the first item.
    #[inline]
    pub fn pop_front(&mut self) -> Option<Item<V, B>> {
        let position = self.slots.first();
        let item = self.slots.pop_front()??;
        match &item {
            Item::Entry(key, _) => self.unindex(key, position),
            Item::Barrier(_) => drop(self.barriers.pop_front()),
        }
        self.trim();
        Some(item)
    }

    /// Removes the last item. Takes time in proportion to the length of the queue if keys have several entries.
    pub fn pop_back(&mut self) -> Option<Item<V, B>> {
        let position = self.slots.end().wrapping_sub(1);
        let item = self.slots.pop_back()??;
        match &item {
            Item::Entry(key, _) => self.forget(key, position),
            Item::Barrier(_) => drop(self.barriers.pop_back()),
        }
        self.trim();
        Some(item)
    }

    /// Returns the entries in their order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&ObjectKey, &V)> {
        self.slots.iter().filter_map(as_entry)
    }

    /// Returns entries and barriers in their order.
    pub fn items(&self) -> impl DoubleEndedIterator<Item = &Item<V, B>> {
        self.slots.iter().flatten()
    }

    /// Takes the queue apart into its entries and barriers, in their order.
    pub fn into_items(self) -> impl DoubleEndedIterator<Item = Item<V, B>> {
        self.slots.into_iter().flatten()
    }

    /// Changes every entry in its place, or removes it, and removes all barriers. Each key must have one entry.
    pub fn filter_map<W, C>(
        self,
        mut change: impl FnMut(&ObjectKey, V) -> Option<W>,
    ) -> KeyQueue<W, C> {
        let (mut index, mut position) = (self.index, self.slots.first());
        let mut holes = 0;
        let slots = self.slots.map(|slot| {
            let at = position;
            position = position.wrapping_add(1);
            let changed = match slot {
                Some(Item::Entry(key, value)) => {
                    let changed = change(&key, value);
                    if changed.is_none() {
                        remove_position(&mut index, &key, at);
                    }
                    changed.map(|value| Item::Entry(key, value))
                }
                _ => None,
            };
            holes += usize::from(changed.is_none());
            changed
        });
        let mut queue = KeyQueue {
            slots,
            index,
            barriers: VecDeque::new(),
            holes,
            kept: self.kept,
        };
        queue.trim();
        queue
    }

    /// Takes all items, in constant time, and leaves an empty queue.
    #[must_use]
    pub fn take(&mut self) -> Self {
        std::mem::replace(self, Self::keeping(self.kept))
    }

    /// Moves all items of another queue to the end. Costs nothing if this queue is empty.
    pub fn append(&mut self, other: Self) {
        if self.is_empty() {
            let kept = self.kept;
            *self = other;
            self.slots.keep(kept);
            self.kept = kept;
            return;
        }
        self.push_all(other);
    }

    pub(super) fn push_all(&mut self, other: Self) {
        self.reserve(other.index.len());
        other.into_items().for_each(|item| match item {
            Item::Entry(key, value) => self.push_back(key, value),
            Item::Barrier(barrier) => self.push_barrier(barrier),
        });
    }

    /// Removes all items and frees their memory, but for what an emptied queue keeps.
    pub fn clear(&mut self) {
        if self.slots.len() > self.kept {
            return drop(self.take());
        }
        self.index.clear();
        self.barriers.clear();
        self.holes = 0;
        self.trim();
        self.slots.clear();
    }
}
