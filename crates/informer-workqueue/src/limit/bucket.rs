//! A limiter for all items together.

use std::time::{Duration, Instant};

use super::{RateLimiter, RetryRate};

/// Lets a burst of retries through at once, and then so many a second, whichever items they are of.
///
/// An item takes a token when its retry is due, not before: one that waits costs none, and one that is taken before its
/// retry was due, because it was added meanwhile, gives it back.
///
/// ```
/// use informer_workqueue::{BucketRateLimiter, WorkQueue, WorkQueueConfig};
///
/// let limiter = BucketRateLimiter::new(10.0, 2);
/// let queue = WorkQueue::with_config(WorkQueueConfig::new().rate_limiter(limiter));
/// for item in ["a", "b", "c", "d"] {
///     queue.add_rate_limited(item);
/// }
/// // Two at once, the third after 100 ms, the fourth after 200 ms.
/// assert_eq!((queue.len(), queue.stats().delayed), (2, 2));
/// ```
#[derive(Debug, Clone, Copy)]
#[doc(alias = "TypedBucketRateLimiter")]
pub struct BucketRateLimiter {
    rate: RetryRate,
}

impl BucketRateLimiter {
    /// A limiter of this rate a second, after this burst. A rate of zero lets none through after the burst.
    #[must_use]
    pub const fn new(per_second: f64, burst: u32) -> Self {
        Self {
            rate: RetryRate::new(per_second, burst),
        }
    }
}

impl<T: ?Sized> RateLimiter<T> for BucketRateLimiter {
    fn delay(&self, _: &T, _: u32, _: Instant) -> Duration {
        Duration::ZERO
    }

    fn rates(&self) -> Vec<RetryRate> {
        vec![self.rate]
    }
}
