//! How a queue is set up.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use crate::limit::{RateLimiter, default_controller_rate_limiter};
use crate::metrics::Metrics;
use crate::state::Limits;

pub(crate) type Clock = dyn Fn() -> Instant + Send + Sync;

/// How many items of higher priorities pass a waiting one, unless said otherwise.
const AGEING: u32 = 8;

/// How many items are known for their failures alone, unless said otherwise.
const MAX_REMEMBERED: usize = 100_000;

/// How a [`WorkQueue`](crate::WorkQueue) is set up.
///
/// ```
/// use std::time::Duration;
/// use informer_workqueue::{Config, ExponentialRateLimiter, WorkQueue};
///
/// let limiter = ExponentialRateLimiter::new(Duration::from_secs(1), Duration::from_secs(60));
/// let queue: WorkQueue<String> = WorkQueue::with_config(Config::new().rate_limiter(limiter).ageing(4));
/// # drop(queue);
/// ```
#[must_use]
#[doc(alias = "TypedRateLimitingQueueConfig")]
pub struct Config<T> {
    pub(crate) limiter: Arc<dyn RateLimiter<T>>,
    pub(crate) metrics: Option<Arc<dyn Metrics>>,
    pub(crate) clock: Arc<Clock>,
    pub(crate) limits: Limits,
}

impl<T: 'static> Config<T> {
    /// The default settings.
    pub fn new() -> Self {
        Self {
            limiter: Arc::new(default_controller_rate_limiter()),
            metrics: None,
            clock: Arc::new(now),
            limits: Limits {
                ageing: AGEING,
                max_remembered: MAX_REMEMBERED,
                max_delayed: usize::MAX,
            },
        }
    }

    /// How long items wait that failed. The default is
    /// [`default_controller_rate_limiter`].
    pub fn rate_limiter(mut self, limiter: impl RateLimiter<T>) -> Self {
        self.limiter = Arc::new(limiter);
        self
    }

    /// Who hears of what the queue does. The default is nobody, and then the queue measures no time; `()` measures it for
    /// [`stats`](crate::WorkQueue::stats) alone.
    pub fn metrics(mut self, metrics: impl Metrics) -> Self {
        self.metrics = Some(Arc::new(metrics));
        self
    }

    /// How many items of higher priorities may pass one that waits at the head of its own; then it has its turn. So
    /// each priority gets at least one of so many and one items. The default is 8, the least 1.
    pub fn ageing(mut self, passed: u32) -> Self {
        self.limits.ageing = passed.max(1);
        self
    }

    /// How many items are known for their failures alone: they failed, and nobody has added, settled or
    /// [forgotten](crate::WorkQueue::forget) them since. Beyond it, those that failed longest ago are forgotten, and
    /// would be tried again sooner. The default is 100,000.
    pub fn max_remembered(mut self, items: usize) -> Self {
        self.limits.max_remembered = items;
        self
    }

    /// How many items may be delayed. Beyond it, the one that is due first is queued at once: too early does no harm,
    /// where work is decided by the state of things. The default is no limit; a million keys delayed take about 100 MB.
    pub fn max_delayed(mut self, items: usize) -> Self {
        self.limits.max_delayed = items;
        self
    }

    /// Where the time comes from; for tests. The queue never calls it under its lock.
    pub fn clock(mut self, clock: impl Fn() -> Instant + Send + Sync + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }
}

/// The time, that of tokio where tokio measures delays.
fn now() -> Instant {
    #[cfg(feature = "tokio")]
    return tokio::time::Instant::now().into_std();
    #[cfg(not(feature = "tokio"))]
    Instant::now()
}

impl<T: 'static> Default for Config<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for Config<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("metrics", &self.metrics.is_some())
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
