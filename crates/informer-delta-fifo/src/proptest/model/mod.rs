//! A naive model of the queue: one plain list, searched from end to end, and the rules written down a second time.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use informer_store::{
    Deletion, DeltaSink, ListEnd, Object, ObjectKey, ObjectList, ResourceVersion, Uid,
};
use parking_lot::Mutex;

use super::Violation;
use super::under_test::Popped;
use crate::config::{DeltaFifoConfig, QueueOrder};
use crate::delta::Delta;

mod batches;
mod deltas;
mod events;
mod lists;

/// A queue without an index, a barrier or a shortcut, which says what a [`DeltaFifo`](crate::DeltaFifo) of the same settings must do.
///
/// It is a [`DeltaSink`]: feed it with what the queue is fed, and give it what the queue [pops](Self::check_pop). Of the resource version
/// that a batch reaches it knows the bounds.
pub struct Model<K: Object>(Mutex<State<K>>);

/// Deltas of a key.
struct Entry<K> {
    key: ObjectKey,
    deltas: Vec<Delta<K>>,
    /// When the oldest of them was queued.
    tick: u64,
    /// A consumer had them and gave them back: it may have applied a part.
    tried: bool,
}

/// A list or a resync.
#[derive(Clone, Default)]
struct Unit {
    list: Option<ListEnd>,
    is_resync: bool,
    /// How many deltas it queued.
    deltas: usize,
}

enum Item<K> {
    Entry(Entry<K>),
    /// A unit begins, in order.
    Start(u64),
    End(Unit, u64),
}

struct Flight<K> {
    entries: Vec<Entry<K>>,
    unit: Option<Unit>,
    claimed: Option<ResourceVersion>,
}

struct State<K> {
    config: DeltaFifoConfig<K>,
    queue: Vec<Item<K>>,
    flight: Option<Flight<K>>,
    /// Up to which version everything was received, since when.
    received: Vec<(u64, Option<ResourceVersion>)>,
    applied: Option<ResourceVersion>,
    tick: u64,
    is_populated: bool,
    is_synced: bool,
    needs_list: bool,
    /// Some of what a rewind queued may not be applied.
    rewound: bool,
}

/// The newest of a key.
enum Newest<K> {
    Present(Arc<K>),
    Deleted(Arc<K>),
    Absent,
}

/// UID and version.
type Identity = (Option<Uid>, Option<ResourceVersion>);

impl<K: Object> Model<K> {
    /// Makes the model of a queue with these settings.
    #[must_use]
    pub const fn new(config: DeltaFifoConfig<K>) -> Self {
        Self(Mutex::new(State {
            config,
            queue: Vec::new(),
            flight: None,
            received: Vec::new(),
            applied: None,
            tick: 0,
            is_populated: false,
            is_synced: false,
            needs_list: false,
            rewound: false,
        }))
    }

    /// Checks what a queue popped, asked for this many keys; then it is in flight.
    ///
    /// # Errors
    /// If it is not what must be popped.
    pub fn check_pop(&self, max: usize, popped: Option<&Popped<K>>) -> Result<(), Violation> {
        self.0.lock().check_pop(max, popped)
    }

    /// Acknowledges what is in flight but for these keys.
    pub fn ack_except(&self, keys: &[ObjectKey]) {
        self.0.lock().ack_except(keys);
    }

    /// Returns what is in flight to the front.
    pub fn requeue(&self) {
        self.0.lock().requeue();
    }

    /// Returns the number of queued keys; in order, a key counts once for each of its changes.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.0.lock().entries().count()
    }

    /// Returns the number of queued deltas.
    #[must_use]
    pub fn queued_deltas(&self) -> usize {
        self.0.lock().queued_deltas()
    }

    /// Returns `true` if the queue is synced.
    #[must_use]
    pub fn has_synced(&self) -> bool {
        self.0.lock().is_synced
    }
}

impl<K: Object> DeltaSink<K> for Model<K> {
    fn newest(&self, key: &ObjectKey) -> Option<(ObjectKey, Arc<K>)> {
        let state = self.0.lock();
        match state.newest(key) {
            Newest::Present(object) if !(state.needs_list && state.rewound) => {
                Some((key.clone(), object))
            }
            _ => None,
        }
    }

    fn add(&self, key: ObjectKey, object: Arc<K>) {
        self.0.lock().upsert(true, &key, object);
    }

    fn update(&self, key: ObjectKey, object: Arc<K>) {
        self.0.lock().upsert(false, &key, object);
    }

    fn delete(&self, key: ObjectKey, deletion: Deletion<K>) {
        self.0.lock().delete(&key, deletion);
    }

    fn undecodable(&self, key: ObjectKey, resource_version: Option<ResourceVersion>) {
        self.0.lock().undecodable(&key, resource_version);
    }

    fn bookmark(&self, resource_version: ResourceVersion) {
        let mut state = self.0.lock();
        if !state.needs_list {
            state.receive(Some(resource_version));
        }
    }

    fn resync(&self) {
        self.0.lock().resync();
    }

    fn replace(&self, list: ObjectList<K>, end: ListEnd) {
        let items = list
            .iter()
            .map(|(key, object)| (key.clone(), object.cloned()));
        self.0.lock().replace(&items.collect::<Vec<_>>(), &end);
    }

    fn needs_list(&self) -> bool {
        self.0.lock().needs_list
    }
}

impl<K: Object> fmt::Debug for Model<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Model")
            .field("depth", &self.depth())
            .finish_non_exhaustive()
    }
}

impl<K: Object> State<K> {
    fn by_key(&self) -> bool {
        self.config.order == QueueOrder::ByKey
    }

    fn entries(&self) -> impl DoubleEndedIterator<Item = &Entry<K>> {
        self.queue.iter().filter_map(|item| match item {
            Item::Entry(entry) => Some(entry),
            _ => None,
        })
    }

    fn queued_deltas(&self) -> usize {
        self.entries().map(|entry| entry.deltas.len()).sum()
    }

    fn entry(&mut self, key: &ObjectKey) -> Option<&mut Entry<K>> {
        let entries = self.queue.iter_mut().filter_map(|item| match item {
            Item::Entry(entry) => Some(entry),
            _ => None,
        });
        entries.rev().find(|entry| entry.key == *key)
    }

    fn is_queued(&self, key: &ObjectKey) -> bool {
        self.entries().any(|entry| entry.key == *key)
    }

    fn flying(&self) -> impl Iterator<Item = &Entry<K>> {
        self.flight.iter().flat_map(|flight| &flight.entries)
    }

    fn is_flying(&self, key: &ObjectKey) -> bool {
        self.flying().any(|entry| entry.key == *key)
    }

    fn known(&self, key: &ObjectKey) -> Option<Arc<K>> {
        self.config.known.as_ref()?.known(key)
    }

    fn newest(&self, key: &ObjectKey) -> Newest<K> {
        let queued = self.entries().rev().filter(|entry| entry.key == *key);
        let flying = self.flying().filter(|entry| entry.key == *key);
        let mut found = queued
            .chain(flying)
            .filter_map(|entry| deltas::newest(&entry.deltas));
        match (found.next(), self.known(key)) {
            (Some(newest), _) => newest,
            (None, Some(known)) => Newest::Present(known),
            (None, None) => Newest::Absent,
        }
    }

    fn receive(&mut self, version: Option<ResourceVersion>) {
        let Some(version) = version.filter(|version| !version.is_unset()) else {
            return;
        };
        let latest = self.latest();
        if latest.is_none_or(|latest| version.compare(&latest) != Some(Ordering::Less)) {
            self.set_received(Some(version));
        }
    }

    fn latest(&self) -> Option<ResourceVersion> {
        self.received.last()?.1.clone()
    }

    fn set_received(&mut self, version: Option<ResourceVersion>) {
        self.tick += 1;
        self.received.push((self.tick, version));
    }
}

fn identity<K: Object>(object: &K) -> Identity {
    (object.uid(), object.resource_version())
}

fn is_other_uid(a: &Identity, b: &Identity) -> bool {
    matches!((&a.0, &b.0), (Some(a), Some(b)) if a != b)
}

/// Compares versions of one UID, as far as they tell.
fn order(a: &Identity, b: &Identity) -> Option<Ordering> {
    let (Some(a), Some(b)) = (&a.1, &b.1) else {
        return None;
    };
    if a.is_unset() || b.is_unset() {
        return None;
    }
    a.compare(b)
}

fn is_same_uid(a: &Identity, b: &Identity) -> bool {
    a.0.is_some() && a.0 == b.0
}

/// Of one UID, the same state or one before it.
fn is_old(own: &Identity, other: &Identity) -> bool {
    let is_before = matches!(order(own, other), Some(Ordering::Less | Ordering::Equal));
    is_same_uid(own, other) && is_before
}
