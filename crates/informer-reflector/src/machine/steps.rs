//! The steps of which the machine's reactions are made.

use std::time::{Duration, Instant};

use super::Machine;
use super::action::Action;
use super::state::{State, Then};
use crate::error::ListWatchError;
use crate::report::Report;

impl Machine {
    /// Fetches the whole state: as a streaming list where that works, else by a list.
    pub(super) fn fetch(&mut self, now: Instant) {
        if self.never_lists {
            self.start_watch(now);
        } else if self.streaming.is_next(self.config.list_mode) {
            self.start_streaming_list(now);
        } else {
            self.start_list(now, false);
        }
    }

    /// Reacts to a failure of the open request and reports it with what follows.
    pub(super) fn failed(
        &mut self,
        now: Instant,
        error: ListWatchError,
        react: impl FnOnce(&mut Self),
    ) {
        let during = self.operation();
        react(self);
        self.actions.push_back(Action::Report(Report::Failed {
            during,
            error,
            attempts: self.retry.attempts,
            retry_in: self.retry_in(now),
        }));
    }

    pub(super) fn retry_in(&self, now: Instant) -> Duration {
        self.retry_at().map_or(Duration::ZERO, |at| at - now)
    }

    /// Drops the open request, and the list that it was receiving.
    pub(super) fn leave(&mut self) {
        self.actions.push_back(Action::Close);
        if self.receives_list() {
            self.actions.push_back(Action::DropList);
        }
    }

    /// Leaves a failed request for one that differs, at once.
    pub(super) fn fetch_again(&mut self, now: Instant) {
        self.leave();
        self.retry.failed();
        self.fetch(now);
    }

    /// Leaves a failed request and waits.
    pub(super) fn wait_failed(&mut self, now: Instant, asked: Option<Duration>, then: Then) {
        self.leave();
        self.retry.failed();
        self.wait(now, now, asked, then);
    }

    /// Waits before the next request, from a time on. `asked` is what the server asks for.
    pub(super) fn wait(
        &mut self,
        now: Instant,
        from: Instant,
        asked: Option<Duration>,
        then: Then,
    ) {
        // Without a version to resume from, a new watch would miss deletions.
        let then = if self.resume.is_none() {
            Then::List
        } else {
            then
        };
        let delay = self.backoff.next(now, asked, &mut self.rng);
        let until = now.max(from + delay);
        self.state = State::Waiting { until, then };
    }
}
