//! How long a watch may be silent: learned from the bookmarks that it had.

use std::time::Duration;

/// What is known of the server's bookmarks.
#[derive(Debug)]
pub(super) struct Silence {
    /// Never less than this.
    floor: Duration,
    /// No gap counts for more than this.
    cap: Duration,
    /// The longest time between two frames since bookmarks were seen.
    longest: Duration,
    bookmarks: bool,
    /// A watch fell silent, and nothing has come since.
    suspicious: bool,
}

impl Silence {
    pub(super) const fn new(floor: Duration, cap: Duration) -> Self {
        Self {
            floor,
            cap,
            longest: Duration::ZERO,
            bookmarks: false,
            suspicious: false,
        }
    }

    /// For how long a watch may be silent; `None` where the server sends no bookmarks.
    pub(super) fn limit(&self) -> Option<Duration> {
        self.bookmarks
            .then(|| self.floor.max(self.longest.mul_f64(1.2)))
    }

    /// Something came after this time.
    pub(super) fn frame(&mut self, gap: Duration, bookmark: bool) {
        self.bookmarks |= bookmark;
        self.suspicious = false;
        if self.bookmarks {
            self.longest = self.longest.max(gap.min(self.cap));
        }
    }

    /// A watch was silent for too long. True if the one before it was too, and nothing came between.
    pub(super) const fn fell_silent(&mut self) -> bool {
        std::mem::replace(&mut self.suspicious, true)
    }

    /// A watch that lived for this long ended without having said anything. True if that was one too many. It counts
    /// without bookmarks too: they may just not have come before the server went back in time.
    pub(super) fn ended_silent(&mut self, lived: Duration) -> bool {
        lived >= self.floor && self.fell_silent()
    }

    /// The server is in order and just has nothing to say: give it more time from now on.
    pub(super) fn false_alarm(&mut self) {
        if let Some(limit) = self.limit() {
            self.longest = (limit * 2).min(self.cap);
        }
        self.suspicious = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn without_bookmarks_any_silence_is_allowed() {
        let mut silence = Silence::new(SECOND * 70, SECOND * 600);
        silence.frame(SECOND * 300, false);
        assert_eq!(silence.limit(), None);
    }

    #[test]
    fn the_limit_follows_the_longest_gap_within_bounds() {
        let mut silence = Silence::new(SECOND * 70, SECOND * 600);
        silence.frame(SECOND * 30, true);
        assert_eq!(silence.limit(), Some(SECOND * 70));
        silence.frame(SECOND * 100, false);
        assert_eq!(silence.limit(), Some(SECOND * 120));
        silence.frame(SECOND * 90_000, true);
        assert_eq!(silence.limit(), Some(SECOND * 720));
    }

    #[test]
    fn a_false_alarm_makes_it_more_patient() {
        let mut silence = Silence::new(SECOND * 70, SECOND * 600);
        silence.frame(SECOND * 60, true);
        assert!(!silence.fell_silent());
        assert!(silence.fell_silent());
        silence.false_alarm();
        assert_eq!(silence.limit(), Some(Duration::from_millis(172_800)));
        assert!(!silence.fell_silent());
    }
}
