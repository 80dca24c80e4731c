//! Starting, stopping, status, resync, closures, boxes.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream;
use informer_reflector::{
    BoxListerWatcher, ListWatch, ListWatchError, ListerWatcher, ListerWatcherSource, Reflector,
    ReflectorPhase,
};
use informer_store::{FieldSelector, LabelSelector};
use informer_wire::{ListMeta, ListOptions, Resource, Scope, Status, WatchEvent};
use k8s_openapi::api::core::v1::ConfigMap;
use tokio::sync::watch as channel;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::support::*;

/// RF1
#[tokio::test(start_paused = true)]
async fn reflector_that_is_stopped_before_it_runs_requests_nothing() {
    let script = Script::new([]);
    let reflector = Reflector::new(script.clone(), Arc::new(Mirror::default()));
    let (status, stop) = (reflector.status(), CancellationToken::new());
    stop.cancel();
    reflector.run(stop).await;
    assert!(script.log().is_empty());
    assert_eq!(status.borrow().phase, ReflectorPhase::Stopped);
}

/// RF3; peers 42; INV-REFL-10
#[tokio::test(start_paused = true)]
async fn reflector_stops_at_any_moment() {
    let scripts: Vec<fn() -> Vec<Answer>> = vec![
        || vec![Answer::Hang],
        || vec![Answer::List(vec![Beat::Hang])],
        || vec![refusal(403, "Forbidden")],
        || vec![Answer::Fail(busy())],
        || vec![list(10, vec![]), Answer::Hang],
        || vec![list(10, vec![]), watch(vec![])],
        || vec![list(10, vec![]), refusal(429, "")],
        || vec![watch(vec![added("a", 1)])],
        || vec![list(10, vec![]), watch(busy_stream())],
    ];
    for script in &scripts {
        for config in [lists(), streams()] {
            let mut run = Run::new(config, script());
            run.pass(Duration::from_millis(300)).await;
            run.stop.cancel();
            within(SECOND, &mut run.task).await.unwrap();
            assert_eq!(run.now().phase, ReflectorPhase::Stopped);
            let requests = run.script.log().len();
            run.pass(5 * MINUTE).await;
            assert_eq!(run.script.log().len(), requests);
        }
    }

    fn busy() -> ListWatchError {
        let status = Box::new(Status::failure(429, "", ""));
        ListWatchError::Status {
            status,
            retry_after: Some(100 * SECOND),
        }
    }

    fn busy_stream() -> Vec<Beat> {
        (11..100_000)
            .map(|version| modified("a", version))
            .collect()
    }
}

/// INV-REFL-10
#[tokio::test(start_paused = true)]
async fn dropping_the_future_stops_the_reflector() {
    let mut run = Run::new(lists(), vec![list(10, vec![]), watch(vec![])]);
    run.until_version(10).await;
    run.task.abort();
    run.until(|status| status.phase == ReflectorPhase::Stopped)
        .await;
}

#[tokio::test(start_paused = true)]
async fn stream_that_is_always_ready_lets_others_run() {
    let endless: Vec<_> = (11..200_000)
        .map(|version| modified("a", version))
        .collect();
    let run = Run::new(lists(), vec![list(10, vec![]), watch(endless)]);
    // One thread: this task runs at all only if the reflector lets it.
    while run.mirror.log().len() < 100 {
        tokio::task::yield_now().await;
    }
    assert!(run.mirror.log().len() < 100_000);
}

/// INV-REFL-11
#[tokio::test(start_paused = true)]
async fn status_follows_requests_failures_and_events() {
    let mut run = Run::new(
        lists(),
        vec![
            refusal(403, "Forbidden"),
            refusal(403, "Forbidden"),
            Answer::List(vec![
                Beat::Pause(SECOND),
                Beat::PageEnd(ListMeta::at(10.into())),
            ]),
            watch(vec![Beat::Pause(SECOND), added("a", 11)]),
        ],
    );
    let status = run
        .until(|status| status.phase == ReflectorPhase::Waiting && status.attempts == 2)
        .await;
    assert!(!status.synced && status.retry_at.is_some() && status.lists == 2);
    let error = "the API server refused: no (403 Forbidden)";
    assert_eq!(status.last_error.as_deref(), Some(error));
    run.until(|status| status.phase == ReflectorPhase::Listing && status.lists == 3)
        .await;
    let status = run.until(|status| status.synced).await;
    assert_eq!(
        (status.attempts, status.resource_version),
        (0, Some(10.into()))
    );
    let status = run.until(|status| status.last_event_at.is_some()).await;
    assert_eq!(
        (status.phase, status.watches),
        (ReflectorPhase::Watching, 1)
    );
    assert_eq!(status.resource_version, Some(11.into()));
    assert_eq!(status.last_error.as_deref(), Some(error), "it is kept");
}

fn resyncs(run: &Run) -> usize {
    let log = run.mirror.log();
    log.iter().filter(|line| *line == "resync").count()
}

/// RF29; INV-REFL-12
#[tokio::test(start_paused = true)]
async fn resync_period_is_kept_whatever_watches_do() {
    let mut answers = vec![list(10, vec![])];
    // Watches shorter than the period.
    answers.extend(
        (11..40).map(|version| short_watch(vec![added("a", version), Beat::Pause(20 * SECOND)])),
    );
    let run = Run::with(lists(), answers, |reflector| {
        reflector.resync_period(MINUTE)
    });
    run.pass(5 * MINUTE + SECOND).await;
    assert_eq!(resyncs(&run), 5);
    assert_eq!(run.now().lists, 1);
}

/// INV-REFL-12
#[tokio::test(start_paused = true)]
async fn resync_at_resyncs_once_for_each_time_that_is_sent() {
    let start = Instant::now();
    let (sender, receiver) = channel::channel(Some(start + 10 * SECOND));
    let answers = vec![
        Answer::Late(30 * SECOND, Box::new(list(10, vec![]))),
        watch(vec![]),
    ];
    let run = Run::with(lists(), answers, |reflector| reflector.resync_at(receiver));
    run.pass(29 * SECOND).await;
    assert_eq!(resyncs(&run), 0, "there is nothing to resync yet");
    run.pass(2 * SECOND).await;
    assert_eq!(resyncs(&run), 1);
    run.pass(10 * MINUTE).await;
    assert_eq!(resyncs(&run), 1);
    sender.send_replace(Some(Instant::now() + MINUTE));
    run.pass(59 * SECOND).await;
    assert_eq!(resyncs(&run), 1);
    run.pass(2 * SECOND).await;
    assert_eq!(resyncs(&run), 2);
    // A later time replaces one that is not reached; none means never.
    sender.send_replace(Some(Instant::now() + MINUTE));
    run.pass(SECOND).await;
    sender.send_replace(None);
    run.pass(2 * MINUTE).await;
    assert_eq!(resyncs(&run), 2);
    sender.send_replace(Some(Instant::now() - SECOND));
    run.pass(SECOND).await;
    assert_eq!(resyncs(&run), 3);
    // Nor does a sender that is gone.
    sender.send_replace(Some(Instant::now() + MINUTE));
    drop(sender);
    run.pass(10 * MINUTE).await;
    assert!(resyncs(&run) <= 4);
    assert!(!run.task.is_finished());
}

/// INV-REFL-12
#[tokio::test(start_paused = true)]
async fn resync_at_holds_while_the_stream_is_always_ready() {
    let (sender, receiver) = channel::channel(None);
    let endless: Vec<_> = (11..200_000)
        .map(|version| modified("a", version))
        .collect();
    let answers = vec![list(10, vec![]), watch(endless)];
    let run = Run::with(lists(), answers, |reflector| reflector.resync_at(receiver));
    while run.mirror.log().len() < 100 {
        tokio::task::yield_now().await;
    }
    sender.send_replace(Some(Instant::now()));
    while run.mirror.log().len() < 100_000 && resyncs(&run) == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(resyncs(&run), 1);
}

/// What everybody writes for "no limit", and for "at once".
#[tokio::test(start_paused = true)]
async fn any_resync_period_is_safe() {
    for (period, most) in [
        (Duration::ZERO, 0),
        (Duration::from_nanos(1), 60),
        (Duration::MAX, 0),
    ] {
        let answers = vec![list(10, vec![]), watch(vec![])];
        let run = Run::with(lists(), answers, |reflector| {
            reflector.resync_period(period)
        });
        run.pass(MINUTE).await;
        assert!(resyncs(&run) <= most, "{}", resyncs(&run));
        assert_eq!(run.now().phase, ReflectorPhase::Watching);
    }
}

#[tokio::test]
async fn selector_that_does_not_parse_is_an_error_when_it_is_given() {
    let reflector = || Reflector::new(Script::new([]), Arc::new(Mirror::default()));
    for bad in ["app=", "a b", "app in (", "!", "-x=y"].map(|text| lists().label_selector(text)) {
        // `app=` selects an empty value, as for the server.
        let is_good = format!("{bad:?}").contains("\"app=\"");
        assert_eq!(reflector().config(bad).is_ok(), is_good);
    }
    for bad in ["status.phase", "spec.nodeName=a=b"] {
        assert!(reflector().config(lists().field_selector(bad)).is_err());
    }
    let typed = LabelSelector::everything()
        .with_equals("app", "shop")
        .unwrap();
    let fields = FieldSelector::everything().with_name("a");
    let config = lists().label_selector(typed).field_selector(fields);
    let mut run = Run::new(config, vec![list(10, vec![]), watch(vec![])]);
    run.until_version(10).await;
    let options = &run.script.requests()[0].options;
    assert_eq!(options.label_selector.as_deref(), Some("app=shop"));
    assert_eq!(options.field_selector.as_deref(), Some("metadata.name=a"));
}

/// The source is the user's code: no period of its own makes the reflector list without a pause.
#[tokio::test(start_paused = true)]
async fn any_relist_period_of_a_source_is_safe() {
    for (period, most) in [
        (Duration::ZERO, 1),
        (Duration::from_nanos(1), 61),
        (Duration::MAX, 1),
    ] {
        let answers = (0..200).flat_map(|_| [list(10, vec![]), watch(vec![])]);
        let script = Script::with_relist_period(answers, Some(period));
        let reflector = Reflector::new(script.clone(), Arc::new(Mirror::default()));
        let running = reflector
            .config(lists())
            .unwrap()
            .run(CancellationToken::new());
        assert!(tokio::time::timeout(MINUTE, running).await.is_err());
        let lists = script.requests().iter().filter(|r| !r.watch).count();
        assert!(lists <= most, "{lists} lists in a minute");
    }
}

#[tokio::test(start_paused = true)]
async fn modifiers_change_every_request_after_everything_else() {
    let mut run = Run::new(
        lists()
            .label_selector("first=1")
            .with_options_modifier(|options| options.label_selector = Some("second=2".into()))
            .with_options_modifier(|options| {
                let before = options.label_selector.take().unwrap_or_default();
                options.label_selector = Some(before + ",third=3");
            }),
        vec![list(10, vec![]), watch(vec![])],
    );
    run.until(|status| status.phase == ReflectorPhase::Watching)
        .await;
    for request in run.script.requests() {
        assert_eq!(
            request.options.label_selector.as_deref(),
            Some("second=2,third=3")
        );
    }
}

type NoEvents = stream::Pending<Result<WatchEvent<ConfigMap>, ListWatchError>>;

/// Two closures: one returns a page, the other a stream.
fn closures() -> impl ListerWatcher<Object = ConfigMap> {
    let list =
        |_: ListOptions| async { Ok::<_, Status>((vec![object("a", 1)], ListMeta::at(10.into()))) };
    let watch = |_: ListOptions| async { Ok::<NoEvents, Status>(stream::pending()) };
    ListWatch::new(list, watch)
}

#[tokio::test(start_paused = true)]
async fn closures_and_boxes_list_and_watch() {
    struct Source;

    impl ListerWatcherSource<ConfigMap> for Source {
        fn lister_watcher(&self, _: &Resource, _: Option<&str>) -> BoxListerWatcher<ConfigMap> {
            BoxListerWatcher::new(closures())
        }
    }

    let source: Arc<dyn ListerWatcherSource<ConfigMap>> = Arc::new(Source);
    let resource = Resource::core("v1", "ConfigMap", "configmaps", Scope::Namespaced);
    let boxed = source.lister_watcher(&resource, Some("shop"));
    assert!(
        !boxed.supports_watch_list(),
        "closures do not stream unless they say so"
    );
    let mirror = Arc::new(Mirror::default());
    let reflector = Reflector::new(boxed, Arc::clone(&mirror)).named("v1/configmaps");
    let (mut status, stop) = (reflector.status(), CancellationToken::new());
    let task = tokio::spawn(reflector.run(stop.clone()));
    within(
        MINUTE,
        status.wait_for(|status| status.phase == ReflectorPhase::Watching),
    )
    .await
    .unwrap();
    assert_eq!(mirror.objects(), ["a@1"]);
    stop.cancel();
    within(SECOND, task).await.unwrap();
}

#[test]
fn reflector_is_send() {
    fn is_send<T: Send>(_: &T) {}
    let reflector = Reflector::new(Script::new([]), Arc::new(Mirror::default()));
    is_send(&reflector);
    is_send(&reflector.run(CancellationToken::new()));
}
