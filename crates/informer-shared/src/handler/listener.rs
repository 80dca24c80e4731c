//! What the informer keeps of each handler: its queue, its policies and how it fares.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;

use super::end::{FailurePolicy, HandlerEnd, HandlerFailure};
use super::status::HandlerStatus;
use crate::fatal::Fatal;
use crate::queue::{End, Phase, Queue};

/// Unique in the process, so that a handler can be recognised from inside.
static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// One handler, seen from the informer.
pub(crate) struct Listener<K> {
    pub(crate) id: u64,
    pub(crate) name: Arc<str>,
    /// How often the handler is reminded of every object.
    pub(crate) resync_period: Option<Duration>,
    pub(crate) queue: Arc<Queue<K>>,
    pub(crate) runs_as: RunsAs,
    on_error: FailurePolicy,
    on_panic: FailurePolicy,
    record: Mutex<Record>,
    fatal: Arc<Fatal>,
}

/// What runs a handler's code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunsAs {
    Task,
    Thread,
    /// Whoever holds the stream.
    Stream,
}

#[derive(Default)]
struct Record {
    errors: u64,
    panics: u64,
    last_failure: Option<HandlerFailure>,
    end: Option<HandlerEnd>,
}

/// What a listener is made of.
pub(crate) struct ListenerConfig {
    pub(crate) runs_as: RunsAs,
    pub(crate) name: Option<Arc<str>>,
    pub(crate) resync_period: Option<Duration>,
    pub(crate) on_error: FailurePolicy,
    pub(crate) on_panic: FailurePolicy,
}

impl<K> Listener<K> {
    pub(crate) fn new(config: ListenerConfig, queue: Arc<Queue<K>>, fatal: Arc<Fatal>) -> Self {
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        Self {
            id,
            name: config
                .name
                .unwrap_or_else(|| Arc::from(format!("handler-{id}"))),
            resync_period: config.resync_period,
            queue,
            runs_as: config.runs_as,
            on_error: config.on_error,
            on_panic: config.on_panic,
            record: Mutex::default(),
            fatal,
        }
    }

    /// Counts and reports a failed call, and decides whether the handler goes on.
    pub(crate) fn judge(&self, failure: HandlerFailure) -> ControlFlow<()> {
        let policy = match &failure {
            HandlerFailure::Panicked { .. } => self.on_panic,
            HandlerFailure::Failed { .. } => self.on_error,
        };
        let mut record = self.record.lock();
        match &failure {
            HandlerFailure::Panicked { .. } => record.panics += 1,
            HandlerFailure::Failed { .. } => record.errors += 1,
        }
        record.last_failure = Some(failure.clone());
        drop(record);
        tracing::error!(handler = %self.name, error = &failure as &dyn std::error::Error, ?policy,
            "a handler failed");
        match policy {
            FailurePolicy::Skip => return ControlFlow::Continue(()),
            FailurePolicy::StopHandler => self.end_with(HandlerEnd::Failure(failure)),
            FailurePolicy::StopInformer => {
                self.end_with(HandlerEnd::Failure(failure.clone()));
                self.fatal.report(&self.name, failure);
            }
        }
        ControlFlow::Break(())
    }

    /// Ends the handler: what waits is dropped. The first reason counts, but for a handler that fails while it is
    /// drained.
    pub(crate) fn end_with(&self, reason: HandlerEnd) {
        let mut record = self.record.lock();
        let is_drained = matches!(record.end, Some(HandlerEnd::InformerStopped));
        if record.end.is_none() || (is_drained && matches!(reason, HandlerEnd::Failure(_))) {
            record.end = Some(reason);
        }
        drop(record);
        self.queue.end(End::Closed);
    }

    /// Lets the handler handle what waits, and no more.
    pub(crate) fn drain_with(&self, reason: HandlerEnd) {
        self.record.lock().end.get_or_insert(reason);
        self.queue.end(End::Draining);
    }

    /// Why the handler hears of nothing more, if so.
    pub(crate) fn end_reason(&self) -> Option<HandlerEnd> {
        if let Some(End::Full { limit }) = self.queue.ended() {
            return Some(HandlerEnd::QueueFull { limit });
        }
        self.record.lock().end.clone()
    }

    pub(crate) fn watch_phase(&self) -> watch::Receiver<Phase> {
        self.queue.watch_phase()
    }

    pub(crate) fn status(&self) -> HandlerStatus {
        let queue = self.queue.status();
        let ended = self.end_reason();
        let record = self.record.lock();
        HandlerStatus {
            name: Arc::clone(&self.name),
            synced: self.queue.phase().synced,
            queue_depth: queue.depth,
            lag: queue.lag,
            delivered: queue.delivered,
            coalesced: queue.joined,
            errors: record.errors,
            panics: record.panics,
            last_failure: record.last_failure.clone(),
            ended,
        }
    }
}
