//! Fair starts: of many informers, only a few receive their first lists at once.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use informer_reflector::ReflectorStatus;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

/// How many informers may receive their first lists at once.
///
/// First lists are the most expensive requests of an informer, for the server and for its own process. Informers that
/// share a limit take slots, in the order in which they ask for them. Clones of a limit are the same limit, so that
/// several factories over one connection can share one. A slot is free again when the first list is complete, when a
/// request has failed, or after [`patience`](Self::patience): an informer that cannot sync, or is slow, delays the others
/// only for a while, and goes on beside them. Later lists are not limited.
///
/// ```
/// use std::time::Duration;
/// use informer_shared::StartLimit;
///
/// let limit = StartLimit::new(4).jitter(Duration::from_millis(500));
/// assert_eq!(limit.free(), 4);
/// ```
#[derive(Clone)]
#[must_use = "a limit has an effect once it is given to a factory or an informer"]
pub struct StartLimit {
    slots: Arc<Semaphore>,
    jitter: Duration,
    patience: Duration,
}

impl StartLimit {
    /// Makes a limit of this many slots; zero counts as one.
    pub fn new(at_once: usize) -> Self {
        Self {
            slots: Arc::new(Semaphore::new(at_once.clamp(1, Semaphore::MAX_PERMITS))),
            jitter: Duration::from_millis(50),
            patience: Duration::from_secs(5),
        }
    }

    /// Sets up to how long an informer waits, for a random time, before it asks for a slot, so that many processes that
    /// start together do not ask together. The default is 50 ms; zero is no wait; more than a year counts as a year.
    pub const fn jitter(mut self, jitter: Duration) -> Self {
        self.jitter = at_most_a_year(jitter);
        self
    }

    /// Sets how long an informer keeps its slot at most. The default is 5 s; more than a year counts as a year.
    pub const fn patience(mut self, patience: Duration) -> Self {
        self.patience = at_most_a_year(patience);
        self
    }

    /// Returns the number of free slots.
    #[must_use]
    pub fn free(&self) -> usize {
        self.slots.available_permits()
    }

    /// Waits for a slot; `None` if stopped before. `waits` is `true` meanwhile.
    pub(crate) async fn slot(
        &self,
        waits: &AtomicBool,
        stop: &CancellationToken,
    ) -> Option<OwnedSemaphorePermit> {
        waits.store(true, Ordering::Relaxed);
        let slot = async {
            if !self.jitter.is_zero() {
                sleep(self.jitter.mul_f64(fastrand::f64())).await;
            }
            // An error cannot be: the semaphore is never closed.
            Arc::clone(&self.slots).acquire_owned().await.ok()
        };
        let slot = stop.run_until_cancelled(slot).await.flatten();
        waits.store(false, Ordering::Relaxed);
        slot
    }

    /// Resolves when the slot is to be given back.
    pub(crate) async fn slot_over(&self, mut status: watch::Receiver<ReflectorStatus>) {
        let decided = status.wait_for(|status| status.synced || status.attempts > 0);
        // Whether it synced, failed or was slow, others go on.
        let _ = timeout(self.patience, decided).await;
    }
}

/// The clock can represent any moment within this.
const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);

const fn at_most_a_year(wished: Duration) -> Duration {
    if wished.as_nanos() > YEAR.as_nanos() {
        YEAR
    } else {
        wished
    }
}

impl Default for StartLimit {
    /// Returns a limit of eight slots.
    fn default() -> Self {
        Self::new(8)
    }
}

impl fmt::Debug for StartLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StartLimit")
            .field("free", &self.free())
            .field("jitter", &self.jitter)
            .field("patience", &self.patience)
            .finish()
    }
}
