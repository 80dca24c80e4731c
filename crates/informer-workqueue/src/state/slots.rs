//! Where items live: one slot for each, found by its hash, and chained into lists without further memory.

use std::hash::{BuildHasher, Hash};

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use crate::priority::Priority;

/// No slot: the end of a list.
const END: u32 = u32::MAX;

/// How many slots are kept when the last item leaves; the memory of more is given back.
const KEPT: usize = 1024;

/// Which list a slot stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// In none: it is delayed, or on its way.
    None,
    /// It waits to be taken, among those of its priority.
    Ready(Priority),
    /// Someone works on it.
    Processing,
    /// Only its failures are known.
    Remembered,
}

impl Place {
    const LISTS: usize = Priority::COUNT + 2;

    const fn list(self) -> Option<usize> {
        match self {
            Self::None => None,
            Self::Ready(priority) => Some(priority.index()),
            Self::Processing => Some(Priority::COUNT),
            Self::Remembered => Some(Priority::COUNT + 1),
        }
    }
}

/// What is known of one item.
#[derive(Debug)]
pub(super) struct Slot<T> {
    /// `None` if the slot is free.
    item: Option<T>,
    hash: u64,
    next: u32,
    previous: u32,
    place: Place,
    /// How often it failed since it was last forgotten.
    pub(super) failures: u32,
    /// Since when it waits to be taken, or to be processed again. Counts only if time is measured.
    pub(super) waits_since: u64,
    /// When it was taken.
    pub(super) taken_at: u64,
    /// With which priority it is processed again, if it was added while someone worked on it.
    pub(super) again: Option<Priority>,
    /// With which priority it is added once its delay is over.
    pub(super) later: Priority,
    /// Its object is gone: what the worker says no longer puts it back.
    pub(super) gone: bool,
}

impl<T> Slot<T> {
    fn new(item: T, hash: u64) -> Self {
        Self {
            item: Some(item),
            hash,
            next: END,
            previous: END,
            place: Place::None,
            failures: 0,
            waits_since: 0,
            taken_at: 0,
            again: None,
            later: Priority::default(),
            gone: false,
        }
    }

    pub(super) const fn item(&self) -> Option<&T> {
        self.item.as_ref()
    }

    /// Forgets what outlives a stay in a list.
    const fn forget(&mut self) {
        self.failures = 0;
        self.again = None;
        self.gone = false;
    }
}

#[derive(Debug, Clone, Copy)]
struct List {
    head: u32,
    tail: u32,
    len: usize,
}

const EMPTY: List = List {
    head: END,
    tail: END,
    len: 0,
};

/// All items that are known.
pub(super) struct Slots<T> {
    slots: Vec<Slot<T>>,
    free: u32,
    table: HashTable<u32>,
    hasher: RandomState,
    lists: [List; Place::LISTS],
    /// How many wait to be taken.
    ready: usize,
}

impl<T: Hash + Eq> Slots<T> {
    pub(super) fn new() -> Self {
        Self {
            slots: Vec::new(),
            free: END,
            table: HashTable::new(),
            hasher: RandomState::default(),
            lists: [EMPTY; Place::LISTS],
            ready: 0,
        }
    }

    pub(super) fn find(&self, item: &T) -> Option<u32> {
        self.find_hashed(self.hasher.hash_one(item), item)
    }

    #[inline]
    fn find_hashed(&self, hash: u64, item: &T) -> Option<u32> {
        let is_it = |slot: &u32| self.slots[*slot as usize].item.as_ref() == Some(item);
        self.table.find(hash, is_it).copied()
    }

    /// The slot of an item, a new one if it has none. If it has one, the copy that is not needed goes to `spare`.
    #[inline]
    pub(super) fn find_or_insert(&mut self, item: T, spare: impl FnOnce(T)) -> u32 {
        let hash = self.hasher.hash_one(&item);
        if let Some(slot) = self.find_hashed(hash, &item) {
            spare(item);
            return slot;
        }
        let slot = self.fill(item, hash);
        let slots = &self.slots;
        let rehash = |slot: &u32| slots[*slot as usize].hash;
        self.table.insert_unique(hash, slot, rehash);
        slot
    }

    fn fill(&mut self, item: T, hash: u64) -> u32 {
        if self.free == END {
            self.slots.push(Slot::new(item, hash));
            return (self.slots.len() - 1) as u32;
        }
        let place = self.free;
        let slot = &mut self.slots[place as usize];
        self.free = slot.next;
        // The rest is as it was made: what a slot is known for is gone when it is released.
        slot.item = Some(item);
        slot.hash = hash;
        place
    }

    /// Lets go of a slot that stands in no list. Gives its item back, to be dropped by others.
    pub(super) fn release(&mut self, slot: u32) -> Option<T> {
        debug_assert_eq!(self[slot].place, Place::None);
        let own = &mut self.slots[slot as usize];
        let item = own.item.take()?;
        own.forget();
        own.next = self.free;
        self.free = slot;
        if let Ok(entry) = self.table.find_entry(own.hash, |other| *other == slot) {
            entry.remove();
        }
        if self.table.is_empty() && self.slots.len() > KEPT {
            self.slots = Vec::new();
            self.free = END;
            self.table = HashTable::new();
        }
        Some(item)
    }

    /// Moves a slot to the end of a list, or out of all.
    #[inline]
    pub(super) fn put(&mut self, slot: u32, place: Place) {
        self.unlink(slot);
        let Some(list) = place.list() else {
            self[slot].place = place;
            return;
        };
        let tail = std::mem::replace(&mut self.lists[list].tail, slot);
        self.lists[list].len += 1;
        self.ready += usize::from(list < Priority::COUNT);
        let own = &mut self[slot];
        own.place = place;
        own.previous = tail;
        own.next = END;
        if tail == END {
            self.lists[list].head = slot;
        } else {
            self[tail].next = slot;
        }
    }

    #[inline]
    fn unlink(&mut self, slot: u32) {
        let own = &self[slot];
        let Some(list) = own.place.list() else {
            return;
        };
        let (previous, next) = (own.previous, own.next);
        if previous == END {
            self.lists[list].head = next;
        } else {
            self[previous].next = next;
        }
        if next == END {
            self.lists[list].tail = previous;
        } else {
            self[next].previous = previous;
        }
        self.lists[list].len -= 1;
        self.ready -= usize::from(list < Priority::COUNT);
    }

    /// How many wait to be taken, of all priorities.
    pub(super) const fn ready(&self) -> usize {
        self.ready
    }

    pub(super) fn place(&self, slot: u32) -> Place {
        self[slot].place
    }

    /// The first of a list.
    pub(super) fn first(&self, place: Place) -> Option<u32> {
        let head = self.lists[place.list()?].head;
        (head != END).then_some(head)
    }

    /// The one after a slot in its list.
    pub(super) fn after(&self, slot: u32) -> Option<u32> {
        let next = self[slot].next;
        (next != END).then_some(next)
    }

    /// How many stand in a list.
    pub(super) fn len(&self, place: Place) -> usize {
        place.list().map_or(0, |list| self.lists[list].len)
    }

    /// How many items are known.
    pub(super) fn known(&self) -> usize {
        self.table.len()
    }
}

impl<T> std::ops::Index<u32> for Slots<T> {
    type Output = Slot<T>;

    fn index(&self, slot: u32) -> &Slot<T> {
        &self.slots[slot as usize]
    }
}

impl<T> std::ops::IndexMut<u32> for Slots<T> {
    fn index_mut(&mut self, slot: u32) -> &mut Slot<T> {
        &mut self.slots[slot as usize]
    }
}
