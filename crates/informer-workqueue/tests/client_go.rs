//! What client-go's tests of its work queue show, shown of ours.

mod support;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use informer_workqueue::{
    ExponentialRateLimiter, Metrics, Priority, WorkQueue, WorkQueueConfig, WorkResult,
};
use parking_lot::Mutex;
use support::{ManualClock, drain, ms};

// WQ1
#[test]
fn nothing_that_is_added_after_the_shutdown_is_seen() {
    let queue = WorkQueue::new();
    let seen = Mutex::new(HashMap::new());
    std::thread::scope(|scope| {
        let producers: Vec<_> = (0..50)
            .map(|producer| {
                let queue = &queue;
                scope.spawn(move || {
                    for round in 0..50 {
                        queue.add((producer, round));
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            queue.run_workers_blocking(10, |item| {
                *seen.lock().entry(*item).or_insert(0) += 1;
                WorkResult::Success
            });
        });
        for producer in producers {
            producer.join().expect("no panic");
        }
        queue.shut_down();
        assert!(!queue.add((99, 99)));
    });
    let seen = seen.into_inner();
    assert_eq!(seen.len(), 2500);
    assert!(seen.values().all(|times| *times == 1));
    assert_eq!(queue.stats().known, 0);
}

// WQ2, INV-QUEUE-1
#[test]
fn an_item_added_while_it_is_worked_on_runs_again_once_and_never_twice_at_once() {
    let queue = WorkQueue::new();
    queue.add("item");
    let work = queue.try_get().expect("waits");
    for _ in 0..3 {
        queue.add("item");
    }
    assert!(queue.try_get().is_none());
    assert_eq!(queue.len(), 0);
    work.success();
    assert_eq!(drain(&queue), ["item"]);
}

// WQ2: a worker that waits gets it only once it is finished.
#[tokio::test]
async fn a_waiting_worker_gets_the_item_when_the_other_is_done() {
    let queue = WorkQueue::new();
    queue.add("item");
    let first = queue.get().await.expect("waits");
    let mut second = std::pin::pin!(queue.get());
    assert!(support::poll_once(second.as_mut()).is_none());
    queue.add("item");
    assert!(support::poll_once(second.as_mut()).is_none());
    first.success();
    assert_eq!(second.await.as_deref(), Some(&"item"));
}

// WQ3
#[test]
fn duplicates_do_not_count() {
    let queue = WorkQueue::new();
    assert!(queue.add("a"));
    assert!(queue.add("b"));
    assert!(!queue.add("a"));
    assert_eq!(queue.len(), 2);
    assert_eq!(queue.stats().added, 2);
}

// WQ3: what client-go's `Touch` is for: a duplicate may change the place of an item that waits, not of one in work.
#[test]
fn a_duplicate_raises_the_priority_of_what_waits() {
    let queue = WorkQueue::new();
    queue.add_with_priority("in work", Priority::Low);
    let work = queue.try_get().expect("waits");
    queue.add_with_priority("low", Priority::Low);
    queue.add("normal");
    queue.add_with_priority("low", Priority::High);
    queue.add_with_priority("normal", Priority::Low);
    queue.add_with_priority("in work", Priority::High);
    assert_eq!(drain(&queue), ["low", "normal"]);
    work.success();
    let again = queue.try_get().expect("added again");
    assert_eq!((*again, again.priority()), ("in work", Priority::High));
}

// WQ4, INV-QUEUE-7
#[test]
fn a_plain_shutdown_does_not_wait_and_still_hands_out_what_waits() {
    let queue = WorkQueue::new();
    queue.add("a");
    queue.add("b");
    let work = queue.try_get().expect("waits");
    queue.add("a");
    queue.shut_down();
    assert!(queue.is_shut_down());
    queue.add("c");
    queue.add_after("d", Duration::ZERO);
    queue.add_rate_limited("e");
    assert_eq!(*queue.get_blocking().expect("was there before"), "b");
    work.success();
    // What was added again before the shutdown is still worked on.
    assert_eq!(*queue.get_blocking().expect("was added before"), "a");
}

// WQ4, INV-QUEUE-7: a worker that waits ends.
#[test]
fn a_shutdown_ends_waiting_workers() {
    let queue: WorkQueue<u32> = WorkQueue::new();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| assert!(queue.get_blocking().is_none()));
        }
        queue.shut_down();
    });
}

// DQ1, INV-QUEUE-4
#[test]
fn a_delayed_item_is_queued_once_when_its_time_has_come() {
    let clock = ManualClock::new();
    let queue = WorkQueue::with_config(clock.config());
    queue.add_after("item", ms(50));
    assert_eq!(queue.stats().delayed, 1);
    clock.advance(49);
    assert!(queue.try_get().is_none());
    clock.advance(1);
    assert_eq!(drain(&queue), ["item"]);
    clock.advance(100_000);
    assert!(queue.try_get().is_none());
}

// DQ1, INV-QUEUE-4
#[test]
fn the_earlier_of_two_delays_holds_whichever_came_first() {
    let clock = ManualClock::new();
    for delays in [[50, 30], [30, 50]] {
        let queue = WorkQueue::with_config(clock.config());
        for delay in delays {
            queue.add_after("item", ms(delay));
        }
        clock.advance(29);
        assert!(queue.try_get().is_none());
        clock.advance(1);
        assert_eq!(drain(&queue), ["item"]);
        clock.advance(100);
        assert!(queue.try_get().is_none());
    }
}

// DQ1, INV-QUEUE-4
#[test]
fn delayed_items_come_in_the_order_of_their_times() {
    let clock = ManualClock::new();
    let queue = WorkQueue::with_config(clock.config());
    queue.add_after("far", Duration::MAX);
    for (item, delay) in [("c", 300), ("a", 100), ("b", 200), ("d", 300)] {
        queue.add_after(item, ms(delay));
    }
    queue.add_after("now", Duration::ZERO);
    assert_eq!(drain(&queue), ["now"]);
    clock.advance(100);
    assert_eq!(drain(&queue), ["a"]);
    clock.advance(1000);
    assert_eq!(drain(&queue), ["b", "c", "d"]);
    assert_eq!(queue.stats().delayed, 1);
}

// DQ1: a worker that waits for a later item hears of an earlier one, on every kind of waiting.
#[test]
fn a_waiting_worker_is_told_of_an_earlier_time() {
    let queue = WorkQueue::new();
    queue.add_after("later", Duration::from_secs(3600));
    let waiting = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            waiting.store(true, Ordering::SeqCst);
            queue.get_blocking().map(|work| *work)
        });
        while !waiting.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        queue.add_after("sooner", ms(20));
        assert_eq!(worker.join().expect("no panic"), Some("sooner"));
    });
}

// DQ1, in virtual time.
#[tokio::test(start_paused = true)]
async fn an_async_worker_waits_for_the_first_delay_and_for_additions() {
    let queue = WorkQueue::new();
    queue.add_after("b", Duration::from_secs(3600));
    let began = tokio::time::Instant::now();
    let adder = tokio::spawn({
        let queue = queue.clone();
        async move {
            tokio::time::sleep(ms(10)).await;
            queue.add_after("a", ms(20));
        }
    });
    let work = queue.get().await.expect("not shut down");
    assert_eq!(*work, "a");
    work.success();
    assert_eq!(began.elapsed().as_millis(), 30);
    assert_eq!(queue.get().await.as_deref(), Some(&"b"));
    assert_eq!(began.elapsed().as_secs(), 3600);
    adder.await.expect("no panic");
}

// RL1
#[test]
fn retries_wait_as_the_limiter_says_of_each_item() {
    let clock = ManualClock::new();
    let limiter = ExponentialRateLimiter::new(ms(1), Duration::from_secs(1));
    let queue = WorkQueue::with_config(clock.config().rate_limiter(limiter));
    queue.add_rate_limited("one");
    // With client-go this counts as another failure. Here it waits already.
    queue.add_rate_limited("one");
    queue.add_rate_limited("two");
    assert_eq!((queue.failures(&"one"), queue.failures(&"two")), (1, 1));
    clock.advance(1);
    let work = queue.try_get().expect("due");
    assert_eq!((*work, work.failures()), ("one", 1));
    work.retry();
    assert_eq!(drain(&queue), ["two"]);
    assert_eq!(queue.failures(&"two"), 0);
    clock.advance(1);
    assert!(queue.try_get().is_none());
    clock.advance(1);
    let work = queue.try_get().expect("due after 2 ms");
    assert_eq!(work.failures(), 2);
    work.finish(WorkResult::Done);
    assert_eq!(queue.failures(&"one"), 2);
    queue.forget(&"one");
    assert_eq!((queue.failures(&"one"), queue.stats().known), (0, 0));
}

#[derive(Clone, Default)]
struct Recorder(Arc<Mutex<Vec<String>>>);

impl Metrics for Recorder {
    fn depth(&self, depth: usize) {
        self.0.lock().push(format!("depth {depth}"));
    }

    fn added(&self) {
        self.0.lock().push("added".to_owned());
    }

    fn taken(&self, waited: Duration) {
        self.0.lock().push(format!("waited {}", waited.as_millis()));
    }

    fn finished(&self, worked: Duration) {
        self.0.lock().push(format!("worked {}", worked.as_millis()));
    }

    fn retried(&self) {
        self.0.lock().push("retried".to_owned());
    }
}

impl Recorder {
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock())
    }
}

// MQ1
#[test]
fn metrics_tell_depth_waits_work_and_retries() {
    let (clock, recorder) = (ManualClock::new(), Recorder::default());
    let limiter = ExponentialRateLimiter::new(ms(5), ms(5));
    let config = clock
        .config()
        .rate_limiter(limiter)
        .metrics(recorder.clone());
    let queue = WorkQueue::with_config(config);
    queue.add("item");
    queue.add("item");
    assert_eq!(recorder.take(), ["depth 1", "added"]);
    clock.advance(50);
    let work = queue.try_get().expect("waits");
    assert_eq!(recorder.take(), ["depth 0", "waited 50"]);

    // Added again while in work: it waits from now on.
    clock.advance(25);
    queue.add("item");
    queue.add("item");
    assert_eq!(recorder.take(), ["added"]);
    let stats = queue.stats();
    assert_eq!((stats.depth, stats.processing), (0, 1));
    assert_eq!(
        (stats.unfinished_work, stats.longest_running),
        (ms(25), ms(25))
    );
    clock.advance(25);
    work.success();
    assert_eq!(recorder.take(), ["depth 1", "worked 50"]);
    clock.advance(10);
    let work = queue.try_get().expect("waits again");
    assert_eq!(recorder.take(), ["depth 0", "waited 35"]);
    clock.advance(1);
    work.retry();
    assert_eq!(recorder.take(), ["retried", "worked 1"]);
    assert_eq!(queue.stats().longest_running, ms(0));
    clock.advance(5);
    queue.try_get().expect("due").give_up();
    assert_eq!(recorder.take(), ["added", "waited 0", "worked 0"]);
    assert_eq!((queue.stats().retried, queue.stats().given_up), (1, 1));

    queue.shut_down();
    queue.add("late");
    queue.add_rate_limited("late");
    assert_eq!(recorder.take(), [""; 0], "nothing after the shutdown");
}

// MQ1
#[test]
fn unfinished_work_is_the_sum_over_all_workers() {
    let clock = ManualClock::new();
    let queue = WorkQueue::with_config(clock.config::<u32>().metrics(()));
    queue.add(1);
    queue.add(2);
    let first = queue.try_get().expect("waits");
    clock.advance(100);
    let second = queue.try_get().expect("waits");
    clock.advance(10);
    let stats = queue.stats();
    assert_eq!(
        (stats.unfinished_work, stats.longest_running),
        (ms(120), ms(110))
    );
    first.success();
    assert_eq!(queue.stats().unfinished_work, ms(10));
    second.success();
    assert_eq!(queue.stats().unfinished_work, ms(0));
}

#[test]
fn a_config_prints_no_items() {
    assert!(format!("{:?}", WorkQueueConfig::<String>::new()).starts_with("WorkQueueConfig"));
}
