//! The settings of the waits after failures.

use std::time::Duration;

use super::clamped;

/// Waits after failures.
///
/// The first wait lies between `initial` and twice that, and each one is `factor` times as long as the one before,
/// up to `max`. Only lasting health makes them short again.
///
/// ```
/// use std::time::Duration;
///
/// use informer_reflector::BackoffConfig;
///
/// let backoff = BackoffConfig::default().initial(Duration::from_millis(200));
/// # let _ = backoff;
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct BackoffConfig {
    pub(crate) initial: Duration,
    pub(crate) factor: f64,
    pub(crate) max: Duration,
    pub(crate) jitter: bool,
    pub(crate) reset_after: Duration,
}

/// The least wait between two requests that fail, and so their highest rate.
pub(crate) const MIN_WAIT: Duration = Duration::from_millis(100);
/// More than from the shortest wait to the longest.
const MAX_FACTOR: f64 = 1e9;

impl Default for BackoffConfig {
    fn default() -> Self {
        Self {
            initial: Duration::from_millis(800),
            factor: 2.0,
            max: Duration::from_secs(30),
            jitter: true,
            reset_after: Duration::from_secs(120),
        }
    }
}

impl BackoffConfig {
    /// Sets the least time of the first wait. Default: 0.8 s. At least 100 ms.
    #[must_use]
    pub fn initial(mut self, initial: Duration) -> Self {
        self.initial = clamped(initial, MIN_WAIT);
        self
    }

    /// Sets by how much each wait is longer than the one before. Default: 2. At least 1, which is also taken for what is no
    /// number.
    #[must_use]
    pub const fn factor(mut self, factor: f64) -> Self {
        self.factor = if factor >= 1.0 {
            factor.min(MAX_FACTOR)
        } else {
            1.0
        };
        self
    }

    /// Sets the longest wait, but for those that the server asks for. Default: 30 s. At least 100 ms; less than
    /// [`initial`](Self::initial) means as much.
    #[must_use]
    pub fn max(mut self, max: Duration) -> Self {
        self.max = clamped(max, MIN_WAIT);
        self
    }

    /// Sets whether waits are random, so that many reflectors do not retry all at once. Default: true.
    #[must_use]
    pub const fn jitter(mut self, jitter: bool) -> Self {
        self.jitter = jitter;
        self
    }

    /// Sets how long a watch must be in good health before waits are short again. Default: 2 minutes.
    #[must_use]
    pub fn reset_after(mut self, health: Duration) -> Self {
        self.reset_after = clamped(health, Duration::ZERO);
        self
    }
}
