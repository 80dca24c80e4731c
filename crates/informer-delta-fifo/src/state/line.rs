//! The strict order over all keys: change after change, and whole lists between them.
//!
//! # Invariants
//! - Nothing is merged and nothing changes its place; what comes back stands at the front, as it stood.
//! - `queued` counts the changes of each key, and knows the newest that tells of its object.

use std::collections::VecDeque;

use hashbrown::HashTable;
use informer_store::{ObjectKey, ResourceVersion, mutant};

use crate::clock::Moment;
use crate::delta::{Deleted, Delta};
use crate::state::flight::Flight;
use crate::state::queue::{Entry, KEEP_SLOTS, Place};
use crate::state::rules::Newest;

/// The number of the first unit at the start. Units that come back get smaller ones.
const MIDDLE: u64 = 1 << 63;

/// What stands in the line.
#[derive(Debug)]
enum Unit<K> {
    /// One change, or the end of one life and the beginning of the next.
    Change(Entry<K>),
    /// A whole list. Boxed because it is rare.
    List(Box<Flight<K>>),
}

/// What waits of one key, lists apart.
#[derive(Debug)]
struct Queued {
    key: ObjectKey,
    changes: usize,
    /// The newest unit that tells of the object.
    telling: Option<u64>,
}

/// The line.
#[derive(Debug)]
pub(crate) struct Line<K> {
    units: VecDeque<Unit<K>>,
    /// The number of the first unit. The others follow one by one.
    first: u64,
    queued: HashTable<Queued>,
    /// The numbers of the lists.
    lists: VecDeque<u64>,
    deltas: usize,
}

impl<K> Line<K> {
    pub(crate) fn new() -> Self {
        Self {
            units: VecDeque::new(),
            first: MIDDLE,
            queued: HashTable::new(),
            lists: VecDeque::new(),
            deltas: 0,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.units.is_empty()
    }

    /// How many keys wait, each once for each of its changes and lists.
    pub(crate) fn len(&self) -> usize {
        let listed: usize = self.list_units().map(|(_, list)| list.keys()).sum();
        self.units.len() - self.lists.len() + listed
    }

    /// How many deltas wait.
    pub(crate) fn deltas(&self) -> usize {
        self.deltas
    }

    /// Since when the first waits.
    pub(crate) fn since(&self) -> Option<Moment> {
        match self.units.front()? {
            Unit::Change(entry) => Some(entry.since),
            Unit::List(list) => list.since,
        }
    }

    /// Up to where everything had arrived before the first unit; the outer `None` if there is no unit.
    pub(crate) fn before(&self) -> Option<Option<&ResourceVersion>> {
        Some(match self.units.front()? {
            Unit::Change(entry) => entry.before.as_ref(),
            Unit::List(list) => list.replace.as_ref().and_then(|end| end.before.as_ref()),
        })
    }

    /// True if anything waits of this key.
    pub(crate) fn contains(&self, key: &ObjectKey) -> bool {
        self.queued(key).is_some() || self.list_units().any(|(_, list)| list.contains(key))
    }

    /// What the line says of a key's object.
    pub(crate) fn newest(&self, key: &ObjectKey) -> Option<Newest<K>> {
        let telling = self.queued(key).and_then(|queued| queued.telling);
        let in_list = |(_, list): (u64, &Flight<K>)| list.newest(key);
        let later = |&(number, _): &(u64, &Flight<K>)| telling.is_none_or(|at| number > at);
        let in_later_list = self.list_units().rev().take_while(later).find_map(in_list);
        in_later_list.or_else(|| match self.unit(telling?)? {
            Unit::Change(entry) => entry.newest(),
            Unit::List(_) => None,
        })
    }

    /// The deletion that is the newest the line says of a key.
    pub(crate) fn newest_deletion(&mut self, key: &ObjectKey) -> Option<&mut Deleted<K>> {
        let telling = self.queued(key).and_then(|queued| queued.telling);
        let listed = {
            let mut lists = self.list_units().rev();
            let found = lists.find(|(_, list)| list.newest(key).is_some());
            found.map(|(number, _)| number)
        };
        let number = listed.max(telling)?;
        let at = usize::try_from(number.wrapping_sub(self.first)).ok()?;
        let newest = match self.units.get_mut(at)? {
            Unit::Change(entry) => entry.chain.last_mut()?,
            Unit::List(list) => list.entries.newest_delta_mut(list.entries.find(key)?)?,
        };
        match newest {
            Delta::Deleted(deleted) => Some(deleted),
            _ => None,
        }
    }

    /// The keys of which anything waits, each once or more, in order.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &ObjectKey> {
        self.units.iter().flat_map(|unit| {
            let (change, list) = match unit {
                Unit::Change(entry) => (Some(&entry.key), None),
                Unit::List(list) => (None, Some(list.iter().map(|(key, _)| key))),
            };
            change.into_iter().chain(list.into_iter().flatten())
        })
    }

    pub(crate) fn push_back(&mut self, entry: Entry<K>) {
        let number = self.first + self.units.len() as u64;
        self.count_in(&entry, number, true);
        self.units.push_back(Unit::Change(entry));
    }

    pub(crate) fn push_list_back(&mut self, list: Flight<K>) {
        self.lists.push_back(self.first + self.units.len() as u64);
        self.deltas += list.deltas();
        self.units.push_back(Unit::List(Box::new(list)));
    }

    /// Puts back what was taken out.
    pub(crate) fn give_back(&mut self, mut flight: Flight<K>) {
        if flight.replace.is_none() {
            while let Some(entry) = flight.entries.pop_back() {
                self.push_front(entry);
            }
            return;
        }
        self.first -= 1;
        self.lists.push_front(self.first);
        self.deltas += flight.deltas();
        self.units.push_front(Unit::List(Box::new(flight)));
    }

    /// Puts a change at the front.
    pub(crate) fn push_front(&mut self, entry: Entry<K>) {
        self.first -= 1;
        self.count_in(&entry, self.first, false);
        self.units.push_front(Unit::Change(entry));
    }

    /// Takes out a list, or changes up to the next list or the next change of the same key, into an empty batch.
    pub(crate) fn pop(&mut self, flight: &mut Flight<K>, max: usize) {
        if let Some(Unit::List(_)) = self.units.front() {
            self.lists.pop_front();
            self.first += 1;
            if let Some(Unit::List(list)) = self.units.pop_front() {
                self.deltas -= list.deltas();
                *flight = *list;
            }
            return;
        }
        flight.since = self.since();
        while flight.entries.len() < max
            && let Some(Unit::Change(next)) = self.units.front()
        {
            let is_again = flight.entries.find(&next.key).is_some();
            if is_again && !mutant!("fifo-in-order-key-twice") {
                break;
            }
            let Some(Unit::Change(entry)) = self.units.pop_front() else {
                break;
            };
            self.count_out(&entry, self.first);
            self.first += 1;
            flight.entries.push_back(entry, Place::Single);
        }
        if self.units.is_empty() && self.units.capacity() > KEEP_SLOTS {
            *self = Self {
                first: self.first,
                ..Self::new()
            };
        }
    }

    /// The list that stands last.
    pub(crate) fn last_list(&mut self) -> Option<&mut Flight<K>> {
        let at = usize::try_from(self.lists.back()?.wrapping_sub(self.first)).ok()?;
        match self.units.get_mut(at)? {
            Unit::List(list) => Some(list),
            Unit::Change(_) => None,
        }
    }

    fn unit(&self, number: u64) -> Option<&Unit<K>> {
        let at = usize::try_from(number.wrapping_sub(self.first)).ok()?;
        self.units.get(at)
    }

    fn list_units(&self) -> impl DoubleEndedIterator<Item = (u64, &Flight<K>)> {
        self.lists
            .iter()
            .filter_map(|&number| match self.unit(number)? {
                Unit::List(list) => Some((number, &**list)),
                Unit::Change(_) => None,
            })
    }

    fn queued(&self, key: &ObjectKey) -> Option<&Queued> {
        self.queued
            .find(key.cached_hash(), |queued| queued.key == *key)
    }

    fn count_in(&mut self, entry: &Entry<K>, number: u64, is_newest: bool) {
        self.deltas += entry.chain.len();
        let hash = entry.key.cached_hash();
        let tells = entry.newest().is_some();
        let same = |queued: &Queued| queued.key == entry.key;
        let rehash = |queued: &Queued| queued.key.cached_hash();
        let place = self.queued.entry(hash, same, rehash);
        let queued = place.or_insert_with(|| Queued {
            key: entry.key.clone(),
            changes: 0,
            telling: None,
        });
        let queued = queued.into_mut();
        queued.changes += 1;
        if tells && (is_newest || queued.telling.is_none()) {
            queued.telling = Some(number);
        }
    }

    fn count_out(&mut self, entry: &Entry<K>, number: u64) {
        self.deltas -= entry.chain.len();
        let hash = entry.key.cached_hash();
        let Ok(mut found) = self
            .queued
            .find_entry(hash, |queued| queued.key == entry.key)
        else {
            return;
        };
        let queued = found.get_mut();
        queued.changes -= 1;
        if queued.telling == Some(number) {
            queued.telling = None;
        }
        if queued.changes == 0 {
            found.remove();
        }
    }
}
