//! The waits after failures, of lists and watches alike.

use std::time::{Duration, Instant};

use fastrand::Rng;

use crate::config::{BackoffConfig, MIN_WAIT};

/// A server that asks for a longer wait is not heeded.
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
    pub(super) fn new(mut config: BackoffConfig) -> Self {
        config.max = config.max.max(config.initial);
        Self {
            config,
            step: config.initial,
            fresh: true,
            healthy_since: None,
        }
    }

    /// A watch is open, and the sink has everything before it.
    pub(super) fn healthy(&mut self, now: Instant) {
        self.healthy_since.get_or_insert(now);
    }

    /// Something failed. True if it is the first failure, or the first after lasting health.
    pub(super) fn fail(&mut self, now: Instant) -> bool {
        let health = self
            .healthy_since
            .take()
            .map(|since| now.duration_since(since));
        if health.is_some_and(|health| health >= self.config.reset_after) {
            self.step = self.config.initial;
            self.fresh = true;
        }
        std::mem::replace(&mut self.fresh, false)
    }

    /// Something failed. Returns how long to wait, and not less than the server `asked`.
    pub(super) fn next(
        &mut self,
        now: Instant,
        asked: Option<Duration>,
        rng: &mut Rng,
    ) -> Duration {
        self.fail(now);
        let delay = self.jittered(self.step, rng).max(MIN_WAIT);
        self.step = self.step.mul_f64(self.config.factor).min(self.config.max);
        let Some(asked) = asked.map(|asked| asked.min(MAX_RETRY_AFTER)) else {
            return delay;
        };
        // The server asks every client for the same time.
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
    fn waits_are_exact_without_jitter() {
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
    fn waits_grow_to_the_limit_and_stay_random() {
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
    fn waits_reset_only_after_lasting_health() {
        let (mut backoff, mut rng, start) = backoff(BackoffConfig::default());
        (0..6).for_each(|_| _ = backoff.next(start, None, &mut rng));
        backoff.healthy(start);
        assert!(backoff.next(start + SECOND * 119, None, &mut rng) > SECOND * 20);
        backoff.healthy(start);
        assert!(backoff.next(start + SECOND * 120, None, &mut rng) < SECOND * 2);
    }

    #[test]
    fn failure_is_first_once_and_again_after_health() {
        let (mut backoff, _, start) = backoff(BackoffConfig::default());
        assert!(backoff.fail(start));
        assert!(!backoff.fail(start));
        backoff.healthy(start);
        assert!(backoff.fail(start + SECOND * 120));
    }

    /// peers 16
    #[test]
    fn retry_after_is_heeded_up_to_five_minutes() {
        let (mut backoff, mut rng, now) = backoff(BackoffConfig::default());
        let wait = backoff.next(now, Some(SECOND * 3), &mut rng);
        assert!(wait >= SECOND * 3 && wait <= SECOND * 4, "{wait:?}");
        assert_eq!(
            backoff.next(now, Some(SECOND * 86_400), &mut rng),
            SECOND * 300
        );
    }
}
