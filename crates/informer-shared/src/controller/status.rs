//! How a controller fares: counters, the last failure, and a handle that outlives its run.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use informer_delta_fifo::{DeltaFifo, Stats};
use informer_reflector::ReflectorStatus;
use informer_store::{Object, ObjectKey, ResourceVersion};
use parking_lot::Mutex;
use tokio::sync::watch;

use super::process::Failures;

/// Hears of each key that could not be applied.
pub(crate) type ErrorHook = dyn Fn(&ObjectKey, &(dyn std::error::Error + 'static)) + Send + Sync;

/// What a controller has done so far.
#[derive(Default)]
pub(crate) struct Record {
    pub(crate) name: Arc<str>,
    pub(crate) on_error: Option<Box<ErrorHook>>,
    batches: AtomicU64,
    keys: AtomicU64,
    failures: AtomicU64,
    repaired: AtomicU64,
    failing: AtomicUsize,
    last_error: Mutex<Option<Arc<str>>>,
}

impl Record {
    pub(crate) fn new(name: Arc<str>) -> Self {
        Self {
            name,
            ..Self::default()
        }
    }

    /// One batch was applied, but for what failed.
    pub(crate) fn note(&self, keys: usize, failures: &Failures, repaired: usize, failing: usize) {
        self.batches.fetch_add(1, Ordering::Relaxed);
        self.keys.fetch_add(keys as u64, Ordering::Relaxed);
        self.failures
            .fetch_add(failures.len() as u64, Ordering::Relaxed);
        self.repaired.fetch_add(repaired as u64, Ordering::Relaxed);
        self.failing.store(failing, Ordering::Relaxed);
        for (key, error) in failures.iter() {
            tracing::warn!(
                controller = &*self.name,
                %key,
                error = error as &dyn std::error::Error,
                "what happened to a key could not be applied"
            );
            if let Some(hook) = &self.on_error {
                hook(key, error);
            }
        }
        if let Some((key, error)) = failures.iter().last() {
            *self.last_error.lock() = Some(Arc::from(format!("{key}: {}", chain(error))));
        }
    }
}

/// An error with all its causes in one line.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |line, cause| format!("{line}: {cause}"))
}

/// How a controller fares, at the moment it was asked.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ControllerStatus {
    /// Whether the first list was applied.
    pub synced: bool,
    /// Batches applied since the start.
    pub batches: u64,
    /// Keys in them.
    pub keys: u64,
    /// How often a key could not be applied, since the start.
    pub failures: u64,
    /// Keys that failed and were applied later: by another try, a later change or the next list.
    pub repaired: u64,
    /// Keys that failed when they were last tried.
    pub failing: usize,
    /// The last key that could not be applied, and why, with all causes in one line.
    pub last_error: Option<Arc<str>>,
    /// What waits in the queue.
    pub queue: Stats,
    /// What lists and watches: its phase, last event, last error and failed attempts.
    pub reflector: ReflectorStatus,
}

/// A view of a controller that can be held while it runs, and after. It keeps the queue alive, but nothing running.
#[doc(alias = "GetController")]
pub struct ControllerMonitor<K: Object> {
    pub(crate) queue: DeltaFifo<K>,
    pub(crate) reflector: watch::Receiver<ReflectorStatus>,
    pub(crate) record: Arc<Record>,
}

impl<K: Object> ControllerMonitor<K> {
    /// Whether the first list was applied. Once true it stays true.
    #[must_use]
    #[doc(alias = "HasSynced")]
    pub fn has_synced(&self) -> bool {
        self.queue.has_synced()
    }

    /// Waits until the first list was applied.
    ///
    /// # Errors
    /// [`Closed`](informer_delta_fifo::Closed) when the controller has ended before.
    ///
    /// # Cancel safety
    /// Dropping the future has no effect.
    pub async fn synced(&self) -> Result<(), informer_delta_fifo::Closed> {
        self.queue.synced().await
    }

    /// Up to where everything that the server sent has arrived, applied or not.
    #[must_use]
    #[doc(alias = "LastSyncResourceVersion")]
    pub fn last_sync_resource_version(&self) -> Option<ResourceVersion> {
        self.reflector.borrow().resource_version.clone()
    }

    /// How the controller fares.
    #[must_use]
    pub fn status(&self) -> ControllerStatus {
        let record = &self.record;
        ControllerStatus {
            synced: self.queue.has_synced(),
            batches: record.batches.load(Ordering::Relaxed),
            keys: record.keys.load(Ordering::Relaxed),
            failures: record.failures.load(Ordering::Relaxed),
            repaired: record.repaired.load(Ordering::Relaxed),
            failing: record.failing.load(Ordering::Relaxed),
            last_error: record.last_error.lock().clone(),
            queue: self.queue.stats(),
            reflector: self.reflector.borrow().clone(),
        }
    }
}

impl<K: Object> Clone for ControllerMonitor<K> {
    fn clone(&self) -> Self {
        Self {
            queue: self.queue.clone(),
            reflector: self.reflector.clone(),
            record: Arc::clone(&self.record),
        }
    }
}

impl<K: Object> fmt::Debug for ControllerMonitor<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ControllerMonitor")
            .field("status", &self.status())
            .finish_non_exhaustive()
    }
}
