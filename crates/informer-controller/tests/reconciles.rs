//! Reconciles that never wait, hang, panic or fail again and again, and what is seen of them.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use informer_client::Error;
use informer_controller::{Action, Controller, ControllerPhase, ReconcileError, ReconcileRequest};
use informer_wire::{Status, StatusCause, StatusDetails};
use support::{Running, controller, key, until};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

/// How often one key is reconciled in a second, and whether a stop still gets through.
fn runs(runtime: tokio::runtime::Runtime, action: Action) -> (u32, bool) {
    let (runs, (done, ended)) = (Arc::new(AtomicU32::new(0)), std::sync::mpsc::channel());
    let count = Arc::clone(&runs);
    std::thread::spawn(move || {
        runtime.block_on(async move {
            let controller = Controller::new("test");
            controller.queue().add(key("a"));
            let stop = CancellationToken::new();
            let reconcile = move |_: ReconcileRequest| {
                count.fetch_add(1, Ordering::SeqCst);
                async move { Ok::<_, ReconcileError>(action) }
            };
            let timer = stop.clone();
            tokio::spawn(async move {
                sleep(Duration::from_secs(1)).await;
                timer.cancel();
            });
            controller.run(&stop, reconcile).await.expect("stopped");
            let _ = done.send(());
        });
    });
    let ended = ended.recv_timeout(Duration::from_secs(10)).is_ok();
    (runs.load(Ordering::SeqCst), ended)
}

// INV-CONTROL-7
#[test]
fn requeue_without_delay_does_not_spin() {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let one = builder.enable_all().build().expect("a runtime");
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let two = builder
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    for (threads, runtime) in [(1, one), (2, two)] {
        let (runs, is_stopped) = runs(runtime, Action::RequeueAfter(Duration::ZERO));
        assert!(
            is_stopped && (2..=11).contains(&runs),
            "{runs} runs with {threads} threads"
        );
    }
}

// INV-CONTROL-7: a queue that is never empty.
#[tokio::test]
async fn workers_that_never_wait_let_others_run() {
    let controller = controller();
    let queue = controller.queue().clone();
    queue.add(key("a"));
    let running = Running::start(controller, move |request: ReconcileRequest| {
        let name = if request.name() == "a" { "b" } else { "a" };
        queue.add(key(name));
        async { Ok(Action::Done) }
    });
    // On the one thread of this test.
    sleep(Duration::from_millis(20)).await;
    running.end().await;
}

// INV-CONTROL-8
#[tokio::test(start_paused = true)]
async fn reconcile_beyond_its_timeout_is_dropped_and_retried() {
    let controller = controller().reconcile_timeout(Duration::from_secs(5));
    let (queue, status) = (controller.queue().clone(), controller.status());
    queue.add(key("a"));
    let began = Instant::now();
    let running = Running::start(controller, |request: ReconcileRequest| async move {
        if request.failures == 0 {
            std::future::pending::<()>().await;
        }
        Ok(Action::Done)
    });
    until("it is done", || status.borrow().reconciles == 2).await;
    assert!(began.elapsed() < Duration::from_secs(6));
    let seen = status.borrow().clone();
    assert_eq!((seen.failures, seen.running.len()), (1, 0));
    assert_eq!(
        seen.last_error.as_deref(),
        Some("shop/a: took longer than 5s")
    );
    running.end().await;
}

// INV-CONTROL-8
#[tokio::test(start_paused = true)]
async fn status_shows_what_runs_and_since_when() {
    let controller = controller().workers(2).grace(Duration::ZERO);
    let (queue, status) = (controller.queue().clone(), controller.status());
    assert_eq!(status.borrow().phase, ControllerPhase::Waiting);
    let running = Running::start(controller, |request: ReconcileRequest| async move {
        match request.name() {
            "hangs" => std::future::pending().await,
            "panics" if request.failures == 0 => panic!("as the test wants"),
            _ => Ok(Action::Done),
        }
    });
    queue.add(key("hangs"));
    until("it hangs", || status.borrow().running.len() == 1).await;
    sleep(Duration::from_secs(100)).await;
    queue.add(key("panics"));
    until("the other is done", || status.borrow().reconciles == 2).await;
    let seen = status.borrow().clone();
    assert_eq!(seen.phase, ControllerPhase::Reconciling);
    assert_eq!(
        (seen.running.len(), &seen.running[0].key),
        (1, &key("hangs"))
    );
    assert!(seen.running[0].since.elapsed() >= Duration::from_secs(100));
    assert_eq!(
        seen.last_error.as_deref(),
        Some("shop/panics: panicked: as the test wants")
    );
    running.end().await;
    let seen = status.borrow().clone();
    assert_eq!(
        (seen.phase, seen.running.len()),
        (ControllerPhase::Stopped, 0)
    );
}

// INV-CONTROL-3: it does not heal by reading again.
#[test]
fn conflict_of_an_apply_is_an_error_like_any_other() {
    let conflict = || Status::failure(409, "Conflict", "conflict with \"kubectl\": .spec.replicas");
    let plain: ReconcileError = Error::from_status(conflict()).into();
    assert!(plain.is_conflict());
    let mut details = StatusDetails::default();
    details.causes.push(StatusCause::new(
        "FieldManagerConflict",
        "conflict with \"kubectl\"",
    ));
    let owned = Error::from_status(conflict().with_details(details));
    assert!(owned.is_apply_conflict() && !owned.is_conflict());
    let owned: ReconcileError = owned.into();
    assert!(!owned.is_conflict());
}

// INV-CONTROL-3: what a newer reconcile decides holds.
#[tokio::test(start_paused = true)]
async fn older_delay_does_not_revive_a_key() {
    let controller = controller();
    let (queue, status) = (controller.queue().clone(), controller.status());
    queue.add(key("a"));
    let times = Arc::new(AtomicU32::new(0));
    let running = Running::start(controller, {
        let times = Arc::clone(&times);
        move |_: ReconcileRequest| {
            let time = times.fetch_add(1, Ordering::SeqCst);
            async move {
                match time {
                    0 => Ok(Action::RequeueAfter(Duration::from_secs(2))),
                    _ => Err(ReconcileError::terminal(std::io::Error::other(
                        "broken spec",
                    ))),
                }
            }
        }
    });
    until("the first", || status.borrow().reconciles == 1).await;
    queue.add(key("a"));
    until("the second", || status.borrow().reconciles == 2).await;
    sleep(Duration::from_secs(60)).await;
    assert_eq!(times.load(Ordering::SeqCst), 2);
    running.end().await;
}
