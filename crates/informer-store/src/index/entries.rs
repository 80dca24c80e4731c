//! The values of one index, each with the slots that have it.
//!
//! # Invariants
//! - An entry's number does not change while the value exists. The last entry is never free.
//! - At least half of the numbers in `free` are of free entries, but for a few.

use std::borrow::Borrow;
use std::cmp::Reverse;
use std::sync::Arc;

use crate::directory::Directory;
use crate::index::ordered::Order;
use crate::index::places::Place;
use crate::index::user_code::{catch, drop_values};
use crate::pages::PagedVec;
use crate::posting::Posting;

/// How many numbers of no free entry do no harm.
const FEW: u32 = 64;

/// The values of an index and the slots that have them.
pub(super) struct Values<V> {
    by_value: Directory,
    entries: PagedVec<Option<Entry<V>>, 4>,
    /// The numbers of all free entries, and numbers of some that were cut off or used since.
    free: PagedVec<u32, 32>,
    /// The number of entries that are not free.
    used: u32,
    /// The same values in order, if they have one.
    order: Option<Box<dyn Order<V>>>,
}

pub(super) struct Entry<V> {
    pub(super) value: Arc<V>,
    pub(super) hash: u32,
    pub(super) slots: Posting,
}

impl<V> Clone for Entry<V> {
    fn clone(&self) -> Self {
        Self {
            value: Arc::clone(&self.value),
            hash: self.hash,
            slots: self.slots.clone(),
        }
    }
}

impl<V> Clone for Values<V> {
    fn clone(&self) -> Self {
        Self {
            by_value: self.by_value.clone(),
            entries: self.entries.clone(),
            free: self.free.clone(),
            used: self.used,
            order: self.order.as_ref().map(|order| order.boxed_clone()),
        }
    }
}

impl<V> Values<V> {
    pub(super) fn new(order: Option<Box<dyn Order<V>>>) -> Self {
        Self {
            by_value: Directory::default(),
            entries: PagedVec::default(),
            free: PagedVec::default(),
            used: 0,
            order,
        }
    }

    /// Returns an empty set of values, ordered if this one is.
    fn emptied(&self) -> Self {
        Self::new(self.order.as_ref().map(|order| order.emptied()))
    }

    /// Compares a new value with the others: if that panics, it does so before anything is changed.
    pub(super) fn rehearse(&self, value: &V) {
        if let Some(order) = &self.order {
            order.rehearse(value);
        }
    }

    pub(super) fn entry(&self, id: u32) -> Option<&Entry<V>> {
        self.entries.get(id)?.as_ref()
    }

    /// Returns `true` if entry `id` is of this value.
    pub(super) fn is<Q>(&self, id: u32, value: &Q) -> bool
    where
        V: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        self.entry(id)
            .is_some_and(|entry| (*entry.value).borrow() == value)
    }

    pub(super) fn find<Q>(&self, hash: u32, value: &Q) -> Option<u32>
    where
        V: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        self.by_value.find(hash, |id| self.is(id, value))
    }

    /// Adds a new value and returns its number.
    pub(super) fn add(&mut self, hash: u32, value: Arc<V>) -> u32 {
        let entry = Some(Entry {
            value: Arc::clone(&value),
            hash,
            slots: Posting::default(),
        });
        let id = self.free_id().unwrap_or_else(|| self.entries.push(None));
        if let Some(free) = self.entries.get_mut(id) {
            *free = entry;
        }
        self.used += 1;
        let hash_of = |id| {
            self.entries
                .get(id)
                .and_then(Option::as_ref)
                .map_or(0, |e| e.hash)
        };
        self.by_value.insert(hash, id, hash_of);
        if let Some(order) = &mut self.order {
            // The same comparisons did not panic before. Those of a type that compares differently each time may: such
            // a value is in no range.
            let _ = catch(|| order.insert(value, id));
        }
        id
    }

    fn free_id(&mut self) -> Option<u32> {
        loop {
            let id = self.free.pop()?;
            if matches!(self.entries.get(id), Some(None)) {
                return Some(id);
            }
        }
    }

    /// Adds a slot to a value.
    pub(super) fn link(&mut self, id: u32, slot: u32) -> Place {
        let slots = self
            .entries
            .get_mut(id)
            .and_then(Option::as_mut)
            .map(|entry| &mut entry.slots);
        Place {
            value: id,
            position: slots.map_or(0, |slots| slots.push(slot)),
        }
    }

    /// Removes a slot from a value, and the value if that was its last. Returns the slot that moved there.
    pub(super) fn unlink(&mut self, place: Place) -> Option<u32> {
        let entry = self.entries.get_mut(place.value)?.as_mut()?;
        let moved = entry.slots.swap_remove(place.position);
        if entry.slots.is_empty() {
            self.release(place.value);
        }
        moved
    }

    /// Removes a value.
    fn release(&mut self, id: u32) {
        let Some(entry) = self.entries.get_mut(id).and_then(Option::take) else {
            return;
        };
        self.used -= 1;
        if self.used == 0 {
            let emptied = self.emptied();
            drop_values((std::mem::replace(self, emptied), entry));
            return;
        }
        self.by_value.remove(entry.hash, id);
        if let Some(order) = &mut self.order
            && catch(|| order.remove(&entry.value, id)) != Ok(true)
        {
            // Its comparisons panic, or contradict each other.
            order.remove_id(id);
        }
        if id + 1 < self.entries.len() {
            self.free.push(id);
        } else {
            self.cut_off();
        }
        self.forget_stale_numbers();
        drop_values(entry);
    }

    /// Removes the free entries at the end.
    fn cut_off(&mut self) {
        while !self.entries.is_empty() && self.entry(self.entries.len() - 1).is_none() {
            self.entries.pop();
        }
    }

    /// Removes the numbers from `free` that are of no free entry, once they are most of them. The lowest are used
    /// first, so that the entries at the end become free.
    fn forget_stale_numbers(&mut self) {
        let free = self.entries.len() - self.used;
        if self.free.len() <= 2 * free + FEW {
            return;
        }
        let is_free = |id: &&u32| matches!(self.entries.get(**id), Some(None));
        let mut numbers: Vec<u32> = self.free.iter().filter(is_free).copied().collect();
        numbers.sort_unstable_by_key(|id| Reverse(*id));
        numbers.dedup();
        self.free = PagedVec::default();
        for id in numbers {
            self.free.push(id);
        }
    }

    /// Sets the slot of the object at a position of a value.
    pub(super) fn moved(&mut self, place: Place, slot: u32) {
        if let Some(Some(entry)) = self.entries.get_mut(place.value) {
            entry.slots.set(place.position, slot);
        }
    }

    /// Returns the number of values.
    pub(super) const fn len(&self) -> usize {
        self.used as usize
    }

    /// Returns the values, in the order of their numbers.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Entry<V>> {
        self.entries.iter().flatten()
    }

    /// Returns the order of the values, if they have one.
    pub(super) const fn order(&self) -> Option<&dyn Order<V>> {
        match &self.order {
            Some(order) => Some(&**order),
            None => None,
        }
    }
}
