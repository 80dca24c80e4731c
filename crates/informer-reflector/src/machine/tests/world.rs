//! A random world that answers the machine's requests, well and badly, and judges all actions.

use std::collections::VecDeque;

use fastrand::Rng;
use proptest::prelude::*;

use super::*;

pub(super) const FAILURES: [ErrorClass; 11] = [
    ErrorClass::Expired,
    ErrorClass::TooLarge,
    ErrorClass::Busy,
    ErrorClass::Refused,
    ErrorClass::Transport,
    ErrorClass::Timeout,
    ErrorClass::Unsupported,
    ErrorClass::NotFound,
    ErrorClass::Internal,
    ErrorClass::Unavailable,
    ErrorClass::Other,
];

/// What the world does next.
#[derive(Debug, Clone)]
pub(super) enum Step {
    /// It fails the request or breaks the stream.
    Fail(ErrorClass, Option<u64>),
    /// It does what was requested: opens, sends an item or an event.
    Serve,
    /// A list ends, initial events end, a watch has a bookmark.
    Finish,
    /// A page ends with a token.
    Page,
    /// The list or event is from a replica that lags, or from before a restored backup.
    Lag(u64),
    Event(EventType),
    Keyless,
    End,
    Pause(u64),
    /// Nothing until the machine's deadline.
    Hang,
    /// Writers write.
    Write(u64),
    /// The server loses its newest writes.
    Rewind(u64),
    /// The sink overflows.
    Drop,
}

pub(super) fn step() -> impl Strategy<Value = Step> {
    let kind = prop_oneof![
        Just(EventType::Added),
        Just(EventType::Modified),
        Just(EventType::Deleted),
        Just(EventType::Unknown),
    ];
    prop_oneof![
        4 => (prop::sample::select(&FAILURES[..]), prop::option::of(0u64..400))
            .prop_map(|(kind, asked)| Step::Fail(kind, asked)),
        8 => Just(Step::Serve),
        6 => Just(Step::Finish),
        1 => Just(Step::Page),
        1 => (1u64..50).prop_map(Step::Lag),
        4 => kind.prop_map(Step::Event),
        1 => Just(Step::Keyless),
        3 => Just(Step::End),
        4 => (1u64..400_000).prop_map(Step::Pause),
        2 => Just(Step::Hang),
        4 => (1u64..20).prop_map(Step::Write),
        1 => (1u64..60).prop_map(Step::Rewind),
        1 => Just(Step::Drop),
    ]
}

pub(super) fn config() -> impl Strategy<Value = ReflectorConfig> {
    let mode = prop_oneof![
        Just(ListMode::Auto),
        Just(ListMode::List),
        Just(ListMode::Stream)
    ];
    (mode, any::<bool>()).prop_map(|(mode, from_cache)| {
        ReflectorConfig::default()
            .list_mode(mode)
            .first_list_from_cache(from_cache)
    })
}

/// What the judge knows of the open request.
#[derive(Debug, PartialEq)]
enum Open {
    Nothing,
    List {
        options: ListOptions,
        answered: bool,
    },
    Watch {
        options: ListOptions,
        initial: bool,
        answered: bool,
    },
}

/// The world, and the judge within it.
pub(super) struct World {
    pub(super) machine: Machine,
    pub(super) now: Instant,
    open: Open,
    /// A list for the sink is being received.
    receiving: bool,
    head: u64,
    pages: u32,
    /// Requests in the last minutes, but for pages: those are progress.
    requests: VecDeque<Instant>,
    /// All requests so far, but for pages.
    pub(super) asked: usize,
    /// At most so many requests in a minute.
    rate: usize,
    pub(super) expect_rewind: bool,
    /// A watch had a bookmark.
    bookmarked: bool,
}

impl World {
    pub(super) fn new(config: ReflectorConfig, seed: u64, rate: usize) -> Self {
        let machine = Machine::new(config, true, Rng::with_seed(seed));
        let mut machine = machine.resync_period(seed.is_multiple_of(3).then_some(MINUTE));
        let now = Instant::now();
        machine.handle_start(now);
        let mut world = Self {
            machine,
            now,
            open: Open::Nothing,
            receiving: false,
            head: 1000,
            pages: 0,
            requests: VecDeque::new(),
            asked: 0,
            rate,
            expect_rewind: false,
            bookmarked: false,
        };
        world.judge(None);
        world
    }

    fn version(&self) -> Option<u64> {
        self.machine
            .resource_version()
            .and_then(ResourceVersion::as_u64)
    }

    /// Judges everything that comes out. `before` is the version before the last input.
    fn judge(&mut self, before: Option<u64>) {
        let mut finished = None;
        while let Some(action) = self.machine.poll_action() {
            match action {
                Action::Close => self.open = Open::Nothing,
                Action::DropList | Action::FinishList(_) if !self.receiving => {
                    panic!("a list ends that has not begun")
                }
                Action::DropList => self.receiving = false,
                Action::FinishList(end) => {
                    self.receiving = false;
                    let older = end.resource_version.as_u64() < before;
                    assert_eq!(
                        end.rewind,
                        older && before.is_some(),
                        "{end:?} after {before:?}"
                    );
                    finished = Some(end);
                    self.open = match std::mem::replace(&mut self.open, Open::Nothing) {
                        Open::Watch {
                            options, answered, ..
                        } => Open::Watch {
                            options,
                            initial: false,
                            answered,
                        },
                        _ => Open::Nothing,
                    };
                }
                Action::List { options, .. } => {
                    self.judge_list(&options);
                    let is_probe = options.limit == Some(1);
                    if options.continue_token.is_none() {
                        assert!(!self.receiving, "a list begins within a list");
                        self.receiving = !is_probe;
                    }
                    self.open = Open::List {
                        options,
                        answered: false,
                    };
                }
                Action::Watch { options } => self.opened_watch(options, false),
                Action::StreamingList { options, .. } => self.opened_watch(options, true),
                Action::Report(Report::Rewound { .. }) => self.expect_rewind = true,
                _ => {}
            }
        }
        if finished.is_none() {
            assert!(
                self.version() >= before,
                "went back from {before:?} to {:?}",
                self.version()
            );
        }
        let deadline = self.machine.deadline().expect("something is always due");
        let patience = deadline.saturating_duration_since(self.now);
        assert!(patience <= 11 * MINUTE, "waits for {patience:?}");
        let waiting = self.machine.retry_at().is_some();
        assert_eq!(
            self.open == Open::Nothing,
            waiting,
            "in {:?}",
            self.machine.phase()
        );
    }

    /// Protocol rules of lists.
    fn judge_list(&mut self, options: &ListOptions) {
        assert!(
            !matches!(self.open, Open::Watch { .. }),
            "a watch is still open"
        );
        let version = options.resource_version.as_ref();
        assert_eq!(options.resource_version_match, None);
        assert_eq!(options.send_initial_events, None);
        assert!(!options.allow_watch_bookmarks && options.timeout.is_none());
        if options.continue_token.is_some() {
            assert_eq!(version, None, "a version beside a token");
            return;
        }
        self.pages = 0;
        if version.is_some_and(|version| !version.is_unset()) {
            assert_eq!(version, self.machine.resource_version());
            assert!(options.limit.is_none() || self.machine.counts().lists > 1);
        }
        if version.is_some_and(ResourceVersion::is_unset) {
            assert!(!self.machine.is_synced(), "any state after the first");
        }
        self.count_request();
    }

    fn opened_watch(&mut self, options: ListOptions, initial: bool) {
        self.judge_watch(&options, initial);
        assert!(!self.receiving, "a watch begins within a list");
        self.receiving = initial;
        self.open = Open::Watch {
            options,
            initial,
            answered: false,
        };
    }

    /// Protocol rules of watches.
    fn judge_watch(&mut self, options: &ListOptions, initial: bool) {
        assert!(
            matches!(self.open, Open::Nothing),
            "{:?} is still open",
            self.open
        );
        assert!(options.allow_watch_bookmarks);
        assert_eq!((options.limit, &options.continue_token), (None, &None));
        let timeout = options.timeout.expect("a timeout");
        assert!(
            timeout >= 5 * MINUTE && timeout < 10 * MINUTE,
            "{timeout:?}"
        );
        let how = initial.then_some(ResourceVersionMatch::NotOlderThan);
        assert_eq!(options.resource_version_match, how);
        assert_eq!(options.send_initial_events, initial.then_some(true));
        if options.resource_version.is_some() || !initial {
            assert_eq!(
                options.resource_version.as_ref(),
                self.machine.resource_version()
            );
        }
        self.count_request();
    }

    fn count_request(&mut self) {
        self.asked += 1;
        self.requests.push_back(self.now);
        while self
            .requests
            .front()
            .is_some_and(|first| self.now - *first > MINUTE)
        {
            self.requests.pop_front();
        }
        assert!(
            self.requests.len() <= self.rate,
            "{} requests in a minute",
            self.requests.len()
        );
    }

    fn at_deadline(&mut self) {
        let deadline = self.machine.deadline().expect("something is always due");
        self.now = self.now.max(deadline);
        self.machine.handle_timeout(self.now);
    }

    /// The request is answered, if it was not.
    fn answer(&mut self) {
        let (Open::List { answered, .. } | Open::Watch { answered, .. }) = &mut self.open else {
            return;
        };
        if !std::mem::replace(answered, true) {
            self.machine.handle_opened(self.now);
        }
    }

    fn event(&mut self, meta: &EventMeta) {
        let initial = matches!(self.open, Open::Watch { initial: true, .. });
        let before = self.version();
        let route = self.machine.handle_event(self.now, meta);
        let after = self.version();
        self.bookmarked |= !initial && matches!(meta.event_type, EventType::Bookmark { .. });
        match route {
            Route::Collect => {
                assert!(initial && self.receiving, "collected outside a list");
                assert_eq!(after, before, "an initial event moved the version");
            }
            Route::Apply => {
                assert!(!initial && !self.receiving, "applied within a list");
                let received = meta
                    .resource_version
                    .as_ref()
                    .and_then(ResourceVersion::as_u64);
                assert!(after == before || (after == received && received >= before));
            }
            // The end of initial events is a list's.
            Route::Skip if initial => {}
            Route::Skip => assert_eq!(after, before, "a skipped event moved the version"),
        }
    }

    pub(super) fn take(&mut self, step: &Step) {
        let before = self.version();
        match step {
            Step::Write(count) => self.head += count,
            Step::Rewind(count) => self.head = self.head.saturating_sub(*count).max(1),
            Step::Pause(millis) => {
                self.now += Duration::from_millis(*millis);
                self.machine.handle_timeout(self.now);
            }
            Step::Hang => self.at_deadline(),
            Step::Drop => self.machine.handle_dropped_changes(self.now),
            _ if self.open == Open::Nothing => self.at_deadline(),
            step => self.serve(step),
        }
        self.judge(before);
    }

    /// The world answers the open request.
    fn serve(&mut self, step: &Step) {
        let (watch, initial) = match &self.open {
            Open::Watch { initial, .. } => (true, *initial),
            _ => (false, false),
        };
        let head = ResourceVersion::from(self.head);
        match step {
            Step::Fail(kind, asked) => {
                let error = match asked {
                    Some(seconds) => error_asking(*kind, Duration::from_secs(*seconds)),
                    None => error(*kind),
                };
                self.machine.handle_error(self.now, error);
            }
            Step::End => {
                self.answer();
                self.machine.handle_end(self.now);
            }
            Step::Serve if watch => {
                self.answer();
                self.event(&EventMeta::new(EventType::Added, Some(head)));
            }
            Step::Serve => {
                self.answer();
                let route = self.machine.handle_list_item(self.now);
                assert_eq!(route == Route::Collect, self.receiving);
            }
            Step::Finish | Step::Page if watch => {
                self.answer();
                let initial_events_end = initial && matches!(step, Step::Finish);
                let event_type = EventType::Bookmark { initial_events_end };
                self.event(&EventMeta::new(event_type, Some(head)));
            }
            Step::Page => {
                self.answer();
                self.pages += 1;
                let meta = ListMeta::at(head).continue_token(self.pages.to_string());
                self.machine.handle_list_end(self.now, &meta);
            }
            Step::Finish => {
                self.answer();
                self.machine.handle_list_end(self.now, &ListMeta::at(head));
            }
            Step::Lag(by) => {
                self.answer();
                let old = ResourceVersion::from(self.head.saturating_sub(*by));
                if watch {
                    self.event(&EventMeta::new(EventType::Modified, Some(old)));
                } else {
                    self.machine.handle_list_end(self.now, &ListMeta::at(old));
                }
            }
            Step::Event(kind) if watch => {
                self.answer();
                self.head += 1;
                self.event(&EventMeta::new(*kind, Some(self.head.into())));
            }
            Step::Keyless if watch => {
                self.answer();
                self.event(&EventMeta::new(EventType::Added, None).keyed(false));
            }
            _ => self.answer(),
        }
    }

    /// From now on all goes well: the machine must come to rest at the newest version.
    pub(super) fn heal(&mut self) {
        let start = self.now;
        // A wait that the server asked for, an overlong watch, then silence twice.
        while self.now - start < 30 * MINUTE {
            let before = self.version();
            match &self.open {
                Open::Nothing => self.at_deadline(),
                Open::List { .. } => self.serve(&Step::Finish),
                Open::Watch { initial: true, .. } => self.serve(&Step::Finish),
                Open::Watch { options, .. } => {
                    let from = options
                        .resource_version
                        .as_ref()
                        .and_then(ResourceVersion::as_u64);
                    // A server is silent to those who are ahead of it. That can be seen only where it had sent
                    // bookmarks before; elsewhere its versions must catch up.
                    if let (Some(from), false) = (from, self.bookmarked) {
                        self.head = self.head.max(from);
                    }
                    self.answer();
                    if from.is_none_or(|from| from <= self.head) {
                        self.head += 1;
                        self.event(&EventMeta::new(EventType::Modified, Some(self.head.into())));
                    } else {
                        self.at_deadline();
                    }
                }
            }
            self.judge(before);
            if self.version() == Some(self.head) && self.machine.phase() == ReflectorPhase::Watching
            {
                return;
            }
        }
        panic!(
            "does not come to rest: {:?} at {:?}",
            self.machine.phase(),
            self.version()
        );
    }
}
