//! The queue as plain data: every transition is a method on `&mut State`, without locks, time or waiting.
//!
//! # Invariants
//! - A key is in at most one place of the queue: an entry, or a live item of the replace's list.
//! - Entries that belong to a replace exist only while there is a replace, and stand before all others.
//! - At most one batch is out. What is newest of a key is said by the queue, else by that batch, else by the
//!   known objects.

use std::sync::Arc;
use std::time::Instant;

use informer_store::{Deletion, Known, Object, ObjectKey, ReplaceEnd, ResourceVersion};

use crate::config::Config;
use crate::delta::{Chain, Deleted, Delta};
use crate::known::KnownObjects;
use crate::stats::Stats;

mod arrival;
mod compress;
mod flight;
mod give_back;
mod list;
mod queue;
mod replace;
mod rules;

use arrival::Arrival;
pub(crate) use arrival::Opened;
use compress::compress;
use flight::FlightReplace;
pub(crate) use flight::{Flight, Told};
pub(crate) use list::{ListTable, Listed};
use queue::{Entry, KeyQueue, Place};
use rules::{DeleteVerdict, Newest, Verdict, judge_deletion, judge_event};

/// How far the initial list has come (client-go's D7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sync {
    /// Nothing has arrived.
    Unpopulated,
    /// The first list waits to be applied.
    Pending,
    /// For ever.
    Synced,
}

/// A whole list that waits at the head of the queue.
#[derive(Debug)]
struct Replacement<K> {
    list: ListTable<K>,
    end: ReplaceEnd,
    completes_sync: bool,
    since: Instant,
}

/// Everything that a queue knows.
pub(crate) struct State<K> {
    known: Option<Arc<dyn KnownObjects<K>>>,
    emit_replaced: bool,
    max_deltas: Option<usize>,
    queue: KeyQueue<K>,
    replace: Option<Replacement<K>>,
    flight: Option<Arc<Flight<K>>>,
    arrival: Arrival,
    sync: Sync,
    closed: bool,
    counts: Stats,
    /// Objects to be dropped once the lock is released.
    garbage: Vec<Arc<K>>,
}

/// Whether a watch says that an object was added or changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    Add,
    Update,
}

impl<K: Object> State<K> {
    pub(crate) fn new(config: &Config<K>) -> Self {
        Self {
            known: config.known.clone(),
            emit_replaced: config.emit_replaced,
            max_deltas: config.max_deltas,
            queue: KeyQueue::new(),
            replace: None,
            flight: None,
            arrival: Arrival::default(),
            sync: Sync::Unpopulated,
            closed: false,
            counts: Stats::default(),
            garbage: Vec::new(),
        }
    }

    /// Takes in a copy of an object.
    pub(crate) fn upsert(&mut self, change: Change, key: ObjectKey, object: Arc<K>, now: Instant) {
        self.populate();
        let version = object.resource_version();
        match judge_event(self.newest(&key), &*object) {
            Verdict::Unchanged(_) => {
                self.counts.unchanged += 1;
                self.garbage.push(object);
            }
            Verdict::Stale => {
                self.counts.stale += 1;
                self.garbage.push(object);
            }
            Verdict::Take => {
                let delta = match change {
                    Change::Add => Delta::Added(object),
                    Change::Update => Delta::Updated(object),
                };
                self.touch(&key, version.as_ref());
                self.append(key, delta, now);
            }
            Verdict::NewLife(old) => {
                self.touch(&key, version.as_ref());
                let deleted = Delta::Deleted(Deleted::FinalStateUnknown(old));
                self.append(key.clone(), deleted, now);
                self.append(key, Delta::Added(object), now);
            }
        }
        self.arrival.arrive(version);
    }

    /// Takes in a deletion.
    pub(crate) fn delete(&mut self, key: ObjectKey, deletion: Deletion<K>, now: Instant) {
        self.populate();
        let version = deletion.resource_version.clone();
        match judge_deletion(self.newest(&key), deletion) {
            DeleteVerdict::Unknown => self.counts.unknown_deletions += 1,
            DeleteVerdict::Stale => self.counts.stale += 1,
            DeleteVerdict::Again(None) => {}
            DeleteVerdict::Again(Some(object)) => self.improve_tombstone(&key, object),
            DeleteVerdict::Take(deleted) => {
                self.touch(&key, version.as_ref());
                self.append_deleted(key, deleted, version.clone(), now);
            }
        }
        self.arrival.arrive(version);
    }

    /// Takes in that a newer copy cannot be decoded.
    pub(crate) fn set_aside(
        &mut self,
        key: ObjectKey,
        version: Option<ResourceVersion>,
        now: Instant,
    ) {
        if matches!(self.newest(&key), Newest::Present(_)) {
            self.append(key, Delta::SetAside(version.clone()), now);
        }
        self.arrival.arrive(version);
    }

    /// Takes in that everything up to a version has arrived.
    pub(crate) fn bookmark(&mut self, version: ResourceVersion) {
        self.arrival.arrive(Some(version));
    }

    /// Appends a reminder of every known object of which nothing is queued or in flight (client-go's D6).
    pub(crate) fn resync(&mut self, now: Instant) {
        let Some(known) = self.known.clone() else {
            return;
        };
        let mut silent = Vec::new();
        known.for_each(&mut |key, object| {
            if !self.is_queued(key) && !self.is_in_flight(key) {
                silent.push((key.clone(), Arc::clone(object)));
            }
        });
        for (key, object) in silent {
            self.append(key, Delta::Sync(object), now);
        }
    }

    /// The mark of the newest copy that has arrived.
    pub(crate) fn known(&self, key: &ObjectKey) -> Option<Known> {
        match self.newest(key) {
            Newest::Present(object) => Some(Known::of(&*object)),
            Newest::Gone(_) | Newest::Absent => None,
        }
    }

    /// Takes out what comes next: a whole replace, or up to `max` keys. `None` if there is nothing, or a batch is
    /// out.
    pub(crate) fn pop(&mut self, max: usize) -> Option<Arc<Flight<K>>> {
        if !self.is_ready() {
            return None;
        }
        let is_initial = self.sync != Sync::Synced;
        let mut flight = match self.replace.take() {
            Some(replace) => self.pop_replace(replace),
            None => self.pop_entries(max.max(1)),
        };
        flight.is_initial = is_initial;
        flight.emit_replaced = self.emit_replaced;
        flight.applied_up_to = match self.queue.head() {
            Some(head) => head.before.clone(),
            None => self.arrival.complete().cloned(),
        };
        let flight = Arc::new(flight);
        self.flight = Some(Arc::clone(&flight));
        Some(flight)
    }

    fn pop_entries(&mut self, max: usize) -> Flight<K> {
        let mut entries = Vec::with_capacity(max.min(self.queue.len()));
        while entries.len() < max
            && let Some(entry) = self.queue.pop_front()
        {
            entries.push(entry);
        }
        let lead = entries.len();
        let since = entries.first().map(|entry| entry.since);
        let mut flight = Flight::new(entries, lead);
        flight.since = since;
        flight
    }

    fn pop_replace(&mut self, replace: Replacement<K>) -> Flight<K> {
        let mut entries = Vec::new();
        while self.queue.head_place() == Some(Place::Replace)
            && let Some(entry) = self.queue.pop_front()
        {
            entries.push(entry);
        }
        let lead = entries.len();
        if replace.list.has_told() {
            for item in replace
                .list
                .iter()
                .filter(|item| matches!(item.what, Listed::Told))
            {
                let Some(id) = self.queue.find(&item.key) else {
                    continue;
                };
                if self.queue.place(id) == Some(Place::Listed) {
                    entries.extend(self.queue.remove(id));
                }
            }
        }
        let since = entries
            .first()
            .map_or(replace.since, |entry| entry.since.min(replace.since));
        let mut flight = Flight::new(entries, lead);
        flight.since = Some(since);
        let Replacement {
            list,
            end,
            completes_sync,
            ..
        } = replace;
        flight.replace = Some(Box::new(FlightReplace {
            list,
            end,
            completes_sync,
        }));
        flight
    }

    /// The batch that is out was applied. What it held may be dropped.
    pub(crate) fn ack(&mut self) -> Option<Arc<Flight<K>>> {
        let flight = self.flight.take()?;
        if flight
            .replace
            .as_ref()
            .is_some_and(|replace| replace.completes_sync)
        {
            self.sync = Sync::Synced;
        }
        self.arrival.applied(flight.applied_up_to.as_ref());
        Some(flight)
    }

    pub(crate) fn close(&mut self) {
        self.closed = true;
    }

    pub(crate) fn has_synced(&self) -> bool {
        self.sync == Sync::Synced
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// True if a consumer can take a batch now.
    pub(crate) fn is_ready(&self) -> bool {
        self.flight.is_none() && self.has_work()
    }

    /// True if the queue is closed and nothing more comes out, until something more goes in.
    pub(crate) fn is_finished(&self) -> bool {
        self.closed && self.flight.is_none() && !self.has_work()
    }

    fn has_work(&self) -> bool {
        !self.queue.is_empty() || self.replace.is_some() || self.arrival.has_news()
    }

    /// How many keys wait.
    pub(crate) fn depth(&self) -> usize {
        self.queue.len()
            + self
                .replace
                .as_ref()
                .map_or(0, |replace| replace.list.live())
    }

    pub(crate) fn stats(&self) -> Stats {
        let listed = self
            .replace
            .as_ref()
            .map_or(0, |replace| replace.list.live());
        Stats {
            queued_keys: self.queue.len() + listed,
            queued_deltas: self.queue.deltas() + listed,
            in_flight_keys: self.flight.as_ref().map_or(0, |flight| flight.keys()),
            ..self.counts
        }
    }

    /// Since when the oldest waits that is not yet acknowledged.
    pub(crate) fn oldest(&self) -> Option<Instant> {
        let flight = self.flight.as_ref().and_then(|flight| flight.since);
        let replace = self.replace.as_ref().map(|replace| replace.since);
        let head = self.queue.head().map(|entry| entry.since);
        [flight, replace, head].into_iter().flatten().min()
    }

    /// What was replaced or refused, to be dropped outside the lock.
    pub(crate) fn take_garbage(&mut self) -> Vec<Arc<K>> {
        std::mem::take(&mut self.garbage)
    }

    /// A change before any list: there is no initial list to wait for (client-go's D7).
    fn populate(&mut self) {
        if self.sync == Sync::Unpopulated && !self.arrival.is_list_open() {
            self.sync = Sync::Synced;
        }
    }

    /// A list that is open now must not undo this change.
    fn touch(&mut self, key: &ObjectKey, version: Option<&ResourceVersion>) {
        self.arrival.touch(key, version);
    }

    fn is_queued(&self, key: &ObjectKey) -> bool {
        self.queue.find(key).is_some() || self.find_listed(key).is_some()
    }

    fn is_in_flight(&self, key: &ObjectKey) -> bool {
        self.flight
            .as_ref()
            .is_some_and(|flight| flight.contains(key))
    }

    fn find_listed(&self, key: &ObjectKey) -> Option<usize> {
        self.replace.as_ref()?.list.find(key)
    }

    fn newest(&self, key: &ObjectKey) -> Newest<K> {
        let entry = self.queue.find(key).and_then(|id| self.queue.entry(id));
        if let Some(newest) = entry.and_then(Entry::newest) {
            return newest;
        }
        if let Some(replace) = &self.replace
            && let Some(at) = replace.list.find(key)
            && let Listed::Object(object) = &replace.list.item(at).what
        {
            return Newest::Present(Arc::clone(object));
        }
        self.newest_taken(key)
    }

    /// What is known of a key outside the queue: in flight, else in the store.
    fn newest_taken(&self, key: &ObjectKey) -> Newest<K> {
        if let Some(newest) = self.flight.as_ref().and_then(|flight| flight.newest(key)) {
            return newest;
        }
        match self.known.as_ref().and_then(|known| known.get(key)) {
            Some(object) => Newest::Present(object),
            None => Newest::Absent,
        }
    }

    fn new_entry(&self, key: ObjectKey, chain: Chain<K>, since: Instant) -> Entry<K> {
        let before = self.arrival.complete().cloned();
        Entry {
            key,
            chain,
            deleted_at: None,
            before,
            since,
        }
    }

    /// Appends a delta to its key, which keeps its place if it has one (client-go's D2).
    fn append(&mut self, key: ObjectKey, delta: Delta<K>, now: Instant) {
        let id = match self.queue.find(&key).or_else(|| self.promote(&key)) {
            Some(id) => id,
            None => {
                let entry = self.new_entry(key, Chain::from_iter([delta]), now);
                self.queue.push_back(entry, Place::Single);
                return;
            }
        };
        self.queue.edit(id, |entry| entry.chain.push(delta));
        self.compress_if_long(id);
    }

    fn append_deleted(
        &mut self,
        key: ObjectKey,
        deleted: Deleted<K>,
        at: Option<ResourceVersion>,
        now: Instant,
    ) {
        self.append(key.clone(), Delta::Deleted(deleted), now);
        if let Some(id) = self.queue.find(&key) {
            self.queue
                .edit(id, |entry| entry.deleted_at = at.map(Box::new));
        }
    }

    /// Turns an item of the replace's list into an entry at the same place.
    fn promote(&mut self, key: &ObjectKey) -> Option<u32> {
        let at = self.find_listed(key)?;
        let replace = self.replace.as_mut()?;
        let key = replace.list.item(at).key.clone();
        let delta = listed_delta(replace.list.set(at, Listed::Told), self.emit_replaced)?;
        let since = replace.since;
        let entry = self.new_entry(key, Chain::from_iter([delta]), since);
        Some(self.queue.insert_listed(entry))
    }

    /// Of two deletions in a row the older stays, unless it is a tombstone (client-go's D3).
    fn improve_tombstone(&mut self, key: &ObjectKey, object: Arc<K>) {
        let Some(id) = self.queue.find(key) else {
            return;
        };
        self.queue.edit(id, |entry| {
            if let Some(Delta::Deleted(deleted)) = entry.chain.last_mut()
                && deleted.is_final_state_unknown()
            {
                *deleted = Deleted::LastState(object);
            }
        });
    }

    fn compress_if_long(&mut self, id: u32) {
        let Some(max) = self.max_deltas else { return };
        let Some(entry) = self.queue.entry(id).filter(|entry| entry.chain.len() > max) else {
            return;
        };
        let base = match self.newest_taken(&entry.key) {
            Newest::Present(object) => Some(object),
            Newest::Gone(_) | Newest::Absent => None,
        };
        let short = compress(&entry.chain, base.as_ref());
        let dropped = entry.chain.len() - short.len();
        self.counts.compressed += u64::try_from(dropped).unwrap_or(u64::MAX);
        let mut old = None;
        self.queue.edit(id, |entry| {
            old = Some(std::mem::replace(&mut entry.chain, short));
        });
        let objects = old
            .into_iter()
            .flatten()
            .filter_map(|delta| delta.object().cloned());
        self.garbage.extend(objects);
    }
}

/// The delta that tells of a list item.
pub(crate) fn listed_delta<K>(listed: Listed<K>, emit_replaced: bool) -> Option<Delta<K>> {
    match listed {
        Listed::Object(object) if emit_replaced => Some(Delta::Replaced(object)),
        Listed::Object(object) => Some(Delta::Sync(object)),
        Listed::SetAside => Some(Delta::SetAside(None)),
        Listed::Keep | Listed::Told | Listed::Removed => None,
    }
}
