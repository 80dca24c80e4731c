//! Reasons of failures, each logged once.

use std::error::Error as StdError;
use std::time::Duration;

use tokio::time::Instant;

/// For how long requests have to succeed until a reason that was logged is forgotten: one that comes and goes is the same
/// trouble.
const HEALED: Duration = Duration::from_secs(60);

/// How many reasons are remembered.
const MANY: usize = 32;

/// An error with its causes, in one line.
pub(crate) fn chain(error: &(dyn StdError + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(error) = next {
        text = format!("{text}: {error}");
        next = error.source();
    }
    text
}

/// The reasons that were logged.
#[derive(Debug, Default)]
pub(crate) struct Reasons {
    logged: Vec<String>,
    /// When the last one was met.
    last: Option<Instant>,
    is_failing: bool,
}

impl Reasons {
    /// Notes a failure. Returns whether it is to be logged.
    pub(crate) fn is_new(&mut self, reason: &str, now: Instant) -> bool {
        self.forget(now);
        self.is_failing = true;
        self.last = Some(now);
        let is_new = !self.logged.iter().any(|logged| logged == reason);
        if is_new && self.logged.len() < MANY {
            self.logged.push(reason.to_owned());
        }
        is_new
    }

    /// Notes a success. Returns whether it is the first after failures.
    pub(crate) fn clear(&mut self, now: Instant) -> bool {
        self.forget(now);
        std::mem::take(&mut self.is_failing)
    }

    fn forget(&mut self, now: Instant) {
        let is_over = self
            .last
            .is_some_and(|last| now.saturating_duration_since(last) >= HEALED);
        if !self.is_failing && is_over {
            self.logged.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reason_is_logged_once_until_requests_have_succeeded_for_a_minute() {
        let (mut reasons, mut now) = (Reasons::default(), Instant::now());
        assert!(!reasons.clear(now));
        for second in 0..600 {
            now += Duration::from_secs(1);
            assert_eq!(reasons.is_new("forbidden", now), second == 0);
            assert_eq!(reasons.is_new("not found", now), second == 0);
        }
        assert!(reasons.clear(now));
        assert!(!reasons.clear(now));
        assert!(!reasons.is_new("forbidden", now + HEALED / 2));
        assert!(reasons.clear(now + HEALED / 2));
        assert!(reasons.is_new("forbidden", now + HEALED * 2));
    }

    #[test]
    fn reasons_that_never_repeat_are_not_kept_for_ever() {
        let mut reasons = Reasons::default();
        for number in 0..10_000 {
            reasons.is_new(&number.to_string(), Instant::now());
        }
        assert_eq!(reasons.logged.len(), MANY);
    }
}
