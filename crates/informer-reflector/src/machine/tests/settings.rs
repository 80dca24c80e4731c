//! Whatever is set, in whatever order: nothing panics, and the rate of requests is bounded.

use std::collections::VecDeque;

use proptest::prelude::*;

use super::world::FAILURES;
use super::*;
use crate::config::BackoffConfig;

/// A call of a setter.
#[derive(Debug, Clone)]
enum Setting {
    ListMode(ListMode),
    FromCache(bool),
    PageSize(u32),
    PageRelists(bool),
    Labels(String),
    Fields(String),
    Answer(Duration),
    Progress(Duration),
    Silence(Duration),
    Watch(Duration),
    InternalErrors(u32),
    Backoff(Vec<Wait>),
    Relist(Duration),
    Seed(u64),
}

#[derive(Debug, Clone)]
enum Wait {
    Initial(Duration),
    Factor(f64),
    Max(Duration),
    Jitter(bool),
    ResetAfter(Duration),
}

fn duration() -> impl Strategy<Value = Duration> {
    prop_oneof![
        Just(Duration::ZERO),
        Just(Duration::MAX),
        Just(Duration::from_nanos(1)),
        (0u64..100_000).prop_map(Duration::from_millis),
        any::<u64>().prop_map(Duration::from_secs),
    ]
}

fn wait() -> impl Strategy<Value = Wait> {
    let odd = prop::sample::select(vec![
        0.0,
        -1.0,
        1.0,
        1.5,
        f64::MAX,
        f64::MIN_POSITIVE,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ]);
    prop_oneof![
        duration().prop_map(Wait::Initial),
        odd.prop_map(Wait::Factor),
        duration().prop_map(Wait::Max),
        any::<bool>().prop_map(Wait::Jitter),
        duration().prop_map(Wait::ResetAfter),
    ]
}

fn number() -> impl Strategy<Value = u32> {
    prop_oneof![Just(0), Just(1), Just(u32::MAX), any::<u32>()]
}

fn setting() -> impl Strategy<Value = Setting> {
    let mode = prop::sample::select(vec![ListMode::Auto, ListMode::List, ListMode::Stream]);
    prop_oneof![
        mode.prop_map(Setting::ListMode),
        any::<bool>().prop_map(Setting::FromCache),
        number().prop_map(Setting::PageSize),
        any::<bool>().prop_map(Setting::PageRelists),
        any::<String>().prop_map(Setting::Labels),
        any::<String>().prop_map(Setting::Fields),
        duration().prop_map(Setting::Answer),
        duration().prop_map(Setting::Progress),
        duration().prop_map(Setting::Silence),
        duration().prop_map(Setting::Watch),
        number().prop_map(Setting::InternalErrors),
        prop::collection::vec(wait(), 0..6).prop_map(Setting::Backoff),
        duration().prop_map(Setting::Relist),
        any::<u64>().prop_map(Setting::Seed),
    ]
}

fn backoff(waits: Vec<Wait>) -> BackoffConfig {
    let default = BackoffConfig::default();
    waits.into_iter().fold(default, |backoff, wait| match wait {
        Wait::Initial(initial) => backoff.initial(initial),
        Wait::Factor(factor) => backoff.factor(factor),
        Wait::Max(max) => backoff.max(max),
        Wait::Jitter(jitter) => backoff.jitter(jitter),
        Wait::ResetAfter(health) => backoff.reset_after(health),
    })
}

fn config(settings: Vec<Setting>) -> ReflectorConfig {
    let default = ReflectorConfig::default();
    settings
        .into_iter()
        .fold(default, |config, setting| match setting {
            Setting::ListMode(mode) => config.list_mode(mode),
            Setting::FromCache(from_cache) => config.first_list_from_cache(from_cache),
            Setting::PageSize(size) => config.page_size(size),
            Setting::PageRelists(page) => config.page_relists(page),
            Setting::Labels(text) => config.label_selector(text),
            Setting::Fields(text) => config.field_selector(text),
            Setting::Answer(limit) => config.answer_timeout(limit),
            Setting::Progress(limit) => config.progress_timeout(limit),
            Setting::Silence(limit) => config.silence_timeout(limit),
            Setting::Watch(least) => config.watch_timeout(least),
            Setting::InternalErrors(retries) => config.internal_error_retries(retries),
            Setting::Backoff(waits) => config.backoff(backoff(waits)),
            Setting::Relist(period) => config.relist_period(period),
            Setting::Seed(seed) => config.seed(seed),
        })
}

/// What the server does next.
#[derive(Debug, Clone, Copy)]
enum Step {
    Fail(ErrorClass),
    FailAsking(ErrorClass, Duration),
    Open,
    /// A list, or initial events, end well; a watch has an event.
    Serve,
    End,
    Drop,
    /// Nothing until the deadline.
    Hang,
}

fn step() -> impl Strategy<Value = Step> {
    let class = prop::sample::select(&FAILURES[..]);
    prop_oneof![
        4 => class.clone().prop_map(Step::Fail),
        1 => (class, duration()).prop_map(|(class, wait)| Step::FailAsking(class, wait)),
        2 => Just(Step::Open),
        6 => Just(Step::Serve),
        3 => Just(Step::End),
        1 => Just(Step::Drop),
        6 => Just(Step::Hang),
    ]
}

impl Rig {
    fn take(&mut self, step: Step, version: u64) {
        match step {
            Step::Fail(class) => self.fails(class),
            Step::FailAsking(class, wait) => {
                let error = error_asking(class, wait);
                self.machine.handle_error(self.now, error);
            }
            Step::Open => self.opens(),
            Step::Serve => match self.machine.phase() {
                ReflectorPhase::Listing => self.list_ends(version),
                ReflectorPhase::Streaming => {
                    self.opens();
                    let _ = self.initial_events_end(version);
                }
                _ => {
                    self.opens();
                    let _ = self.event(EventType::Modified, version);
                }
            },
            Step::End => self.ends(),
            Step::Drop => self.machine.handle_dropped_changes(self.now),
            Step::Hang => _ = self.reach_deadline(),
        }
    }
}

/// How many requests an action starts, but for further pages: those are progress.
fn is_request(action: &Action) -> bool {
    match action {
        Action::List { options, .. } => options.continue_token.is_none(),
        Action::StreamingList { .. } | Action::Watch { .. } => true,
        _ => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// INV-REFL-5, INV-REFL-7
    #[test]
    fn any_setting_in_any_order_keeps_the_request_rate_bounded(
        settings in prop::collection::vec(setting(), 0..20),
        resync in duration(),
        steps in prop::collection::vec(step(), 1..40),
    ) {
        let config = config(settings);
        let _ = config.check();
        let machine = Machine::new(config.clone(), true, config.rng());
        let mut rig = Rig::of(machine.resync_period(crate::config::period(resync)));
        let mut requests = VecDeque::new();
        for (version, step) in (1..).zip(steps.iter().cycle().take(400)) {
            rig.take(*step, version);
            let now = rig.now;
            let new = rig.drain().iter().filter(|action| is_request(action)).count();
            requests.extend(std::iter::repeat_n(now, new));
            while requests.front().is_some_and(|first| now - *first > SECOND) {
                requests.pop_front();
            }
            // A wait of 100 ms at least, and at most six requests that differ between two of them.
            prop_assert!(requests.len() <= 60, "{} requests in a second", requests.len());
            let resyncs = rig.count(|action| matches!(action, Action::Resync));
            rig.actions.clear();
            prop_assert!(resyncs <= 1, "{resyncs} resyncs at once");
            prop_assert!(rig.machine.deadline().is_some());
        }
    }
}

/// INV-REFL-5
#[test]
fn waits_after_failures_are_100_ms_at_least_whatever_is_set() {
    for max in [Duration::ZERO, Duration::from_nanos(1), SECOND / 20] {
        let backoff = BackoffConfig::default().initial(Duration::ZERO).max(max);
        let config = ReflectorConfig::default().list_mode(ListMode::List);
        let mut rig = Rig::new(config.backoff(backoff.factor(f64::NAN)));
        rig.list();
        for _ in 0..20 {
            rig.fails(ErrorClass::Refused);
            let (_, after) = rig.timed_list();
            assert!(after >= SECOND / 10, "{after:?}");
        }
    }
}
