//! Acknowledging, leaving, draining, starvation limits, groups of workers.

mod support;

use std::collections::HashSet;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use informer_workqueue::{DrainCancelled, ExponentialRateLimiter, Priority, WorkQueue, WorkResult};
use support::{ManualClock, drain, ms, poll_once};

// INV-QUEUE-2
#[test]
fn what_is_dropped_unsaid_is_tried_again() {
    let clock = ManualClock::new();
    let queue = WorkQueue::with_config(clock.config());
    queue.add("item");
    drop(queue.try_get());
    assert_eq!((queue.failures(&"item"), queue.stats().delayed), (1, 1));
    clock.advance(5);
    assert_eq!(drain(&queue), ["item"]);
}

#[test]
fn what_is_said_decides_what_becomes_of_an_item() {
    let clock = ManualClock::new();
    let limiter = ExponentialRateLimiter::new(ms(10), ms(1000));
    // The failures after it, and when it comes again.
    for (outcome, failures, again) in [
        (WorkResult::Success, 0, None),
        (WorkResult::SuccessFor(ms(40)), 0, Some(40)),
        (WorkResult::SuccessFor(ms(0)), 0, Some(0)),
        (WorkResult::Retry, 2, Some(20)),
        (WorkResult::RetryAfter(ms(70)), 2, Some(70)),
        (WorkResult::GiveUp, 0, None),
        (WorkResult::Done, 1, None),
    ] {
        let queue = WorkQueue::with_config(clock.config().rate_limiter(limiter));
        queue.add_rate_limited("item");
        clock.advance(10);
        queue.try_get().expect("due").finish(outcome);
        assert_eq!(queue.failures(&"item"), failures, "{outcome:?}");
        let Some(again) = again else {
            clock.advance(10_000);
            assert!(queue.try_get().is_none(), "{outcome:?}");
            continue;
        };
        if again > 0 {
            clock.advance(again - 1);
            assert!(queue.try_get().is_none(), "{outcome:?}");
            clock.advance(1);
        }
        assert_eq!(drain(&queue), ["item"], "{outcome:?}");
    }
}

/// An item that cannot be copied when it says so.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Stubborn(&'static str);

static STUBBORN: AtomicU32 = AtomicU32::new(0);

impl Clone for Stubborn {
    fn clone(&self) -> Self {
        assert!(STUBBORN.load(Ordering::Relaxed) == 0, "not now");
        Self(self.0)
    }
}

// INV-QUEUE-2
#[test]
fn an_item_whose_copying_panics_still_waits() {
    let queue = WorkQueue::new();
    queue.add(Stubborn("item"));
    STUBBORN.store(1, Ordering::Relaxed);
    let panics = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(queue.try_get())));
    assert!(panics.is_err());
    STUBBORN.store(0, Ordering::Relaxed);
    let stats = queue.stats();
    assert_eq!((stats.depth, stats.processing), (1, 0));
    queue.try_get().expect("it waits").success();
    assert_eq!(queue.stats().known, 0);
}

// INV-QUEUE-8
#[test]
fn an_item_whose_object_is_gone_leaves() {
    let clock = ManualClock::new();
    let queue = WorkQueue::with_config(clock.config());
    queue.add("waits");
    queue.add_after("is delayed", ms(10));
    queue.add_rate_limited("has failed");
    for item in ["waits", "is delayed", "has failed"] {
        assert!(queue.remove(&item));
        assert!(!queue.remove(&item));
    }
    clock.advance(100_000);
    assert_eq!((drain(&queue), queue.stats().known), (vec![], 0));
}

// INV-QUEUE-8
#[test]
fn an_item_in_work_whose_object_is_gone_does_not_come_back() {
    let clock = ManualClock::new();
    let queue = WorkQueue::with_config(clock.config());
    for outcome in [
        WorkResult::Retry,
        WorkResult::RetryAfter(ms(1)),
        WorkResult::SuccessFor(ms(1)),
    ] {
        queue.add("item");
        let work = queue.try_get().expect("waits");
        queue.add("item");
        assert!(queue.remove(&"item"));
        work.finish(outcome);
        clock.advance(100_000);
        assert_eq!(
            (drain(&queue), queue.stats().known),
            (vec![], 0),
            "{outcome:?}"
        );
    }
}

// INV-QUEUE-8, INV-QUEUE-2
#[test]
fn an_object_that_is_there_again_is_worked_on_again() {
    let clock = ManualClock::new();
    let queue = WorkQueue::with_config(clock.config());
    queue.add("item");
    let work = queue.try_get().expect("waits");
    queue.remove(&"item");
    queue.add("item");
    work.retry();
    assert_eq!(drain(&queue), ["item"]);
}

// peers 72, WQ4, INV-QUEUE-5
#[test]
fn a_drain_waits_for_what_waits_what_is_in_work_and_what_comes_again() {
    let queue = WorkQueue::new();
    for item in ["waits", "in work", "comes again"] {
        queue.add(item);
    }
    queue.add_after("is delayed", Duration::from_secs(3600));
    let waits = queue.try_get().expect("first");
    let in_work = queue.try_get().expect("second");
    let comes_again = queue.try_get().expect("third");
    queue.add("comes again");
    waits.success();
    queue.add("waits");

    let mut drain = pin!(queue.shut_down_with_drain());
    assert_eq!(poll_once(drain.as_mut()), None);
    queue.try_get().expect("waits").success();
    assert_eq!(poll_once(drain.as_mut()), None, "one is in work");
    in_work.success();
    assert_eq!(poll_once(drain.as_mut()), None, "one comes again");
    comes_again.success();
    assert_eq!(poll_once(drain.as_mut()), None, "it waits");
    let last = queue.try_get().expect("handed out while draining");
    assert_eq!(poll_once(drain.as_mut()), None, "it is in work");
    // Nothing is tried again after a shutdown.
    last.retry();
    assert_eq!(poll_once(drain), Some(Ok(())));
    assert_eq!(queue.stats().known, 0);
}

// WQ4
#[test]
fn a_plain_shutdown_ends_all_drains() {
    let queue = WorkQueue::new();
    queue.add("item");
    let work = queue.try_get();
    let mut drains = [(); 3].map(|()| Box::pin(queue.shut_down_with_drain()));
    for drain in &mut drains {
        assert_eq!(poll_once(drain.as_mut()), None);
    }
    queue.shut_down();
    for drain in drains {
        assert_eq!(poll_once(pin!(drain)), Some(Err(DrainCancelled)));
    }
    drop(work);
    assert_eq!(queue.shut_down_with_drain_blocking(), Ok(()));
}

// WQ4: client-go wakes one of several only.
#[test]
fn all_who_wait_for_a_drain_are_told() {
    let queue = WorkQueue::new();
    queue.add(());
    let work = queue.try_get();
    std::thread::scope(|scope| {
        let drains = [(); 3].map(|()| scope.spawn(|| queue.shut_down_with_drain_blocking()));
        drop(work);
        for drain in drains {
            assert_eq!(drain.join().expect("no panic"), Ok(()));
        }
    });
}

#[test]
fn clearing_drops_what_waits_and_leaves_what_is_in_work() {
    let queue = WorkQueue::new();
    queue.add("in work");
    let work = queue.try_get().expect("waits");
    queue.add("in work");
    queue.add("waits");
    queue.add_after("is delayed", ms(1));
    assert_eq!(queue.clear(), 3);
    work.success();
    assert_eq!((queue.try_get().is_none(), queue.stats().known), (true, 0));
}

const INITIAL: u32 = 10_000;

/// Takes all of 10,000 initial items, while so many of ten times that one is taken a fresh one comes. Gives back how
/// many were taken, and how many takes a fresh item waited at most.
fn under_load(fresh_of_ten: u32) -> (u32, u32) {
    let queue = WorkQueue::new();
    for item in 0..INITIAL {
        queue.add_with_priority(item, Priority::Low);
    }
    let (mut taken, mut initial, mut longest) = (0, 0, 0);
    while initial < INITIAL {
        if taken % 10 < fresh_of_ten {
            queue.add(INITIAL + taken);
        }
        let work = queue.try_get().expect("never empty");
        match work.checked_sub(INITIAL) {
            Some(came) => longest = longest.max(taken - came),
            None => {
                assert_eq!(*work, initial, "in their order");
                initial += 1;
            }
        }
        work.success();
        taken += 1;
    }
    (taken, longest)
}

// peers 73, INV-QUEUE-3: neither fresh items nor those of the first list wait long.
#[test]
fn ten_thousand_initial_items_and_steady_fresh_ones_both_get_on() {
    let (taken, longest) = under_load(8);
    assert!(
        taken <= INITIAL * 5 + 10,
        "{taken} taken for all initial items"
    );
    assert!(longest <= 2, "a fresh item waited for {longest} others");
    // As many fresh ones come as are taken: strict priorities would starve the others for ever.
    let (taken, _) = under_load(10);
    assert!(taken <= INITIAL * 9, "{taken} taken for all initial items");
}

// INV-QUEUE-3
#[test]
fn each_priority_has_its_turn_within_the_starvation_limit() {
    let queue =
        WorkQueue::with_config(informer_workqueue::WorkQueueConfig::new().starvation_limit(2));
    for item in 0..30 {
        queue.add_with_priority((Priority::Low, item), Priority::Low);
        queue.add_with_priority((Priority::Normal, item), Priority::Normal);
        queue.add_with_priority((Priority::High, item), Priority::High);
    }
    let taken = drain(&queue);
    for priority in [Priority::Low, Priority::Normal, Priority::High] {
        let places: Vec<_> = (0..taken.len())
            .filter(|at| taken[*at].0 == priority)
            .collect();
        let in_order = places.iter().map(|at| taken[*at].1);
        assert!(in_order.eq(0..30), "{priority:?} in the order of arrival");
        let gaps = places.windows(2).map(|pair| pair[1] - pair[0]);
        assert!(
            places[0] <= 5 && gaps.max() <= Some(5),
            "{priority:?} waits too long: {places:?}"
        );
    }
    assert_eq!(taken[0].0, Priority::High);
}

// INV-QUEUE-2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_group_of_tasks_survives_panics_and_finishes_all() {
    let limiter = ExponentialRateLimiter::new(ms(1), ms(1));
    let queue =
        WorkQueue::with_config(informer_workqueue::WorkQueueConfig::new().rate_limiter(limiter));
    for item in 0..100 {
        queue.add(item);
    }
    let done = Arc::new(parking_lot::Mutex::new(HashSet::new()));
    let calls = Arc::new(AtomicU32::new(0));
    let workers = tokio::spawn({
        let (queue, done) = (queue.clone(), Arc::clone(&done));
        async move {
            let handler = move |item: i32| {
                let (done, call) = (Arc::clone(&done), calls.fetch_add(1, Ordering::Relaxed));
                async move {
                    tokio::task::yield_now().await;
                    assert!(call % 7 != 3, "a panic that the test wants");
                    done.lock().insert(item);
                    WorkResult::Success
                }
            };
            queue.run_workers(4, handler).await;
        }
    });
    while done.lock().len() < 100 {
        tokio::time::sleep(ms(1)).await;
    }
    queue.shut_down_with_drain().await.expect("not cancelled");
    workers.await.expect("no panic gets out");
}

// INV-QUEUE-2
#[tokio::test(start_paused = true)]
async fn dropping_a_group_gives_its_items_back() {
    let queue = WorkQueue::new();
    queue.add("item");
    let group = queue.run_workers(2, |_| std::future::pending());
    tokio::time::timeout(ms(1), group)
        .await
        .expect_err("it never ends");
    assert_eq!(queue.get().await.map(|work| work.failures()), Some(1));
}

#[test]
fn a_group_of_threads_survives_panics_and_ends_with_the_queue() {
    let queue = WorkQueue::new();
    for item in 0..20 {
        queue.add(item);
    }
    let calls = AtomicU32::new(0);
    queue.shut_down();
    queue.run_workers_blocking(3, |item| {
        calls.fetch_add(1, Ordering::Relaxed);
        assert!(item % 5 != 2, "a panic that the test wants");
        WorkResult::Success
    });
    assert_eq!(calls.into_inner(), 20);
    assert_eq!(queue.stats().known, 0);
}

// INV-QUEUE-2: a group that has lost a worker does not look as if it had ended.
#[test]
fn panic_of_a_worker_outside_of_its_handler_reaches_the_caller() {
    let group = std::panic::catch_unwind(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.expect("a runtime").block_on(async {
            let queue = WorkQueue::new();
            queue.add_after("needs a timer", Duration::from_secs(1));
            queue
                .run_workers(2, |_| async { WorkResult::Success })
                .await;
        });
    });
    assert!(group.is_err());
}

// INV-QUEUE-7: on one thread, where neither the queue nor the work ever waits.
#[test]
fn workers_that_never_wait_let_others_run() {
    let (ended, end) = std::sync::mpsc::channel();
    // On a thread of its own, since a worker that never yields would not let the test end either.
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build();
        runtime.expect("a runtime").block_on(async {
            let queue = WorkQueue::new();
            queue.add("item");
            let again = |_| async { WorkResult::SuccessFor(Duration::ZERO) };
            let others = async {
                while queue.stats().added < 1000 {
                    tokio::task::yield_now().await;
                }
                queue.shut_down();
            };
            tokio::join!(queue.run_workers(1, again), others);
        });
        ended.send(()).expect("the test waits");
    });
    end.recv_timeout(Duration::from_secs(60))
        .expect("the shutdown comes through");
}
