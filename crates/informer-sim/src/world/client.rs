//! What is under test: a shared informer with handlers, a process loop, or a reflector that feeds a store alone.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use informer_delta_fifo::QueueStats;
use informer_reflector::{Reflector, ReflectorStatus, Report};
use informer_shared::{OnStop, RunError, SharedInformer};
use informer_store::{Snapshot, Store};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::World;
use crate::checked::Checked;
use crate::handlers::{Handler, Looped, Reference, Surroundings};
use crate::object::Item;
use crate::plan::Plan;
use crate::trace::{Trace, holds};
use crate::versions::{VersionKind, drop_version};

pub(crate) enum Client {
    Shared {
        informer: SharedInformer<Item>,
        handlers: Vec<Handler>,
        /// All events.
        reference: Reference,
    },
    Loop(Looped),
    Plain {
        store: Arc<Store<Item>>,
        status: watch::Receiver<ReflectorStatus>,
        stop: CancellationToken,
        task: JoinHandle<()>,
    },
}

impl Client {
    pub(crate) fn start(plan: &Plan, seed: u64, checked: &Checked, around: &Surroundings) -> Self {
        if plan.process_loop && !plan.shared {
            return Self::Loop(Looped::start(plan, seed, checked, around));
        }
        let config = plan.reflector_config(seed);
        let (chaos, trace) = (around.chaos.clone(), around.trace.clone());
        let report = move |report: &Report| World::report(&chaos, &trace, report);
        if !plan.shared {
            let store = Arc::new(Store::new());
            let mut reflector = Reflector::new(checked.clone(), Arc::clone(&store));
            if plan.versions == VersionKind::Transformed {
                reflector = reflector.transform(drop_version);
            }
            let reflector = reflector
                .config(config)
                .unwrap_or_else(|error| panic!("the selector is valid: {error}"))
                .resync_period(plan.resync.unwrap_or_default())
                .watch_error_handler(report);
            let (status, stop) = (reflector.status(), CancellationToken::new());
            let task = tokio::spawn(reflector.run(stop.clone()));
            return Self::Plain {
                store,
                status,
                stop,
                task,
            };
        }
        let mut informer = SharedInformer::builder(checked.clone());
        if plan.versions == VersionKind::Transformed {
            informer = informer.transform(drop_version);
        }
        let informer = informer
            .reflector_config(config)
            .resync_period(plan.resync.unwrap_or_default())
            .watch_error_handler(report)
            .recreated_as(plan.recreated_as())
            .max_deltas(plan.max_deltas)
            .queue_order(plan.order)
            .on_stop(match plan.drain {
                Some(timeout) => OnStop::Drain { timeout },
                None => OnStop::Drop,
            })
            .build()
            .unwrap_or_else(|error| panic!("the settings are valid: {error}"));
        let reference = Reference::join(&informer, around.in_order(plan))
            .unwrap_or_else(|error| panic!("it has not stopped: {error}"));
        informer
            .start()
            .unwrap_or_else(|error| panic!("it was not started: {error}"));
        Self::Shared {
            informer,
            handlers: Vec::new(),
            reference,
        }
    }

    pub(crate) fn snapshot(&self) -> Snapshot<Item> {
        match self {
            Self::Shared { informer, .. } => informer.store().snapshot(),
            Self::Loop(looped) => looped.store.snapshot(),
            Self::Plain { store, .. } => store.snapshot(),
        }
    }

    pub(crate) fn reflector_status(&self) -> ReflectorStatus {
        match self {
            Self::Shared { informer, .. } => informer.status().reflector,
            Self::Loop(looped) => looped.reflector_status(),
            Self::Plain { status, .. } => status.borrow().clone(),
        }
    }

    /// Whether nothing is queued between watch and cache.
    pub(crate) fn is_drained(&self) -> bool {
        let queue = self.queue();
        queue.queued_keys + queue.in_flight_keys == 0
    }

    pub(crate) fn is_synced(&self) -> bool {
        match self {
            Self::Shared { informer, .. } => informer.has_synced(),
            Self::Loop(looped) => looped.is_synced(),
            Self::Plain { status, .. } => status.borrow().synced,
        }
    }

    /// Whether the store has the version of the last list, once that is acknowledged.
    pub(crate) fn applies_lists_whole(&self) -> bool {
        !matches!(self, Self::Loop(looped) if looped.fails)
    }

    /// Returns the figures of the queue between watch and cache.
    pub(crate) fn queue(&self) -> QueueStats {
        match self {
            Self::Shared { informer, .. } => informer.status().queue,
            Self::Loop(looped) => looped.queue.stats(),
            Self::Plain { .. } => QueueStats::default(),
        }
    }

    /// What holds of handlers at every moment.
    pub(crate) fn look(&mut self, snapshot: &Snapshot<Item>, names: usize, trace: &Trace) {
        let (handlers, reference) = match self {
            Self::Shared {
                handlers,
                reference,
                ..
            } => (handlers, reference),
            Self::Loop(looped) => return looped.look(snapshot, trace),
            Self::Plain { .. } => return,
        };
        let changes = reference.read();
        reference.judge(snapshot, trace);
        for handler in handlers {
            handler.look(snapshot, changes, names);
        }
    }

    /// Stops it, unless it has stopped, and judges all events of the handlers.
    pub(crate) async fn stop(self, drain: Option<Duration>, around: &Surroundings) {
        let (start, trace) = (Instant::now(), &around.trace);
        let (informer, mut handlers, mut reference) = match self {
            Self::Shared {
                informer,
                handlers,
                reference,
            } => (informer, handlers, reference),
            Self::Loop(looped) => {
                looped.stop(trace).await;
                return judge_time(start, Duration::ZERO, trace);
            }
            Self::Plain { stop, task, .. } => {
                stop.cancel();
                let ended = task.await;
                holds!(trace, ended.is_ok(), "it did not end well");
                return judge_time(start, Duration::ZERO, trace);
            }
        };
        let fell = end(&informer, around).await;
        // After a failure nothing is drained.
        let drain = drain.filter(|_| !fell);
        judge_time(start, drain.unwrap_or_default(), trace);
        // All were in time, so no event was dropped.
        let drained = drain.is_some_and(|limit| start.elapsed() < limit);
        for handler in &mut handlers {
            handler.taken().await;
        }
        reference.read();
        let snapshot = informer.store().snapshot();
        if drain.is_some() {
            reference.judge(&snapshot, trace);
        }
        for handler in &handlers {
            handler.judge_history(&reference, drained);
            handler.judge_stopped();
            if drained {
                handler.judge_end(&snapshot, informer.has_synced());
            }
        }
        // The reader of a stream that was left takes a moment to end.
        sleep(Duration::from_millis(1)).await;
        let alive = around.alive.load(Ordering::Relaxed);
        holds!(trace, alive == 0, "{alive} handlers outlive the informer");
    }
}

/// Stops an informer, unless a handler was to stop it: then it must do so by itself, with that failure, and report it to
/// all who wait (INV-SHARED-10). Returns whether that was so.
async fn end(informer: &SharedInformer<Item>, around: &Surroundings) -> bool {
    let first = || around.fatal.lock().first().cloned();
    let trace = &around.trace;
    let Some(failed) = first() else {
        let ended = informer.stop().await;
        // One may fail at the very moment.
        let fits = match &ended {
            Ok(()) => true,
            Err(RunError::Handler { handler, .. }) => first().as_ref() == Some(handler),
            Err(_) => false,
        };
        holds!(trace, fits, "it did not end well: {ended:?}");
        return ended.is_err();
    };
    let ended = timeout(Duration::from_secs(1), informer.stopped()).await;
    let fits = matches!(&ended, Ok(Err(RunError::Handler { handler, .. })) if *handler == failed);
    holds!(trace, fits, "{failed} was to stop it, but: {ended:?}");
    let again = informer.start();
    holds!(
        trace,
        informer.is_stopped() && again.is_err() && informer.handler().stream().is_err(),
        "stopped by {failed}, it can still be used"
    );
    true
}

/// A stop takes no longer than handlers have, and a second (INV-SHARED-12; protocol 3.3: 17).
fn judge_time(start: Instant, handlers_have: Duration, trace: &Trace) {
    let took = start.elapsed();
    holds!(
        trace,
        took <= handlers_have + Duration::from_secs(1),
        "it took {took:?} to stop"
    );
}
