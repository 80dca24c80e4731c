//! Limiters made of others.

use std::fmt;
use std::time::{Duration, Instant};

use super::{RateLimiter, RetryRate};

/// Lets an item wait for the strictest of several limiters.
#[doc(alias = "TypedMaxOfRateLimiter")]
pub struct MaxOfRateLimiter<T: ?Sized> {
    limiters: Vec<Box<dyn RateLimiter<T>>>,
}

impl<T: ?Sized> MaxOfRateLimiter<T> {
    /// A limiter without delay, as long as no other is added.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            limiters: Vec::new(),
        }
    }

    /// Adds a limiter.
    #[must_use]
    pub fn with(mut self, limiter: impl RateLimiter<T>) -> Self {
        self.limiters.push(Box::new(limiter));
        self
    }
}

impl<T: ?Sized> Default for MaxOfRateLimiter<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: ?Sized + 'static> RateLimiter<T> for MaxOfRateLimiter<T> {
    fn delay(&self, item: &T, failures: u32, now: Instant) -> Duration {
        let delays = self
            .limiters
            .iter()
            .map(|limiter| limiter.delay(item, failures, now));
        delays.max().unwrap_or_default()
    }

    fn rates(&self) -> Vec<RetryRate> {
        let rates = self.limiters.iter().map(|limiter| limiter.rates());
        rates.flatten().collect()
    }

    fn forget(&self, item: &T) {
        for limiter in &self.limiters {
            limiter.forget(item);
        }
    }
}

impl<T: ?Sized> fmt::Debug for MaxOfRateLimiter<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MaxOfRateLimiter")
            .field("limiters", &self.limiters.len())
            .finish()
    }
}

/// Lets an item wait for another limiter, but no longer than this.
///
/// ```
/// use std::time::{Duration, Instant};
/// use informer_workqueue::{ExponentialRateLimiter, MaxWaitRateLimiter, RateLimiter};
///
/// let limiter = MaxWaitRateLimiter::new(ExponentialRateLimiter::default(), Duration::from_secs(2));
/// assert_eq!(limiter.delay("item", 50, Instant::now()), Duration::from_secs(2));
/// ```
#[derive(Debug, Clone, Copy)]
#[doc(alias = "TypedWithMaxWaitRateLimiter")]
pub struct MaxWaitRateLimiter<L> {
    limiter: L,
    longest: Duration,
}

impl<L> MaxWaitRateLimiter<L> {
    /// A limiter with this longest wait, for delays and for tokens.
    #[must_use]
    pub const fn new(limiter: L, longest: Duration) -> Self {
        Self { limiter, longest }
    }
}

impl<T: ?Sized, L: RateLimiter<T>> RateLimiter<T> for MaxWaitRateLimiter<L> {
    fn delay(&self, item: &T, failures: u32, now: Instant) -> Duration {
        self.limiter.delay(item, failures, now).min(self.longest)
    }

    fn rates(&self) -> Vec<RetryRate> {
        let rates = self.limiter.rates().into_iter();
        rates.map(|rate| rate.longest_wait(self.longest)).collect()
    }

    fn forget(&self, item: &T) {
        self.limiter.forget(item);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::{BucketRateLimiter, ExponentialRateLimiter, FastSlowRateLimiter};

    #[derive(Default)]
    struct Counting(Arc<AtomicU32>);

    impl RateLimiter<str> for Counting {
        fn delay(&self, _: &str, _: u32, _: Instant) -> Duration {
            Duration::ZERO
        }

        fn forget(&self, _: &str) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    // RL1
    #[test]
    fn the_strictest_limiter_decides() {
        let ms = Duration::from_millis;
        let limiter = MaxOfRateLimiter::<str>::new()
            .with(FastSlowRateLimiter::new(ms(5), Duration::from_secs(3), 3))
            .with(ExponentialRateLimiter::new(ms(1), Duration::from_secs(10)));
        let delays =
            [0, 1, 2, 3, 12, 20].map(|failures| limiter.delay("item", failures, Instant::now()));
        assert_eq!(
            delays.map(|delay| delay.as_millis()),
            [5, 5, 5, 3000, 4096, 10_000]
        );
        assert_eq!(
            MaxOfRateLimiter::<str>::new().delay("item", 9, Instant::now()),
            ms(0)
        );
    }

    // RL1
    #[test]
    fn a_limiter_of_limiters_has_all_their_rates_and_passes_on_what_is_forgotten() {
        let forgotten = Arc::new(AtomicU32::new(0));
        let limiter = MaxOfRateLimiter::<str>::new()
            .with(BucketRateLimiter::new(1.0, 2))
            .with(BucketRateLimiter::new(5.0, 1))
            .with(Counting(Arc::clone(&forgotten)));
        let limiter = MaxWaitRateLimiter::new(limiter, Duration::from_secs(3));
        let rates = [RetryRate::new(1.0, 2), RetryRate::new(5.0, 1)];
        let rates = rates.map(|rate| rate.longest_wait(Duration::from_secs(3)));
        assert_eq!(limiter.rates(), rates);
        limiter.forget("item");
        assert_eq!(forgotten.load(Ordering::Relaxed), 1);
    }

    // RL1
    #[test]
    fn a_longest_wait_holds() {
        let slow = ExponentialRateLimiter::new(Duration::from_secs(1), Duration::from_secs(100));
        let limiter = MaxWaitRateLimiter::new(slow, Duration::from_secs(5));
        let delays =
            [0, 1, 2, 3, 60].map(|failures| limiter.delay("item", failures, Instant::now()));
        assert_eq!(delays.map(|delay| delay.as_secs()), [1, 2, 4, 5, 5]);
    }
}
