//! The machine's rules, one by one. A `Rig` plays the world: it answers requests and moves the clock.

mod ends;
mod lists;
mod resync;
mod silence;
mod streaming;
mod versions;
mod watches;

use std::time::{Duration, Instant};

use fastrand::Rng;
use informer_store::{ReplaceEnd, ResourceVersion};
use informer_wire::{ListMeta, ListOptions, ResourceVersionMatch};

use super::*;
use crate::config::FirstList;

pub(super) const SECOND: Duration = Duration::from_secs(1);
pub(super) const MINUTE: Duration = Duration::from_secs(60);

/// A machine and its world.
pub(super) struct Rig {
    pub(super) machine: Machine,
    pub(super) now: Instant,
    /// All actions so far.
    pub(super) actions: Vec<Action>,
}

/// A request that the machine made.
#[derive(Debug)]
pub(super) enum Request {
    List(ListOptions),
    Watch(ListOptions),
    StreamingList(ListOptions),
}

impl Rig {
    pub(super) fn new(config: ReflectorConfig) -> Self {
        let mut machine = Machine::new(config, true, Rng::with_seed(3));
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

    /// One that lists and has got as far as a watch from this version.
    pub(super) fn watching(version: u64) -> Self {
        let mut rig = Self::lists();
        rig.list();
        rig.list_ends(version);
        rig.watch_opens();
        rig
    }

    /// Takes out the actions that wait.
    pub(super) fn drain(&mut self) -> Vec<Action> {
        let new: Vec<_> = std::iter::from_fn(|| self.machine.poll_action()).collect();
        self.actions.extend(new.iter().cloned());
        new
    }

    /// The next request, and how long it took to come.
    pub(super) fn request(&mut self) -> (Request, Duration) {
        let start = self.now;
        for _ in 0..100 {
            let request = self.drain().into_iter().find_map(|action| match action {
                Action::List { options, .. } => Some(Request::List(options)),
                Action::StreamingList { options, .. } => Some(Request::StreamingList(options)),
                Action::Watch { options } => Some(Request::Watch(options)),
                _ => None,
            });
            if let Some(request) = request {
                return (request, self.now - start);
            }
            self.reach_deadline();
        }
        panic!("no request comes");
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

    /// The watch that was asked for opens.
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

    pub(super) fn fails(&mut self, kind: FailureKind) {
        self.machine.handle_error(self.now, Failure::new(kind));
    }

    pub(super) fn ends(&mut self) {
        self.machine.handle_end(self.now);
    }

    /// An event comes; if it may be applied, it is.
    pub(super) fn event(&mut self, kind: EventKind, version: u64) -> Verdict {
        let verdict = self
            .machine
            .handle_event(self.now, &EventMeta::new(kind, Some(version.into())));
        self.machine.handle_applied();
        verdict
    }

    pub(super) fn bookmark(&mut self, version: u64) -> Verdict {
        self.event(
            EventKind::Bookmark {
                initial_events_end: false,
            },
            version,
        )
    }

    pub(super) fn marker(&mut self, version: u64) -> Verdict {
        self.event(
            EventKind::Bookmark {
                initial_events_end: true,
            },
            version,
        )
    }

    pub(super) fn version(&self) -> Option<u64> {
        self.machine
            .resource_version()
            .and_then(ResourceVersion::as_u64)
    }

    pub(super) fn finished(&self) -> Vec<ReplaceEnd> {
        let finished = |action: &Action| match action {
            Action::FinishReplace(end) => Some(end.clone()),
            _ => None,
        };
        self.actions.iter().filter_map(finished).collect()
    }

    /// Whether streaming lists were given up.
    pub(super) fn fell_back(&mut self) -> bool {
        self.drain();
        let given_up = |action: &Action| matches!(action, Action::Notice(Notice::FellBack { .. }));
        self.actions.iter().any(given_up)
    }

    /// The faults that were reported.
    pub(super) fn faults(&self) -> Vec<Fault> {
        let fault = |action: &Action| match action {
            Action::Notice(Notice::Failed { fault, .. }) => Some(*fault),
            _ => None,
        };
        self.actions.iter().filter_map(fault).collect()
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

pub(super) fn any_first() -> ReflectorConfig {
    ReflectorConfig::default()
        .list_mode(ListMode::List)
        .first_list(FirstList::Any)
}
