//! The informer's view of a handler: its queue, its options, its counters.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;

use super::policy::FailurePolicy;
use super::status::HandlerStatus;
use crate::error::{EndReason, HandlerError, RunError};
use crate::handler_queue::{End, HandlerPhase, HandlerQueue};
use crate::wait::NotSynced;

/// Returns a number that is unique in the process, so that a handler is recognised from within.
pub(super) fn next_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// One handler of an informer.
pub(crate) struct Listener<K> {
    pub(crate) id: u64,
    pub(crate) name: Arc<str>,
    pub(crate) options: ListenerOptions,
    pub(crate) queue: Arc<HandlerQueue<K>>,
    counters: Mutex<Counters>,
    informer: Weak<dyn Informer>,
    informer_id: u64,
    not_synced: Arc<NotSyncedFn>,
}

/// How a handler was added.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ListenerOptions {
    /// Its code runs where the stream is polled, and not in a task or thread of the informer.
    pub(crate) is_stream: bool,
    pub(crate) resync_period: Option<Duration>,
    pub(crate) on_error: FailurePolicy,
    pub(crate) on_panic: FailurePolicy,
}

#[derive(Default)]
struct Counters {
    errors: u64,
    panics: u64,
    last_error: Option<HandlerError>,
    end: Option<EndReason>,
}

/// What a listener reports to its informer, which holds all of its listeners.
pub(super) trait Informer: Send + Sync {
    /// A number that is unique in the process.
    fn id(&self) -> u64;
    /// The listener of this id has ended, and may still be registered.
    fn ended(&self, listener: u64);
    /// The listener of this id is registered no more.
    fn remove(&self, listener: u64);
    /// A handler's failure ends the informer. The first one counts.
    fn fail(&self, failure: RunError);
    fn not_synced(&self) -> Arc<NotSyncedFn>;
}

/// Returns why an informer is not synced.
pub(crate) type NotSyncedFn = dyn Fn() -> NotSynced + Send + Sync;

/// A listener, whatever the type of its objects.
pub(crate) trait AnyListener: Send + Sync {
    /// Returns its id, and that of its informer.
    fn ids(&self) -> (u64, u64);
    fn name(&self) -> &Arc<str>;
    fn status(&self) -> HandlerStatus;
    fn phase(&self) -> watch::Receiver<HandlerPhase>;
    fn end_reason(&self) -> Option<EndReason>;
    /// Ends the handler and removes it from its informer. A call of it that runs continues.
    fn remove(&self);
    /// Returns why it is not synced.
    fn not_synced(&self) -> NotSynced;
}

impl<K> Listener<K> {
    pub(super) fn new(
        name: Option<Arc<str>>,
        options: ListenerOptions,
        queue: Arc<HandlerQueue<K>>,
        informer: Arc<dyn Informer>,
    ) -> Self {
        let id = next_id();
        Self {
            id,
            name: name.unwrap_or_else(|| Arc::from(format!("handler-{id}"))),
            options,
            queue,
            counters: Mutex::default(),
            informer: Arc::downgrade(&informer),
            informer_id: informer.id(),
            not_synced: informer.not_synced(),
        }
    }

    /// Counts and reports a failed call, and decides whether the handler continues.
    pub(crate) fn call_failed(&self, error: HandlerError) -> ControlFlow<()> {
        let mut counters = self.counters.lock();
        let policy = match &error {
            HandlerError::Panicked { .. } => {
                counters.panics += 1;
                self.options.on_panic
            }
            HandlerError::Failed { .. } => {
                counters.errors += 1;
                self.options.on_error
            }
        };
        let replaced = counters.last_error.replace(error.clone());
        drop(counters);
        drop(replaced);
        tracing::error!(handler = %self.name, error = &error as &dyn std::error::Error, ?policy,
            "handler failed");
        match policy {
            FailurePolicy::Skip => return ControlFlow::Continue(()),
            FailurePolicy::StopHandler => self.end_with(EndReason::Failed(error)),
            FailurePolicy::StopInformer => {
                self.end_with(EndReason::Failed(error.clone()));
                if let Some(informer) = self.informer.upgrade() {
                    informer.fail(RunError::Handler {
                        handler: Arc::clone(&self.name),
                        source: error,
                    });
                }
            }
        }
        ControlFlow::Break(())
    }

    /// Ends the handler and drops its queued events. The first reason counts, but for a failure while it is drained.
    pub(crate) fn end_with(&self, reason: EndReason) {
        let mut counters = self.counters.lock();
        let is_drained = matches!(counters.end, Some(EndReason::InformerStopped));
        if counters.end.is_none() || (is_drained && matches!(reason, EndReason::Failed(_))) {
            counters.end = Some(reason);
        }
        drop(counters);
        self.queue.end(End::Closed);
        if let Some(informer) = self.informer.upgrade() {
            informer.ended(self.id);
        }
    }

    /// Lets the handler handle its queued events, and no more.
    pub(crate) fn drain_with(&self, reason: EndReason) {
        self.counters.lock().end.get_or_insert(reason);
        self.queue.end(End::Draining);
    }
}

impl<K: Send + Sync + 'static> AnyListener for Listener<K> {
    fn ids(&self) -> (u64, u64) {
        (self.id, self.informer_id)
    }

    fn name(&self) -> &Arc<str> {
        &self.name
    }

    fn status(&self) -> HandlerStatus {
        let queue = self.queue.status();
        let ended = self.end_reason();
        let counters = self.counters.lock();
        HandlerStatus {
            name: Arc::clone(&self.name),
            synced: self.queue.phase().borrow().is_synced(),
            queue_depth: queue.depth,
            lag: queue.lag,
            delivered: queue.delivered,
            coalesced: queue.coalesced,
            errors: counters.errors,
            panics: counters.panics,
            last_error: counters.last_error.clone(),
            ended,
        }
    }

    fn phase(&self) -> watch::Receiver<HandlerPhase> {
        self.queue.phase()
    }

    fn end_reason(&self) -> Option<EndReason> {
        if let Some(End::Full { limit }) = self.queue.ended() {
            return Some(EndReason::QueueFull { limit });
        }
        self.counters.lock().end.clone()
    }

    fn remove(&self) {
        self.end_with(EndReason::Removed);
        if let Some(informer) = self.informer.upgrade() {
            informer.remove(self.id);
        }
    }

    fn not_synced(&self) -> NotSynced {
        let mut reason = (self.not_synced)();
        reason.handler_queue = Some(self.queue.status().depth);
        reason
    }
}
