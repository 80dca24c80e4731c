//! How watches end and fail, and what follows.

use std::time::{Duration, Instant};

use super::Machine;
use super::class::ErrorClass;
use super::state::{State, Then, Watching};
use crate::error::ListWatchError;

/// A watch that lasted longer than this and had events is followed by another at once.
const SHORT_WATCH: Duration = Duration::from_secs(1);
/// A watch that lasted this long was in order, even without events.
const GOOD_WATCH: Duration = Duration::from_secs(10);
/// After so many watches in a row that ended at once and empty, the version they start from is in doubt.
const MAX_EMPTY_ENDS: u32 = 2;

/// How a watch lasted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lasted {
    /// Long enough.
    Well,
    /// Not long, but with events.
    Short,
    /// Neither long nor with events.
    Empty,
}

impl Machine {
    /// A watch ended as watches do.
    pub(super) fn watch_ended(&mut self, now: Instant) {
        if self.lasted(now) == Some(Lasted::Empty) {
            let error = ListWatchError::Protocol("watch ended at once and empty");
            self.failed(now, error, |machine| machine.resume_watch(now));
        } else {
            self.resume_watch(now);
        }
    }

    /// How the open watch lasted until now.
    fn lasted(&self, now: Instant) -> Option<Lasted> {
        let State::Watching(watching) = &self.state else {
            return None;
        };
        let lasted = now.duration_since(watching.requested_at);
        Some(match watching.progressed {
            _ if lasted >= GOOD_WATCH => Lasted::Well,
            true if lasted > SHORT_WATCH => Lasted::Well,
            true => Lasted::Short,
            false => Lasted::Empty,
        })
    }

    /// Resumes a watch that ended: at once if it lasted, else after a wait.
    fn resume_watch(&mut self, now: Instant) {
        match self.lasted(now) {
            None => {}
            Some(Lasted::Well) => {
                self.retry.empty_ends = 0;
                self.rewatch(now);
            }
            Some(Lasted::Short) => {
                self.leave();
                self.wait(now, now, None, Then::Watch);
            }
            Some(Lasted::Empty) => {
                self.retry.empty_ends += 1;
                let in_doubt = self.retry.empty_ends >= MAX_EMPTY_ENDS;
                if in_doubt {
                    self.retry.empty_ends = 0;
                    self.retry.distrust(self.resume.as_ref());
                }
                let then = if in_doubt { Then::List } else { Then::Watch };
                self.wait_failed(now, None, then);
            }
        }
    }

    /// Opens the next watch at once. After one that was silent to its end, the resume version may be from the
    /// future, as in [`watch_silent`](Self::watch_silent).
    fn rewatch(&mut self, now: Instant) {
        self.leave();
        let silent_for = match &self.state {
            State::Watching(Watching {
                opened: Some(opened),
                frames: 0,
                ..
            }) => now.duration_since(*opened),
            _ => Duration::ZERO,
        };
        if self.resume.is_none() {
            self.wait(now, now, None, Then::List);
        } else if !self.never_lists && self.silence.ended_silent(silent_for) {
            self.start_probe(now);
        } else {
            self.start_watch(now);
        }
    }

    pub(super) fn watch_failed(
        &mut self,
        now: Instant,
        class: ErrorClass,
        asked: Option<Duration>,
    ) {
        let State::Watching(watching) = &self.state else {
            return;
        };
        let opened = watching.opened.is_some();
        match class {
            ErrorClass::Expired => {
                self.retry.distrust(self.resume.as_ref());
                self.wait_failed(now, asked, Then::List);
            }
            ErrorClass::TooLarge => {
                self.retry.newest_only = true;
                if self.backoff.fail(now) {
                    self.fetch_again(now);
                } else {
                    self.wait_failed(now, asked, Then::List);
                }
            }
            // A connection that breaks is an end like any other.
            ErrorClass::Transport | ErrorClass::Timeout if opened => self.resume_watch(now),
            ErrorClass::Busy
            | ErrorClass::Refused
            | ErrorClass::Transport
            | ErrorClass::Timeout => self.wait_failed(now, asked, Then::Watch),
            ErrorClass::Internal | ErrorClass::Unavailable
                if self
                    .retry
                    .allows_internal_error(now, self.config.internal_error_retries) =>
            {
                self.wait_failed(now, asked, Then::Watch);
            }
            ErrorClass::Internal
            | ErrorClass::Unavailable
            | ErrorClass::Unsupported
            | ErrorClass::NotFound
            | ErrorClass::Other => self.wait_failed(now, asked, Then::List),
        }
    }

    pub(super) fn watch_timed_out(&mut self, now: Instant) {
        let State::Watching(watching) = &self.state else {
            return;
        };
        let requested_at = watching.requested_at;
        match (watching.opened, &watching.initial) {
            (None, initial) => {
                let is_list = initial.is_some();
                let (what, limit) = ("response", self.silence.opening_limit());
                let error = ListWatchError::Timeout { what, limit };
                if is_list {
                    return self.handle_error(now, error);
                }
                // It may be open all the same, with its response held back until there is an event.
                self.failed(now, error, |machine| {
                    machine.leave();
                    machine.retry.failed();
                    machine.wait(now, requested_at, None, Then::Watch);
                });
            }
            (Some(_), Some(_)) => {
                let (what, limit) = ("initial event", self.config.timeouts.progress);
                let error = ListWatchError::Timeout { what, limit };
                self.failed(now, error, |machine| {
                    machine.doubt(now, None, "they make no progress");
                });
            }
            (Some(opened), None) if watching.end(opened) <= now => self.rewatch(now),
            (Some(_), None) => self.watch_silent(now),
        }
    }

    /// A watch that should have had a bookmark by now is silent: resumes it, and if that is silent too, sees
    /// whether the server's resource versions went back (a watch from the future is accepted and stays silent).
    fn watch_silent(&mut self, now: Instant) {
        let State::Watching(watching) = &self.state else {
            return;
        };
        let limit = self.silence.limit();
        if watching.frames > 0 {
            self.silence.fell_silent();
        }
        self.silence.gave_up();
        if self.resume.is_none() {
            // The list that follows tells more than a probe would.
            self.silence.false_alarm();
        }
        let what = "event or bookmark";
        self.failed(now, ListWatchError::Timeout { what, limit }, |machine| {
            machine.retry.failed();
            machine.rewatch(now);
        });
    }
}
