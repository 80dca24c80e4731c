//! The queue as plain data: every transition is a method of [`State`], without locks or waiting; time is an argument.
//!
//! # Invariants
//! - By key, each key has one entry; each entry has a delta (client-go's D1).
//! - By key, at most one unit is queued. It ends at a barrier, which no unit and at most a version follows.
//! - In order, a unit stands between two barriers.
//! - At most one batch is in flight. The newest of a key is queued, else in flight, else known.
//!
//! A transition calls user code (known objects, metadata of objects) before it changes anything, so that a panic there leaves the queue
//! as it was. Only coalescing comes after, last, and of deltas that were queued before: it may be left out, and lets nobody wait.

use std::collections::HashSet;
use std::sync::Arc;

use informer_store::{Object, ObjectKey, ResourceVersion};

use crate::clock::Moment;
use crate::coalesce::{Base, End, end};
use crate::config::{DeltaFifoConfig, QueueOrder};
use crate::delta::Deltas;
use crate::known::KnownObjects;
use crate::stats::QueueStats;

mod compare;
mod events;
mod pop;
mod replace;
mod unit;

pub(crate) use compare::Comparison;
pub(crate) use events::Event;
pub(crate) use pop::Acked;
pub(crate) use unit::{InFlight, Queue, new_queue};

/// How far the first list is (client-go's D7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sync {
    /// Nothing was received.
    Unpopulated,
    /// The first list is not applied yet.
    Pending,
    /// For ever.
    Synced,
}

/// The newest of a key: queued, else in flight, else known.
#[derive(Debug)]
enum Newest<K> {
    Present(Arc<K>),
    /// Its deletion is queued or in flight; the deleted object.
    Deleted(Arc<K>),
    Absent,
}

/// What others may wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Signals {
    /// A consumer can pop a batch.
    pub(crate) ready: bool,
    /// The queue is closed and empty.
    pub(crate) finished: bool,
    /// Waiting for synced has an end.
    pub(crate) sync_decided: bool,
}

/// All of a queue.
pub(crate) struct State<K> {
    known: Option<Arc<dyn KnownObjects<K>>>,
    order: QueueOrder,
    max_deltas: Option<usize>,
    max_queued: Option<usize>,
    queue: Queue<K>,
    /// The number of queued deltas.
    deltas: usize,
    /// The number of queued units.
    units: usize,
    /// The number of deltas that queued units queued, at most.
    listed: usize,
    /// Nothing that is queued was queued earlier; `None` if the queue is empty.
    since: Option<Moment>,
    in_flight: Option<Arc<InFlight<K>>>,
    /// The keys that were put back after a consumer had them, until they are popped again: it may have applied a part.
    tried: HashSet<ObjectKey>,
    /// An empty one, to be used again.
    spare: Option<Arc<InFlight<K>>>,
    /// Everything up to here was received.
    received: Option<ResourceVersion>,
    /// Everything up to here was applied.
    applied: Option<ResourceVersion>,
    sync: Sync,
    closed: bool,
    needs_list: bool,
    /// Some of what a rewind queued may not be applied. If it is dropped, the next list is a rewind too.
    rewound: bool,
    counts: QueueStats,
    /// To be dropped once the lock is released.
    garbage: Vec<Garbage<K>>,
}

/// What was ignored, replaced or dropped.
pub(crate) enum Garbage<K> {
    Object(#[expect(dead_code, reason = "to be dropped")] Arc<K>),
    Deltas(#[expect(dead_code, reason = "to be dropped")] Deltas<K>),
    Queue(#[expect(dead_code, reason = "to be dropped")] Box<Queue<K>>),
}

impl<K: Object> State<K> {
    pub(crate) fn new(config: DeltaFifoConfig<K>) -> Self {
        Self {
            known: config.known,
            order: config.order,
            max_deltas: config.max_deltas,
            max_queued: config.max_queued,
            queue: new_queue(),
            deltas: 0,
            units: 0,
            listed: 0,
            since: None,
            in_flight: None,
            tried: HashSet::new(),
            spare: None,
            received: None,
            applied: None,
            sync: Sync::Unpopulated,
            closed: false,
            needs_list: false,
            rewound: false,
            counts: QueueStats::default(),
            garbage: Vec::new(),
        }
    }

    pub(crate) const fn close(&mut self) {
        self.closed = true;
    }

    pub(crate) const fn is_closed(&self) -> bool {
        self.closed
    }

    pub(crate) fn has_synced(&self) -> bool {
        self.sync == Sync::Synced
    }

    pub(crate) const fn needs_list(&self) -> bool {
        self.needs_list
    }

    /// A rewind was dropped: what is known is of a time that the server went back from.
    const fn has_lost_rewind(&self) -> bool {
        self.needs_list && self.rewound
    }

    /// Returns the number of queued keys.
    pub(crate) fn depth(&self) -> usize {
        self.queue.len()
    }

    /// Returns a moment before which nothing was queued that is not yet acknowledged.
    pub(crate) fn since(&self) -> Option<Moment> {
        let in_flight = self.in_flight.as_ref().and_then(|flight| flight.since);
        [in_flight, self.since].into_iter().flatten().min()
    }

    pub(crate) fn stats(&self) -> QueueStats {
        QueueStats {
            queued_keys: self.queue.len(),
            queued_deltas: self.deltas,
            in_flight_keys: self.in_flight.as_ref().map_or(0, |f| f.entries.len()),
            ..self.counts
        }
    }

    #[inline]
    pub(crate) fn signals(&self) -> Signals {
        let has_work = self.has_work();
        let is_free = self.in_flight.is_none();
        Signals {
            ready: is_free && has_work,
            finished: is_free && !has_work && self.closed,
            sync_decided: self.has_synced() || self.closed && !self.completes_sync(),
        }
    }

    /// Returns `true` if a batch can be popped, once none is in flight.
    fn has_work(&self) -> bool {
        self.has_queued() || self.received.is_some() && self.received != self.applied
    }

    /// Returns `true` if a delta or a unit is queued.
    fn has_queued(&self) -> bool {
        self.depth() > 0 || self.units > 0
    }

    /// Returns `true` if acknowledging what is in flight makes the queue synced.
    fn completes_sync(&self) -> bool {
        let in_flight = self.in_flight.as_ref();
        in_flight.is_some_and(|flight| flight.list_end().is_some())
    }

    pub(crate) fn take_garbage(&mut self) -> Vec<Garbage<K>> {
        std::mem::take(&mut self.garbage)
    }

    /// Returns the newest object of a key, and its key as it is held.
    pub(crate) fn newest_object(&self, key: &ObjectKey) -> Option<(ObjectKey, Arc<K>)> {
        let object = match self.newest(key) {
            Newest::Present(object) if !self.has_lost_rewind() => object,
            _ => return None,
        };
        let in_flight = self.in_flight.as_ref();
        let held = self
            .queue
            .get_key_value(key)
            .or_else(|| in_flight?.entries.get_key_value(key));
        let stored = match held {
            Some((held, _)) => Some(held.clone()),
            None => self.known.as_ref().and_then(|known| known.known_key(key)),
        };
        Some((stored.unwrap_or_else(|| key.clone()), object))
    }

    fn newest(&self, key: &ObjectKey) -> Newest<K> {
        let queued = self.queue.get(key);
        let newest = queued.and_then(newest_of);
        let newest = newest.or_else(|| queued.and_then(|_| self.newest_of_earlier(key)));
        let newest = newest.or_else(|| self.newest_in_flight(key));
        let newest = newest.or_else(|| self.newest_known(key));
        newest.unwrap_or(Newest::Absent)
    }

    /// In order, what stands before the newest entry of a key if that is only undecodable.
    fn newest_of_earlier(&self, key: &ObjectKey) -> Option<Newest<K>> {
        if self.order == QueueOrder::ByKey {
            return None;
        }
        let mut entries = self.queue.iter().rev().filter(|(other, _)| *other == key);
        entries.find_map(|(_, deltas)| newest_of(deltas))
    }

    fn newest_in_flight(&self, key: &ObjectKey) -> Option<Newest<K>> {
        newest_of(self.in_flight.as_ref()?.entries.get(key)?)
    }

    fn newest_known(&self, key: &ObjectKey) -> Option<Newest<K>> {
        Some(Newest::Present(self.known.as_ref()?.known(key)?))
    }

    fn is_in_flight(&self, key: &ObjectKey) -> bool {
        let in_flight = self.in_flight.as_ref();
        in_flight.is_some_and(|flight| flight.entries.contains(key))
    }

    /// Returns what the consumer has of a key once it has applied what is in flight. What it tried and does not know may be
    /// anything.
    fn base(&self, key: &ObjectKey) -> Base<K> {
        match self
            .newest_in_flight(key)
            .or_else(|| self.newest_known(key))
        {
            Some(Newest::Present(object)) => Base::Present(object),
            Some(_) => Base::Absent,
            None if self.known.is_some() && !self.tried.contains(key) => Base::Absent,
            None => Base::Unknown,
        }
    }

    /// Returns `true` if no consumer has seen or will see the object unless it stays queued: then its deletion needs no delta.
    fn is_unseen(&self, key: &ObjectKey) -> bool {
        self.order == QueueOrder::ByKey
            && self.max_deltas.is_some()
            && !self.is_in_flight(key)
            && matches!(self.base(key), Base::Absent)
    }

    /// Removes what is queued of an object that no consumer needs to see.
    fn remove_unseen(&mut self, key: &ObjectKey) {
        if let Some(deltas) = self.queue.remove(key) {
            self.count_coalesced(deltas.len());
            self.garbage.push(Garbage::Deltas(deltas));
            if !self.has_queued() {
                self.since = None;
            }
        }
    }

    /// So many queued deltas are no longer. Those that lists queued make no room for events.
    fn count_coalesced(&mut self, deltas: usize) {
        self.deltas -= deltas;
        self.listed = self.listed.min(self.deltas);
        self.counts.coalesced += deltas as u64;
    }

    /// Keeps an object until the lock is released, if it would be freed here.
    fn discard(&mut self, object: Arc<K>) {
        if Arc::strong_count(&object) == 1 {
            self.garbage.push(Garbage::Object(object));
        }
    }

    /// Everything up to this version was received.
    fn receive(&mut self, version: Option<ResourceVersion>) {
        let Some(version) = version.filter(|version| !version.is_unset()) else {
            return;
        };
        let received = self.received.as_ref();
        if received.is_none_or(|received| !version.is_older_than(received)) {
            self.received = Some(version);
        }
    }
}

fn newest_of<K>(deltas: &Deltas<K>) -> Option<Newest<K>> {
    end(deltas).map(|end| match end {
        End::Present(object) => Newest::Present(Arc::clone(object)),
        End::Deleted(deleted) => Newest::Deleted(Arc::clone(deleted.object())),
    })
}
