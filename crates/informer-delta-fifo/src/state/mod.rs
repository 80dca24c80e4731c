//! The queue as plain data: every transition is a method on `&mut State`, without locks, time or waiting.
//!
//! # Invariants
//! - A key is in at most one place of the queue: an entry, or a live item of the replace's list.
//! - Entries that belong to a replace exist only while there is a replace, and stand before all others.
//! - At most one batch is out. What is newest of a key is said by the queue, else by that batch, else by the
//!   known objects.

use std::sync::Arc;

use informer_store::{Known, Object, ObjectKey, ReplaceEnd, mutant};

use crate::clock::Moment;
use crate::config::{Config, LEAST_DELTAS, Order};
use crate::known::KnownObjects;
use crate::stats::Stats;

mod append;
mod arrival;
mod compress;
mod events;
mod flight;
mod give_back;
mod line;
mod list;
mod queue;
mod replace;
mod rules;
mod take;

use arrival::Arrival;
pub(crate) use arrival::Opened;
pub(crate) use events::Change;
pub(crate) use flight::{Flight, Told};
use line::Line;
pub(crate) use list::{ListTable, Listed};
use queue::{Entry, KeyQueue};
use rules::Newest;
pub(crate) use take::Applied;

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
    since: Moment,
}

/// What others may wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Signals {
    /// A consumer can take a batch.
    pub(crate) ready: bool,
    pub(crate) synced: bool,
    /// Nothing more comes out.
    pub(crate) finished: bool,
}

/// Everything that a queue knows.
pub(crate) struct State<K> {
    known: Option<Arc<dyn KnownObjects<K>>>,
    emit_replaced: bool,
    max_deltas: Option<usize>,
    queue: KeyQueue<K>,
    replace: Option<Replacement<K>>,
    /// Everything that waits, where the order is kept over all keys. Then there is nothing in `queue` and `replace`.
    line: Option<Line<K>>,
    flight: Option<Arc<Flight<K>>>,
    /// An empty one, to be used again.
    spare: Option<Arc<Flight<K>>>,
    arrival: Arrival,
    sync: Sync,
    closed: bool,
    counts: Stats,
    /// Objects to be dropped once the lock is released.
    garbage: Vec<Arc<K>>,
}

fn line_of<K>(order: Order) -> Option<Line<K>> {
    match order {
        Order::ByKey => None,
        Order::InOrder => Some(Line::new()),
    }
}

impl<K: Object> State<K> {
    pub(crate) fn new(config: &Config<K>) -> Self {
        Self {
            known: config.known.clone(),
            emit_replaced: config.emit_replaced,
            max_deltas: config.max_deltas,
            queue: KeyQueue::new(),
            replace: None,
            line: line_of(config.order),
            flight: None,
            spare: None,
            arrival: Arrival::default(),
            sync: Sync::Unpopulated,
            closed: false,
            counts: Stats::default(),
            garbage: Vec::new(),
        }
    }

    /// The mark of the newest copy that has arrived.
    pub(crate) fn known(&self, key: &ObjectKey) -> Option<Known> {
        match self.newest(key) {
            Newest::Present(object) => Some(Known::of(&*object)),
            Newest::Gone(_) | Newest::Absent | Newest::Undone(_) => None,
        }
    }

    pub(crate) fn close(&mut self) {
        self.closed = true;
    }

    pub(crate) fn set_max_deltas(&mut self, max: Option<usize>) {
        self.max_deltas = max.map(|max| max.max(LEAST_DELTAS));
    }

    /// Changes the order, if nothing waits and nothing is out.
    pub(crate) fn set_order(&mut self, order: Order) -> bool {
        let in_line = self.line.as_ref().is_some_and(|line| !line.is_empty());
        let is_idle =
            self.queue.has_no_key() && self.replace.is_none() && self.flight.is_none() && !in_line;
        if is_idle {
            self.line = line_of(order);
        }
        is_idle
    }

    pub(crate) fn has_synced(&self) -> bool {
        self.sync == Sync::Synced
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// True if a consumer can take a batch now.
    pub(crate) fn is_ready(&self) -> bool {
        (self.flight.is_none() || mutant!("fifo-two-batches-out")) && self.has_work()
    }

    /// True if the queue is closed and nothing more comes out, until something more goes in.
    pub(crate) fn is_finished(&self) -> bool {
        self.closed && self.flight.is_none() && !self.has_work()
    }

    #[inline]
    pub(crate) fn signals(&self) -> Signals {
        Signals {
            ready: self.is_ready(),
            synced: self.has_synced(),
            finished: self.is_finished(),
        }
    }

    fn has_work(&self) -> bool {
        let in_line = self.line.as_ref().is_some_and(|line| !line.is_empty());
        !self.queue.is_empty() || self.replace.is_some() || in_line || self.arrival.has_news()
    }

    /// How many keys wait.
    pub(crate) fn depth(&self) -> usize {
        let listed = self
            .replace
            .as_ref()
            .map_or(0, |replace| replace.list.live());
        let in_line = self.line.as_ref().map_or(0, Line::len);
        self.queue.len() + listed + in_line
    }

    pub(crate) fn stats(&self) -> Stats {
        let listed = self
            .replace
            .as_ref()
            .map_or(0, |replace| replace.list.live());
        let in_line = self.line.as_ref().map_or(0, Line::deltas);
        Stats {
            queued_keys: self.depth(),
            queued_deltas: self.queue.deltas() + listed + in_line,
            in_flight_keys: self.flight.as_ref().map_or(0, |flight| flight.keys()),
            ..self.counts
        }
    }

    /// Since when the oldest waits that is not yet acknowledged.
    pub(crate) fn oldest(&self) -> Option<Moment> {
        let flight = self.flight.as_ref().and_then(|flight| flight.since);
        let replace = self.replace.as_ref().map(|replace| replace.since);
        let head = self.queue.head().map(|entry| entry.since);
        let line = self.line.as_ref().and_then(Line::since);
        [flight, replace, head, line].into_iter().flatten().min()
    }

    /// What was replaced or refused, to be dropped outside the lock.
    pub(crate) fn take_garbage(&mut self) -> Vec<Arc<K>> {
        std::mem::take(&mut self.garbage)
    }

    /// Keeps an object until the lock is released, if it would be freed here.
    fn discard(&mut self, object: Arc<K>) {
        if Arc::strong_count(&object) == 1 {
            self.garbage.push(object);
        }
    }

    fn is_queued(&self, key: &ObjectKey) -> bool {
        let in_line = self.line.as_ref().is_some_and(|line| line.contains(key));
        in_line || self.queue.find(key).is_some() || self.find_listed(key).is_some()
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
        self.newest_at(key, self.queue.find(key))
    }

    /// The newest of a key whose entry in the queue has been looked for.
    fn newest_at(&self, key: &ObjectKey, queued: Option<u32>) -> Newest<K> {
        match self.newest_told(key, queued) {
            // The server went back to before this deletion: it says nothing of what comes now.
            Newest::Gone(Some(at)) if self.arrival.is_beyond(&at) => Newest::Gone(None),
            Newest::Present(object) if self.arrival.is_undone(&*object) => Newest::Undone(object),
            newest => newest,
        }
    }

    fn newest_told(&self, key: &ObjectKey, queued: Option<u32>) -> Newest<K> {
        if let Some(newest) = self.line.as_ref().and_then(|line| line.newest(key)) {
            return newest;
        }
        let entry = queued.and_then(|id| self.queue.entry(id));
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
        if let Some(newest) = self.flight.as_ref().and_then(|flight| flight.newest(key))
            && !mutant!("fifo-forget-what-is-out")
        {
            return newest;
        }
        match self.known.as_ref().and_then(|known| known.get(key)) {
            Some(object) => Newest::Present(object),
            None => Newest::Absent,
        }
    }
}
