//! What all handles of one informer, its run and its registrations share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use informer_delta_fifo::DeltaFifo;
use informer_reflector::Collection;
use informer_store::{Object, Store};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::options::{OnStop, Options};
use super::process::{SharedProcess, Totals};
use crate::error::{EndReason, RunError};
use crate::handler::Listeners;
use crate::process_loop::{ProcessLoop, Watched};

/// The shared state of one informer.
///
/// # Lock order
/// Each lock is taken alone. What is taken out is dropped after the lock was released.
pub(crate) struct Shared<K: Object> {
    pub(super) watched: Watched,
    /// What it lists and watches, if its lister-watcher knows.
    pub(super) collection: Option<Collection>,
    pub(super) store: Store<K>,
    pub(super) listeners: Arc<Listeners<K>>,
    pub(super) options: Options,
    pub(super) totals: Arc<Totals>,
    pub(super) stop: CancellationToken,
    /// Dropped with its content when the informer has stopped.
    queue: Mutex<Option<DeltaFifo<K>>>,
    /// Taken by the one run, or dropped unused.
    process_loop: Mutex<Option<SharedLoop<K>>>,
    was_started: AtomicBool,
    is_finished: AtomicBool,
    /// Why it stopped, if not by being stopped.
    error: Mutex<Option<RunError>>,
}

/// The process loop of a shared informer.
pub(super) type SharedLoop<K> = ProcessLoop<K, SharedProcess<K>>;

impl<K: Object> Shared<K> {
    pub(super) fn new(
        (watched, process_loop): (Watched, SharedLoop<K>),
        (store, queue): (Store<K>, DeltaFifo<K>),
        listeners: Arc<Listeners<K>>,
        options: Options,
        totals: Arc<Totals>,
    ) -> Self {
        Self {
            watched,
            collection: None,
            store,
            listeners,
            options,
            totals,
            stop: CancellationToken::new(),
            queue: Mutex::new(Some(queue)),
            process_loop: Mutex::new(Some(process_loop)),
            was_started: AtomicBool::new(false),
            is_finished: AtomicBool::new(false),
            error: Mutex::new(None),
        }
    }

    /// Takes the process loop, which runs once.
    pub(super) fn claim(&self) -> Result<SharedLoop<K>, RunError> {
        let process_loop = self.process_loop.lock().take();
        let Some(process_loop) = process_loop else {
            return Err(if self.was_started() {
                RunError::AlreadyStarted
            } else {
                RunError::Stopped
            });
        };
        self.was_started.store(true, Ordering::Release);
        process_loop.mark_started();
        Ok(process_loop)
    }

    pub(super) fn was_started(&self) -> bool {
        self.was_started.load(Ordering::Acquire)
    }

    /// Stops the informer, whether it was started or not. Does not wait.
    pub(super) fn begin_stop(&self) {
        self.stop.cancel();
        let unused = self.process_loop.lock().take();
        if unused.is_some() {
            self.finish(Ok(()));
        }
    }

    /// Ends all that depends on the informer, once: handlers, waits for the cache. The phase is left to the process loop,
    /// which is dropped after this.
    pub(super) fn finish(&self, outcome: Result<(), RunError>) {
        if self.is_finished.swap(true, Ordering::AcqRel) {
            return;
        }
        let drains = self.options.on_stop.drains() && outcome.is_ok();
        *self.error.lock() = outcome.err();
        self.stop.cancel();
        self.listeners.close();
        for listener in self.listeners.all() {
            // A stream is drained by whoever holds it, at any time. Others had their time.
            if drains && listener.options.is_stream {
                listener.drain_with(EndReason::InformerStopped);
            } else {
                listener.end_with(EndReason::InformerStopped);
            }
        }
        self.store.close();
        let queue = self.queue.lock().take();
        drop(queue);
    }

    /// Returns how it ended.
    pub(super) fn outcome(&self) -> Result<(), RunError> {
        self.error.lock().clone().map_or(Ok(()), Err)
    }

    pub(super) fn queue(&self) -> Option<DeltaFifo<K>> {
        self.queue.lock().clone()
    }

    /// Returns what happens to queued events now that it ended so.
    pub(super) fn on_stop(&self, outcome: &Result<(), RunError>) -> OnStop {
        if outcome.is_ok() {
            self.options.on_stop
        } else {
            OnStop::Drop
        }
    }
}
