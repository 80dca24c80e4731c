//! A limiter for all items together.

use std::fmt;
use std::time::{Duration, Instant};

use super::RateLimiter;
use crate::sync::Mutex;

/// Lets a burst of items through at once, and then so many a second, whichever they are.
///
/// ```
/// use std::time::{Duration, Instant};
/// use informer_workqueue::{BucketRateLimiter, RateLimiter};
///
/// let limiter = BucketRateLimiter::new(10.0, 2);
/// let now = Instant::now();
/// let delays = ["a", "b", "c", "d"].map(|item| limiter.delay(item, 0, now).as_millis());
/// assert_eq!(delays, [0, 0, 100, 200]);
/// ```
#[doc(alias = "TypedBucketRateLimiter")]
pub struct BucketRateLimiter {
    per_second: f64,
    burst: f64,
    bucket: Mutex<Bucket>,
}

#[derive(Debug)]
struct Bucket {
    /// Below zero as far as tokens are promised that do not exist yet.
    tokens: f64,
    at: Option<Instant>,
}

impl BucketRateLimiter {
    /// How many items a second, and how many at once. A rate of zero lets none through after the burst.
    #[must_use]
    pub fn new(per_second: f64, burst: u32) -> Self {
        let burst = f64::from(burst);
        Self {
            per_second: per_second.max(0.0),
            burst,
            bucket: Mutex::new(Bucket {
                tokens: burst,
                at: None,
            }),
        }
    }
}

impl<T: ?Sized> RateLimiter<T> for BucketRateLimiter {
    fn delay(&self, _: &T, _: u32, now: Instant) -> Duration {
        let mut bucket = self.bucket.lock();
        if let Some(before) = bucket.at {
            let passed = now.saturating_duration_since(before).as_secs_f64();
            bucket.tokens = (bucket.tokens + passed * self.per_second).min(self.burst);
        }
        bucket.at = bucket.at.max(Some(now));
        bucket.tokens -= 1.0;
        let missing = -bucket.tokens;
        drop(bucket);
        if missing <= 0.0 {
            return Duration::ZERO;
        }
        Duration::try_from_secs_f64(missing / self.per_second).unwrap_or(Duration::MAX)
    }
}

impl fmt::Debug for BucketRateLimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BucketRateLimiter")
            .field("per_second", &self.per_second)
            .field("burst", &self.burst)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // RL1
    #[test]
    fn tokens_come_back_with_time_up_to_the_burst() {
        let limiter = BucketRateLimiter::new(2.0, 1);
        let start = Instant::now();
        let delay = |seconds| {
            let now = start + Duration::from_secs(seconds);
            limiter.delay("item", 0, now).as_millis()
        };
        assert_eq!([delay(0), delay(0), delay(0)], [0, 500, 1000]);
        assert_eq!([delay(2), delay(2)], [0, 500]);
        assert_eq!([delay(100), delay(100)], [0, 500]);
    }

    #[test]
    fn odd_rates_neither_panic_nor_let_more_through() {
        for rate in [0.0, -1.0, f64::NAN, f64::MIN_POSITIVE] {
            let limiter = BucketRateLimiter::new(rate, 1);
            let now = Instant::now();
            assert_eq!(limiter.delay("item", 0, now), Duration::ZERO);
            assert_eq!(limiter.delay("item", 0, now), Duration::MAX, "{rate}");
        }
    }
}
