//! How long an item waits before it is tried again: rate limiters and their combinations.

mod bucket;
mod exponential;
mod fast_slow;
mod max_of;

use std::time::{Duration, Instant};

pub use bucket::BucketRateLimiter;
pub use exponential::ExponentialRateLimiter;
pub use fast_slow::FastSlowRateLimiter;
pub use max_of::{MaxOfRateLimiter, MaxWaitRateLimiter};

/// Decides how long an item waits before it is tried again.
///
/// The queue counts the failures of each item, and the tokens of a rate that all items share, so that most limiters keep
/// nothing themselves. It calls them with none of its locks held. A closure is one too:
///
/// ```
/// use std::time::{Duration, Instant};
/// use informer_workqueue::RateLimiter;
///
/// let linear = |_item: &&str, failures: u32, _now: Instant| Duration::from_secs(1) * (failures + 1);
/// assert_eq!(linear.delay(&"item", 2, Instant::now()), Duration::from_secs(3));
/// ```
#[doc(alias = "TypedRateLimiter")]
pub trait RateLimiter<T: ?Sized>: Send + Sync + 'static {
    /// Returns how long an item waits that has now failed again, after `failures` failures before.
    #[doc(alias = "When")]
    fn delay(&self, item: &T, failures: u32, now: Instant) -> Duration;

    /// Returns the rates at which all items together are tried again, none by default. The queue asks once, when it is
    /// made. A limiter made of others passes on theirs.
    fn rates(&self) -> Vec<RetryRate> {
        Vec::new()
    }

    /// Notes that the failures of an item were forgotten: it succeeded, or was given up. Only for limiters that keep
    /// something for each item.
    #[doc(alias = "Forget")]
    fn forget(&self, item: &T) {
        let _ = item;
    }
}

/// A rate at which all items of a queue together are tried again, kept by the queue as a token bucket.
///
/// A retry takes a token once its own delay is over, and waits for one if there is none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RetryRate {
    pub(crate) per_second: f64,
    pub(crate) burst: u32,
    pub(crate) longest_wait: Option<Duration>,
}

impl RetryRate {
    /// This many retries a second, after this many at once. A rate below zero, or one that is no number, is zero: no
    /// retry passes after the burst.
    #[must_use]
    pub const fn new(per_second: f64, burst: u32) -> Self {
        let is_rate = per_second > 0.0;
        Self {
            per_second: if is_rate { per_second } else { 0.0 },
            burst,
            longest_wait: None,
        }
    }

    /// Lets an item that has waited this long since it failed pass without a token. Of several limits the shortest holds.
    #[must_use]
    pub fn longest_wait(mut self, limit: Duration) -> Self {
        self.longest_wait = Some(self.longest_wait.map_or(limit, |old| old.min(limit)));
        self
    }
}

impl<T: ?Sized, F> RateLimiter<T> for F
where
    F: Fn(&T, u32, Instant) -> Duration + Send + Sync + 'static,
{
    fn delay(&self, item: &T, failures: u32, now: Instant) -> Duration {
        self(item, failures, now)
    }
}

/// Returns the limiter of controllers: an item waits 5 ms after its first failure, twice as long after each further one,
/// at most 1000 s; and all items together are tried again 10 times a second, after a burst of 100.
#[must_use]
#[doc(alias = "DefaultTypedControllerRateLimiter")]
pub fn default_controller_rate_limiter<T: ?Sized + 'static>() -> MaxOfRateLimiter<T> {
    MaxOfRateLimiter::new()
        .with(ExponentialRateLimiter::default())
        .with(BucketRateLimiter::new(10.0, 100))
}

/// Returns the limiter for items alone: an item waits 1 ms after its first failure, twice as long after each further one, at
/// most 1000 s.
#[must_use]
#[doc(alias = "DefaultTypedItemBasedRateLimiter")]
pub fn default_item_based_rate_limiter() -> ExponentialRateLimiter {
    ExponentialRateLimiter::new(Duration::from_millis(1), Duration::from_secs(1000))
}
