//! The reflector's decisions, without I/O: what happened goes in, what to do comes out.
//!
//! Its `handle_*` methods take what happened, and [`Machine::poll_action`] returns what to do, as [`Action`]s. It never
//! waits and has no clock: the time is an argument, and [`Machine::deadline`] returns when
//! [`Machine::handle_timeout`] is due. Random numbers come from a generator that it is given. So whole days of trouble
//! run in a test, and every run can be repeated.
//!
//! At most one request is open. An action that starts a request replaces the one before.
//!
//! # Invariants
//! - The resume version moves with each event that is routed to the sink and with each bookmark, never back; and with
//!   [`Action::FinishList`], which alone may move it back, as a rewind.
//! - Between two requests that failed lies a wait of the [`BackoffConfig`](crate::BackoffConfig), but for a bounded number
//!   of second requests that differ (without a resource version, without pages, a list for a streaming list). The time
//!   that a watch did not open counts as waited.
//! - Every state has a deadline, so nothing waits for ever. No other code has a time limit for lists and watches.

mod accept;
mod action;
mod backoff;
mod class;
mod list;
mod retry;
mod silence;
mod state;
mod steps;
mod streaming;
#[cfg(test)]
mod tests;
mod view;
mod watch;
mod watch_end;

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use fastrand::Rng;
use informer_store::ResourceVersion;
use informer_wire::ListOptions;

pub use self::action::{Action, EventMeta, EventType, Route};
use self::backoff::Backoff;
pub use self::class::ErrorClass;
use self::retry::Retry;
use self::silence::Silence;
use self::state::{State, Then};
use self::streaming::Streaming;
use crate::config::ReflectorConfig;
use crate::error::ListWatchError;
use crate::report::Report;

/// The state machine of one reflector.
#[derive(Debug)]
pub struct Machine {
    config: ReflectorConfig,
    rng: Rng,
    actions: VecDeque<Action>,
    state: State,
    /// The resource version up to which everything was routed to the sink; `None` if there is none to resume from.
    resume: Option<ResourceVersion>,
    synced: bool,
    /// Only watches, from the first version on.
    never_lists: bool,
    /// The server sent pages although any state would do: it has no cache, so lists keep their pages.
    paginated: bool,
    streaming: Streaming,
    silence: Silence,
    backoff: Backoff,
    retry: Retry,
    resync_period: Option<Duration>,
    resync_at: Option<Instant>,
    /// When the next list is due although the watch is in order.
    relist_at: Option<Instant>,
    counts: Counts,
}

/// How often things happened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Lists that were requested, streaming ones included.
    pub lists: u64,
    /// Watches that were requested, streaming lists included.
    pub watches: u64,
    /// Rewinds of the server.
    pub rewinds: u64,
}

impl Machine {
    /// Makes a machine that has not started. `supports_watch_list` is whether the source can do streaming lists.
    #[must_use]
    pub fn new(config: ReflectorConfig, supports_watch_list: bool, rng: Rng) -> Self {
        Self {
            silence: Silence::new(config.timeouts.silence, config.timeouts.watch * 2),
            backoff: Backoff::new(config.backoff),
            config,
            rng,
            actions: VecDeque::new(),
            state: State::Start,
            resume: None,
            synced: false,
            never_lists: false,
            paginated: false,
            streaming: Streaming::new(supports_watch_list),
            retry: Retry::default(),
            resync_period: None,
            resync_at: None,
            relist_at: None,
            counts: Counts::default(),
        }
    }

    /// Makes a machine that watches from a version on and never lists: where it should, it watches again.
    #[must_use]
    pub fn watch_from(config: ReflectorConfig, version: ResourceVersion, rng: Rng) -> Self {
        Self {
            resume: Some(version),
            never_lists: true,
            ..Self::new(config, false, rng)
        }
    }

    /// Sets how often to resync, once the first list is complete.
    #[must_use]
    pub const fn resync_period(mut self, period: Option<Duration>) -> Self {
        self.resync_period = period;
        self
    }

    /// Sets when to resync next, once. Before the first list is complete nothing is due.
    pub const fn schedule_resync(&mut self, at: Option<Instant>) {
        self.resync_at = at;
    }

    /// Starts. A second call does nothing.
    pub fn handle_start(&mut self, now: Instant) {
        if matches!(self.state, State::Start) {
            self.fetch(now);
        }
    }

    /// Returns the next thing to do, in order; `None` if there is nothing.
    pub fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// Returns when [`handle_timeout`](Self::handle_timeout) is due, unless something else happens before.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        let resync = self.resync_at.filter(|_| self.synced);
        // `None` is less than any time, so it must not take part.
        self.state_deadline().into_iter().chain(resync).min()
    }

    fn state_deadline(&self) -> Option<Instant> {
        let timeouts = &self.config.timeouts;
        match &self.state {
            State::Start => None,
            State::Waiting { until, .. } => Some(*until),
            State::Listing(listing) => Some(listing.last_progress + listing.limit(timeouts)),
            State::Watching(watching) => {
                let patience = watching.deadline(timeouts, &self.silence);
                let relist = self.relist_at.filter(|_| watching.initial.is_none());
                Some(relist.map_or(patience, |relist| relist.min(patience)))
            }
        }
    }

    /// The time of [`deadline`](Self::deadline) is reached. Called early, it does nothing.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.resync_if_due(now);
        if self.state_deadline().is_none_or(|deadline| deadline > now) {
            return;
        }
        match &self.state {
            State::Start => {}
            State::Waiting { then, .. } => match then {
                Then::List => self.fetch(now),
                Then::Watch => self.start_watch(now),
            },
            State::Listing(_) => self.list_timed_out(now),
            State::Watching(watching) => {
                if watching.deadline(&self.config.timeouts, &self.silence) <= now {
                    self.watch_timed_out(now);
                } else {
                    self.leave();
                    self.start_list(now, false);
                }
            }
        }
    }

    /// The server responded to the request: the list or watch is open.
    pub fn handle_opened(&mut self, now: Instant) {
        self.retry.not_found = false;
        match &mut self.state {
            State::Listing(listing) => listing.opened(now),
            State::Watching(_) => self.watch_opened(now),
            State::Start | State::Waiting { .. } => {}
        }
    }

    /// The open request failed: there was no response, it was refused, it broke off, or its stream had an error.
    pub fn handle_error(&mut self, now: Instant, error: ListWatchError) {
        let class = ErrorClass::from(&error);
        if matches!(self.state, State::Start | State::Waiting { .. }) {
            return;
        }
        self.retry.not_found = class == ErrorClass::NotFound;
        let asked = error.retry_after();
        if self.is_answer(class) {
            // That the server has no streaming lists is what was to be found out.
            return self.streaming_list_failed(now, class, asked);
        }
        self.failed(now, error, |machine| match &machine.state {
            State::Listing(_) => machine.list_failed(now, class, asked),
            State::Watching(watching) if watching.initial.is_some() => {
                machine.streaming_list_failed(now, class, asked);
            }
            _ => machine.watch_failed(now, class, asked),
        });
    }

    /// The open stream ended without an error.
    pub fn handle_end(&mut self, now: Instant) {
        match &self.state {
            State::Listing(_) => {
                let error = ListWatchError::Protocol("list ended before its end");
                self.handle_error(now, error);
            }
            State::Watching(watching) if watching.initial.is_some() => {
                let error =
                    ListWatchError::Protocol("streaming list ended before its initial events");
                self.failed(now, error, |machine| machine.stream_unended(now));
            }
            State::Watching(_) => self.watch_ended(now),
            State::Start | State::Waiting { .. } => {}
        }
    }

    /// The sink dropped changes that were routed to it: only a list repairs that, after a wait.
    pub fn handle_dropped_changes(&mut self, now: Instant) {
        match &mut self.state {
            State::Watching(watching) if watching.initial.is_none() => {
                self.leave();
                self.wait(now, now, None, Then::List);
            }
            State::Waiting { then, .. } if *then == Then::Watch => *then = Then::List,
            // A list follows, or is open.
            _ => return,
        }
        let retry_in = self.retry_in(now);
        self.actions
            .push_back(Action::Report(Report::ChangesDropped { retry_in }));
    }

    /// The first list is complete.
    fn start_resyncs(&mut self, now: Instant) {
        if let Some(period) = self.resync_period {
            self.resync_at = Some(now + period);
        }
    }

    fn resync_if_due(&mut self, now: Instant) {
        if self.synced && self.resync_at.is_some_and(|due| due <= now) {
            self.resync_at = self.resync_period.map(|period| now + period);
            self.actions.push_back(Action::Resync);
        }
    }

    /// The parameters that every request has.
    fn base_options(&self) -> ListOptions {
        let mut options = ListOptions::default();
        options
            .label_selector
            .clone_from(&self.config.label_selector);
        options
            .field_selector
            .clone_from(&self.config.field_selector);
        options
    }
}
