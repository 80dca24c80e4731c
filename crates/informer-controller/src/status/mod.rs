//! What a controller knows of itself, for others to read.

mod source;

use std::sync::Arc;
use std::time::Duration;

use informer_store::ObjectKey;
use tokio::sync::watch;
use tokio::time::Instant;

pub use source::SourceStatus;

pub(crate) use source::Queued;

/// A reconcile that runs for longer is logged.
const SLOW: Duration = Duration::from_secs(60);

/// How many failing keys are shown.
const FAILING_SHOWN: usize = 100;

/// How often slow reconciles are looked for.
const LOOK_PERIOD: Duration = Duration::from_secs(10);

/// The status of a [`Controller`](crate::Controller).
///
/// ```
/// use std::time::Duration;
/// use informer_controller::{Controller, ControllerPhase};
///
/// let controller = Controller::new("replicasets");
/// let status = controller.status();
/// // In the handler of a health check:
/// let is_hung = status.borrow().running.iter().any(|run| run.since.elapsed() > Duration::from_secs(600));
/// assert!(!is_hung && status.borrow().phase == ControllerPhase::Waiting);
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ControllerStatus {
    /// What it does.
    pub phase: ControllerPhase,
    /// How many keys it reconciles at once; zero until it reconciles.
    pub workers: usize,
    /// Its event sources, in the order in which they were added.
    pub sources: Vec<SourceStatus>,
    /// The reconciles that run, the oldest first.
    pub running: Vec<RunningReconcile>,
    /// The keys whose last reconcile failed, the latest last; 100 at most, of which the oldest are left out.
    pub failing: Vec<FailingKey>,
    /// How many reconciles have ended, in whatever way.
    pub reconciles: u64,
    /// How many of them failed, panicked or took too long; conflicts with concurrent writes included.
    pub failures: u64,
    /// How often a predicate or mapping function of an event source panicked.
    pub source_panics: u64,
    /// How many keys have [writes](crate::ReconcileRequest::client) that a cache lacks.
    pub unseen_writes: usize,
    /// How many of these keys are to be reconciled, and wait for it.
    pub waiting_for_writes: usize,
    /// How many objects were read from the server because a cache lacked a write past its
    /// [deadline](crate::Controller::write_deadline).
    pub live_reads: u64,
    /// How often a key went on though a cache lacked its write.
    pub writes_given_up: u64,
    /// The last failure or panic, with its key.
    pub last_error: Option<Arc<str>>,
}

/// What a controller does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ControllerPhase {
    /// It does not run, or waits until its caches are synced.
    #[default]
    Waiting,
    /// It reconciles.
    Reconciling,
    /// It was stopped, failed or was dropped.
    Stopped,
}

/// A reconcile that runs.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RunningReconcile {
    /// The key.
    pub key: ObjectKey,
    /// When it began.
    pub since: Instant,
    number: u64,
}

/// A key whose last reconcile failed, panicked or took too long.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FailingKey {
    /// The key.
    pub key: ObjectKey,
    /// How often it has failed in a row.
    pub failures: u32,
    /// The failure.
    pub error: Arc<str>,
    /// When it is tried again, at the earliest, if nothing queues it before; `None` if only an event does.
    pub next_try: Option<Instant>,
}

/// The name of a controller and its status, for those who write it.
#[derive(Clone)]
pub(crate) struct Record {
    pub(crate) name: Arc<str>,
    status: watch::Sender<ControllerStatus>,
}

impl Record {
    pub(crate) fn new(name: Arc<str>) -> Self {
        let status = watch::Sender::new(ControllerStatus::default());
        Self { name, status }
    }

    pub(crate) fn subscribe(&self) -> watch::Receiver<ControllerStatus> {
        self.status.subscribe()
    }

    pub(crate) fn enter(&self, phase: ControllerPhase) {
        self.status.send_modify(|status| status.phase = phase);
    }

    pub(crate) fn begin(&self, key: &ObjectKey) -> Reconciling<'_> {
        let mut number = 0;
        self.status.send_modify(|status| {
            let last = status.running.iter().map(|run| run.number).max();
            number = last.map_or(0, |last| last + 1);
            status.running.push(RunningReconcile {
                key: key.clone(),
                since: Instant::now(),
                number,
            });
        });
        Reconciling {
            record: self,
            number,
        }
    }

    pub(crate) fn begin_reconciling(&self, workers: usize) {
        self.status.send_modify(|status| {
            status.phase = ControllerPhase::Reconciling;
            status.workers = workers;
        });
    }

    pub(crate) fn add_source(&self, source: SourceStatus) {
        self.status
            .send_modify(|status| status.sources.push(source));
    }

    pub(crate) fn failed(&self, failing: FailingKey) {
        self.status.send_modify(|status| {
            status.failures += 1;
            status.last_error = Some(format!("{}: {}", failing.key, failing.error).into());
            status.failing.retain(|other| other.key != failing.key);
            if status.failing.len() == FAILING_SHOWN {
                status.failing.remove(0);
            }
            status.failing.push(failing);
        });
    }

    /// Takes a key off the failing ones: it succeeded, or was taken off the queue.
    pub(crate) fn not_failing(&self, key: &ObjectKey) {
        self.status.send_if_modified(|status| {
            let before = status.failing.len();
            status.failing.retain(|other| other.key != *key);
            status.failing.len() < before
        });
    }

    pub(crate) fn source_panicked(&self, error: String) {
        self.status.send_modify(|status| {
            status.source_panics += 1;
            status.last_error = Some(error.into());
        });
    }

    /// Shows how many keys have writes that a cache lacks, and how many of them wait.
    pub(crate) fn writes(&self, unseen: usize, waiting: usize) {
        self.status.send_if_modified(|status| {
            let before = (status.unseen_writes, status.waiting_for_writes);
            (status.unseen_writes, status.waiting_for_writes) = (unseen, waiting);
            before != (unseen, waiting)
        });
    }

    pub(crate) fn read_live(&self) {
        self.status.send_modify(|status| status.live_reads += 1);
    }

    pub(crate) fn gave_up_on_write(&self) {
        self.status
            .send_modify(|status| status.writes_given_up += 1);
    }

    /// Logs each reconcile that takes long, once. Never ends.
    pub(crate) async fn warn_of_slow(&self) {
        let mut warned: Vec<(u64, Instant)> = Vec::new();
        loop {
            tokio::time::sleep(LOOK_PERIOD).await;
            let running = self.status.borrow().running.clone();
            let slow = running.into_iter().filter(|run| run.since.elapsed() > SLOW);
            let mut still = Vec::new();
            for run in slow {
                let id = (run.number, run.since);
                if !warned.contains(&id) {
                    tracing::warn!(
                        controller = &*self.name,
                        key = run.key.as_str(),
                        seconds = run.since.elapsed().as_secs(),
                        "reconcile takes long"
                    );
                }
                still.push(id);
            }
            warned = still;
        }
    }
}

/// A reconcile that is in the status until this is dropped.
pub(crate) struct Reconciling<'a> {
    record: &'a Record,
    number: u64,
}

impl Drop for Reconciling<'_> {
    fn drop(&mut self) {
        self.record.status.send_modify(|status| {
            status.running.retain(|run| run.number != self.number);
            status.reconciles += 1;
        });
    }
}
