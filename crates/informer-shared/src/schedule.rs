//! When a handler is due for a resync.

use std::time::Duration;

use tokio::time::Instant;

/// Shorter periods are raised to this: a resync goes over the whole cache.
const SHORTEST_PERIOD: Duration = Duration::from_secs(1);

/// Returns the period that a wished one leads to; `None` is never.
pub(crate) const fn effective_period(wished: Duration) -> Option<Duration> {
    if wished.is_zero() {
        None
    } else if wished.as_nanos() < SHORTEST_PERIOD.as_nanos() {
        Some(SHORTEST_PERIOD)
    } else {
        Some(wished)
    }
}

/// Due times at exact multiples of a period, whenever they are looked at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Schedule {
    period: Duration,
    /// `None`: beyond what the clock can represent, which is never.
    due: Option<Instant>,
}

impl Schedule {
    /// Makes a schedule whose first due time is one period from now.
    pub(crate) fn starting_at(now: Instant, period: Duration) -> Self {
        Self {
            period,
            due: now.checked_add(period),
        }
    }

    pub(crate) const fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Returns `true` if it is due, and moves on to the next due time after now. Missed ones are skipped.
    pub(crate) fn take_due(&mut self, now: Instant) -> bool {
        let Some(due) = self.due.filter(|due| *due <= now) else {
            return false;
        };
        let since = (now - due).as_nanos() % self.period.as_nanos();
        let rest = self.period.as_nanos() - since;
        let rest = u64::try_from(rest).map_or(Duration::MAX, Duration::from_nanos);
        self.due = now.checked_add(rest);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn period_is_never_or_at_least_a_second() {
        assert_eq!(effective_period(Duration::ZERO), None);
        assert_eq!(effective_period(MS), Some(Duration::from_secs(1)));
        assert_eq!(effective_period(1500 * MS), Some(1500 * MS));
    }

    // INV-SHARED-9, peers 48
    #[test]
    fn due_times_are_multiples_of_the_period_however_late_they_are_taken() {
        let start = Instant::now();
        let mut schedule = Schedule::starting_at(start, 1100 * MS);
        assert!(!schedule.take_due(start + 1099 * MS));
        assert!(schedule.take_due(start + 1100 * MS));
        assert!(!schedule.take_due(start + 1100 * MS));
        assert!(schedule.take_due(start + 2500 * MS), "the second, late");
        assert_eq!(schedule.due(), Some(start + 3300 * MS));
        assert!(
            schedule.take_due(start + 6600 * MS),
            "three at once are one"
        );
        assert_eq!(schedule.due(), Some(start + 7700 * MS));
    }

    #[test]
    fn longest_period_is_never_due() {
        let mut schedule = Schedule::starting_at(Instant::now(), Duration::MAX);
        assert_eq!(schedule.due(), None);
        assert!(!schedule.take_due(Instant::now()));
    }
}
