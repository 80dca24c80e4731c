//! A limiter whose delays double with each failure.

use std::time::{Duration, Instant};

use super::RateLimiter;

/// Doubles the delay of an item with each failure, up to a longest delay.
///
/// ```
/// use std::time::{Duration, Instant};
/// use informer_workqueue::{ExponentialRateLimiter, RateLimiter};
///
/// let limiter = ExponentialRateLimiter::new(Duration::from_millis(1), Duration::from_secs(1));
/// let delays = [0, 1, 2, 30].map(|failures| limiter.delay("item", failures, Instant::now()).as_millis());
/// assert_eq!(delays, [1, 2, 4, 1000]);
/// ```
#[derive(Debug, Clone, Copy)]
#[doc(alias = "ItemExponentialFailureRateLimiter")]
pub struct ExponentialRateLimiter {
    base: Duration,
    longest: Duration,
}

impl ExponentialRateLimiter {
    /// A limiter with this delay after the first failure, and this longest one.
    #[must_use]
    pub const fn new(base: Duration, longest: Duration) -> Self {
        Self { base, longest }
    }
}

impl Default for ExponentialRateLimiter {
    /// Delays from 5 ms to 1000 s.
    fn default() -> Self {
        Self::new(Duration::from_millis(5), Duration::from_secs(1000))
    }
}

impl<T: ?Sized> RateLimiter<T> for ExponentialRateLimiter {
    fn delay(&self, _: &T, failures: u32, _: Instant) -> Duration {
        let factor = 1_u32.checked_shl(failures);
        let delay = factor.and_then(|factor| self.base.checked_mul(factor));
        // A base that is tiny against the longest delay needs more than 2^31 steps of it.
        let delay = delay.or_else(|| {
            let factor = 2_f64.powi(i32::try_from(failures).unwrap_or(i32::MAX));
            Duration::try_from_secs_f64(self.base.as_secs_f64() * factor).ok()
        });
        delay.map_or(self.longest, |delay| delay.min(self.longest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delay(limiter: ExponentialRateLimiter, failures: u32) -> Duration {
        limiter.delay("item", failures, Instant::now())
    }

    // RL1
    #[test]
    fn delays_double_up_to_the_longest() {
        let limiter = ExponentialRateLimiter::new(Duration::from_millis(1), Duration::from_secs(1));
        let delays: Vec<_> = (0..5)
            .map(|failures| delay(limiter, failures).as_millis())
            .collect();
        assert_eq!(delays, [1, 2, 4, 8, 16]);
        assert_eq!(delay(limiter, 9).as_millis(), 512);
        assert_eq!(delay(limiter, 10), Duration::from_secs(1));
    }

    // RL1
    #[test]
    fn no_number_of_failures_overflows() {
        let hour = Duration::from_secs(3600);
        let limiters = [
            Duration::from_nanos(1),
            Duration::from_millis(1),
            hour * 24 * 365,
        ]
        .map(|base| ExponentialRateLimiter::new(base, hour));
        for limiter in limiters {
            for failures in [64, 100, 1000, 100_000, u32::MAX] {
                assert_eq!(delay(limiter, failures), hour);
            }
        }
        let none = ExponentialRateLimiter::new(Duration::ZERO, hour);
        assert_eq!(delay(none, 31), Duration::ZERO);
    }

    #[test]
    fn a_small_base_reaches_a_long_delay_step_by_step() {
        let limiter = ExponentialRateLimiter::new(Duration::from_nanos(1), Duration::MAX);
        assert_eq!(delay(limiter, 40).as_nanos(), 1 << 40);
    }
}
