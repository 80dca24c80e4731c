//! Fair starts: of many informers, only a few fill their caches at once.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use informer_reflector::ReflectorStatus;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

/// How many informers may fill their caches for the first time at once.
///
/// First lists are the most expensive thing that an informer asks of a server, and of its own process. Informers that
/// share a limit take turns, in the order in which they come: clones of a limit are the same limit, so that several
/// factories over one connection can have one. A turn ends when the cache has its first list, when a request failed,
/// or after [`patience`](Self::patience): an informer that cannot sync, or that is slow, holds up the others only for
/// a while, and goes on beside them. Later lists are not limited.
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
    turns: Arc<Semaphore>,
    jitter: Duration,
    patience: Duration,
}

impl StartLimit {
    /// At most so many at once; zero counts as one.
    pub fn new(at_once: usize) -> Self {
        Self {
            turns: Arc::new(Semaphore::new(at_once.clamp(1, Semaphore::MAX_PERMITS))),
            jitter: Duration::from_millis(50),
            patience: Duration::from_secs(5),
        }
    }

    /// Before it asks for its turn an informer waits for a random time of up to this, so that many processes that
    /// start together do not ask together. The default is 50 ms; zero is no wait.
    pub const fn jitter(mut self, jitter: Duration) -> Self {
        self.jitter = jitter;
        self
    }

    /// How long a turn lasts at most. The default is 5 s.
    pub const fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// How many turns nobody has at present.
    #[must_use]
    pub fn free(&self) -> usize {
        self.turns.available_permits()
    }

    /// Waits for a turn; `None` if it is stopped before. `waits` says meanwhile that it does.
    pub(crate) async fn turn(
        &self,
        waits: &AtomicBool,
        stop: &CancellationToken,
    ) -> Option<OwnedSemaphorePermit> {
        waits.store(true, Ordering::Relaxed);
        let turn = async {
            if !self.jitter.is_zero() {
                sleep(self.jitter.mul_f64(fastrand::f64())).await;
            }
            // An error cannot be: the semaphore is never closed.
            Arc::clone(&self.turns).acquire_owned().await.ok()
        };
        let turn = stop.run_until_cancelled(turn).await.flatten();
        waits.store(false, Ordering::Relaxed);
        turn
    }

    /// Resolves when a turn is over.
    pub(crate) async fn turn_over(&self, mut status: watch::Receiver<ReflectorStatus>) {
        let settled = status.wait_for(|status| status.synced || status.attempts > 0);
        // Whether it synced, failed or took too long, others go on.
        let _ = timeout(self.patience, settled).await;
    }
}

impl Default for StartLimit {
    /// Eight at once.
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
