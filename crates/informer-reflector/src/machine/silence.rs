//! How long a watch may be silent: learned from its bookmarks.

use std::time::Duration;

/// Servers send a bookmark a minute: with less patience than this one must learn to have more.
const USUAL: Duration = Duration::from_secs(70);

/// What is known of the server's bookmarks.
#[derive(Debug)]
pub(super) struct Silence {
    /// Never less than this.
    floor: Duration,
    /// No gap counts for more than this.
    cap: Duration,
    /// The longest time between two frames since bookmarks were seen; before, what false alarms taught.
    longest: Duration,
    bookmarks: bool,
    /// A watch fell silent, and no event was received since.
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

    /// For how long a watch may take to open. Something before the server may hold the response back until the first
    /// event, so this is as patient as the wait for a bookmark. What is only guessed for want of bookmarks does not count.
    pub(super) fn opening_limit(&self) -> Duration {
        if self.bookmarks {
            self.limit()
        } else {
            self.floor
        }
    }

    /// For how long a watch may be silent. Bookmarks are requested, so until it is known better they are expected.
    pub(super) fn limit(&self) -> Duration {
        self.floor.max(self.longest.mul_f64(1.2))
    }

    /// An event was received after this time.
    pub(super) fn frame(&mut self, gap: Duration, bookmark: bool) {
        if bookmark && !self.bookmarks {
            self.bookmarks = true;
            self.longest = Duration::ZERO;
        }
        if std::mem::take(&mut self.suspicious) && self.bookmarks && self.limit() < USUAL {
            // The watch before was in order, it seems, and given up too soon.
            self.longest = self.longest.max((self.limit() * 2).min(USUAL));
        }
        if self.bookmarks {
            self.longest = self.longest.max(gap.min(self.cap));
        }
    }

    /// A watch is given up for its silence. Before the first bookmark, the server may send none for this
    /// resource: it gets more time from now on, in the end all that a watch has.
    pub(super) fn gave_up(&mut self) {
        if !self.bookmarks {
            self.grow();
        }
    }

    /// A watch was silent for too long. Returns `true` if the one before it was too, without an event between.
    pub(super) const fn fell_silent(&mut self) -> bool {
        std::mem::replace(&mut self.suspicious, true)
    }

    /// A watch of this age ended without an event. Returns `true` if that was one too many. It counts
    /// without bookmarks too: the server's versions may have gone back before the first one.
    pub(super) fn ended_silent(&mut self, age: Duration) -> bool {
        age >= self.floor && self.fell_silent()
    }

    /// The server is in order and just has no events: it gets more time from now on.
    pub(super) fn false_alarm(&mut self) {
        if self.bookmarks {
            self.grow();
        }
        self.suspicious = false;
    }

    fn grow(&mut self) {
        self.longest = (self.limit() * 2).min(self.cap);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn limit_grows_with_each_alarm_before_the_first_bookmark() {
        let mut silence = Silence::new(SECOND * 70, SECOND * 600);
        silence.frame(SECOND * 50, false);
        let mut limits = Vec::new();
        for _ in 0..4 {
            limits.push(silence.limit().as_secs());
            silence.gave_up();
        }
        assert_eq!(limits, [70, 168, 403, 720], "at last longer than a watch");
    }

    #[test]
    fn first_bookmark_resets_the_guessed_limit() {
        let mut silence = Silence::new(SECOND * 70, SECOND * 600);
        silence.gave_up();
        silence.gave_up();
        silence.frame(SECOND * 90, true);
        assert_eq!(silence.limit(), SECOND * 108);
        silence.gave_up();
        assert_eq!(silence.limit(), SECOND * 108);
    }

    #[test]
    fn limit_follows_the_longest_gap_within_bounds() {
        let mut silence = Silence::new(SECOND * 70, SECOND * 600);
        silence.frame(SECOND * 30, true);
        assert_eq!(silence.limit(), SECOND * 70);
        silence.frame(SECOND * 100, false);
        assert_eq!(silence.limit(), SECOND * 120);
        silence.frame(SECOND * 90_000, true);
        assert_eq!(silence.limit(), SECOND * 720);
    }

    #[test]
    fn false_alarm_raises_the_limit() {
        let mut silence = Silence::new(SECOND * 70, SECOND * 600);
        silence.frame(SECOND * 60, true);
        assert!(!silence.fell_silent());
        assert!(silence.fell_silent());
        silence.false_alarm();
        assert_eq!(silence.limit(), Duration::from_millis(172_800));
        assert!(!silence.fell_silent());
    }
}
