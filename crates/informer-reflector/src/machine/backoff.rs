//! How long to wait after failures: one state for lists and watches alike.

use std::time::{Duration, Instant};

use fastrand::Rng;
use informer_store::mutant;

/// How long to wait after failures.
///
/// The first wait lies between `initial` and twice that, and each one is `factor` times as long as the one before,
/// up to `max`. Only lasting health makes them short again.
///
/// ```
/// use std::time::Duration;
///
/// use informer_reflector::BackoffConfig;
///
/// let backoff = BackoffConfig::default().initial(Duration::from_millis(100));
/// # let _ = backoff;
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct BackoffConfig {
    pub(super) initial: Duration,
    pub(super) factor: f64,
    pub(super) max: Duration,
    pub(super) jitter: bool,
    pub(super) reset_after: Duration,
}

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
    /// The least time of the first wait; at least a millisecond. Default: 0.8 s.
    #[must_use]
    pub fn initial(mut self, initial: Duration) -> Self {
        self.initial = initial.max(Duration::from_millis(1));
        self
    }

    /// By how much each wait is longer than the one before; at least 1. Default: 2.
    #[must_use]
    pub const fn factor(mut self, factor: f64) -> Self {
        self.factor = if factor >= 1.0 { factor } else { 1.0 };
        self
    }

    /// The longest wait, but for those that the server asks for. Default: 30 s.
    #[must_use]
    pub const fn max(mut self, max: Duration) -> Self {
        self.max = max;
        self
    }

    /// Whether waits are random, so that many reflectors do not come back all at once. Default: true.
    #[must_use]
    pub const fn jitter(mut self, jitter: bool) -> Self {
        self.jitter = jitter;
        self
    }

    /// For how long a watch must have been in good health before waits are short again. Default: 2 minutes.
    #[must_use]
    pub const fn reset_after(mut self, health: Duration) -> Self {
        self.reset_after = health;
        self
    }
}

/// No server may make us wait for longer than this.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(300);

/// How the waits have grown.
#[derive(Debug)]
pub(super) struct Backoff {
    config: BackoffConfig,
    /// The least time of the next wait.
    step: Duration,
    /// No failure so far, or none since lasting health.
    fresh: bool,
    healthy_since: Option<Instant>,
}

impl Backoff {
    pub(super) const fn new(config: BackoffConfig) -> Self {
        Self {
            config,
            step: config.initial,
            fresh: true,
            healthy_since: None,
        }
    }

    /// A watch is open and everything before it has arrived.
    pub(super) fn healthy(&mut self, now: Instant) {
        self.healthy_since.get_or_insert(now);
    }

    /// Something failed. True if it is the first failure, or the first after lasting health.
    pub(super) fn fail(&mut self, now: Instant) -> bool {
        let health = self
            .healthy_since
            .take()
            .map(|since| now.duration_since(since));
        if health.is_some_and(|health| {
            health >= self.config.reset_after || mutant!("reflector-reset-backoff-early")
        }) {
            self.step = self.config.initial;
            self.fresh = true;
        }
        std::mem::replace(&mut self.fresh, false)
    }

    /// Something failed: how long to wait, and not less than the server `asked`.
    pub(super) fn next(
        &mut self,
        now: Instant,
        asked: Option<Duration>,
        rng: &mut Rng,
    ) -> Duration {
        self.fail(now);
        let delay = self.jittered(self.step, rng);
        self.step = self.step.mul_f64(self.config.factor).min(self.config.max);
        let heeded = asked.filter(|_| !mutant!("reflector-ignore-retry-after"));
        let Some(asked) = heeded.map(|asked| asked.min(MAX_RETRY_AFTER)) else {
            return delay;
        };
        // Everyone was told the same time, so spread out behind it.
        let spread = if self.config.jitter {
            asked.mul_f64(0.2 * rng.f64())
        } else {
            Duration::ZERO
        };
        delay.max((asked + spread).min(MAX_RETRY_AFTER))
    }

    /// Between the step and twice the step, within the limit; near the limit still random.
    fn jittered(&self, step: Duration, rng: &mut Rng) -> Duration {
        let max = self.config.max;
        if !self.config.jitter {
            return step.min(max);
        }
        let (least, most) = (step.min(max.mul_f64(0.75)), (step * 2).min(max));
        least + (most.saturating_sub(least)).mul_f64(rng.f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn backoff(config: BackoffConfig) -> (Backoff, Rng, Instant) {
        (Backoff::new(config), Rng::with_seed(7), Instant::now())
    }

    /// RF10
    #[test]
    fn without_jitter_the_waits_are_exact() {
        let config = BackoffConfig::default()
            .initial(SECOND)
            .max(SECOND * 6)
            .jitter(false);
        let (mut backoff, mut rng, now) = backoff(config);
        let waits: Vec<_> = (0..5)
            .map(|_| backoff.next(now, None, &mut rng).as_secs())
            .collect();
        assert_eq!(waits, [1, 2, 4, 6, 6]);
    }

    /// RF9, peers 20
    #[test]
    fn waits_grow_to_the_cap_and_stay_random_there() {
        let (mut backoff, mut rng, now) = backoff(BackoffConfig::default());
        let waits: Vec<_> = (0..1000)
            .map(|_| backoff.next(now, None, &mut rng))
            .collect();
        for (n, wait) in waits.iter().enumerate() {
            let step = (0.8 * 2f64.powi(n.min(20).try_into().unwrap())).min(30.0);
            assert!(
                wait.as_secs_f64() >= step.min(22.5),
                "wait {n} is only {wait:?}"
            );
            assert!(
                *wait <= SECOND * 30 && wait.as_secs_f64() <= 2.0 * step,
                "wait {n} is {wait:?}"
            );
        }
        let capped = &waits[10..];
        assert!(capped.iter().any(|w| *w < SECOND * 24) && capped.iter().any(|w| *w > SECOND * 29));
    }

    /// peers 19, 20
    #[test]
    fn only_lasting_health_makes_waits_short_again() {
        let (mut backoff, mut rng, start) = backoff(BackoffConfig::default());
        (0..6).for_each(|_| _ = backoff.next(start, None, &mut rng));
        backoff.healthy(start);
        assert!(backoff.next(start + SECOND * 119, None, &mut rng) > SECOND * 20);
        backoff.healthy(start);
        assert!(backoff.next(start + SECOND * 120, None, &mut rng) < SECOND * 2);
    }

    #[test]
    fn a_failure_is_the_first_only_once_and_again_after_health() {
        let (mut backoff, _, start) = backoff(BackoffConfig::default());
        assert!(backoff.fail(start));
        assert!(!backoff.fail(start));
        backoff.healthy(start);
        assert!(backoff.fail(start + SECOND * 120));
    }

    /// peers 16
    #[test]
    fn what_the_server_asks_for_is_kept_within_reason() {
        let (mut backoff, mut rng, now) = backoff(BackoffConfig::default());
        let wait = backoff.next(now, Some(SECOND * 3), &mut rng);
        assert!(wait >= SECOND * 3 && wait <= SECOND * 4, "{wait:?}");
        assert_eq!(
            backoff.next(now, Some(SECOND * 86_400), &mut rng),
            SECOND * 300
        );
    }
}
