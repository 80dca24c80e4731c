//! Times of Kubernetes metadata: seconds since 1970, in 8 bytes.

use jiff::Timestamp;

/// A point in time to the second, or none.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Seconds(i64);

impl Default for Seconds {
    fn default() -> Self {
        Self::NONE
    }
}

impl Seconds {
    /// No time. Timestamps lie far from here.
    pub(super) const NONE: Self = Self(i64::MIN);

    pub(super) fn of(time: Timestamp) -> Self {
        // Rounded down, as Kubernetes cuts fractions off.
        Self(time.as_second() - i64::from(time.subsec_nanosecond() < 0))
    }

    pub(super) fn get(self) -> Option<Timestamp> {
        if self == Self::NONE {
            None
        } else {
            Timestamp::from_second(self.0).ok()
        }
    }
}

impl std::fmt::Debug for Seconds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(&self.get(), f)
    }
}
