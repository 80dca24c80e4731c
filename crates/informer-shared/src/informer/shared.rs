//! What all handles of one informer, its tasks and its registrations share.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use informer_delta_fifo::DeltaFifo;
use informer_reflector::ReflectorStatus;
use informer_store::{Object, Store};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::options::{OnStop, Options};
use super::source::Source;
use crate::apply::{Counts, RecreatedAs};
use crate::error::RunError;
use crate::fatal::Fatal;
use crate::handler::{HandlerEnd, Registry, RunsAs};
use crate::synced::{InformerPhase, Progress, ProgressFn};

/// The shared state of one informer.
///
/// # Lock order
/// Each lock is taken alone.
pub(crate) struct Shared<K> {
    pub(crate) name: Arc<str>,
    pub(crate) store: Store<K>,
    pub(crate) fifo: DeltaFifo<K>,
    pub(crate) registry: Arc<Registry<K>>,
    pub(crate) fatal: Arc<Fatal>,
    pub(crate) stop: CancellationToken,
    pub(crate) phase: watch::Sender<InformerPhase>,
    pub(crate) reflector: watch::Receiver<ReflectorStatus>,
    waits_for_turn: Arc<AtomicBool>,
    pub(crate) resync_period: Option<Duration>,
    pub(crate) recreated: RecreatedAs,
    pub(crate) on_stop: OnStop,
    pub(crate) totals: Totals,
    source: Mutex<Option<Source>>,
    outcome: Mutex<Result<(), RunError>>,
}

/// What became of all deltas so far.
#[derive(Default)]
pub(crate) struct Totals {
    pub(crate) applied: AtomicU64,
    pub(crate) without_effect: AtomicU64,
    pub(crate) batches: AtomicU64,
}

impl Totals {
    pub(crate) fn add(&self, counts: Counts) {
        self.applied.fetch_add(counts.applied, Ordering::Relaxed);
        self.without_effect
            .fetch_add(counts.without_effect, Ordering::Relaxed);
        self.batches.fetch_add(1, Ordering::Relaxed);
    }
}

impl<K: Object> Shared<K> {
    pub(crate) fn new(
        options: Options,
        store: Store<K>,
        fifo: DeltaFifo<K>,
        source: Source,
    ) -> Self {
        Self {
            name: options.name,
            store,
            fifo,
            registry: Arc::new(Registry::new()),
            fatal: Arc::new(Fatal::new()),
            stop: CancellationToken::new(),
            phase: watch::Sender::new(InformerPhase::default()),
            reflector: source.status.clone(),
            waits_for_turn: Arc::clone(&source.waits_for_turn),
            resync_period: options.resync_period,
            recreated: options.recreated,
            on_stop: options.on_stop,
            totals: Totals::default(),
            source: Mutex::new(Some(source)),
            outcome: Mutex::new(Ok(())),
        }
    }

    /// Takes what only one run may have.
    pub(crate) fn claim(&self) -> Result<Source, RunError> {
        let source = self.source.lock().take();
        let Some(source) = source else {
            let was_started = self.phase().started;
            return Err(if was_started {
                RunError::AlreadyStarted
            } else {
                RunError::Stopped
            });
        };
        self.phase.send_modify(|phase| phase.started = true);
        Ok(source)
    }

    /// Stops the informer, whether it was started or not. Does not wait.
    pub(crate) fn begin_stop(&self) {
        self.stop.cancel();
        let unused = self.source.lock().take();
        if unused.is_some() {
            self.finish(Ok(()));
        }
    }

    pub(crate) fn phase(&self) -> InformerPhase {
        *self.phase.borrow()
    }

    /// Ends everything that waits for the informer. Idempotent.
    pub(crate) fn finish(&self, outcome: Result<(), RunError>) {
        if self.phase().stopped {
            return;
        }
        let drains = self.on_stop.drains() && outcome.is_ok();
        if outcome.is_err() {
            *self.outcome.lock() = outcome;
        }
        self.stop.cancel();
        self.registry.close();
        for listener in self.registry.listeners() {
            // A stream is drained by whoever holds it, at any time. Others had their time.
            if drains && listener.runs_as == RunsAs::Stream {
                listener.drain_with(HandlerEnd::InformerStopped);
            } else {
                listener.end_with(HandlerEnd::InformerStopped);
            }
        }
        self.fifo.close();
        self.store.close();
        self.phase.send_modify(|phase| phase.stopped = true);
    }

    pub(crate) fn outcome(&self) -> Result<(), RunError> {
        self.outcome.lock().clone()
    }

    pub(crate) fn progress(&self) -> Progress {
        let phase = self.phase();
        let reflector = self.reflector.borrow();
        Progress {
            informer: Arc::clone(&self.name),
            started: phase.started,
            store_synced: phase.synced,
            waits_for_turn: self.waits_for_turn.load(Ordering::Relaxed),
            attempts: reflector.attempts,
            last_error: reflector.last_error.clone(),
        }
    }

    /// [`progress`](Self::progress), without keeping the cache alive.
    pub(crate) fn progress_fn(self: &Arc<Self>) -> ProgressFn {
        let shared: Weak<Self> = Arc::downgrade(self);
        let name = Arc::clone(&self.name);
        Arc::new(move || {
            let gone = || Progress {
                informer: Arc::clone(&name),
                started: true,
                ..Progress::default()
            };
            shared
                .upgrade()
                .map_or_else(gone, |shared| shared.progress())
        })
    }
}
