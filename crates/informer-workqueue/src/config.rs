//! Settings of a queue.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::limit::{RateLimiter, default_controller_rate_limiter};
use crate::metrics::Metrics;
use crate::shared::nanos;
use crate::state::Limits;

pub(crate) type Clock = dyn Fn() -> Instant + Send + Sync;

/// How many items of higher priorities pass a waiting one by default.
const STARVATION_LIMIT: u32 = 8;

/// How many items are remembered for their failures alone by default.
const MAX_REMEMBERED: usize = 100_000;

/// How long an item that failed waits before an addition brings it back, by default: too short for a person to notice, long
/// enough that events do not run a failing item at their own rate.
const EVENT_BACKOFF: Duration = Duration::from_secs(1);

/// The settings of a [`WorkQueue`](crate::WorkQueue).
///
/// Any value is allowed: what is out of range is clamped, as each setting says.
///
/// ```
/// use std::time::Duration;
/// use informer_workqueue::{WorkQueueConfig, ExponentialRateLimiter, WorkQueue};
///
/// let limiter = ExponentialRateLimiter::new(Duration::from_secs(1), Duration::from_secs(60));
/// let queue: WorkQueue<String> = WorkQueue::with_config(WorkQueueConfig::new().rate_limiter(limiter).starvation_limit(4));
/// # drop(queue);
/// ```
#[must_use]
#[doc(alias = "TypedRateLimitingQueueConfig")]
pub struct WorkQueueConfig<T> {
    pub(crate) limiter: Arc<dyn RateLimiter<T>>,
    pub(crate) metrics: Option<Arc<dyn Metrics>>,
    pub(crate) clock: Arc<Clock>,
    pub(crate) limits: Limits,
}

impl<T: 'static> WorkQueueConfig<T> {
    /// Returns the default settings.
    pub fn new() -> Self {
        Self {
            limiter: Arc::new(default_controller_rate_limiter()),
            metrics: None,
            clock: Arc::new(now),
            limits: Limits {
                starvation_limit: STARVATION_LIMIT,
                max_remembered: MAX_REMEMBERED,
                max_delayed: usize::MAX,
                event_backoff: nanos(EVENT_BACKOFF),
            },
        }
    }

    /// Sets how long items that failed wait until they are tried again. The default is
    /// [`default_controller_rate_limiter`].
    pub fn rate_limiter(mut self, limiter: impl RateLimiter<T>) -> Self {
        self.limiter = Arc::new(limiter);
        self
    }

    /// Sets what counts the queue's events. There is nothing by default, and then the queue measures no time; `()` measures
    /// it for [`stats`](crate::WorkQueue::stats) alone.
    pub fn metrics(mut self, metrics: impl Metrics) -> Self {
        self.metrics = Some(Arc::new(metrics));
        self
    }

    /// Sets how many items of higher priorities may pass the first waiting item of a lower one, before that is taken. So of
    /// this many items and one, each priority gets at least one. The default is 8, the least 1.
    pub fn starvation_limit(mut self, passed: u32) -> Self {
        self.limits.starvation_limit = passed.max(1);
        self
    }

    /// Sets how many items are remembered for their failures alone: they failed, and have neither been added nor
    /// [forgotten](crate::WorkQueue::forget) nor succeeded since. Beyond it, those that failed longest ago are forgotten: their
    /// backoff begins from the start. The default is 100,000.
    pub fn max_remembered(mut self, items: usize) -> Self {
        self.limits.max_remembered = items;
        self
    }

    /// Sets how many items may be delayed. Beyond it, the one that is due first is queued at once: too early does no harm
    /// to a reconciler, too late might. There is no limit by default; a million delayed keys take about 100 MB.
    pub fn max_delayed(mut self, items: usize) -> Self {
        self.limits.max_delayed = items;
        self
    }

    /// Sets how long an item that failed waits at least before an addition brings it back, or its whole backoff if that
    /// is shorter. The default is one second: what is broken is tried again at once when it is changed, but not at the
    /// rate at which events come. Zero: an addition queues it at once, as with client-go. [`Duration::MAX`]: the backoff
    /// stays in force whatever is added.
    ///
    /// ```
    /// use std::time::Duration;
    /// use informer_workqueue::{WorkQueue, WorkQueueConfig};
    ///
    /// let queue = WorkQueue::with_config(WorkQueueConfig::new().event_backoff(Duration::MAX));
    /// queue.add("broken");
    /// queue.try_get().expect("it waits").retry_after(Duration::from_secs(3600));
    /// queue.add("broken");
    /// assert!(queue.try_get().is_none(), "it waits for an hour");
    /// ```
    pub fn event_backoff(mut self, least: Duration) -> Self {
        self.limits.event_backoff = nanos(least);
        self
    }

    /// Sets the clock, for tests. The queue never calls it under its lock.
    pub fn clock(mut self, clock: impl Fn() -> Instant + Send + Sync + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }
}

/// The time; tokio's where tokio measures delays.
fn now() -> Instant {
    #[cfg(feature = "tokio")]
    return tokio::time::Instant::now().into_std();
    #[cfg(not(feature = "tokio"))]
    Instant::now()
}

impl<T: 'static> Default for WorkQueueConfig<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for WorkQueueConfig<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkQueueConfig")
            .field("metrics", &self.metrics.is_some())
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
