//! How an informer fares.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use informer_delta_fifo::Stats;
use informer_reflector::{Phase, ReflectorStatus};
use informer_store::{Object, ResourceVersion};

use super::shared::Shared;
use crate::handler::HandlerStatus;

/// How an informer fares, at the moment it was asked.
///
/// Writing the cache cannot fail, so that there are no failed keys as in
/// [`ControllerStatus`](crate::ControllerStatus): what a handler fails at is in its own status, an object that cannot be
/// decoded or transformed in [`reflector`](Self::reflector), an index function that fails in the store's
/// [`index_status`](informer_store::Store::index_status).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct InformerStatus {
    /// The informer's name.
    pub name: Arc<str>,
    /// Whether it was started.
    pub started: bool,
    /// Whether it has stopped.
    pub stopped: bool,
    /// Whether the cache has had the first list.
    pub store_synced: bool,
    /// Whether all handlers that are there have handled the state that they started from.
    pub handlers_synced: bool,
    /// Whether a watch is open now.
    pub watching: bool,
    /// How many objects are cached.
    pub objects: usize,
    /// Up to where the cache has everything.
    pub resource_version: Option<ResourceVersion>,
    /// What lists and watches: its phase, last event, last error and failed attempts.
    pub reflector: ReflectorStatus,
    /// What waits between the watch and the cache.
    pub queue: Stats,
    /// Deltas that changed the cache, since the start.
    pub applied: u64,
    /// Deltas that had nothing to tell, since the start.
    pub without_effect: u64,
    /// Writes of the cache, each of one batch of deltas, since the start.
    pub batches: u64,
    /// Each handler, in the order in which they were added. One that has ended stays until it is removed.
    pub handlers: Vec<HandlerStatus>,
}

impl InformerStatus {
    /// Events that wait for handlers, all taken together.
    #[must_use]
    pub fn handler_queue_depth(&self) -> usize {
        self.handlers
            .iter()
            .map(|handler| handler.queue_depth)
            .sum()
    }
}

impl<K: Object> Shared<K> {
    pub(crate) fn status(&self) -> InformerStatus {
        let phase = self.phase();
        let handlers = self.registry.statuses();
        let reflector = self.reflector.borrow().clone();
        let snapshot = self.store.snapshot();
        InformerStatus {
            name: Arc::clone(&self.name),
            started: phase.started,
            stopped: phase.stopped,
            store_synced: phase.synced,
            handlers_synced: phase.synced
                && handlers
                    .iter()
                    .all(|handler| handler.synced || handler.ended.is_some()),
            watching: !phase.stopped && reflector.phase == Phase::Watching,
            objects: snapshot.len(),
            resource_version: snapshot.resource_version().cloned(),
            reflector,
            queue: self.fifo.stats(),
            applied: self.totals.applied.load(Ordering::Relaxed),
            without_effect: self.totals.without_effect.load(Ordering::Relaxed),
            batches: self.totals.batches.load(Ordering::Relaxed),
            handlers,
        }
    }
}
