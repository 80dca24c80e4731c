//! Handlers that fail: what follows for them, and that no other is affected.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::StreamExt;
use informer_shared::{
    EndReason, Event, FailurePolicy, HandlerError, QueuePolicy, Registration, RunError,
    SharedInformer, WaitError,
};
use k8s_openapi::api::core::v1::ConfigMap;
use support::{Cluster, SECONDS, Seen, informer, settle, soon, started, until};

/// A handler that fails at its third event, in one way or the other.
fn failing(
    informer: &SharedInformer<ConfigMap>,
    panics: bool,
    policy: FailurePolicy,
    blocking: bool,
) -> (Registration, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&calls);
    let handle = move |_: Event<ConfigMap>| {
        let call = count.fetch_add(1, Ordering::Relaxed) + 1;
        match (call, panics) {
            (3, true) => panic!("at the third"),
            (3, false) => Err("at the third"),
            _ => Ok(()),
        }
    };
    let builder = informer.handler().on_panic(policy).on_error(policy);
    let registration = if blocking {
        builder.register_blocking(handle)
    } else {
        builder.register(move |event| std::future::ready(handle(event)))
    };
    (registration.expect("the informer has not stopped"), calls)
}

fn reason(end: &EndReason) -> String {
    match end {
        EndReason::Failed(HandlerError::Panicked { message }) => format!("panic {message}"),
        EndReason::Failed(HandlerError::Failed { source }) => format!("error {source}"),
        other => other.to_string(),
    }
}

// INV-SHARED-10, peers 58, SI20
#[tokio::test]
async fn skipped_failure_counts_as_handled() {
    for (panics, blocking) in [(true, false), (false, false), (true, true), (false, true)] {
        let informer = informer(&Cluster::with(10));
        let (failing, calls) = failing(&informer, panics, FailurePolicy::Skip, blocking);
        let other = Seen::new();
        let other_registration = informer.add_handler(other.clone()).unwrap();
        started(&informer).await;
        failing.synced().deadline(10 * SECONDS).await.unwrap();
        other_registration
            .synced()
            .deadline(10 * SECONDS)
            .await
            .unwrap();
        let status = failing.status();
        assert_eq!(calls.load(Ordering::Relaxed), 10);
        assert_eq!(
            (status.panics, status.errors),
            (u64::from(panics), u64::from(!panics))
        );
        assert!(status.ended.is_none() && status.last_error.is_some());
        assert_eq!(other.lines().len(), 10);
        soon(informer.stop()).await.unwrap();
    }
}

// INV-SHARED-10, peers 58
#[tokio::test]
async fn failure_stops_its_handler_alone() {
    for (panics, blocking) in [(true, false), (false, false), (true, true), (false, true)] {
        let cluster = Cluster::with(10);
        let informer = informer(&cluster);
        let (failing, calls) = failing(&informer, panics, FailurePolicy::StopHandler, blocking);
        let other = Seen::new();
        let other_registration = informer.add_handler(other.clone()).unwrap();
        started(&informer).await;
        other_registration
            .synced()
            .deadline(10 * SECONDS)
            .await
            .unwrap();
        let error = failing.synced().deadline(10 * SECONDS).await.unwrap_err();
        let WaitError::HandlerEnded { source, .. } = error else {
            panic!("{error}")
        };
        let expected = if panics {
            "panic at the third"
        } else {
            "error at the third"
        };
        assert_eq!(reason(&source), expected);
        assert_eq!(reason(&soon(failing.ended()).await.unwrap()), expected);
        cluster.put("10", "x");
        until("the other", || other.lines().len() == 11).await;
        assert_eq!(calls.load(Ordering::Relaxed), 3);
        assert!(!informer.is_stopped());
        soon(informer.stop()).await.unwrap();
    }
}

// INV-SHARED-10, CT3
#[tokio::test]
async fn failure_stops_the_informer_with_that_error() {
    for (panics, blocking) in [(true, false), (false, true)] {
        let informer = informer(&Cluster::with(10));
        let (failing, _) = failing(&informer, panics, FailurePolicy::StopInformer, blocking);
        let other = informer.add_handler(Seen::new()).unwrap();
        let run = informer.run(tokio_util::sync::CancellationToken::new());
        let error = tokio::time::timeout(30 * SECONDS, run)
            .await
            .unwrap()
            .unwrap_err();
        let RunError::Handler { handler, source } = &error else {
            panic!("{error}")
        };
        assert_eq!(**handler, *failing.status().name);
        assert_eq!(matches!(source, HandlerError::Panicked { .. }), panics);
        assert!(informer.is_stopped());
        assert!(matches!(
            soon(other.ended()).await,
            Ok(EndReason::InformerStopped)
        ));
        assert!(matches!(
            soon(informer.stopped()).await,
            Err(RunError::Handler { .. })
        ));
        assert!(informer.add_handler(Seen::new()).is_err());
    }
}

// INV-SHARED-10: the defaults.
#[tokio::test(start_paused = true)]
async fn panic_stops_the_handler_and_error_is_skipped_by_default() {
    let informer = informer(&Cluster::with(5));
    let panics = |_: Event<ConfigMap>| -> std::future::Ready<()> { panic!("always") };
    let fails = |_: Event<ConfigMap>| std::future::ready(Err::<(), _>("always"));
    let panics = informer.add_handler(panics).unwrap();
    let fails = informer.add_handler(fails).unwrap();
    started(&informer).await;
    fails.synced().deadline(10 * SECONDS).await.unwrap();
    assert_eq!(fails.status().errors, 5);
    assert!(matches!(
        soon(panics.ended()).await,
        Ok(EndReason::Failed(_))
    ));
    assert_eq!(panics.status().panics, 1);
}

// INV-SHARED-10: a panic after the first await point, and one of the filter.
#[tokio::test(start_paused = true)]
async fn panics_within_futures_and_filters_are_caught() {
    let informer = informer(&Cluster::with(2));
    let late = informer
        .handler()
        .on_panic(FailurePolicy::Skip)
        .register(|event: Event<ConfigMap>| async move {
            tokio::task::yield_now().await;
            assert!(!event.is_initial(), "late");
        })
        .unwrap();
    let filter = informer
        .handler()
        .on_panic(FailurePolicy::Skip)
        .filter(|_| panic!("in the filter"))
        .register(Seen::new())
        .unwrap();
    started(&informer).await;
    late.synced().deadline(10 * SECONDS).await.unwrap();
    filter.synced().deadline(10 * SECONDS).await.unwrap();
    assert_eq!((late.status().panics, filter.status().panics), (2, 2));
}

// INV-SHARED-4: a resync queues all objects at once.
#[tokio::test(start_paused = true)]
async fn bounded_queue_needs_room_for_a_resync() {
    let informer = informer(&Cluster::with(5));
    let add = |limit| {
        let builder = informer.handler().queue(QueuePolicy::Bounded(limit));
        let seen = Seen::new();
        let kept = builder.resync_period(SECONDS).register(seen.clone());
        (kept.unwrap(), seen)
    };
    let (small, small_seen) = add(4);
    let (enough, enough_seen) = add(5);
    started(&informer).await;
    tokio::time::sleep(SECONDS * 3 / 2).await;
    until("the resync", || enough_seen.lines().len() == 10).await;
    assert!(enough.status().ended.is_none());
    let ended = small.status().ended;
    assert!(
        matches!(ended, Some(EndReason::QueueFull { limit: 4 })),
        "{ended:?}"
    );
    assert!(small_seen.lines().len() < 10);
}

// INV-SHARED-4
#[tokio::test(start_paused = true)]
async fn full_bounded_queue_ends_its_handler_alone() {
    let cluster = Cluster::with(20);
    let informer = informer(&cluster);
    let never = |_: Event<ConfigMap>| std::future::pending::<()>();
    let slow = informer
        .handler()
        .queue(QueuePolicy::Bounded(3))
        .register(never)
        .unwrap();
    let quick = Seen::new();
    let _quick = informer
        .handler()
        .queue(QueuePolicy::Bounded(3))
        .register(quick.clone())
        .unwrap();
    let mut stream = informer
        .handler()
        .queue(QueuePolicy::Bounded(3))
        .stream()
        .unwrap();
    started(&informer).await;
    settle().await;
    assert!(
        slow.status().ended.is_none(),
        "the first state does not count"
    );
    for n in 0..10 {
        cluster.put(&n.to_string(), "second");
        settle().await;
    }
    until("the quick one", || quick.lines().len() == 30).await;
    let ended = slow.status().ended;
    assert!(
        matches!(ended, Some(EndReason::QueueFull { limit: 3 })),
        "{ended:?}"
    );
    assert!(matches!(
        stream.status().ended,
        Some(EndReason::QueueFull { limit: 3 })
    ));
    assert!(soon(stream.next()).await.is_none());
}

// SI7
#[tokio::test(start_paused = true)]
async fn watch_error_handler_receives_failed_lists() {
    let cluster = Cluster::with(1);
    cluster.fail_lists(Some(403));
    let heard = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&heard);
    let informer = SharedInformer::builder(cluster.clone())
        .watch_error_handler(move |report: &informer_reflector::Report| {
            assert!(report.to_string().contains("403"), "{report}");
            count.fetch_add(1, Ordering::Relaxed);
        })
        .build()
        .unwrap();
    informer.start().unwrap();
    until("a report", || heard.load(Ordering::Relaxed) > 1).await;
    cluster.fail_lists(None);
    informer.synced().deadline(120 * SECONDS).await.unwrap();
}
