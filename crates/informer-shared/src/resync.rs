//! When a handler is due to be reminded of every object.

use std::time::Duration;

use tokio::time::Instant;

/// Shorter periods are raised to this: a round goes over the whole cache.
const SHORTEST_PERIOD: Duration = Duration::from_secs(1);

/// The period that a wished one leads to; `None` is never.
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
    due: Instant,
}

impl Schedule {
    /// The first due time is one period from now. `None` if that is beyond what the clock can tell.
    pub(crate) fn starting_at(now: Instant, period: Duration) -> Option<Self> {
        Some(Self {
            period,
            due: now.checked_add(period)?,
        })
    }

    pub(crate) const fn due(&self) -> Instant {
        self.due
    }

    /// True if it is due; then moves on to the next due time in the future. Missed ones are left out.
    pub(crate) fn take_due(&mut self, now: Instant) -> bool {
        if now < self.due {
            return false;
        }
        let late = now - self.due;
        let missed = u32::try_from(late.as_nanos() / self.period.as_nanos()).unwrap_or(u32::MAX);
        self.due += self.period.saturating_mul(missed.saturating_add(1));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_period_is_never_or_at_least_a_second() {
        assert_eq!(effective_period(Duration::ZERO), None);
        assert_eq!(effective_period(MS), Some(Duration::from_secs(1)));
        assert_eq!(effective_period(1500 * MS), Some(1500 * MS));
    }

    // INV-SHARED-9, peers 48
    #[test]
    fn due_times_are_multiples_of_the_period_however_late_they_are_noticed() {
        let start = Instant::now();
        let mut schedule = Schedule::starting_at(start, 1100 * MS).unwrap();
        assert!(!schedule.take_due(start + 1099 * MS));
        assert!(schedule.take_due(start + 1100 * MS));
        assert!(!schedule.take_due(start + 1100 * MS));
        assert!(schedule.take_due(start + 2500 * MS), "the second, late");
        assert_eq!(schedule.due(), start + 3300 * MS);
        assert!(
            schedule.take_due(start + 6600 * MS),
            "three at once are one"
        );
        assert_eq!(schedule.due(), start + 7700 * MS);
        assert!(Schedule::starting_at(start, Duration::MAX).is_none());
    }
}
