//! The settings of a queue.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use informer_store::Object;

use crate::clock::ReadClock;
use crate::known::KnownObjects;

/// What coalesced deltas can need: a deletion, an addition, and that a newer state is undecodable.
const LEAST_DELTAS: usize = 3;

/// The order in which a queue hands out what it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum QueueOrder {
    /// Key by key, in the order of each key's first delta, all its deltas together. Long deltas are coalesced, and with [known
    /// objects](DeltaFifoConfig::known) memory is bounded by the objects that exist, that are known and that are in flight. A list is
    /// one batch, with all that was queued before it.
    #[default]
    ByKey,
    /// In the order of receipt over all keys, each change by itself. A list is a batch of its own and keeps its place between the
    /// changes before and after it. A batch holds a key at most once: the next change of the key begins the next batch. Nothing is
    /// coalesced: only [`max_queued`](DeltaFifoConfig::max_queued) bounds the memory.
    #[doc(alias = "RealFIFO")]
    #[doc(alias = "InOrderInformers")]
    InOrder,
}

/// The settings of a [`DeltaFifo`](crate::DeltaFifo).
///
/// ```
/// use informer_delta_fifo::{DeltaFifo, DeltaFifoConfig};
/// use informer_store::Store;
/// use k8s_openapi::api::core::v1::Pod;
///
/// // Keeps every delta, as client-go does.
/// let store: Store<Pod> = Store::new();
/// let config = DeltaFifoConfig::new().known(store.clone()).max_deltas(None);
/// let fifo = DeltaFifo::new(config);
/// # assert_eq!(fifo.depth(), 0);
/// ```
#[non_exhaustive]
#[doc(alias = "DeltaFIFOOptions")]
#[doc(alias = "RealFIFOOptions")]
pub struct DeltaFifoConfig<K> {
    pub(crate) known: Option<Arc<dyn KnownObjects<K>>>,
    pub(crate) max_deltas: Option<usize>,
    pub(crate) max_queued: Option<usize>,
    pub(crate) order: QueueOrder,
    pub(crate) clock: Option<Arc<ReadClock>>,
}

impl<K: Object> DeltaFifoConfig<K> {
    /// Makes the default settings: no known objects, at most 8 deltas a key, no limit, by key.
    #[must_use]
    pub fn new() -> Self {
        Self {
            known: None,
            max_deltas: Some(8),
            max_queued: None,
            order: QueueOrder::ByKey,
            clock: None,
        }
    }

    /// Sets the known objects: the store that the consumer writes.
    ///
    /// Without it the queue does not know what was acknowledged: it keeps every deletion, finds no deletions by a list beyond what is
    /// queued, and resyncs nothing.
    #[must_use]
    #[doc(alias = "KnownObjects")]
    pub fn known(mut self, known: impl KnownObjects<K>) -> Self {
        self.known = Some(Arc::new(known));
        self
    }

    /// Sets how many deltas a key may have before they are coalesced to what a consumer needs; at least 3. `None` keeps every delta,
    /// as client-go does, also of objects that are deleted before a consumer saw them: memory is unbounded while no consumer runs.
    /// Ignored [in order](QueueOrder::InOrder), where nothing is coalesced.
    #[must_use]
    pub fn max_deltas(mut self, max: Option<usize>) -> Self {
        self.max_deltas = max.map(|max| max.max(LEAST_DELTAS));
        self
    }

    /// Sets how many deltas of events may be queued; at least 1, unlimited by default. What a list or resync queued does not count, and
    /// makes no room for events when it is coalesced.
    ///
    /// Beyond it the queue drops all that is queued and ignores events until the next list: [`needs_list`] is `true` meanwhile, and a
    /// reflector lists. So a stalled consumer costs bounded memory where deltas cannot be coalesced: in order, or without known
    /// objects. A consumer without known objects must then delete what the batch of that list does not hold.
    ///
    /// [`needs_list`]: informer_store::DeltaSink::needs_list
    #[must_use]
    pub fn max_queued(mut self, max: Option<usize>) -> Self {
        self.max_queued = max.map(|max| max.max(1));
        self
    }

    /// Sets the order in which the queue hands out what it holds.
    #[must_use]
    pub const fn order(mut self, order: QueueOrder) -> Self {
        self.order = order;
        self
    }

    /// Sets a clock, for tests and simulations; it is read with every call. The default is the system's coarse clock, exact to some
    /// milliseconds.
    #[must_use]
    pub fn clock(mut self, clock: impl Fn() -> Instant + Send + Sync + 'static) -> Self {
        self.clock = Some(Arc::new(clock));
        self
    }
}

impl<K: Object> Default for DeltaFifoConfig<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K> Clone for DeltaFifoConfig<K> {
    fn clone(&self) -> Self {
        Self {
            known: self.known.clone(),
            max_deltas: self.max_deltas,
            max_queued: self.max_queued,
            order: self.order,
            clock: self.clock.clone(),
        }
    }
}

impl<K> fmt::Debug for DeltaFifoConfig<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeltaFifoConfig")
            .field("known", &self.known.is_some())
            .field("max_deltas", &self.max_deltas)
            .field("max_queued", &self.max_queued)
            .field("order", &self.order)
            .finish_non_exhaustive()
    }
}
