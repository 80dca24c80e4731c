//! A watch whose response does not begin before its first event: something before the server holds it back.
//! kubernetes/kubernetes 75837, 120282; kubernetes/kubectl 628.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{self, BoxStream, StreamExt as _};
use informer_reflector::{ListEvent, ListRequest, ListWatchError, ListerWatcher, ReflectorConfig};
use informer_store::ResourceVersion;
use informer_wire::{Decoded, ListMeta, ListOptions, Status, WatchEvent};
use k8s_openapi::api::core::v1::ConfigMap;
use parking_lot::Mutex;
use tokio::time::{Instant, sleep_until};

use crate::support::*;

/// A server at version 100 on whose kind little happens, behind a proxy that sends nothing before there is an event.
#[derive(Clone)]
struct HeldBack(Arc<Shared>);

struct Shared {
    start: Instant,
    /// How long after its request a watch has its first bookmark; the next follow a minute apart.
    bookmark: Option<Duration>,
    /// When objects change, since the start; each change is one version.
    changes: Vec<Duration>,
    streams: bool,
    requests: Mutex<Vec<(Duration, String)>>,
}

type Event = Result<WatchEvent<ConfigMap>, ListWatchError>;

impl HeldBack {
    fn new(bookmark: Option<u64>, changes: &[u64], streams: bool) -> Self {
        let seconds = |seconds: &u64| Duration::from_secs(*seconds);
        Self(Arc::new(Shared {
            start: Instant::now(),
            bookmark: bookmark.as_ref().map(seconds),
            changes: changes.iter().map(seconds).collect(),
            streams,
            requests: Mutex::default(),
        }))
    }

    fn log(&self, what: &str, options: &ListOptions) -> Duration {
        let at = self.0.start.elapsed();
        let version = options.resource_version.as_ref();
        let version = version.map(ToString::to_string).unwrap_or_default();
        self.0
            .requests
            .lock()
            .push((at, format!("{what}@{version}")));
        at
    }

    fn version(&self, at: Duration) -> u64 {
        100 + self
            .0
            .changes
            .iter()
            .filter(|change| **change <= at)
            .count() as u64
    }

    /// The events of a watch from this version on, with their times.
    fn events(&self, requested: Duration, from: u64) -> Vec<(Duration, Event)> {
        let mut events = Vec::new();
        for (version, at) in (101..).zip(&self.0.changes) {
            if version > from {
                let object = Decoded::Object(object("a", version));
                events.push((*at, Ok(WatchEvent::Modified(object))));
            }
        }
        let first = self.0.bookmark.map(|after| requested + after);
        let bookmarks = std::iter::successors(first, |at| Some(*at + MINUTE));
        for at in bookmarks.take_while(|at| *at < requested + 10 * MINUTE) {
            let resource_version = self.version(at).into();
            let initial_events_end = false;
            events.push((
                at,
                Ok(WatchEvent::Bookmark {
                    resource_version,
                    initial_events_end,
                }),
            ));
        }
        events.sort_by_key(|(at, _)| *at);
        events
    }
}

impl ListerWatcher for HeldBack {
    type Object = ConfigMap;
    type List = BoxStream<'static, Result<ListEvent<ConfigMap>, ListWatchError>>;
    type Watch = BoxStream<'static, Event>;

    async fn list(&self, request: ListRequest<ConfigMap>) -> Result<Self::List, ListWatchError> {
        let at = self.log("list", &request.options);
        let version = self.version(at);
        let item = ListEvent::Item(Decoded::Object(object("a", version)));
        let end = ListEvent::End(ListMeta::at(version.into()));
        Ok(stream::iter([Ok(item), Ok(end)]).boxed())
    }

    async fn watch(&self, options: ListOptions) -> Result<Self::Watch, ListWatchError> {
        let initial = options.send_initial_events == Some(true);
        let requested = self.log(if initial { "stream" } else { "watch" }, &options);
        let version = self.version(requested);
        let from = options.resource_version.as_ref();
        let from = from.and_then(ResourceVersion::as_u64).unwrap_or(version);
        let mut events = self.events(requested, from);
        if from + 3 < version {
            // Compaction moves on.
            let status = Status::failure(410, "Expired", "too old");
            return Err(ListWatchError::status_error(status));
        }
        if initial {
            let added = WatchEvent::Added(Decoded::Object(object("a", version)));
            let end = WatchEvent::Bookmark {
                resource_version: version.into(),
                initial_events_end: true,
            };
            events.splice(..0, [(requested, Ok(added)), (requested, Ok(end))]);
        }
        let timeout = requested + options.timeout.expect("a timeout");
        events.retain(|(at, _)| *at < timeout);
        let start = self.0.start;
        // The response begins with the first event, or at the end.
        let first = events.first().map_or(timeout, |(at, _)| *at);
        sleep_until(start + first).await;
        let events = stream::iter(events).then(move |(at, event)| async move {
            sleep_until(start + at).await;
            event
        });
        let end = stream::once(sleep_until(start + timeout)).filter_map(|()| async { None });
        Ok(events.chain(end).boxed())
    }

    fn supports_watch_list(&self) -> bool {
        self.0.streams
    }
}

/// The requests, the reports, and when each version reached the sink, of a quarter of an hour.
async fn run(server: &HeldBack) -> (Vec<(Duration, String)>, Vec<String>, Vec<Duration>) {
    let mirror = Arc::new(Mirror::default());
    let reports = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&reports);
    let reflector = informer_reflector::Reflector::new(server.clone(), Arc::clone(&mirror))
        .config(ReflectorConfig::default().seed(5))
        .expect("it has no selector")
        .watch_error_handler(move |report: &informer_reflector::Report| {
            log.lock().push(report.to_string());
        });
    let stop = tokio_util::sync::CancellationToken::new();
    let _task = tokio::spawn(reflector.run(stop.clone()));
    let mut reached = vec![Duration::MAX; server.0.changes.len()];
    while server.0.start.elapsed() < 15 * MINUTE {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let now = server.0.start.elapsed();
        let version = mirror.get("a").and_then(|a| {
            let version = informer_store::Object::resource_version(&*a);
            version.as_ref().and_then(ResourceVersion::as_u64)
        });
        for (expected, at) in (101..).zip(&mut reached) {
            if version >= Some(expected) {
                *at = (*at).min(now);
            }
        }
    }
    stop.cancel();
    (
        server.0.requests.lock().clone(),
        reports.lock().clone(),
        reached,
    )
}

/// INV-REFL-4, INV-REFL-7
#[tokio::test(start_paused = true)]
async fn bookmark_of_a_minute_keeps_a_held_back_watch_open() {
    for bookmark in [50, 60] {
        for streams in [false, true] {
            let server = HeldBack::new(Some(bookmark), &[90, 400, 401, 402, 403, 404], streams);
            let (requests, reports, reached) = run(&server).await;
            assert_eq!(reports, [""; 0]);
            let lists = requests
                .iter()
                .filter(|(_, what)| !what.starts_with("watch"));
            assert_eq!(lists.count(), 1, "{requests:?}");
            // One long watch follows the other, every five to ten minutes.
            assert!(requests.len() <= 4, "{requests:?}");
            for (changed, reached) in server.0.changes.iter().zip(reached) {
                assert!(reached - *changed < SECOND, "{reached:?} for {changed:?}");
            }
        }
    }
}

/// Without bookmarks the watch is opened again and again; no change is lost or late, and the reports say why.
#[tokio::test(start_paused = true)]
async fn held_back_watch_without_bookmarks_loses_nothing_and_is_reported() {
    for streams in [false, true] {
        let server = HeldBack::new(None, &[90, 400, 401, 402, 403, 404], streams);
        let (requests, reports, reached) = run(&server).await;
        let lists = requests
            .iter()
            .filter(|(_, what)| !what.starts_with("watch"));
        assert!(lists.count() <= 2, "{requests:?}");
        assert!(requests.len() <= 16, "{requests:?}");
        assert!(
            reports
                .iter()
                .all(|report| report.contains("timed out: no")),
            "{reports:?}"
        );
        assert!(!reports.is_empty());
        for (changed, reached) in server.0.changes.iter().zip(reached) {
            assert!(reached - *changed < SECOND, "{reached:?} for {changed:?}");
        }
    }
}
