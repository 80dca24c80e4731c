//! Settings: every public setter with any value, in any order of calls: no panic, and none is lost in silence.

mod support;

use std::any::Any;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use informer_delta_fifo::{DeltaFifo, DeltaFifoConfig};
use informer_reflector::{
    BackoffConfig, BoxListerWatcher, ListerWatcherSource, Reflector, ReflectorConfig, Report,
};
use informer_shared::{
    BuildError, EndReason, FailurePolicy, InformerFactory, InformerFactoryBuilder, OnStop,
    ProcessLoop, QueueOrder, QueuePolicy, RecreatedAs, SharedInformer, SharedInformerBuilder,
    StartLimit,
};
use informer_store::{IndexValues, Indexers, Store};
use informer_wire::Resource;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use parking_lot::Mutex;
use proptest::prelude::*;
use support::{Cluster, SECONDS, Seen, started, value_of};
use tokio_util::sync::CancellationToken;

const YEARS: Duration = Duration::from_secs(3 * 365 * 24 * 3600);

fn durations() -> impl Strategy<Value = Duration> {
    prop::sample::select(vec![
        Duration::ZERO,
        Duration::from_nanos(1),
        Duration::from_millis(999),
        Duration::from_secs(1),
        Duration::from_millis(1500),
        Duration::from_secs(3600),
        Duration::MAX,
    ])
}

fn sizes() -> impl Strategy<Value = usize> {
    prop::sample::select(vec![0, 1, 2, 3, 8, 1000, usize::MAX / 2, usize::MAX])
}

fn on_stops() -> impl Strategy<Value = OnStop> {
    prop_oneof![
        Just(OnStop::Drop),
        durations().prop_map(|timeout| OnStop::Drain { timeout }),
    ]
}

fn orders() -> impl Strategy<Value = QueueOrder> {
    prop::sample::select(vec![QueueOrder::ByKey, QueueOrder::InOrder])
}

fn run<T>(run: impl Future<Output = T>) -> T {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_time().start_paused(true).build();
    runtime.expect("a runtime").block_on(run)
}

/// How many resyncs a handler with this period receives in this time.
fn resyncs(period: Duration, time: Duration) -> usize {
    if period.is_zero() {
        return 0;
    }
    let period = period.max(SECONDS).as_millis();
    usize::try_from(time.as_millis() / period).expect("few")
}

fn count(seen: &Seen, text: &str) -> usize {
    seen.lines().iter().filter(|l| l.contains(text)).count()
}

/// Appends a text to the value.
fn append(text: &'static str) -> impl Fn(&mut ConfigMap) -> Result<(), Infallible> + Send + Sync {
    move |object| {
        let value = value_of(object) + text;
        object.data = Some([("value".to_owned(), value)].into());
        Ok(())
    }
}

fn by_value(name: &str) -> Indexers<ConfigMap> {
    Indexers::new().index(name, |o: &ConfigMap, v: &mut IndexValues<'_>| {
        v.push(&value_of(o));
    })
}

#[derive(Debug, Clone)]
enum Setting {
    Name(String),
    Resync(Duration),
    Transform,
    ErrorHandler,
    Config,
    MapConfig,
    Tweak,
    Recreated(RecreatedAs),
    OnStop(OnStop),
    MaxDeltas(Option<usize>),
    Order(QueueOrder),
    StartLimit(usize, Duration, Duration),
    Indexers,
}

fn settings() -> impl Strategy<Value = Vec<Setting>> {
    let one = prop_oneof![
        ".{0,5}".prop_map(Setting::Name),
        durations().prop_map(Setting::Resync),
        Just(Setting::Transform),
        Just(Setting::ErrorHandler),
        Just(Setting::Config),
        Just(Setting::MapConfig),
        Just(Setting::Tweak),
        prop::sample::select(vec![RecreatedAs::DeletedAndAdded, RecreatedAs::Updated])
            .prop_map(Setting::Recreated),
        on_stops().prop_map(Setting::OnStop),
        prop::option::of(sizes()).prop_map(Setting::MaxDeltas),
        orders().prop_map(Setting::Order),
        (sizes(), durations(), durations()).prop_map(|(n, j, p)| Setting::StartLimit(n, j, p)),
        Just(Setting::Indexers),
    ];
    prop::collection::vec(one, 0..12)
}

/// What is to be seen of the settings.
#[derive(Default)]
struct Expected {
    name: Option<String>,
    resync: Duration,
    transforms: usize,
    error_handlers: usize,
    selects: bool,
    tweaks: usize,
    recreated: RecreatedAs,
    indexers: usize,
}

fn apply(
    settings: &[Setting],
    cluster: &Cluster,
    reports: &Arc<AtomicUsize>,
) -> (SharedInformerBuilder<Cluster>, Expected) {
    let mut expected = Expected::default();
    let mut builder = SharedInformer::builder(cluster.clone());
    for setting in settings {
        builder = match setting.clone() {
            Setting::Name(name) => {
                expected.name = Some(name.clone());
                builder.name(name)
            }
            Setting::Resync(period) => {
                expected.resync = period;
                builder.resync_period(period)
            }
            Setting::Transform => {
                expected.transforms += 1;
                builder.transform(append("!"))
            }
            Setting::ErrorHandler => {
                expected.error_handlers += 1;
                let count = Arc::clone(reports);
                builder.watch_error_handler(move |_: &Report| {
                    count.fetch_add(1, Ordering::Relaxed);
                    panic!("in the handler")
                })
            }
            Setting::Config => {
                expected.selects = false;
                builder.reflector_config(ReflectorConfig::default())
            }
            Setting::MapConfig => {
                expected.selects = true;
                builder.map_reflector_config(|config| config.label_selector("app=shop"))
            }
            Setting::Tweak => {
                expected.tweaks += 1;
                builder.tweak_list_options(|options| {
                    let fields = options.field_selector.take().unwrap_or_default();
                    options.field_selector = Some(fields + ",a=b");
                })
            }
            Setting::Recreated(how) => {
                expected.recreated = how;
                builder.recreated_as(how)
            }
            Setting::OnStop(on_stop) => builder.on_stop(on_stop),
            Setting::MaxDeltas(max) => builder.max_deltas(max),
            Setting::Order(order) => builder.queue_order(order),
            Setting::StartLimit(slots, jitter, patience) => {
                builder.start_limit(StartLimit::new(slots).jitter(jitter).patience(patience))
            }
            Setting::Indexers => {
                let name = format!("value{}", expected.indexers);
                expected.indexers += 1;
                builder.indexers(by_value(&name))
            }
        };
    }
    (builder, expected)
}

async fn check_informer(settings: &[Setting]) -> Result<(), TestCaseError> {
    let (cluster, reports) = (Cluster::with(1), Arc::default());
    let (builder, expected) = apply(settings, &cluster, &reports);
    let informer = builder.build().expect("no indexes clash");
    let seen = Seen::new();
    informer.add_handler(seen.clone()).expect("not stopped");
    let name = expected.name.unwrap_or_else(|| "ConfigMap".to_owned());
    prop_assert_eq!(informer.name(), name);
    cluster.fail_lists(Some(500));
    informer.start().expect("not started");
    while cluster.lists() == 0 {
        tokio::time::sleep(3600 * SECONDS).await;
    }
    tokio::time::sleep(Duration::from_millis(10)).await;
    prop_assert_eq!(
        reports.load(Ordering::Relaxed) >= 1,
        expected.error_handlers >= 1
    );
    if expected.error_handlers > 0 {
        prop_assert_eq!(reports.load(Ordering::Relaxed) % expected.error_handlers, 0);
    }
    cluster.fail_lists(None);
    let synced = informer.synced().deadline(YEARS).await;
    prop_assert!(synced.is_ok(), "{:?}", synced);
    tokio::time::sleep(Duration::from_millis(10)).await;
    let value = format!("first{}", "!".repeat(expected.transforms));
    prop_assert_eq!(&seen.lines()[0], &format!("+0={value} initial"));
    for n in 0..expected.indexers {
        let found = informer.store().by_index(&format!("value{n}"), &value);
        prop_assert_eq!(found.map(|found| found.len()), Ok(1));
    }
    let options = cluster.last_options().expect("a request");
    let tweaks = (expected.tweaks > 0).then(|| ",a=b".repeat(expected.tweaks));
    prop_assert_eq!(options.field_selector, tweaks);
    prop_assert_eq!(options.label_selector.is_some(), expected.selects);
    let before = count(&seen, "resync");
    tokio::time::sleep(Duration::from_millis(6000)).await;
    let received = count(&seen, "resync") - before;
    let due = resyncs(expected.resync, Duration::from_millis(6000));
    prop_assert!(
        received.abs_diff(due) <= 1,
        "{} resyncs, not {}",
        received,
        due
    );
    cluster.while_away(|cluster| {
        cluster.delete("0");
        cluster.put("0", "again");
    });
    tokio::time::sleep(60 * SECONDS).await;
    let is_update = expected.recreated == RecreatedAs::Updated;
    prop_assert_eq!(count(&seen, "relist") > 0, is_update);
    let stop = tokio::time::timeout(2 * SECONDS, informer.stop()).await;
    prop_assert!(matches!(stop, Ok(Ok(()))), "{:?}", stop);
    Ok(())
}

#[derive(Debug, Clone)]
struct HandlerSettings {
    queue: QueuePolicy,
    resync: Duration,
    policies: [FailurePolicy; 2],
    kind: u8,
    name: String,
    deadline: Duration,
}

fn handler_settings() -> impl Strategy<Value = HandlerSettings> {
    let queue = prop_oneof![
        Just(QueuePolicy::Coalesce),
        Just(QueuePolicy::Unbounded),
        sizes().prop_map(QueuePolicy::Bounded),
    ];
    let policy = prop::sample::select(vec![FailurePolicy::Skip, FailurePolicy::StopHandler]);
    let policies = [policy.clone(), policy];
    (queue, durations(), policies, 0..3_u8, ".{0,5}", durations()).prop_map(
        |(queue, resync, policies, kind, name, deadline)| HandlerSettings {
            queue,
            resync,
            policies,
            kind,
            name,
            deadline,
        },
    )
}

async fn check_handler(settings: &HandlerSettings) -> Result<(), TestCaseError> {
    let cluster = Cluster::with(2);
    let informer = support::informer(&cluster);
    let seen = Seen::new();
    let builder = informer
        .handler()
        .name(settings.name.clone())
        .queue(settings.queue)
        .resync_period(settings.resync)
        .on_error(settings.policies[0])
        .on_panic(settings.policies[1]);
    let mut stream = None;
    let registration = match settings.kind {
        0 => Some(builder.register(seen.clone())),
        // On a thread virtual time does not wait for it: what it receives is not checked.
        1 => Some(builder.register_blocking(Seen::new())),
        _ => {
            stream = Some(builder.stream().expect("not stopped"));
            None
        }
    };
    let registration = registration.transpose().expect("not stopped");
    started(&informer).await;
    tokio::time::sleep(Duration::from_millis(5500)).await;
    if let Some(registration) = &registration {
        prop_assert_eq!(&*registration.status().name, &settings.name);
        // Whatever the deadline: it is synced, or fails.
        let _ = registration.synced().deadline(settings.deadline).await;
    }
    if settings.kind == 0 {
        let due = resyncs(settings.resync, Duration::from_millis(5500));
        let ended = registration.as_ref().and_then(|r| r.status().ended);
        match (settings.queue, ended) {
            (QueuePolicy::Bounded(limit), Some(EndReason::QueueFull { limit: reported })) => {
                prop_assert_eq!(limit, reported);
                prop_assert!(limit < 2 && due > 0, "a resync of two objects is too much");
            }
            (_, ended) => {
                prop_assert!(ended.is_none(), "{:?}", ended);
                prop_assert_eq!(count(&seen, "resync"), 2 * due);
            }
        }
    }
    if let Some(stream) = stream {
        let _ = stream.synced().deadline(Duration::ZERO).await;
    }
    prop_assert!(informer.stop().await.is_ok());
    Ok(())
}

#[derive(Clone)]
struct Source(Cluster, Arc<Mutex<Vec<Option<String>>>>);

impl ListerWatcherSource<ConfigMap> for Source {
    fn lister_watcher(&self, _: &Resource, namespace: Option<&str>) -> BoxListerWatcher<ConfigMap> {
        self.1.lock().push(namespace.map(str::to_owned));
        BoxListerWatcher::new(self.0.clone())
    }
}

#[derive(Debug, Clone)]
enum FactorySetting {
    Namespace(String),
    Tweak,
    Config,
    Resync(Duration),
    ResyncOf(Duration),
    ResyncOfOther(Duration),
    TransformAll,
    Transform,
    TransformOther,
    Configure,
    ErrorHandler,
    OnStop(OnStop),
    Order(QueueOrder),
    StartLimit(usize),
}

fn factory_settings() -> impl Strategy<Value = Vec<FactorySetting>> {
    use FactorySetting as Set;
    let one = prop_oneof![
        ".{0,5}".prop_map(Set::Namespace),
        Just(Set::Tweak),
        Just(Set::Config),
        durations().prop_map(Set::Resync),
        durations().prop_map(Set::ResyncOf),
        durations().prop_map(Set::ResyncOfOther),
        Just(Set::TransformAll),
        Just(Set::Transform),
        Just(Set::TransformOther),
        Just(Set::Configure),
        Just(Set::ErrorHandler),
        on_stops().prop_map(Set::OnStop),
        orders().prop_map(Set::Order),
        sizes().prop_map(Set::StartLimit),
    ];
    prop::collection::vec(one, 0..12)
}

fn apply_to_factory(
    mut builder: InformerFactoryBuilder<Source>,
    setting: &FactorySetting,
) -> InformerFactoryBuilder<Source> {
    use FactorySetting as Set;
    builder = match setting.clone() {
        Set::Namespace(namespace) => builder.namespace(namespace),
        Set::Tweak => builder.tweak_list_options(|o| o.label_selector = Some("tier=web".into())),
        Set::Config => builder.reflector_config(ReflectorConfig::default().page_size(7)),
        Set::Resync(period) => builder.resync_period(period),
        Set::ResyncOf(period) => builder.resync_period_of::<ConfigMap>(period),
        Set::ResyncOfOther(period) => builder.resync_period_of::<Secret>(period),
        Set::TransformAll => builder.transform_all(|resource, object: &mut dyn Any| {
            assert_eq!(resource.plural, "configmaps");
            let object = object.downcast_mut::<ConfigMap>();
            object.map_or(Ok(()), append("?"))
        }),
        Set::Transform => builder.transform(append("!")),
        Set::TransformOther => builder.transform(|_: &mut Secret| Err("no secret passes")),
        Set::Configure => builder.configure::<ConfigMap>(|resource, informer| {
            let name = format!("my {}", resource.plural);
            informer
                .name(name)
                .reflector_config(ReflectorConfig::default())
        }),
        Set::ErrorHandler => builder.watch_error_handler(|_, _| {}),
        Set::OnStop(on_stop) => builder.on_stop(on_stop),
        Set::Order(order) => builder.queue_order(order),
        Set::StartLimit(slots) => builder.start_limit(StartLimit::new(slots)),
    };
    builder
}

async fn check_factory(settings: &[FactorySetting]) -> Result<(), TestCaseError> {
    use FactorySetting as Set;
    let source = Source(Cluster::with(1), Arc::default());
    let builder = InformerFactory::builder(source.clone());
    let factory = settings.iter().fold(builder, apply_to_factory);
    let factory = factory.build().expect("no selector");
    let informer = factory.informer::<ConfigMap>();
    let seen = Seen::new();
    informer.add_handler(seen.clone()).expect("not stopped");
    factory.start().expect("not shut down");
    let synced = factory.wait_for_cache_sync().deadline(YEARS).await;
    prop_assert!(synced.is_ok(), "{:?}", synced);
    tokio::time::sleep(Duration::from_millis(5500)).await;
    let has = |of: fn(&Set) -> bool| settings.iter().filter(|s| of(s)).count();
    let tweaks = has(|s| matches!(s, Set::Tweak));
    let options = source.0.last_options().expect("a request");
    prop_assert_eq!(options.label_selector.is_some(), tweaks > 0);
    let namespace = settings.iter().rev().find_map(|s| match s {
        Set::Namespace(namespace) => Some(namespace.clone()),
        _ => None,
    });
    prop_assert_eq!(&*source.1.lock(), &[namespace]);
    let of_all = "?".repeat(has(|s| matches!(s, Set::TransformAll)));
    let of_type = "!".repeat(has(|s| matches!(s, Set::Transform)));
    let first = format!("+0=first{of_all}{of_type} initial");
    prop_assert_eq!(&seen.lines()[0], &first);
    let is_named = has(|s| matches!(s, Set::Configure)) > 0;
    prop_assert_eq!(informer.name() == "my configmaps", is_named);
    let period = |of: fn(&Set) -> Option<Duration>| settings.iter().rev().find_map(of);
    let of_type = period(|s| match s {
        Set::ResyncOf(period) => Some(*period),
        _ => None,
    });
    let of_all = period(|s| match s {
        Set::Resync(period) => Some(*period),
        _ => None,
    });
    let due = of_type.or(of_all).unwrap_or_default();
    let (received, due) = (count(&seen, "resync"), resyncs(due, 5500 * MS));
    prop_assert!(
        received.abs_diff(due) <= 1,
        "{} resyncs, not {}",
        received,
        due
    );
    prop_assert!(factory.shutdown().await.is_ok());
    Ok(())
}

const MS: Duration = Duration::from_millis(1);

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn settings_of_informers_hold_whatever_they_are(settings in settings()) {
        run(check_informer(&settings))?;
    }

    #[test]
    fn settings_of_handlers_hold_whatever_they_are(settings in handler_settings()) {
        run(check_handler(&settings))?;
    }

    #[test]
    fn settings_of_factories_hold_whatever_they_are(settings in factory_settings()) {
        run(check_factory(&settings))?;
    }

    #[test]
    fn settings_of_process_loops_hold_whatever_they_are(
        retries in prop::sample::select(vec![0, 1, 15, u32::MAX]),
        name in ".{0,5}",
        max_deltas in prop::option::of(sizes()),
    ) {
        run(async {
            let store: Store<ConfigMap> = Store::new();
            let queue = DeltaFifo::new(DeltaFifoConfig::new().known(store).max_deltas(max_deltas));
            let reflector = Reflector::new(Cluster::with(1), Arc::new(queue.clone()));
            let process = |batch: &informer_delta_fifo::Batch<ConfigMap>| {
                let mut failed = informer_shared::FailedKeys::new();
                batch.iter().for_each(|(key, _)| failed.push(key.clone(), "never"));
                failed.into_result()
            };
            let process_loop = ProcessLoop::new(queue, reflector, process);
            let process_loop = process_loop.retries(retries).name(name);
            let (status, stop) = (process_loop.status(), CancellationToken::new());
            let running = tokio::spawn(process_loop.run(stop.clone()));
            tokio::time::sleep(60 * SECONDS).await;
            let failures = status.borrow().failures;
            stop.cancel();
            running.await.expect("no panic").expect("it ends well");
            let tries = u64::from(retries) + 1;
            match retries {
                u32::MAX => prop_assert!(failures > 50),
                _ => prop_assert_eq!(failures, tries),
            }
            Ok(())
        })?;
    }
}

/// A wait that is to have no end: what everybody writes for it.
#[tokio::test(start_paused = true)]
async fn durations_of_the_reflector_end_no_informer() {
    let base = ReflectorConfig::default;
    for length in [Duration::ZERO, Duration::from_nanos(1), Duration::MAX] {
        let configs = [
            ("answer_timeout", base().answer_timeout(length)),
            ("progress_timeout", base().progress_timeout(length)),
            ("silence_timeout", base().silence_timeout(length)),
            ("watch_timeout", base().watch_timeout(length)),
            ("relist_period", base().relist_period(length)),
            (
                "backoff",
                base().backoff(
                    BackoffConfig::default()
                        .initial(length)
                        .max(length)
                        .reset_after(length)
                        .factor(f64::INFINITY),
                ),
            ),
        ];
        for (what, config) in configs {
            let cluster = Cluster::with(1);
            cluster.fail_lists(Some(500));
            let builder = SharedInformer::builder(cluster.clone()).reflector_config(config);
            let informer = builder.build().unwrap();
            informer.start().unwrap();
            tokio::time::sleep(10 * SECONDS).await;
            assert!(cluster.lists() <= 101, "{what}: {} lists", cluster.lists());
            cluster.fail_lists(None);
            let synced = informer.synced().deadline(YEARS).await;
            assert!(
                synced.is_ok() && !informer.is_stopped(),
                "{what} {length:?}"
            );
        }
    }
}

// A selector that the server would refuse for ever is an error when the informer is made.
#[test]
fn selector_that_does_not_parse_is_an_error_of_the_build() {
    let config = || ReflectorConfig::default().label_selector("app in (shop");
    let builder = SharedInformer::builder(Cluster::new()).reflector_config(config());
    let error = builder.build().unwrap_err();
    assert!(matches!(error, BuildError::Selector(_)), "{error}");
    assert!(std::error::Error::source(&error).is_some());
    let source = Source(Cluster::new(), Arc::default());
    let builder = InformerFactory::builder(source.clone()).reflector_config(config());
    assert!(matches!(builder.build(), Err(BuildError::Selector(_))));
    let factory = InformerFactory::new(source);
    let resource = <ConfigMap as informer_wire::StaticResource>::resource();
    let made = factory.informer_with::<ConfigMap, _>(resource, |b| b.reflector_config(config()));
    assert!(matches!(made, Err(BuildError::Selector(_))));
    let builder = SharedInformer::builder(Cluster::new());
    let twice = builder
        .indexers(by_value("value"))
        .indexers(by_value("value"));
    assert!(matches!(twice.build(), Err(BuildError::Index(_))));
}
