//! A limiter with two delays.

use std::time::{Duration, Instant};

use super::RateLimiter;

/// Lets an item wait a short time after its first failures, and a long time after each further one.
#[derive(Debug, Clone, Copy)]
#[doc(alias = "ItemFastSlowRateLimiter")]
pub struct FastSlowRateLimiter {
    fast: Duration,
    slow: Duration,
    fast_attempts: u32,
}

impl FastSlowRateLimiter {
    /// A limiter with this short delay, this long one, and this number of failures with the short one.
    #[must_use]
    pub const fn new(fast: Duration, slow: Duration, fast_attempts: u32) -> Self {
        Self {
            fast,
            slow,
            fast_attempts,
        }
    }
}

impl<T: ?Sized> RateLimiter<T> for FastSlowRateLimiter {
    fn delay(&self, _: &T, failures: u32, _: Instant) -> Duration {
        if failures < self.fast_attempts {
            self.fast
        } else {
            self.slow
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // RL1
    #[test]
    fn the_first_failures_are_tried_again_fast() {
        let limiter =
            FastSlowRateLimiter::new(Duration::from_millis(5), Duration::from_secs(10), 3);
        let delays =
            [0, 1, 2, 3, 4].map(|failures| limiter.delay("item", failures, Instant::now()));
        assert_eq!(
            delays.map(|delay| delay.as_millis()),
            [5, 5, 5, 10_000, 10_000]
        );
    }
}
