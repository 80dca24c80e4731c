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

/// Says how long an item waits before it is tried again.
///
/// The queue counts the failures of each item, so that most limiters keep nothing themselves. It calls them with none
/// of its locks held. A closure is one too:
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
    /// How long an item waits that has now failed again, after `failures` failures before.
    #[doc(alias = "When")]
    fn delay(&self, item: &T, failures: u32, now: Instant) -> Duration;

    /// An item is forgiven: it was settled, given up or forgotten. Only for limiters that keep something per item.
    #[doc(alias = "Forget")]
    fn forget(&self, item: &T) {
        let _ = item;
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

/// The limiter of controllers: an item waits 5 ms after its first failure, twice as long after each further one, at
/// most 1000 s; and all items together are tried again 10 times a second, after a burst of 100.
#[must_use]
#[doc(alias = "DefaultTypedControllerRateLimiter")]
pub fn default_controller_rate_limiter<T: ?Sized + 'static>() -> MaxOfRateLimiter<T> {
    MaxOfRateLimiter::new()
        .with(ExponentialRateLimiter::default())
        .with(BucketRateLimiter::new(10.0, 100))
}

/// The limiter for items alone: an item waits 1 ms after its first failure, twice as long after each further one, at
/// most 1000 s.
#[must_use]
#[doc(alias = "DefaultTypedItemBasedRateLimiter")]
pub fn default_item_based_rate_limiter() -> ExponentialRateLimiter {
    ExponentialRateLimiter::new(Duration::from_millis(1), Duration::from_secs(1000))
}
