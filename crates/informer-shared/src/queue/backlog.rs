//! The events that wait for a handler: an ordered list, in which a key may have one place only.

use std::collections::VecDeque;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use informer_store::ObjectKey;
use tokio::time::Instant;

use super::pending::Pending;
use crate::notification::Delivery;

/// Room for this many entries is kept when the list runs empty; a larger one is given back.
const KEPT_CAPACITY: usize = 64;

/// Events in order. If it coalesces, a key has one entry at most, at the place of its first event.
///
/// # Invariants
/// - `live` is the number of occupied slots; the first slot is occupied.
/// - If it coalesces, `places` holds exactly the number of each occupied slot; a slot's number is its distance
///   from the first plus `first`.
/// - There are at most as many holes as live entries, plus a constant.
pub(super) struct Backlog<K> {
    coalesces: bool,
    slots: VecDeque<Option<Slot<K>>>,
    first: u64,
    places: HashTable<u64>,
    live: usize,
    /// Live entries that belong to the state before the handler was synced.
    counted: usize,
    /// Live entries that only remind.
    resyncs: usize,
}

struct Slot<K> {
    key: ObjectKey,
    pending: Pending<K>,
    counted: bool,
    since: Instant,
}

/// An event taken out.
pub(crate) struct Taken<K> {
    pub(crate) delivery: Delivery<K>,
    /// Its entry belonged to the state before the handler was synced, and no more of the entry is left.
    pub(super) counted: bool,
    pub(super) since: Instant,
}

/// What a push did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pushed {
    /// A new entry at the end.
    Appended,
    /// It joined the key's entry.
    Joined,
    /// It cancelled the key's entry out.
    Cancelled,
}

impl<K> Backlog<K> {
    pub(super) fn new(coalesces: bool) -> Self {
        Self {
            coalesces,
            slots: VecDeque::new(),
            first: 0,
            places: HashTable::new(),
            live: 0,
            counted: 0,
            resyncs: 0,
        }
    }

    pub(super) const fn len(&self) -> usize {
        self.live
    }

    pub(super) const fn counted(&self) -> usize {
        self.counted
    }

    /// Entries that wait and only remind of unchanged objects.
    pub(super) const fn resyncs(&self) -> usize {
        self.resyncs
    }

    /// Since when the first entry waits.
    pub(super) fn oldest(&self) -> Option<Instant> {
        self.slots.front()?.as_ref().map(|slot| slot.since)
    }

    pub(super) fn push(
        &mut self,
        key: &ObjectKey,
        delivery: Delivery<K>,
        counted: bool,
        now: Instant,
    ) -> Pushed {
        let next = self.first + self.slots.len() as u64;
        if self.coalesces {
            let (slots, first) = (&self.slots, self.first);
            match self.places.entry(
                key.cached_hash(),
                |&number| key_at(slots, first, number) == Some(key),
                |&number| hash_at(slots, first, number),
            ) {
                Entry::Occupied(place) => {
                    let number = *place.get();
                    return self.join(number, delivery);
                }
                Entry::Vacant(place) => {
                    place.insert(next);
                }
            }
        }
        self.live += 1;
        self.counted += usize::from(counted);
        let pending = Pending::from(delivery);
        self.resyncs += usize::from(pending.is_resync());
        self.slots.push_back(Some(Slot {
            key: key.clone(),
            pending,
            counted,
            since: now,
        }));
        Pushed::Appended
    }

    fn join(&mut self, number: u64, later: Delivery<K>) -> Pushed {
        let at = offset(self.first, number);
        let Some(mut slot) = self.slots[at].take() else {
            return Pushed::Joined;
        };
        self.resyncs -= usize::from(slot.pending.is_resync());
        if let Some(pending) = slot.pending.join(later) {
            slot.pending = pending;
            self.resyncs += usize::from(slot.pending.is_resync());
            self.slots[at] = Some(slot);
            return Pushed::Joined;
        }
        self.forget_place(&slot.key, number);
        self.live -= 1;
        self.counted -= usize::from(slot.counted);
        self.close_holes();
        Pushed::Cancelled
    }

    /// Takes the first event. Of an entry that holds two, the second stays in its place.
    pub(super) fn pop(&mut self) -> Option<Taken<K>> {
        let mut slot = self.slots.front_mut()?.take()?;
        self.resyncs -= usize::from(slot.pending.is_resync());
        let (delivery, rest) = slot.pending.split();
        let since = slot.since;
        if let Some(pending) = rest {
            slot.pending = pending;
            self.slots[0] = Some(slot);
            return Some(Taken {
                delivery,
                counted: false,
                since,
            });
        }
        self.live -= 1;
        self.counted -= usize::from(slot.counted);
        self.forget_place(&slot.key, self.first);
        self.close_holes();
        Some(Taken {
            delivery,
            counted: slot.counted,
            since,
        })
    }

    /// Drops everything. Gives the memory back.
    pub(super) fn clear(&mut self) {
        *self = Self::new(self.coalesces);
    }

    fn forget_place(&mut self, key: &ObjectKey, number: u64) {
        if !self.coalesces {
            return;
        }
        if let Ok(place) = self.places.find_entry(key.cached_hash(), |&n| n == number) {
            place.remove();
        }
    }

    /// Keeps the first slot occupied and the holes few. Each run over the slots is paid for by the holes it closes.
    fn close_holes(&mut self) {
        while matches!(self.slots.front(), Some(None)) {
            self.slots.pop_front();
            self.first += 1;
        }
        while matches!(self.slots.back(), Some(None)) {
            self.slots.pop_back();
        }
        if self.slots.len() - self.live > self.live + KEPT_CAPACITY {
            self.renumber();
        }
        if self.live == 0 && self.slots.capacity() > KEPT_CAPACITY {
            self.slots = VecDeque::new();
            self.places = HashTable::new();
        }
    }

    fn renumber(&mut self) {
        self.slots.retain(Option::is_some);
        self.slots.shrink_to(self.live * 2);
        self.places.clear();
        let (slots, first) = (&self.slots, self.first);
        for (number, slot) in (first..).zip(slots) {
            let Some(slot) = slot else { continue };
            self.places
                .insert_unique(slot.key.cached_hash(), number, |&number| {
                    hash_at(slots, first, number)
                });
        }
    }
}

fn offset(first: u64, number: u64) -> usize {
    usize::try_from(number - first).unwrap_or(usize::MAX)
}

fn key_at<K>(slots: &VecDeque<Option<Slot<K>>>, first: u64, number: u64) -> Option<&ObjectKey> {
    slots
        .get(offset(first, number))?
        .as_ref()
        .map(|slot| &slot.key)
}

fn hash_at<K>(slots: &VecDeque<Option<Slot<K>>>, first: u64, number: u64) -> u64 {
    key_at(slots, first, number).map_or(0, ObjectKey::cached_hash)
}

#[cfg(test)]
impl<K> Backlog<K> {
    /// Slots, holes included.
    pub(super) fn slots(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn capacity(&self) -> usize {
        self.slots.capacity()
    }

    /// Panics unless the invariants hold.
    pub(super) fn check(&self) {
        let occupied = self.slots.iter().flatten().count();
        assert_eq!(occupied, self.live);
        assert_eq!(
            self.slots.iter().flatten().filter(|s| s.counted).count(),
            self.counted
        );
        assert_eq!(
            self.slots
                .iter()
                .flatten()
                .filter(|s| s.pending.is_resync())
                .count(),
            self.resyncs
        );
        assert!(!matches!(self.slots.front(), Some(None)));
        if !self.coalesces {
            return;
        }
        assert_eq!(self.places.len(), self.live);
        for (number, slot) in (self.first..).zip(&self.slots) {
            let Some(slot) = slot else { continue };
            let found = self.places.find(slot.key.cached_hash(), |&n| n == number);
            assert!(found.is_some());
        }
    }
}
