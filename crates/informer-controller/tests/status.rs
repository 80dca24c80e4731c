//! What a controller shows of itself: its status and its log.

mod support;

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use informer_client::Error;
use informer_controller::{
    Action, Controller, ControllerError, ControllerPhase, EventSource, ReconcileError,
    ReconcileRequest,
};
use informer_shared::EndReason;
use informer_wire::Status;
use informer_workqueue::{Metrics, WorkQueue, WorkQueueConfig};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use parking_lot::Mutex;
use support::{LIMIT, Running, controller, informer, key, map, server, until};
use tokio::time::{Instant, sleep};

/// The log of the thread of a test.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn count(&self, part: &str) -> usize {
        self.0
            .lock()
            .iter()
            .filter(|line| line.contains(part))
            .count()
    }
}

struct Text(String);

impl tracing::field::Visit for Text {
    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
        let _ = write!(self.0, "{field}={value:?} ");
    }
}

impl tracing::Subscriber for Log {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target().starts_with("informer_controller")
    }
    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }
    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        let mut text = Text(format!("{} ", event.metadata().level()));
        event.record(&mut text);
        self.0.lock().push(text.0);
    }
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

// INV-CONTROL-11
#[tokio::test]
async fn status_shows_sources_workers_and_why_a_source_ended() {
    let (server, client) = server().await;
    for name in ["a", "b", "c"] {
        server.create("configmaps", map(name)).expect("new");
    }
    let (maps, pods) = (informer::<ConfigMap>(&client), informer::<Pod>(&client));
    let controller = controller()
        .workers(3)
        .watch(EventSource::objects(&maps))
        .and_then(|controller| controller.watch(EventSource::owned_by(&pods, "", "ConfigMap")))
        .expect("not stopped");
    let status = controller.status();
    let seen = || status.borrow().clone();
    assert_eq!((seen().workers, seen().sources.len()), (0, 2));
    maps.start().expect("a runtime");
    until("one is synced", || seen().sources[0].handler().synced).await;
    assert!(!seen().sources[1].handler().synced, "it does not run");
    pods.start().expect("a runtime");
    let running = Running::start(controller, |_| async { Ok(Action::Done) });
    until("all are reconciled", || seen().reconciles == 3).await;
    let sources = seen().sources;
    assert_eq!(
        (sources[0].queued(), sources[0].handler().delivered),
        (3, 3)
    );
    assert_eq!((sources[1].queued(), seen().workers), (0, 3));
    running.end().await;
    assert_eq!(seen().phase, ControllerPhase::Stopped);
    assert!(matches!(
        sources[0].handler().ended,
        Some(EndReason::Removed)
    ));
    // Whoever keeps the status keeps no handler.
    assert_eq!(maps.status().handlers.len(), 0);
    server.shutdown().await;
}

// INV-CONTROL-11
#[tokio::test(start_paused = true)]
async fn status_shows_failing_keys_and_their_next_try() {
    let controller = controller();
    let (queue, status) = (controller.queue().clone(), controller.status());
    let running = Running::start(controller, |request: ReconcileRequest| async move {
        let failed = std::io::Error::other("as the test wants");
        match (request.name(), request.failures) {
            ("later", 0..2) => {
                let hour = Duration::from_secs(3600);
                Err(ReconcileError::retry_after(failed, hour))
            }
            ("never", _) => Err(ReconcileError::terminal(failed)),
            _ => Ok(Action::Done),
        }
    });
    let began = Instant::now();
    queue.add(key("later"));
    until("it fails", || status.borrow().failing.len() == 1).await;
    queue.add(key("never"));
    until("both fail", || status.borrow().failing.len() == 2).await;
    let failing = status.borrow().failing.clone();
    assert_eq!((&failing[0].key, failing[0].failures), (&key("later"), 1));
    assert_eq!(&*failing[0].error, "as the test wants");
    let wait = failing[0].next_try.expect("it is tried again") - began;
    assert!((3600..3605).contains(&wait.as_secs()), "{wait:?}");
    assert_eq!(
        (&failing[1].key, failing[1].next_try),
        (&key("never"), None)
    );
    sleep(Duration::from_secs(3601)).await;
    until("it fails again", || status.borrow().failures == 3).await;
    assert_eq!(status.borrow().failing[1].failures, 2, "the latest is last");
    sleep(Duration::from_secs(3601)).await;
    until("it succeeds", || status.borrow().failing.len() == 1).await;
    running.end().await;
}

// INV-CONTROL-8: in the grace of a stop, too, and once.
#[tokio::test(start_paused = true)]
async fn reconcile_that_takes_longer_than_a_minute_is_logged_once() {
    let log = Log::default();
    let _log = tracing::subscriber::set_default(log.clone());
    let controller = controller().workers(2).grace(Duration::from_secs(300));
    let (queue, status) = (controller.queue().clone(), controller.status());
    let running = Running::start(controller, |_| std::future::pending());
    queue.add(key("a"));
    until("it runs", || status.borrow().running.len() == 1).await;
    sleep(Duration::from_secs(50)).await;
    assert_eq!(log.count("takes long"), 0);
    sleep(Duration::from_secs(100)).await;
    assert_eq!(log.count("takes long"), 1);
    queue.add(key("b"));
    until("both run", || status.borrow().running.len() == 2).await;
    running.stop.cancel();
    sleep(Duration::from_secs(200)).await;
    assert_eq!(log.count("takes long"), 2, "{:?}", log.0.lock());
    running.end().await;
    assert_eq!(log.count("not ended within the grace period"), 1);
}

// INV-CONTROL-12
#[tokio::test(start_paused = true)]
async fn conflicts_are_warnings_from_the_third_in_a_row_on() {
    let log = Log::default();
    let _log = tracing::subscriber::set_default(log.clone());
    let controller = controller();
    let (queue, status) = (controller.queue().clone(), controller.status());
    let running = Running::start(controller, |request: ReconcileRequest| async move {
        if request.failures < 4 {
            return Err(Error::from_status(Status::failure(409, "Conflict", "changed")).into());
        }
        Ok(Action::Done)
    });
    queue.add(key("a"));
    until("it is done", || status.borrow().reconciles == 5).await;
    assert_eq!(log.count("reconcile met a conflict"), 2);
    assert_eq!(log.count("WARN"), 2, "{:?}", log.0.lock());
    assert_eq!(log.count("failures=3"), 1);
    running.end().await;
}

/// A queue's metrics that panic.
struct Bomb;

impl Metrics for Bomb {
    fn added(&self) {
        panic!("as the test wants");
    }
}

// INV-CONTROL-5: the informer runs, and the handler has ended.
#[tokio::test]
async fn source_that_ends_ends_the_controller() {
    let (server, client) = server().await;
    let maps = informer::<ConfigMap>(&client);
    let queue = WorkQueue::with_config(WorkQueueConfig::new().metrics(Bomb));
    let controller = Controller::with_queue("test", queue)
        .watch(EventSource::objects(&maps))
        .expect("not stopped");
    let status = controller.status();
    maps.start().expect("a runtime");
    let running = Running::start(controller, |_| async { Ok(Action::Done) });
    let phase = || status.borrow().phase;
    until("it reconciles", || phase() == ControllerPhase::Reconciling).await;
    server.create("configmaps", map("a")).expect("new");
    let ended = tokio::time::timeout(LIMIT, running.task).await;
    let ended = ended.expect("it ends").expect("no panic");
    let Err(ControllerError::SourceEnded { source, .. }) = ended else {
        panic!("{ended:?}");
    };
    assert!(matches!(source, EndReason::Failed(_)), "{source:?}");
    assert!(!maps.is_stopped());
    let handler = status.borrow().sources[0].handler();
    assert!(matches!(handler.ended, Some(EndReason::Failed(_))));
    server.shutdown().await;
}
