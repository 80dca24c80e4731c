//! The machine's rules, one by one. A `Rig` plays the world: it answers requests and moves the clock.

mod dropped_changes;
mod ends;
mod lists;
mod not_found;
mod periods;
mod properties;
mod settings;
mod silence;
mod streaming;
mod versions;
mod watches;
mod world;

use std::time::{Duration, Instant};

use fastrand::Rng;
use informer_store::{ListEnd, ResourceVersion};
use informer_wire::{ListMeta, ListOptions, ResourceVersionMatch, Status};

use super::*;
use crate::config::ListMode;
use crate::status::ReflectorPhase;

pub(super) const SECOND: Duration = Duration::from_secs(1);
pub(super) const MINUTE: Duration = Duration::from_secs(60);

/// A machine and its world.
pub(super) struct Rig {
    pub(super) machine: Machine,
    pub(super) now: Instant,
    /// All actions so far.
    pub(super) actions: Vec<Action>,
}

/// A request of the machine.
#[derive(Debug)]
pub(super) enum Request {
    List(ListOptions),
    Watch(ListOptions),
    StreamingList(ListOptions),
}

/// An error of this class.
pub(super) fn error(class: ErrorClass) -> ListWatchError {
    let status = |code, reason| ListWatchError::from(Status::failure(code, reason, ""));
    match class {
        ErrorClass::Expired => status(410, "Expired"),
        ErrorClass::TooLarge => {
            let message = "Too large resource version: 750, current: 10";
            Status::failure(504, "Timeout", message).into()
        }
        ErrorClass::Busy => status(429, "TooManyRequests"),
        ErrorClass::Refused => ListWatchError::refused("nobody there"),
        ErrorClass::Transport => ListWatchError::transport("reset"),
        ErrorClass::Timeout => ListWatchError::Timeout {
            what: "response",
            limit: SECOND,
        },
        ErrorClass::Unsupported => status(422, "Invalid"),
        ErrorClass::NotFound => status(404, "NotFound"),
        ErrorClass::Internal => status(500, "InternalError"),
        ErrorClass::Unavailable => status(503, "ServiceUnavailable"),
        ErrorClass::Other => status(403, "Forbidden"),
    }
}

/// An error of this class, of a server that asks to wait.
pub(super) fn error_asking(class: ErrorClass, wait: Duration) -> ListWatchError {
    match error(class) {
        ListWatchError::Status { status, .. } => ListWatchError::Status {
            status,
            retry_after: Some(wait),
        },
        error => error,
    }
}

impl Rig {
    pub(super) fn new(config: ReflectorConfig) -> Self {
        Self::of(Machine::new(config, true, Rng::with_seed(3)))
    }

    pub(super) fn of(mut machine: Machine) -> Self {
        let now = Instant::now();
        machine.handle_start(now);
        Self {
            machine,
            now,
            actions: Vec::new(),
        }
    }

    /// One that lists.
    pub(super) fn lists() -> Self {
        Self::new(ReflectorConfig::default().list_mode(ListMode::List))
    }

    /// One that lists and watches from this version.
    pub(super) fn watching(version: u64) -> Self {
        let mut rig = Self::lists();
        rig.list();
        rig.list_ends(version);
        rig.watch_opens();
        rig
    }

    /// Takes the waiting actions.
    pub(super) fn drain(&mut self) -> &[Action] {
        let before = self.actions.len();
        self.actions
            .extend(std::iter::from_fn(|| self.machine.poll_action()));
        &self.actions[before..]
    }

    /// The next request, and how long it took.
    pub(super) fn request(&mut self) -> (Request, Duration) {
        let start = self.now;
        for _ in 0..100 {
            let request = self.drain().iter().find_map(|action| match action {
                Action::List { options, .. } => Some(Request::List(options.clone())),
                Action::StreamingList { options, .. } => {
                    Some(Request::StreamingList(options.clone()))
                }
                Action::Watch { options } => Some(Request::Watch(options.clone())),
                _ => None,
            });
            if let Some(request) = request {
                return (request, self.now - start);
            }
            self.reach_deadline();
        }
        panic!("no request");
    }

    pub(super) fn timed_list(&mut self) -> (ListOptions, Duration) {
        match self.request() {
            (Request::List(options), after) => (options, after),
            (other, _) => panic!("no list but {other:?}"),
        }
    }

    pub(super) fn list(&mut self) -> ListOptions {
        self.timed_list().0
    }

    pub(super) fn timed_watch(&mut self) -> (ListOptions, Duration) {
        match self.request() {
            (Request::Watch(options), after) => (options, after),
            (other, _) => panic!("no watch but {other:?}"),
        }
    }

    pub(super) fn watch(&mut self) -> ListOptions {
        self.timed_watch().0
    }

    pub(super) fn streaming_list(&mut self) -> ListOptions {
        match self.request() {
            (Request::StreamingList(options), _) => options,
            (other, _) => panic!("no streaming list but {other:?}"),
        }
    }

    pub(super) fn pass(&mut self, time: Duration) {
        self.now += time;
    }

    /// Lets time pass, with everything that is due meanwhile.
    pub(super) fn pass_with_timeouts(&mut self, time: Duration) {
        let end = self.now + time;
        let mut timeouts = 0;
        while let Some(deadline) = self.machine.deadline().filter(|at| *at <= end) {
            self.now = self.now.max(deadline);
            self.machine.handle_timeout(self.now);
            timeouts += 1;
            assert!(timeouts < 10_000, "always due");
        }
        self.now = end;
    }

    /// Lets the time pass to the deadline.
    pub(super) fn reach_deadline(&mut self) -> Duration {
        let deadline = self.machine.deadline().expect("a deadline");
        let passed = deadline.saturating_duration_since(self.now);
        self.now = self.now.max(deadline);
        self.machine.handle_timeout(self.now);
        passed
    }

    pub(super) fn opens(&mut self) {
        self.machine.handle_opened(self.now);
    }

    /// The requested watch opens.
    pub(super) fn watch_opens(&mut self) {
        self.watch();
        self.opens();
    }

    pub(super) fn list_ends(&mut self, version: u64) {
        self.page_ends(&ListMeta::at(version.into()));
    }

    pub(super) fn page_ends(&mut self, meta: &ListMeta) {
        self.opens();
        self.machine.handle_list_end(self.now, meta);
    }

    pub(super) fn fails(&mut self, class: ErrorClass) {
        self.machine.handle_error(self.now, error(class));
    }

    pub(super) fn ends(&mut self) {
        self.machine.handle_end(self.now);
    }

    pub(super) fn event(&mut self, event_type: EventType, version: u64) -> Route {
        self.meta(&EventMeta::new(event_type, Some(version.into())))
    }

    pub(super) fn meta(&mut self, meta: &EventMeta) -> Route {
        self.machine.handle_event(self.now, meta)
    }

    pub(super) fn bookmark(&mut self, version: u64) -> Route {
        let initial_events_end = false;
        self.event(EventType::Bookmark { initial_events_end }, version)
    }

    /// The bookmark that ends initial events.
    pub(super) fn initial_events_end(&mut self, version: u64) -> Route {
        let initial_events_end = true;
        self.event(EventType::Bookmark { initial_events_end }, version)
    }

    pub(super) fn version(&self) -> Option<u64> {
        self.machine
            .resource_version()
            .and_then(ResourceVersion::as_u64)
    }

    /// The lists that were handed over.
    pub(super) fn finished(&mut self) -> Vec<ListEnd> {
        self.drain();
        let finished = |action: &Action| match action {
            Action::FinishList(end) => Some(end.clone()),
            _ => None,
        };
        self.actions.iter().filter_map(finished).collect()
    }

    /// How many actions are like this.
    pub(super) fn count(&mut self, like: impl Fn(&Action) -> bool) -> usize {
        self.drain();
        self.actions.iter().filter(|action| like(action)).count()
    }

    pub(super) fn dropped_lists(&mut self) -> usize {
        self.count(|action| matches!(action, Action::DropList))
    }

    /// Whether streaming lists were given up.
    pub(super) fn fell_back(&mut self) -> bool {
        self.count(|action| matches!(action, Action::Report(Report::FellBack { .. }))) > 0
    }

    /// The reports, in short.
    pub(super) fn reports(&mut self) -> Vec<String> {
        self.drain();
        let report = |action: &Action| match action {
            Action::Report(report) => Some(report.to_string()),
            _ => None,
        };
        self.actions.iter().filter_map(report).collect()
    }

    /// Whether each list might reuse the objects of the sink.
    pub(super) fn reuses(&mut self) -> Vec<bool> {
        self.drain();
        let reuse = |action: &Action| match action {
            Action::List { reuse, .. } | Action::StreamingList { reuse, .. } => Some(*reuse),
            _ => None,
        };
        self.actions.iter().filter_map(reuse).collect()
    }
}

/// The version that a request asks for, as a number.
pub(super) fn asked(options: &ListOptions) -> Option<u64> {
    options
        .resource_version
        .as_ref()
        .and_then(ResourceVersion::as_u64)
}

pub(super) const NOT_OLDER: Option<ResourceVersionMatch> = Some(ResourceVersionMatch::NotOlderThan);

pub(super) fn from_cache() -> ReflectorConfig {
    ReflectorConfig::default()
        .list_mode(ListMode::List)
        .first_list_from_cache(true)
}
