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

/// The record of one item.
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
    /// Ready, or to be processed again: since when it waits; counts only if time is measured. Waiting for a retry: since
    /// when it does.
    pub(super) waits_since: u64,
    /// In work: when it was taken. In no list: the later of its two times, [`NEVER`] unless both an added delay and a
    /// retry wait. One field for both, since a million delayed items have it.
    pub(super) moment: u64,
    /// The priority with which it is processed again, if it was added while in work.
    pub(super) again: Option<Priority>,
    /// The priority with which it is queued once its delay is over.
    pub(super) later: Priority,
    pub(super) flags: Flags,
}

/// No time: neither due nor taken.
pub(super) const NEVER: u64 = u64::MAX;

/// What else is known of an item, one bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Flags(u8);

impl Flags {
    pub(super) const NONE: Self = Self(0);
    /// In work, and removed since it was taken: its work counts for nothing.
    pub(super) const REMOVED: Self = Self(1);
    /// The time in the schedule is that of the retry, not of the added delay.
    pub(super) const RETRY_FIRST: Self = Self(2);
    /// The retry that waits is the backoff of a failure.
    pub(super) const BACKOFF: Self = Self(4);
    /// The retry needs a token before it runs.
    pub(super) const NEEDS_TOKEN: Self = Self(8);
    /// The retry has taken a token, which is returned if it does not run.
    pub(super) const HAS_TOKEN: Self = Self(16);
    /// It was added while its retry waited, and waits for a part of the backoff.
    pub(super) const HELD: Self = Self(32);
    /// Its added delay is that of a rate limiter, with a token.
    pub(super) const LIMITED: Self = Self(64);
    /// The added delay has taken its token.
    pub(super) const LIMITED_TOKEN: Self = Self(128);
    /// All that belongs to a retry.
    pub(super) const RETRY: Self = Self(2 | 4 | 8 | 16 | 32);

    pub(super) const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(super) const fn insert(&mut self, other: Self) {
        self.0 |= other.0;
    }

    pub(super) const fn remove(&mut self, other: Self) {
        self.0 &= !other.0;
    }

    /// Removes some, and returns whether there was one of them.
    pub(super) const fn take(&mut self, other: Self) -> bool {
        let had = self.has(other);
        self.remove(other);
        had
    }
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
            moment: NEVER,
            again: None,
            later: Priority::default(),
            flags: Flags::NONE,
        }
    }

    pub(super) const fn item(&self) -> Option<&T> {
        self.item.as_ref()
    }

    /// Forgets what outlives a stay in a list.
    const fn forget(&mut self) {
        self.failures = 0;
        self.again = None;
        self.moment = NEVER;
        self.flags = Flags::NONE;
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
        // The rest is as new: a slot forgets all when it is released.
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

    /// The later of the two times of an item in no list.
    pub(super) fn other(&self, slot: u32) -> u64 {
        match self[slot].place {
            Place::None | Place::Remembered => self[slot].moment,
            Place::Ready(_) | Place::Processing => NEVER,
        }
    }

    /// Writes the later of the two times of an item in no list.
    pub(super) fn set_other(&mut self, slot: u32, time: u64) {
        if matches!(self[slot].place, Place::None | Place::Remembered) {
            self[slot].moment = time;
        }
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
