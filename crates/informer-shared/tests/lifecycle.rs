//! Starting and stopping: at any moment, in any order, and nothing is left behind.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use informer_shared::{
    EndReason, Event, HandlerFns, OnStop, QueuePolicy, Registration, RunError, SharedInformer,
    WaitError,
};
use k8s_openapi::api::core::v1::ConfigMap;
use parking_lot::Mutex;
use support::{Cluster, SECONDS, Seen, informer, settle, soon, started, until};
use tokio_util::sync::CancellationToken;

/// Says when it is dropped.
struct Dropped(Arc<AtomicBool>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// A handler that never returns from its first call, and a flag that says when it is gone.
fn stuck(informer: &SharedInformer<ConfigMap>) -> (Registration, Arc<AtomicBool>) {
    let gone = Arc::new(AtomicBool::new(false));
    let guard = Dropped(Arc::clone(&gone));
    let handler = move |_: Event<ConfigMap>| {
        let _ = &guard;
        std::future::pending::<()>()
    };
    (
        informer.add_handler(handler).expect("it has not stopped"),
        gone,
    )
}

// INV-SHARED-12, SI15, SI16
#[tokio::test(start_paused = true)]
async fn informer_runs_once() {
    let cluster = Cluster::with(1);
    let informer = informer(&cluster);
    assert!(!informer.is_started() && !informer.is_stopped() && !informer.has_synced());
    started(&informer).await;
    assert!(informer.is_started() && !informer.is_stopped());
    assert!(matches!(informer.start(), Err(RunError::AlreadyStarted)));
    let run = soon(informer.run(CancellationToken::new())).await;
    assert!(matches!(run, Err(RunError::AlreadyStarted)));
    let kept = informer.add_handler(Seen::new()).unwrap();
    soon(kept.synced()).await.unwrap();
    soon(informer.stop()).await.unwrap();
    soon(informer.stop()).await.unwrap();
    assert!(informer.is_started() && informer.is_stopped() && informer.has_synced());
    let refused = informer.add_handler(Seen::new()).unwrap_err();
    assert!(refused.to_string().contains("make a new one"));
    assert!(informer.events().is_err());
    assert!(kept.has_synced());
    soon(kept.remove()).await.unwrap();
    assert!(soon(informer.synced()).await.is_ok(), "synced stays true");
    assert!(matches!(informer.start(), Err(RunError::AlreadyStarted)));
}

#[test]
fn start_outside_of_a_runtime_is_refused_and_works_within_one() {
    let cluster = Cluster::with(1);
    let informer = informer(&cluster);
    let _kept = informer.add_handler(Seen::new()).unwrap();
    assert!(matches!(informer.start(), Err(RunError::NoRuntime)));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(started(&informer));
}

// INV-SHARED-12
#[tokio::test(start_paused = true)]
async fn informer_that_never_ran_can_be_stopped_and_dropped() {
    let informer = informer(&Cluster::new());
    let (registration, gone) = stuck(&informer);
    let waiting = tokio::spawn(registration.synced().into_future());
    soon(informer.stop()).await.unwrap();
    assert!(matches!(informer.start(), Err(RunError::Stopped)));
    assert!(matches!(
        soon(waiting).await.unwrap(),
        Err(WaitError::HandlerEnded { .. })
    ));
    assert!(gone.load(Ordering::SeqCst));
    assert!(matches!(
        soon(informer.synced()).await,
        Err(WaitError::Stopped { .. })
    ));

    let informer = support::informer(&Cluster::new());
    let (registration, gone) = stuck(&informer);
    let mut stream = informer.events().unwrap();
    let waiting = tokio::spawn(informer.synced().into_future());
    drop(informer);
    assert!(gone.load(Ordering::SeqCst));
    assert!(soon(stream.next()).await.is_none());
    assert!(matches!(
        soon(registration.ended()).await,
        Ok(EndReason::InformerStopped)
    ));
    assert!(matches!(
        soon(waiting).await.unwrap(),
        Err(WaitError::Stopped { .. })
    ));
}

// INV-SHARED-12, SI19: whatever it is doing.
#[tokio::test(start_paused = true)]
async fn informer_stops_within_a_second_at_any_moment() {
    let failing = Cluster::new();
    failing.fail_lists(Some(500));
    let hanging = Cluster::with(1);
    hanging.hang();
    for (cluster, syncs) in [(failing, false), (hanging, false), (Cluster::with(3), true)] {
        for wait in [0, 1, 700, 5000] {
            let informer = informer(&cluster);
            let (_stuck, gone) = stuck(&informer);
            let mut stream = informer.events().unwrap();
            informer.start().unwrap();
            tokio::time::sleep(Duration::from_millis(wait)).await;
            if syncs && wait > 0 {
                assert!(informer.has_synced());
            }
            let stop = tokio::time::timeout(SECONDS, informer.stop());
            stop.await.expect("stops within a second").unwrap();
            assert!(gone.load(Ordering::SeqCst), "the handler is gone");
            assert_eq!(cluster.open_watches(), 0, "the watch is closed");
            assert!(soon(stream.next()).await.is_none());
        }
    }
}

// INV-SHARED-12
#[tokio::test(start_paused = true)]
async fn run_ends_by_its_token_by_stop_and_by_being_dropped() {
    let cluster = Cluster::with(1);
    let by_token = informer(&cluster);
    let token = CancellationToken::new();
    let run = by_token.run(token.clone());
    let cancel = async {
        soon(by_token.synced()).await.unwrap();
        token.cancel();
    };
    tokio::join!(run, cancel).0.unwrap();
    assert!(by_token.is_stopped());

    let by_stop = informer(&cluster);
    let stop = async {
        soon(by_stop.synced()).await.unwrap();
        soon(by_stop.stop()).await.unwrap();
    };
    tokio::join!(by_stop.run(CancellationToken::new()), stop)
        .0
        .unwrap();

    let by_drop = informer(&cluster);
    let (_stuck, gone) = stuck(&by_drop);
    tokio::select! {
        _ = by_drop.run(CancellationToken::new()) => panic!("it ended by itself"),
        () = async { soon(by_drop.synced()).await.unwrap(); settle().await } => {}
    }
    assert!(by_drop.is_stopped());
    until("the handler to be gone", || gone.load(Ordering::SeqCst)).await;
    until("the watch to be closed", || cluster.open_watches() == 0).await;
}

// INV-SHARED-12
#[tokio::test]
async fn dropping_the_last_handle_ends_everything() {
    let cluster = Cluster::with(1);
    let informer = informer(&cluster);
    let (registration, gone) = stuck(&informer);
    let thread_gone = Arc::new(AtomicBool::new(false));
    let guard = Dropped(Arc::clone(&thread_gone));
    let on_thread = informer
        .add_blocking_handler(move |_: Event<ConfigMap>| {
            let _ = &guard;
        })
        .unwrap();
    started(&informer).await;
    let store = informer.store().clone();
    let other_handle = informer.clone();
    drop(informer);
    soon(on_thread.synced()).await.unwrap();
    assert_eq!(cluster.open_watches(), 1);
    drop(other_handle);
    assert!(matches!(
        soon(registration.ended()).await,
        Ok(EndReason::InformerStopped)
    ));
    assert!(matches!(
        soon(on_thread.ended()).await,
        Ok(EndReason::InformerStopped)
    ));
    until("everything gone", || {
        let gone = gone.load(Ordering::SeqCst) && thread_gone.load(Ordering::SeqCst);
        gone && cluster.open_watches() == 0
    })
    .await;
    assert_eq!(store.len(), 1);
}

// INV-SHARED-12: a thread cannot be ended from outside; it does not hold up the stop.
#[tokio::test]
async fn blocking_handler_that_does_not_return_is_abandoned() {
    let informer = informer(&Cluster::with(1));
    let (release, released) = std::sync::mpsc::channel::<()>();
    let registration = informer
        .add_blocking_handler(move |_: Event<ConfigMap>| {
            let _ = released.recv();
        })
        .unwrap();
    started(&informer).await;
    until("the call", || registration.status().queue_depth == 0).await;
    tokio::time::timeout(30 * SECONDS, informer.stop())
        .await
        .unwrap()
        .unwrap();
    assert!(!registration.status().synced);
    drop(release);
    soon(registration.ended()).await.unwrap();
}

// INV-SHARED-12: nor does one that was removed while its call ran.
#[tokio::test]
async fn removed_blocking_handler_that_does_not_return_delays_no_stop() {
    let informer = informer(&Cluster::with(1));
    let (release, released) = std::sync::mpsc::channel::<()>();
    let (entered, calls) = std::sync::mpsc::channel::<()>();
    let registration = informer
        .add_blocking_handler(move |_: Event<ConfigMap>| {
            let _ = entered.send(());
            let _ = released.recv_timeout(60 * SECONDS);
        })
        .unwrap();
    started(&informer).await;
    until("the call", || calls.try_recv().is_ok()).await;
    drop(registration.scoped());
    let stop = tokio::time::timeout(30 * SECONDS, informer.stop());
    stop.await.unwrap().unwrap();
    // Its call still runs, or this would fail.
    release.send(()).unwrap();
}

// INV-SHARED-12: a task that blocks its thread cannot be ended from outside either.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn async_handler_that_blocks_delays_no_stop() {
    let informer = informer(&Cluster::with(1));
    let (release, released) = std::sync::mpsc::channel::<()>();
    let (entered, calls) = std::sync::mpsc::channel::<()>();
    let released = Mutex::new(released);
    let handler = HandlerFns::new().on_added(move |_, _| {
        let _ = entered.send(());
        let _ = released.lock().recv_timeout(60 * SECONDS);
    });
    let _kept = informer.add_handler(handler).unwrap();
    started(&informer).await;
    until("the call", || calls.try_recv().is_ok()).await;
    let stop = tokio::time::timeout(30 * SECONDS, informer.stop());
    stop.await.unwrap().unwrap();
    // Its call still runs, or this would fail.
    release.send(()).unwrap();
}

// INV-SHARED-12
#[test]
fn runtime_that_ends_before_the_informer_ran_ends_all_waits() {
    let runtime = || {
        tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap()
    };
    let informer = informer(&Cluster::with(1));
    let first = runtime();
    first.block_on(async { informer.start() }).unwrap();
    drop(first);
    runtime().block_on(async {
        soon(informer.stopped()).await.unwrap();
        assert!(matches!(
            soon(informer.synced()).await,
            Err(WaitError::Stopped { .. })
        ));
    });
}

// IW1: an informer that is read as a watch, client-go's `NewIndexerInformerWatcher`.
#[tokio::test(start_paused = true)]
async fn stream_is_a_watch_that_starts_from_all_objects() {
    for on_stop in [OnStop::Drop, OnStop::Drain { timeout: SECONDS }] {
        let cluster = Cluster::with(1);
        let informer = SharedInformer::builder(cluster.clone())
            .on_stop(on_stop)
            .build()
            .unwrap();
        let mut stream = informer.events().unwrap();
        started(&informer).await;
        cluster.bookmark();
        cluster.put("1", "first");
        until("the addition", || informer.store().len() == 2).await;
        let seen = [soon(stream.next()).await, soon(stream.next()).await];
        let seen = seen.map(|event| support::line(&event.unwrap()));
        assert_eq!(seen, ["+0=first initial", "+1=first"], "and no bookmark");

        // A deletion that only a list shows.
        cluster.while_away(|cluster| {
            cluster.delete("0");
        });
        let gone = soon(stream.next()).await.unwrap();
        assert_eq!(support::line(&gone), "-0 unknown");

        // A stream that is not polled delays no stop.
        cluster.put("2", "first");
        until("the next", || informer.store().len() == 2).await;
        soon(informer.stop()).await.unwrap();
        let left: Vec<_> = soon(stream.collect::<Vec<_>>()).await;
        let left: Vec<_> = left.iter().map(support::line).collect();
        let expected: &[&str] = if on_stop == OnStop::Drop {
            &[]
        } else {
            &["+2=first"]
        };
        assert_eq!(left, expected);
    }
}

// INV-SHARED-12
#[tokio::test(start_paused = true)]
async fn stop_drains_handlers_if_asked_for() {
    for drains in [true, false] {
        let cluster = Cluster::with(5);
        let on_stop = if drains {
            OnStop::Drain {
                timeout: 60 * SECONDS,
            }
        } else {
            OnStop::Drop
        };
        let informer = SharedInformer::builder(cluster.clone())
            .on_stop(on_stop)
            .build()
            .unwrap();
        let seen = Seen::new();
        let slow = seen.clone();
        let _kept = informer
            .add_handler(move |event: Event<ConfigMap>| {
                let slow = slow.clone();
                async move {
                    tokio::time::sleep(SECONDS).await;
                    slow.note(&event);
                }
            })
            .unwrap();
        let mut stream = informer
            .handler()
            .queue(QueuePolicy::Unbounded)
            .stream()
            .unwrap();
        started(&informer).await;
        cluster.put("5", "x");
        tokio::time::sleep(SECONDS / 2).await;
        soon(informer.stop()).await.unwrap();
        assert_eq!(
            seen.lines().len(),
            if drains { 6 } else { 1 },
            "drains: {drains}"
        );
        let mut streamed = 0;
        while soon(stream.next()).await.is_some() {
            streamed += 1;
        }
        assert_eq!(streamed, if drains { 6 } else { 0 });
    }
}

// SI5, SI8, peers 62, 64: before, during and after the start and the stop.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn adding_and_removing_races_with_start_and_stop() {
    for round in 0..40_u64 {
        let cluster = Cluster::with(5);
        let informer = informer(&cluster);
        let tasks: Vec<_> = (0..8)
            .map(|n| {
                let informer = informer.clone();
                tokio::spawn(async move {
                    let mut stopped = false;
                    for i in 0..50 {
                        let added = match (n + i) % 3 {
                            0 => informer.add_handler(Seen::new()),
                            1 => informer.add_blocking_handler(Seen::new()),
                            _ => informer
                                .handler()
                                .resync_period(SECONDS)
                                .register(Seen::new()),
                        };
                        assert!(!(stopped && added.is_ok()), "added after the stop");
                        match added {
                            Ok(registration) if i % 2 == 0 => {
                                soon(registration.remove()).await.unwrap();
                            }
                            Ok(registration) => drop(registration.scoped()),
                            Err(_) => stopped = true,
                        }
                        tokio::task::yield_now().await;
                    }
                })
            })
            .collect();
        informer.start().unwrap();
        tokio::time::sleep(Duration::from_millis(round % 7)).await;
        tokio::time::timeout(30 * SECONDS, informer.stop())
            .await
            .unwrap()
            .unwrap();
        for task in tasks {
            tokio::time::timeout(30 * SECONDS, task)
                .await
                .unwrap()
                .unwrap();
        }
        assert!(informer.status().handlers.is_empty());
    }
}

// peers 64
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn added_and_removed_handlers_leave_no_task_behind() {
    let informer = informer(&Cluster::with(1));
    started(&informer).await;
    let metrics = tokio::runtime::Handle::current().metrics();
    let before = metrics.num_alive_tasks();
    let began = Instant::now();
    for n in 0..5000 {
        let registration = informer.add_handler(Seen::new()).unwrap();
        if n % 3 == 0 {
            tokio::task::yield_now().await;
        }
        if n % 100 == 0 && began.elapsed() < 20 * SECONDS {
            soon(registration.remove()).await.unwrap();
        } else {
            drop(registration.scoped());
        }
    }
    until("no task left", || metrics.num_alive_tasks() <= before).await;
    assert!(informer.status().handlers.is_empty());
}
