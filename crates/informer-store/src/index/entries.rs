//! The values of one index, each with the slots that have it.

use std::borrow::Borrow;
use std::sync::Arc;

use crate::directory::Directory;
use crate::index::ordered::Order;
use crate::index::places::Place;
use crate::pages::{PagedVec, Warm};
use crate::posting::Posting;

/// The values of an index and the slots that have them.
pub(super) struct Values<V> {
    by_value: Directory,
    entries: PagedVec<Option<Entry<V>>, 4>,
    /// Numbers of entries that may be free; those at the end are cut off instead.
    free: PagedVec<u32, 32>,
    live: u32,
    /// The same values in order, if they have one.
    order: Option<Box<dyn Order<V>>>,
}

pub(super) struct Entry<V> {
    pub(super) value: Arc<V>,
    pub(super) hash: u32,
    pub(super) slots: Posting,
}

impl<V> Warm for Entry<V> {}

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
            live: self.live,
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
            live: 0,
            order,
        }
    }

    /// No value, in the same order.
    fn emptied(&self) -> Self {
        Self::new(self.order.as_ref().map(|order| order.emptied()))
    }

    /// Compares a new value with those that are here: if that panics, it does so before anything is changed.
    pub(super) fn rehearse(&self, value: &V) {
        if let Some(order) = &self.order {
            order.rehearse(value);
        }
    }

    pub(super) fn entry(&self, id: u32) -> Option<&Entry<V>> {
        self.entries.get(id)?.as_ref()
    }

    /// True if entry `id` is of this value.
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

    /// Adds a value that is not yet here, and returns its number.
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
        self.live += 1;
        let hash_of = |id| {
            self.entries
                .get(id)
                .and_then(Option::as_ref)
                .map_or(0, |e| e.hash)
        };
        self.by_value.insert(hash, id, hash_of);
        if let Some(order) = &mut self.order {
            order.insert(value, id);
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

    /// Takes a slot out of a value, and the value out if it was its last. Returns the slot that moved there.
    pub(super) fn unlink(&mut self, place: Place) -> Option<u32> {
        let entry = self.entries.get_mut(place.value)?.as_mut()?;
        let moved = entry.slots.swap_remove(place.position);
        if entry.slots.is_empty() {
            self.release(place.value);
        }
        moved
    }

    /// Takes a value out.
    fn release(&mut self, id: u32) {
        let Some(entry) = self.entries.get_mut(id).and_then(Option::take) else {
            return;
        };
        self.live -= 1;
        if self.live == 0 {
            *self = self.emptied();
            return;
        }
        self.by_value.remove(entry.hash, id);
        if let Some(order) = &mut self.order {
            order.remove(&entry.value);
        }
        if id + 1 < self.entries.len() {
            self.free.push(id);
            return;
        }
        while !self.entries.is_empty() && self.entry(self.entries.len() - 1).is_none() {
            self.entries.pop();
        }
    }

    /// The object at a position of a value lives in another slot now.
    pub(super) fn moved(&mut self, place: Place, slot: u32) {
        if let Some(Some(entry)) = self.entries.get_mut(place.value) {
            entry.slots.set(place.position, slot);
        }
    }

    /// How many values there are.
    pub(super) const fn len(&self) -> usize {
        self.live as usize
    }

    /// The values, in the order of their numbers.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Entry<V>> {
        self.entries.iter().flatten()
    }

    /// The same in the order of the values, if they have one.
    pub(super) const fn order(&self) -> Option<&dyn Order<V>> {
        match &self.order {
            Some(order) => Some(&**order),
            None => None,
        }
    }
}
