//! Keys in the order of their first delta, found by key, and removable anywhere.
//!
//! # Invariants
//! - A key has at most one entry, and every entry holds at least one delta (client-go's D1).
//! - The entries that belong to a replace stand before all others.

use hashbrown::HashTable;
use informer_store::{ObjectKey, ResourceVersion};

use crate::chain::Chain;
use crate::clock::Moment;
use crate::delta::Delta;

/// No slot.
const NIL: u32 = u32::MAX;

/// A queue that held more slots than this gives its memory back once it is empty.
pub(crate) const KEEP_SLOTS: usize = 1024;

/// One key and its deltas.
#[derive(Debug)]
pub(crate) struct Entry<K> {
    pub(crate) key: ObjectKey,
    pub(crate) chain: Chain<K>,
    /// When the object was deleted, if the chain ends with its deletion and this is known.
    /// Boxed because it is rare and entries must be small.
    pub(crate) deleted_at: Option<Box<ResourceVersion>>,
    /// Up to where everything had arrived before the first delta.
    pub(crate) before: Option<ResourceVersion>,
    /// When the first delta arrived.
    pub(crate) since: Moment,
}

/// Where an entry stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// In the order, after any replace.
    Single,
    /// In the order, as part of the replace at the head.
    Replace,
    /// At the place of its key in the list of the replace.
    Listed,
}

#[derive(Debug)]
struct Slot<K> {
    entry: Entry<K>,
    prev: u32,
    next: u32,
    place: Place,
}

/// The entries.
#[derive(Debug)]
pub(crate) struct KeyQueue<K> {
    slots: Vec<Option<Slot<K>>>,
    free: Vec<u32>,
    index: HashTable<u32>,
    head: u32,
    tail: u32,
    deltas: usize,
}

impl<K> KeyQueue<K> {
    pub(crate) fn new() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            index: HashTable::new(),
            head: NIL,
            tail: NIL,
            deltas: 0,
        }
    }

    /// How many keys there are.
    pub(crate) fn len(&self) -> usize {
        self.index.len()
    }

    /// True if there is no key, neither in the order nor in the list.
    pub(crate) fn has_no_key(&self) -> bool {
        self.index.is_empty()
    }

    /// How many deltas there are.
    pub(crate) fn deltas(&self) -> usize {
        self.deltas
    }

    /// True if the order is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.head == NIL
    }

    /// One more than the largest id.
    pub(crate) fn end(&self) -> u32 {
        u32::try_from(self.slots.len()).unwrap_or(NIL)
    }

    pub(crate) fn find(&self, key: &ObjectKey) -> Option<u32> {
        if self.index.is_empty() {
            return None;
        }
        let same = |&id: &u32| self.entry(id).is_some_and(|entry| entry.key == *key);
        self.index.find(key.cached_hash(), same).copied()
    }

    pub(crate) fn entry(&self, id: u32) -> Option<&Entry<K>> {
        self.slot(id).map(|slot| &slot.entry)
    }

    pub(crate) fn place(&self, id: u32) -> Option<Place> {
        self.slot(id).map(|slot| slot.place)
    }

    /// The entry of a key that stands at its place in the list of the replace.
    pub(crate) fn find_listed(&self, key: &ObjectKey) -> Option<u32> {
        self.find(key)
            .filter(|&id| self.place(id) == Some(Place::Listed))
    }

    pub(crate) fn head(&self) -> Option<&Entry<K>> {
        self.entry(self.head)
    }

    /// The entries of the order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Entry<K>> {
        let mut id = self.head;
        std::iter::from_fn(move || {
            let slot = self.slot(id)?;
            id = slot.next;
            Some(&slot.entry)
        })
    }

    /// The place of the first entry of the order.
    pub(crate) fn head_place(&self) -> Option<Place> {
        self.place(self.head)
    }

    /// The place of the last entry of the order.
    pub(crate) fn tail_place(&self) -> Option<Place> {
        self.place(self.tail)
    }

    /// The newest delta of an entry.
    pub(crate) fn newest_delta_mut(&mut self, id: u32) -> Option<&mut Delta<K>> {
        let slot = self.slots.get_mut(id as usize)?.as_mut()?;
        slot.entry.chain.last_mut()
    }

    /// Changes an entry. Nothing happens to one that is not there.
    pub(crate) fn edit(&mut self, id: u32, change: impl FnOnce(&mut Entry<K>)) {
        let Some(slot) = self.slots.get_mut(id as usize).and_then(Option::as_mut) else {
            return;
        };
        self.deltas -= slot.entry.chain.len();
        change(&mut slot.entry);
        self.deltas += slot.entry.chain.len();
    }

    /// Puts a new key at the end.
    pub(crate) fn push_back(&mut self, entry: Entry<K>, place: Place) -> u32 {
        let id = self.insert(entry, place);
        self.link_back(id);
        id
    }

    /// Puts a new key at the front.
    pub(crate) fn push_front(&mut self, entry: Entry<K>, place: Place) -> u32 {
        let id = self.insert(entry, place);
        self.link_front(id);
        id
    }

    /// Puts a new key at its place in the list of the replace.
    pub(crate) fn insert_listed(&mut self, entry: Entry<K>) -> u32 {
        self.insert(entry, Place::Listed)
    }

    /// Moves a key to the front.
    pub(crate) fn move_to_front(&mut self, id: u32, place: Place) {
        self.unlink(id);
        self.set_place(id, place);
        self.link_front(id);
    }

    /// Moves a key to its place in the list of the replace.
    pub(crate) fn move_to_list(&mut self, id: u32) {
        self.unlink(id);
        self.set_place(id, Place::Listed);
    }

    /// Makes every key of the order part of the replace.
    pub(crate) fn join_replace(&mut self) {
        let mut id = self.head;
        while let Some(slot) = self.slots.get_mut(id as usize).and_then(Option::as_mut) {
            slot.place = Place::Replace;
            id = slot.next;
        }
    }

    pub(crate) fn pop_front(&mut self) -> Option<Entry<K>> {
        self.remove(self.head)
    }

    pub(crate) fn pop_back(&mut self) -> Option<Entry<K>> {
        self.remove(self.tail)
    }

    /// Takes out the entries that stand in the list of the replace.
    pub(crate) fn take_listed(&mut self) -> Vec<Entry<K>> {
        let is_listed = |&id: &u32| self.place(id) == Some(Place::Listed);
        let listed: Vec<u32> = (0..self.end()).filter(is_listed).collect();
        let entries = listed.into_iter().filter_map(|id| self.remove(id));
        entries.collect()
    }

    pub(crate) fn remove(&mut self, id: u32) -> Option<Entry<K>> {
        self.unlink(id);
        let slot = self.slots.get_mut(id as usize)?.take()?;
        if let Ok(found) = self
            .index
            .find_entry(slot.entry.key.cached_hash(), |&i| i == id)
        {
            found.remove();
        }
        self.deltas -= slot.entry.chain.len();
        self.free.push(id);
        if self.index.is_empty() {
            self.clear();
        }
        Some(slot.entry)
    }

    /// Drops all entries. The memory stays, unless it is much.
    pub(crate) fn clear(&mut self) {
        if self.room() > KEEP_SLOTS {
            *self = Self::new();
            return;
        }
        self.free.clear();
        self.slots.clear();
        self.index.clear();
        (self.head, self.tail) = (NIL, NIL);
        self.deltas = 0;
    }

    /// For how many entries there is memory.
    pub(crate) fn room(&self) -> usize {
        self.slots.capacity()
    }

    fn slot(&self, id: u32) -> Option<&Slot<K>> {
        self.slots.get(id as usize).and_then(Option::as_ref)
    }

    fn insert(&mut self, entry: Entry<K>, place: Place) -> u32 {
        let hash = entry.key.cached_hash();
        self.deltas += entry.chain.len();
        let slot = Some(Slot {
            entry,
            prev: NIL,
            next: NIL,
            place,
        });
        let id = match self.free.pop() {
            Some(id) => {
                self.slots[id as usize] = slot;
                id
            }
            None => {
                self.slots.push(slot);
                u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 keys fit in memory")
            }
        };
        let slots = &self.slots;
        let rehash = |&i: &u32| {
            slots[i as usize]
                .as_ref()
                .map_or(0, |slot| slot.entry.key.cached_hash())
        };
        self.index.insert_unique(hash, id, rehash);
        id
    }

    fn set_place(&mut self, id: u32, place: Place) {
        if let Some(slot) = self.slots.get_mut(id as usize).and_then(Option::as_mut) {
            slot.place = place;
        }
    }

    fn link_back(&mut self, id: u32) {
        self.join(self.tail, id);
        self.tail = id;
        if self.head == NIL {
            self.head = id;
        }
    }

    fn link_front(&mut self, id: u32) {
        self.join(id, self.head);
        self.head = id;
        if self.tail == NIL {
            self.tail = id;
        }
    }

    /// Makes `b` follow `a`; either may be missing.
    fn join(&mut self, a: u32, b: u32) {
        if let Some(slot) = self.slots.get_mut(a as usize).and_then(Option::as_mut) {
            slot.next = b;
        }
        if let Some(slot) = self.slots.get_mut(b as usize).and_then(Option::as_mut) {
            slot.prev = a;
        }
    }

    fn unlink(&mut self, id: u32) {
        let Some(slot) = self.slots.get_mut(id as usize).and_then(Option::as_mut) else {
            return;
        };
        if slot.place == Place::Listed {
            return;
        }
        let (prev, next) = (slot.prev, slot.next);
        (slot.prev, slot.next) = (NIL, NIL);
        self.join(prev, next);
        if self.head == id {
            self.head = next;
        }
        if self.tail == id {
            self.tail = prev;
        }
    }
}
