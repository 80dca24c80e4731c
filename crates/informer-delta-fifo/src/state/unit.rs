//! What the queue holds beside deltas: barriers and units; and the content of a batch.

use informer_store::{KeyQueue, ListEnd, ResourceVersion};

use crate::clock::Moment;
use crate::delta::Deltas;

/// Keys with their deltas, and barriers, in order. By key each key has one entry; in order each change is one.
pub(crate) type Queue<K> = KeyQueue<Deltas<K>, Box<Barrier>>;

/// A place in the queue. Boxed there, because entries must be small.
#[derive(Debug)]
pub(crate) struct Barrier {
    /// Everything up to here is applied once everything before this place is.
    pub(crate) received: Option<ResourceVersion>,
    /// What stands behind it was queued at this moment or later.
    pub(crate) since: Option<Moment>,
    pub(crate) kind: BarrierKind,
}

#[derive(Debug)]
pub(crate) enum BarrierKind {
    /// It only carries `received`.
    Version,
    /// A unit begins here. Only in order; by key a unit begins at the front.
    Start,
    /// A unit ends here.
    End(Unit),
}

/// A list or resync that is queued, and popped as one batch.
#[derive(Debug, Default)]
pub(crate) struct Unit {
    pub(crate) list: Option<ListEnd>,
    pub(crate) resync: bool,
    /// How many deltas it queued.
    pub(crate) deltas: usize,
}

impl Unit {
    /// Makes an older unit part of this one.
    pub(crate) fn merge_older(&mut self, older: Self) {
        self.resync |= older.resync;
        self.deltas += older.deltas;
        self.list = match (self.list.take(), older.list) {
            (Some(newer), Some(older)) => {
                let rewind = newer.rewind || older.rewind;
                Some(newer.rewind(rewind))
            }
            (newer, older) => newer.or(older),
        };
    }
}

/// The content of a batch. It does not change while it is in flight.
#[derive(Debug)]
pub(crate) struct InFlight<K> {
    /// Each key once, without barriers.
    pub(crate) entries: Queue<K>,
    pub(crate) unit: Option<Unit>,
    /// It was popped before the queue was synced.
    pub(crate) is_initial: bool,
    /// Everything up to here is applied once this is.
    pub(crate) applied_up_to: Option<ResourceVersion>,
    pub(crate) since: Option<Moment>,
    /// How many deltas there are.
    pub(crate) deltas: usize,
}

/// The number of entries that an emptied queue keeps room for: as many as a batch usually has.
const KEPT: usize = 1024;

/// Makes an empty queue.
pub(crate) fn new_queue<K>() -> Queue<K> {
    Queue::keeping(KEPT)
}

impl<K> Default for InFlight<K> {
    fn default() -> Self {
        Self {
            entries: new_queue(),
            unit: None,
            is_initial: false,
            applied_up_to: None,
            since: None,
            deltas: 0,
        }
    }
}

impl<K> InFlight<K> {
    /// Removes everything, and keeps memory for the next batch.
    pub(crate) fn clear(&mut self) {
        let mut entries = std::mem::replace(&mut self.entries, Queue::new());
        *self = Self::default();
        entries.clear();
        self.entries = entries;
    }

    pub(crate) fn list_end(&self) -> Option<&ListEnd> {
        self.unit.as_ref()?.list.as_ref()
    }
}
