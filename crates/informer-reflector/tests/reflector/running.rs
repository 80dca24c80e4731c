//! Starting, stopping, status, resync, closures, boxes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::stream;
use informer_reflector::{
    BoxListerWatcher, List, ListWatch, ListWatchError, ListerWatcher, ListerWatcherSource, Phase,
    Reflector,
};
use informer_wire::{ListMeta, ListOptions, Resource, Scope, Status, WatchEvent};
use k8s_openapi::api::core::v1::ConfigMap;
use tokio_util::sync::CancellationToken;

use crate::support::*;

/// RF1
#[tokio::test(start_paused = true)]
async fn one_that_is_stopped_before_it_starts_asks_for_nothing() {
    let script = Script::new([]);
    let reflector = Reflector::new(script.clone(), Arc::new(Mirror::default()));
    let (status, stop) = (reflector.status(), CancellationToken::new());
    stop.cancel();
    reflector.run(stop).await;
    assert!(script.log().is_empty());
    assert_eq!(status.borrow().phase, Phase::Stopped);
}

/// RF3; peers 42; INV-REFL-10
#[tokio::test(start_paused = true)]
async fn it_stops_at_any_moment() {
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
            assert_eq!(run.now().phase, Phase::Stopped);
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
async fn dropping_the_future_stops_it_too() {
    let mut run = Run::new(lists(), vec![list(10, vec![]), watch(vec![])]);
    run.until_version(10).await;
    run.task.abort();
    run.until(|status| status.phase == Phase::Stopped).await;
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_is_always_ready_lets_others_run() {
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
async fn the_status_tells_what_happens() {
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
        .until(|status| status.phase == Phase::Waiting && status.attempts == 2)
        .await;
    assert!(!status.synced && status.retry_at.is_some() && status.lists == 2);
    let error = "the API server refused: no (403 Forbidden)";
    assert_eq!(status.last_error.as_deref(), Some(error));
    run.until(|status| status.phase == Phase::Listing && status.lists == 3)
        .await;
    let status = run.until(|status| status.synced).await;
    assert_eq!(
        (status.attempts, status.resource_version),
        (0, Some(10.into()))
    );
    let status = run.until(|status| status.last_event_at.is_some()).await;
    assert_eq!((status.phase, status.watches), (Phase::Watching, 1));
    assert_eq!(status.resource_version, Some(11.into()));
    assert_eq!(status.last_error.as_deref(), Some(error), "it is kept");
}

/// RF29; INV-REFL-12
#[tokio::test(start_paused = true)]
async fn resync_comes_on_its_own_timer_and_only_if_wanted() {
    let wanted = Arc::new(AtomicBool::new(true));
    let ask = Arc::clone(&wanted);
    let mut answers = vec![list(10, vec![])];
    // Watches shorter than the period.
    answers.extend(
        (11..40).map(|version| short_watch(vec![added("a", version), Beat::Pause(20 * SECOND)])),
    );
    let run = Run::with(lists().resync_period(MINUTE), answers, |reflector| {
        reflector.should_resync(move || ask.load(Ordering::Relaxed))
    });
    let resyncs = || {
        run.mirror
            .log()
            .iter()
            .filter(|line| *line == "resync")
            .count()
    };
    run.pass(5 * MINUTE + SECOND).await;
    assert_eq!(resyncs(), 5);
    wanted.store(false, Ordering::Relaxed);
    run.pass(3 * MINUTE).await;
    assert_eq!(resyncs(), 5);
    assert_eq!(run.now().lists, 1);
}

#[tokio::test(start_paused = true)]
async fn modifiers_come_last_and_on_every_request() {
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
    run.until(|status| status.phase == Phase::Watching).await;
    for request in run.script.requests() {
        assert_eq!(
            request.options.label_selector.as_deref(),
            Some("second=2,third=3")
        );
    }
}

type NoEvents = stream::Pending<Result<WatchEvent<ConfigMap>, ListWatchError>>;

/// Two closures: one returns a whole list, the other a stream.
fn closures() -> impl ListerWatcher<Object = ConfigMap> {
    let list = |options: ListOptions| async move {
        if options.label_selector.as_deref() != Some("part=yes") {
            return Err(Status::failure(400, "BadRequest", "no selector"));
        }
        Ok(List::new(vec![object("a", 1)], ListMeta::at(10.into())))
    };
    let watch = |_: ListOptions| async { Ok::<NoEvents, Status>(stream::pending()) };
    ListWatch::new(list, watch)
        .with_options_modifier(|options| options.label_selector = Some("part=yes".into()))
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
        status.wait_for(|status| status.phase == Phase::Watching),
    )
    .await
    .unwrap();
    assert_eq!(mirror.objects(), ["a@1"]);
    stop.cancel();
    within(SECOND, task).await.unwrap();
}

#[test]
fn a_reflector_can_move_between_threads() {
    fn is_send<T: Send>(_: &T) {}
    let reflector = Reflector::new(Script::new([]), Arc::new(Mirror::default()));
    is_send(&reflector);
    is_send(&reflector.run(CancellationToken::new()));
}
