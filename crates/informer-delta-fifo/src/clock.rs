//! The time since a queue was made, read with every change and so as cheaply as can be.

use std::sync::Arc;
use std::time::{Duration, Instant};

/// A moment, in units of its clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(u64);

/// A clock that the user gave.
pub(crate) type ReadClock = dyn Fn() -> Instant + Send + Sync;

/// Where a queue reads the time.
pub(crate) enum Clock {
    /// The system's coarse clock, exact to some milliseconds. An exact one makes the processor wait for all that it
    /// has begun to load, which costs more than all else that is done with a change.
    Coarse,
    Given {
        start: Instant,
        read: Arc<ReadClock>,
    },
}

impl Clock {
    pub(crate) fn start(given: Option<&Arc<ReadClock>>) -> Self {
        match given {
            None => Self::Coarse,
            Some(read) => Self::Given {
                start: read(),
                read: Arc::clone(read),
            },
        }
    }

    #[inline]
    pub(crate) fn now(&self) -> Moment {
        Moment(match self {
            Self::Coarse => coarsetime::Instant::now().as_ticks(),
            Self::Given { start, read } => {
                let since = read().saturating_duration_since(*start);
                u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
            }
        })
    }

    /// How long ago it was.
    pub(crate) fn age(&self, moment: Moment) -> Duration {
        let passed = self.now().0.saturating_sub(moment.0);
        match self {
            Self::Coarse => coarsetime::Duration::from_ticks(passed).into(),
            Self::Given { .. } => Duration::from_nanos(passed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coarse_clock_advances_with_the_real_one() {
        let (clock, real) = (Clock::start(None), Instant::now());
        let first = clock.now();
        while clock.age(first).is_zero() {
            assert!(real.elapsed() < Duration::from_secs(60), "it stands still");
            std::thread::yield_now();
        }
        // Coarser than a second it would say nothing of a queue's age.
        let (age, passed) = (clock.age(first), real.elapsed());
        assert!(age < passed + Duration::from_secs(1), "{age:?} {passed:?}");
    }

    #[test]
    fn given_clock_may_stand_still_or_go_back() {
        let start = Instant::now() + Duration::from_secs(100);
        let seconds = Arc::new(parking_lot::Mutex::new(0));
        let read = {
            let seconds = Arc::clone(&seconds);
            move || start + Duration::from_secs(7) - Duration::from_secs(*seconds.lock())
        };
        let clock = Clock::start(Some(&(Arc::new(read) as Arc<ReadClock>)));
        let first = clock.now();
        assert_eq!(clock.age(first), Duration::ZERO);
        *seconds.lock() = 3;
        assert_eq!(clock.age(first), Duration::ZERO);
    }
}
