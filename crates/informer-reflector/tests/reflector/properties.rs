//! Whatever the server does, the machine keeps its rules.
//!
//! A random world answers the machine's requests, well and badly, and a judge watches everything that comes out.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use fastrand::Rng;
use informer_reflector::machine::{
    Action, EventKind, EventMeta, Failure, FailureKind, Machine, Notice, Verdict,
};
use informer_reflector::{FirstList, ListMode, Phase, ReflectorConfig};
use informer_store::ResourceVersion;
use informer_wire::{ListMeta, ListOptions, ResourceVersionMatch};
use proptest::prelude::*;

use crate::support::{MINUTE, SECOND};

const FAILURES: [FailureKind; 10] = [
    FailureKind::Expired,
    FailureKind::TooLarge,
    FailureKind::Busy,
    FailureKind::Refused,
    FailureKind::Transport,
    FailureKind::Timeout,
    FailureKind::Unsupported,
    FailureKind::Internal,
    FailureKind::Unavailable,
    FailureKind::Other,
];

/// What the world does next.
#[derive(Debug, Clone)]
enum Step {
    /// It fails the request or breaks the stream.
    Fail(FailureKind, Option<u64>),
    /// It does what was asked for: opens, gives an item, gives an event.
    Serve,
    /// A list ends, a streaming list is marked, a watch has a bookmark.
    Finish,
    /// A page ends with a token.
    Page,
    /// The list or event comes from a replica that lags, or from before a restored backup.
    Lag(u64),
    Event(EventKind),
    Nameless,
    End,
    Pause(u64),
    /// Nothing until the machine loses patience.
    Hang,
    /// Writers write.
    Write(u64),
    /// The server loses its newest writes.
    Rewind(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let kind = prop_oneof![
        Just(EventKind::Added),
        Just(EventKind::Modified),
        Just(EventKind::Deleted),
        Just(EventKind::Unknown),
    ];
    prop_oneof![
        4 => (prop::sample::select(&FAILURES[..]), prop::option::of(0u64..400))
            .prop_map(|(kind, asked)| Step::Fail(kind, asked)),
        8 => Just(Step::Serve),
        6 => Just(Step::Finish),
        1 => Just(Step::Page),
        1 => (1u64..50).prop_map(Step::Lag),
        4 => kind.prop_map(Step::Event),
        1 => Just(Step::Nameless),
        3 => Just(Step::End),
        4 => (1u64..400_000).prop_map(Step::Pause),
        2 => Just(Step::Hang),
        4 => (1u64..20).prop_map(Step::Write),
        1 => (1u64..60).prop_map(Step::Rewind),
    ]
}

fn config() -> impl Strategy<Value = ReflectorConfig> {
    let mode = prop_oneof![
        Just(ListMode::Auto),
        Just(ListMode::List),
        Just(ListMode::Stream)
    ];
    (mode, any::<bool>(), prop::option::of(1u64..600)).prop_map(|(mode, any_first, resync)| {
        let first = if any_first {
            FirstList::Any
        } else {
            FirstList::Consistent
        };
        let resync = Duration::from_secs(resync.unwrap_or(0));
        ReflectorConfig::default()
            .list_mode(mode)
            .first_list(first)
            .resync_period(resync)
    })
}

/// What the judge knows of the request under way.
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
struct World {
    machine: Machine,
    now: Instant,
    open: Open,
    replacing: bool,
    head: u64,
    pages: u32,
    /// Requests in the last minutes, but for pages: those are progress.
    requests: VecDeque<Instant>,
    /// All requests so far, but for pages.
    asked: usize,
    /// At most so many requests in a minute.
    rate: usize,
    expect_rewind: bool,
    /// A watch had a bookmark.
    bookmarked: bool,
}

impl World {
    fn new(config: ReflectorConfig, seed: u64, rate: usize) -> Self {
        let mut machine = Machine::new(config, true, Rng::with_seed(seed));
        let now = Instant::now();
        machine.handle_start(now);
        let mut world = Self {
            machine,
            now,
            open: Open::Nothing,
            replacing: false,
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
                Action::BeginReplace => {
                    assert!(!self.replacing, "a list begins within a list");
                    self.replacing = true;
                }
                Action::AbortReplace | Action::FinishReplace(_) if !self.replacing => {
                    panic!("a list ends that has not begun")
                }
                Action::AbortReplace => self.replacing = false,
                Action::FinishReplace(end) => {
                    self.replacing = false;
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
                    self.open = Open::List {
                        options,
                        answered: false,
                    };
                }
                Action::Watch { options } => self.opened_watch(options, false),
                Action::StreamingList { options, .. } => self.opened_watch(options, true),
                Action::Notice(Notice::Rewound { .. }) => self.expect_rewind = true,
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
        let waiting = self.machine.phase() == Phase::Waiting;
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
        let verdict = self.machine.handle_event(self.now, meta);
        let initial = matches!(self.open, Open::Watch { initial: true, .. });
        self.bookmarked |= !initial && matches!(meta.kind, EventKind::Bookmark { .. });
        match verdict {
            Verdict::Collect => assert!(initial && self.replacing, "collected outside a list"),
            Verdict::Apply | Verdict::ApplyIfNewer => {
                assert!(!initial && !self.replacing, "applied within a list");
                let before = self.version();
                self.machine.handle_applied();
                let came = meta
                    .resource_version
                    .as_ref()
                    .and_then(ResourceVersion::as_u64);
                let after = self.version();
                assert!(after == before || (after == came && came >= before));
            }
            Verdict::Skip => {
                let before = self.version();
                self.machine.handle_applied();
                assert_eq!(self.version(), before, "a skipped event moved the version");
            }
        }
    }

    fn take(&mut self, step: &Step) {
        let before = self.version();
        match step {
            Step::Write(count) => self.head += count,
            Step::Rewind(count) => self.head = self.head.saturating_sub(*count).max(1),
            Step::Pause(millis) => {
                self.now += Duration::from_millis(*millis);
                self.machine.handle_timeout(self.now);
            }
            Step::Hang => self.at_deadline(),
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
                let mut failure = Failure::new(*kind);
                failure.retry_after = asked.map(Duration::from_secs);
                self.machine.handle_error(self.now, failure);
            }
            Step::End => {
                self.answer();
                self.machine.handle_end(self.now);
            }
            Step::Serve if watch => {
                self.answer();
                self.event(&EventMeta::new(EventKind::Added, Some(head)));
            }
            Step::Serve => {
                self.answer();
                let verdict = self.machine.handle_list_item(self.now);
                assert_eq!(verdict == Verdict::Collect, self.replacing);
            }
            Step::Finish | Step::Page if watch => {
                self.answer();
                let initial_events_end = initial && matches!(step, Step::Finish);
                let kind = EventKind::Bookmark { initial_events_end };
                self.event(&EventMeta::new(kind, Some(head)));
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
                    self.event(&EventMeta::new(EventKind::Modified, Some(old)));
                } else {
                    self.machine.handle_list_end(self.now, &ListMeta::at(old));
                }
            }
            Step::Event(kind) if watch => {
                self.answer();
                self.head += 1;
                self.event(&EventMeta::new(*kind, Some(self.head.into())));
            }
            Step::Nameless if watch => {
                self.answer();
                self.event(&EventMeta::new(EventKind::Added, None).named(false));
            }
            _ => self.answer(),
        }
    }

    /// From now on all goes well: the machine must come to rest at the newest version.
    fn heal(&mut self) {
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
                        self.event(&EventMeta::new(EventKind::Modified, Some(self.head.into())));
                    } else {
                        self.at_deadline();
                    }
                }
            }
            self.judge(before);
            if self.version() == Some(self.head) && self.machine.phase() == Phase::Watching {
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// INV-REFL-3, INV-REFL-4, INV-REFL-5, INV-REFL-7; protocol 3.3: 3, 11, 19, 21; PG3
    #[test]
    fn whatever_the_server_does_the_rules_hold(
        config in config(),
        seed in any::<u64>(),
        steps in prop::collection::vec(step(), 1..250),
    ) {
        // With progress in between a watch may be opened once a second.
        let mut world = World::new(config, seed, 100);
        for step in &steps {
            world.take(step);
        }
        world.heal();
    }

    /// INV-REFL-5; protocol 3.3: 19
    #[test]
    fn a_server_that_only_fails_is_asked_ever_more_rarely(
        config in config(),
        seed in any::<u64>(),
        kinds in prop::collection::vec(0..FAILURES.len() + 2, 1..12),
    ) {
        let mut world = World::new(config, seed, 40);
        let start = world.now;
        let mut requests = Vec::new();
        for kind in kinds.iter().cycle() {
            if world.now - start > 20 * MINUTE {
                break;
            }
            let asked = world.asked;
            world.take(&match FAILURES.get(*kind) {
                Some(kind) => Step::Fail(*kind, None),
                None if *kind == FAILURES.len() => Step::End,
                None => Step::Hang,
            });
            // A reminder that falls due while a request hangs is no request.
            requests.extend((asked..world.asked).map(|_| world.now - start));
        }
        // In the second half: at most four requests to one wait, and waits of 22 s at least.
        let late = requests.iter().filter(|at| **at > 10 * MINUTE).count();
        prop_assert!(late <= 4 * 600 / 22, "{late} requests in ten minutes");
    }
}

/// The judge must be able to see what it judges.
#[test]
fn the_world_reaches_every_phase() {
    let mut rng = Rng::with_seed(11);
    let mut seen = std::collections::HashSet::new();
    let mut rewound = false;
    for seed in 0..200 {
        let mut world = World::new(ReflectorConfig::default(), seed, 1000);
        for _ in 0..200 {
            world.take(&match rng.u8(0..10) {
                0 => Step::Fail(FAILURES[rng.usize(0..FAILURES.len())], None),
                1..5 => Step::Serve,
                5..8 => Step::Finish,
                8 => Step::Rewind(30),
                _ => Step::Pause(3 * SECOND.as_secs() * 1000),
            });
            seen.insert(format!("{:?}", world.machine.phase()));
        }
        rewound |= world.expect_rewind;
    }
    for phase in [
        "Waiting",
        "Listing",
        "Streaming",
        "OpeningWatch",
        "Watching",
    ] {
        assert!(seen.contains(phase), "{phase} not in {seen:?}");
    }
    assert!(rewound, "no rewind was recognised");
}
