//! The status of an informer.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use informer_delta_fifo::QueueStats;
use informer_reflector::{ReflectorPhase, ReflectorStatus};
use informer_store::{Object, ResourceVersion};

use super::shared::Shared;
use crate::handler::HandlerStatus;
use crate::wait::InformerPhase;

/// A snapshot of an informer's status.
///
/// Failures are in the status of where they happen: those of a handler in [`handlers`](Self::handlers), undecodable objects,
/// failed requests and a resource that the server does not have ([`ReflectorPhase::NotFound`]) in
/// [`reflector`](Self::reflector), failing index functions in the store's
/// [`index_status`](informer_store::StoreReader::index_status).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct InformerStatus {
    /// The informer's name.
    pub name: Arc<str>,
    /// Where the informer stands.
    pub phase: InformerPhase,
    /// `true` if the cache has the first list.
    pub store_synced: bool,
    /// `true` if all handlers that have not ended have handled their initial objects.
    pub handlers_synced: bool,
    /// `true` if a watch is open.
    pub watching: bool,
    /// Number of cached objects.
    pub objects: usize,
    /// Resource version up to which the cache has everything.
    pub resource_version: Option<ResourceVersion>,
    /// The status of what lists and watches.
    pub reflector: ReflectorStatus,
    /// What is queued between the watch and the cache.
    pub queue: QueueStats,
    /// Number of deltas that changed the cache, since the start.
    pub applied: u64,
    /// Number of deltas that left the cache as it was, since the start.
    pub without_effect: u64,
    /// Number of transactions of the cache, each of one batch of deltas, since the start.
    pub batches: u64,
    /// Each handler, in the order in which they were added. One that has ended stays until it is removed.
    pub handlers: Vec<HandlerStatus>,
}

impl InformerStatus {
    /// Returns the number of events that are queued for all handlers together.
    #[must_use]
    pub fn handler_queue_depth(&self) -> usize {
        self.handlers
            .iter()
            .map(|handler| handler.queue_depth)
            .sum()
    }
}

impl<K: Object> Shared<K> {
    pub(super) fn status(&self) -> InformerStatus {
        let phase = self.watched.phase();
        let store_synced = self.watched.is_synced();
        let handlers = self.listeners.statuses();
        let reflector = self.watched.reflector.borrow().clone();
        let snapshot = self.store.snapshot();
        let is_synced = |handler: &HandlerStatus| handler.synced || handler.ended.is_some();
        InformerStatus {
            name: Arc::clone(&self.watched.name),
            phase,
            store_synced,
            handlers_synced: store_synced && handlers.iter().all(is_synced),
            watching: phase != InformerPhase::Stopped
                && reflector.phase == ReflectorPhase::Watching,
            objects: snapshot.len(),
            resource_version: snapshot.resource_version().cloned(),
            reflector,
            queue: self.queue().map_or_else(QueueStats::default, |q| q.stats()),
            applied: self.totals.applied.load(Ordering::Relaxed),
            without_effect: self.totals.without_effect.load(Ordering::Relaxed),
            batches: self.totals.batches.load(Ordering::Relaxed),
            handlers,
        }
    }
}
