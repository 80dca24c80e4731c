//! The reflector's decisions, without I/O: what happened goes in, what to do comes out.
//!
//! A [`Machine`] is told what happened by its `handle_*` methods and answers with [`Action`]s, taken out by
//! [`Machine::poll_action`]. It never waits and knows no clock: the time is an argument, and
//! [`Machine::deadline`] says when to call [`Machine::handle_timeout`]. Random numbers come from a generator that
//! it is given. So whole days of trouble can be played through in a test, and every run can be repeated.
//!
//! At any time at most one request is under way. An action that starts a request replaces the one before.
//!
//! ```
//! use std::time::Instant;
//!
//! use informer_reflector::machine::{Action, Machine};
//! use informer_reflector::{ListMode, ReflectorConfig};
//! use informer_wire::ListMeta;
//!
//! let now = Instant::now();
//! let config = ReflectorConfig::default().list_mode(ListMode::List);
//! let mut machine = Machine::new(config, true, fastrand::Rng::with_seed(1));
//! machine.handle_start(now);
//! assert!(matches!(machine.poll_action(), Some(Action::BeginReplace)));
//! assert!(matches!(machine.poll_action(), Some(Action::List { .. })));
//!
//! machine.handle_opened(now);
//! machine.handle_list_end(now, &ListMeta::at(10.into()));
//! assert!(matches!(machine.poll_action(), Some(Action::FinishReplace(_))));
//! let Some(Action::Watch { options }) = machine.poll_action() else { panic!("no watch") };
//! assert_eq!(options.resource_version, Some(10.into()));
//! ```
//!
//! # Invariants
//! - The resume version moves only by [`Machine::handle_applied`] and by [`Action::FinishReplace`].
//! - Between two requests that failed lies a wait of the [`BackoffConfig`], but for a bounded number of second
//!   tries that ask for something else (without a resource version, without pages, a list for a streaming list).
//! - Every state has a deadline, so nothing waits for ever.

mod action;
mod backoff;
mod failure;
mod list;
mod silence;
mod snapshot;
mod state;
#[cfg(test)]
mod tests;
mod watch;

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use fastrand::Rng;
use informer_store::{ResourceVersion, mutant};
use informer_wire::ListOptions;

pub use self::action::{Action, EventKind, EventMeta, Fault, Notice, Verdict};
use self::backoff::Backoff;
pub use self::backoff::BackoffConfig;
pub use self::failure::{Failure, FailureKind};
use self::silence::Silence;
use self::state::{RetryWindow, State, Then};
use crate::config::{ListMode, ReflectorConfig};
use crate::report::Operation;
use crate::status::Phase;

/// The state machine of one reflector.
#[derive(Debug)]
pub struct Machine {
    config: ReflectorConfig,
    rng: Rng,
    actions: VecDeque<Action>,
    state: State,
    /// Up to where everything has been applied; `None` if there is no such point.
    resume: Option<ResourceVersion>,
    /// What `resume` becomes once the event at hand is applied.
    pending: Option<ResourceVersion>,
    synced: bool,
    /// The server refused `resume` for a list: ask for the newest state.
    rv_unavailable: bool,
    /// Where a watch could not start. A second time at the same version, the version itself is at fault.
    distrusted: Option<ResourceVersion>,
    /// The server gave pages although asked for "any" state: it has no cache, so keep to pages.
    paginated: bool,
    /// A replace has begun and is neither finished nor aborted.
    replacing: bool,
    /// Only watches, from the first version on.
    never_lists: bool,
    streaming: Streaming,
    empty_closes: u32,
    internal_errors: RetryWindow,
    silence: Silence,
    backoff: Backoff,
    attempts: u32,
    next_resync: Option<Instant>,
    /// When the next list is due although the watch is in order.
    next_relist: Option<Instant>,
    counts: Counts,
}

/// What is remembered of streaming lists.
#[derive(Debug)]
struct Streaming {
    /// The source can do them, as far as it knows.
    supported: bool,
    /// The server cannot; remembered for good.
    refused: bool,
    /// The next time the state is needed, list.
    list_next: bool,
    /// How many streams in a row ended before their end marker.
    unmarked: u32,
    /// How many in a row failed in a way that may pass, or may not.
    doubts: u32,
}

/// How often things happened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Lists that were begun, streaming ones included.
    pub lists: u64,
    /// Watches that were asked for, streaming lists included.
    pub watches: u64,
    /// Rewinds of the server that were recognised.
    pub rewinds: u64,
}

impl Machine {
    /// A machine that has not started. `supports_watch_list` says whether the source can do streaming lists.
    #[must_use]
    pub fn new(config: ReflectorConfig, supports_watch_list: bool, rng: Rng) -> Self {
        Self {
            silence: Silence::new(config.silence_timeout, config.watch_timeout * 2),
            backoff: Backoff::new(config.backoff),
            config,
            rng,
            actions: VecDeque::new(),
            state: State::Start,
            resume: None,
            pending: None,
            synced: false,
            rv_unavailable: false,
            distrusted: None,
            paginated: false,
            replacing: false,
            never_lists: false,
            streaming: Streaming {
                supported: supports_watch_list,
                refused: false,
                list_next: false,
                unmarked: 0,
                doubts: 0,
            },
            empty_closes: 0,
            internal_errors: RetryWindow::default(),
            attempts: 0,
            next_resync: None,
            next_relist: None,
            counts: Counts::default(),
        }
    }

    /// A machine that watches from a version on and never lists: where it should, it watches again.
    #[must_use]
    pub fn watch_from(config: ReflectorConfig, version: ResourceVersion, rng: Rng) -> Self {
        Self {
            resume: Some(version),
            never_lists: true,
            ..Self::new(config, false, rng)
        }
    }

    /// Starts. A second call does nothing.
    pub fn handle_start(&mut self, now: Instant) {
        if !matches!(self.state, State::Start) {
            return;
        }
        self.next_resync = self.config.resync_period.map(|period| now + period);
        self.start_sync(now);
    }

    /// The next thing to do, in order; `None` if all was taken out.
    pub fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due, unless something else happens before.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        let state = match &self.state {
            State::Start => None,
            State::Waiting { until, .. } => Some(*until),
            State::Listing(listing) => Some(listing.last_progress + self.config.request_timeout),
            State::Watching(watching) => {
                let patience = watching.deadline(self.config.request_timeout, self.silence.limit());
                let relist = self.next_relist.filter(|_| watching.initial.is_none());
                Some(relist.map_or(patience, |relist| relist.min(patience)))
            }
        };
        // `None` is less than any time, so it must not take part.
        state.into_iter().chain(self.next_resync).min()
    }

    /// The time has come that [`deadline`](Self::deadline) said. Called early, it does nothing.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.resync_if_due(now);
        match &self.state {
            State::Waiting { until, then } if *until <= now => match then {
                Then::Sync => self.start_sync(now),
                Then::Watch => self.start_watch(now),
            },
            State::Listing(listing)
                if listing.last_progress + self.config.request_timeout <= now =>
            {
                self.list_timed_out(now);
            }
            State::Watching(watching)
                if watching.deadline(self.config.request_timeout, self.silence.limit()) <= now =>
            {
                self.watch_timed_out(now);
            }
            State::Watching(watching)
                if watching.initial.is_none() && self.next_relist.is_some_and(|due| due <= now) =>
            {
                self.leave();
                self.start_list(now, false);
            }
            _ => {}
        }
    }

    /// The request under way was answered; the list or watch is open.
    pub fn handle_opened(&mut self, now: Instant) {
        match &mut self.state {
            State::Listing(listing) => listing.opened(now),
            State::Watching(_) => self.watch_opened(now),
            State::Start | State::Waiting { .. } => {}
        }
    }

    /// The request under way failed: it was not answered, it was refused, it broke off, or its stream brought an
    /// error.
    pub fn handle_error(&mut self, now: Instant, failure: Failure) {
        match &self.state {
            State::Listing(_) => self.list_failed(now, failure),
            State::Watching(watching) if watching.initial.is_some() => {
                self.streaming_list_failed(now, failure);
            }
            State::Watching(_) => self.watch_failed(now, failure),
            State::Start | State::Waiting { .. } => {}
        }
    }

    /// True if this failure of the request under way is no trouble but the answer to a question: whether the server has
    /// streaming lists, which mode auto asks by asking for one.
    pub fn is_answer(&self, failure: &Failure) -> bool {
        self.operation() == Operation::StreamingList
            && self.config.list_mode == ListMode::Auto
            && failure.kind == FailureKind::Unsupported
    }

    /// The stream under way ended without an error.
    pub fn handle_end(&mut self, now: Instant) {
        match &self.state {
            State::Listing(_) => self.list_cut_short(now),
            State::Watching(watching) if watching.initial.is_some() => self.stream_unmarked(now),
            State::Watching(_) => self.watch_ended(now),
            State::Start | State::Waiting { .. } => {}
        }
    }

    /// What the last [`handle_event`](Self::handle_event) gave leave to has reached the sink.
    pub fn handle_applied(&mut self) {
        if let Some(resource_version) = self.pending.take() {
            self.resume = Some(resource_version);
        }
    }

    /// What is being done.
    #[must_use]
    pub fn phase(&self) -> Phase {
        match &self.state {
            State::Start => Phase::Starting,
            State::Waiting { .. } => Phase::Waiting,
            State::Listing(_) => Phase::Listing,
            State::Watching(watching) if watching.initial.is_some() => Phase::Streaming,
            State::Watching(watching) if watching.opened.is_none() => Phase::OpeningWatch,
            State::Watching(_) => Phase::Watching,
        }
    }

    /// Which request is under way, or was the last.
    #[must_use]
    pub fn operation(&self) -> Operation {
        match &self.state {
            State::Watching(watching) if watching.initial.is_some() => Operation::StreamingList,
            State::Watching(_)
            | State::Waiting {
                then: Then::Watch, ..
            } => Operation::Watch,
            State::Start
            | State::Listing(_)
            | State::Waiting {
                then: Then::Sync, ..
            } => Operation::List,
        }
    }

    /// When the next request follows, if a wait lies before it.
    #[must_use]
    pub fn retry_at(&self) -> Option<Instant> {
        match &self.state {
            State::Waiting { until, .. } => Some(*until),
            _ => None,
        }
    }

    /// Up to where everything has been applied.
    #[must_use]
    pub const fn resource_version(&self) -> Option<&ResourceVersion> {
        self.resume.as_ref()
    }

    /// True once a whole list has been handed over.
    #[must_use]
    pub const fn is_synced(&self) -> bool {
        self.synced
    }

    /// How many requests have failed since the last that went well.
    #[must_use]
    pub const fn attempts(&self) -> u32 {
        self.attempts
    }

    /// How often things happened.
    #[must_use]
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// Gets the present state: as a streaming list where that works, else by a list.
    fn start_sync(&mut self, now: Instant) {
        if self.never_lists {
            self.start_watch(now);
            return;
        }
        let streaming = &mut self.streaming;
        let list = std::mem::take(&mut streaming.list_next);
        let stream = self.config.list_mode != ListMode::List
            && streaming.supported
            && !streaming.refused
            && !list;
        if stream {
            self.start_streaming_list(now)
        } else {
            self.start_list(now, false)
        }
    }

    /// Drops what is under way, and what it brought so far if that is worth nothing.
    fn leave(&mut self) {
        self.pending = None;
        self.actions.push_back(Action::Close);
        if self.replacing && mutant!("reflector-apply-partial-list") {
            let version = self
                .resume
                .clone()
                .unwrap_or_else(|| ResourceVersion::new(""));
            self.replacing = false;
            let end = informer_store::ReplaceEnd::new(version);
            self.actions.push_back(Action::FinishReplace(end));
        }
        if std::mem::take(&mut self.replacing) {
            self.actions.push_back(Action::AbortReplace);
        }
    }

    /// Waits before the next request. `asked` is what the server asked for.
    fn wait(&mut self, now: Instant, asked: Option<Duration>, then: Then) {
        // Without a point to resume from, a new watch would miss deletions.
        let then = if self.resume.is_none() {
            Then::Sync
        } else {
            then
        };
        let delay = self.backoff.next(now, asked, &mut self.rng);
        self.state = State::Waiting {
            until: now + delay,
            then,
        };
    }

    /// Leaves a failed request and waits.
    fn fail(&mut self, now: Instant, asked: Option<Duration>, then: Then) {
        self.leave();
        self.attempts = self.attempts.saturating_add(1);
        self.wait(now, asked, then);
    }

    fn notice(&mut self, notice: Notice) {
        self.actions.push_back(Action::Notice(notice));
    }

    fn notice_fault(&mut self, fault: Fault) {
        let during = self.operation();
        self.notice(Notice::Failed { during, fault });
    }

    fn resync_if_due(&mut self, now: Instant) {
        let (Some(due), Some(period)) = (self.next_resync, self.config.resync_period) else {
            return;
        };
        if due > now {
            return;
        }
        self.next_resync = Some(now + period);
        if self.synced {
            self.actions.push_back(Action::Resync);
        }
    }

    /// The options that every request has.
    pub(crate) fn base_options(&self) -> ListOptions {
        let mut options = ListOptions::default();
        options
            .label_selector
            .clone_from(&self.config.label_selector);
        if mutant!("reflector-forget-selector") && self.synced {
            options.label_selector = None;
        }
        options
            .field_selector
            .clone_from(&self.config.field_selector);
        options
    }
}
