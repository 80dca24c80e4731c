//! Rates of retries, backoff against additions, and delays that a newer result makes void.

mod support;

use std::time::Duration;

use informer_workqueue::{
    BucketRateLimiter, ExponentialRateLimiter, MaxOfRateLimiter, MaxWaitRateLimiter, Priority,
    WorkQueue, WorkQueueConfig, WorkResult,
};
use support::{ManualClock, drain, ms};
use tokio::time::{Instant, sleep, timeout};

const MINUTE: Duration = Duration::from_secs(60);

/// Takes everything and fails it, until the queue is shut down; returns when each was taken.
async fn fail_all(queue: WorkQueue<&'static str>) -> Vec<Instant> {
    let mut taken = Vec::new();
    while let Some(work) = queue.get().await {
        taken.push(Instant::now());
        work.retry();
    }
    taken
}

fn longest_gap(times: &[Instant]) -> Duration {
    let gaps = times.windows(2).map(|two| two[1] - two[0]);
    gaps.max().unwrap_or_default()
}

// INV-QUEUE-9: with client-go each of them takes a token, and the gaps grow to a minute.
#[tokio::test(start_paused = true)]
async fn adds_of_a_waiting_key_take_no_tokens() {
    let limiter = BucketRateLimiter::new(5.0, 1);
    let queue = WorkQueue::with_config(WorkQueueConfig::new().rate_limiter(limiter));
    let worker = tokio::spawn(fail_all(queue.clone()));
    let begun = Instant::now();
    while begun.elapsed() < MINUTE {
        queue.add_rate_limited("a");
        sleep(ms(10)).await;
    }
    queue.shut_down();
    let taken = worker.await.expect("no panic");
    let gap = longest_gap(&taken).max(taken.last().expect("one").elapsed());
    assert!(
        gap <= ms(210),
        "{} runs in a minute, the longest gap {gap:?}",
        taken.len()
    );
    assert!(
        (299..=301).contains(&taken.len()),
        "{} runs at 5 a second",
        taken.len()
    );
}

// INV-QUEUE-9
#[tokio::test(start_paused = true)]
async fn storm_of_one_key_delays_no_other_key() {
    let limiter = BucketRateLimiter::new(5.0, 1);
    let queue = WorkQueue::with_config(WorkQueueConfig::new().rate_limiter(limiter));
    let begun = Instant::now();
    while begun.elapsed() < MINUTE {
        queue.add_rate_limited("a");
        while let Some(work) = queue.try_get() {
            work.success();
        }
        sleep(ms(10)).await;
    }
    let storm_is_over = Instant::now();
    queue.add_rate_limited("b");
    loop {
        let work = queue.get().await.expect("not shut down");
        let is_b = *work.item() == "b";
        work.success();
        if is_b {
            break;
        }
    }
    let waited = storm_is_over.elapsed();
    assert!(
        waited <= ms(400),
        "b waited {waited:?}, more than a step beside its own"
    );
}

/// Events bring a key that always fails, 50 a second. Returns after how long another key's first retry comes then.
async fn first_retry_beside_a_failing_key(queue: WorkQueue<&'static str>) -> Duration {
    let begun = Instant::now();
    while begun.elapsed() < MINUTE {
        queue.add("a");
        while let Some(work) = queue.try_get() {
            work.retry();
        }
        sleep(ms(20)).await;
    }
    queue.add("b");
    let mut runs = Vec::new();
    while runs.len() < 2 {
        let work = queue.get().await.expect("not shut down");
        if *work.item() == "b" {
            runs.push(Instant::now());
            work.retry();
        } else {
            work.success();
        }
    }
    runs[1] - runs[0]
}

// INV-QUEUE-9: with client-go it comes after four minutes.
#[tokio::test(start_paused = true)]
async fn key_that_fails_at_each_event_delays_no_first_retry_of_another() {
    let waited = first_retry_beside_a_failing_key(WorkQueue::new()).await;
    assert_eq!(waited, ms(5));
    // Even where each event runs it at once.
    let config = WorkQueueConfig::new().event_backoff(Duration::ZERO);
    let waited = first_retry_beside_a_failing_key(WorkQueue::with_config(config)).await;
    assert_eq!(waited, ms(5));
    let config = WorkQueueConfig::new()
        .event_backoff(Duration::ZERO)
        .rate_limiter(BucketRateLimiter::new(10.0, 1));
    let waited = first_retry_beside_a_failing_key(WorkQueue::with_config(config)).await;
    assert!(waited <= ms(200), "{waited:?}");
}

// INV-QUEUE-9
#[test]
fn token_of_a_retry_that_does_not_run_serves_the_next() {
    for end in ["added", "removed", "cleared"] {
        let clock = ManualClock::new();
        let config = clock.config().event_backoff(Duration::ZERO);
        let queue = WorkQueue::with_config(config.rate_limiter(BucketRateLimiter::new(1.0, 1)));
        queue.add_rate_limited("spends the only token");
        queue.add_rate_limited("waits a second");
        assert_eq!((queue.len(), queue.stats().delayed), (1, 1));
        match end {
            "added" => assert!(queue.add("waits a second")),
            "removed" => assert!(queue.remove(&"waits a second")),
            _ => assert_eq!(queue.clear(), 2),
        }
        drain(&queue);
        queue.add_rate_limited("next");
        clock.advance(999);
        assert_eq!(drain(&queue), [""; 0], "{end}");
        clock.advance(1);
        assert_eq!(drain(&queue), ["next"], "{end}");
    }
}

// INV-QUEUE-9
#[test]
fn item_in_work_that_is_added_rate_limited_is_retried_once_with_a_token() {
    let clock = ManualClock::new();
    let limiter = BucketRateLimiter::new(10.0, 1);
    let queue = WorkQueue::with_config(clock.config().rate_limiter(limiter));
    queue.add("item");
    let work = queue.try_get().expect("it waits");
    for _ in 0..100 {
        queue.add_rate_limited("item");
        queue.add_rate_limited("other");
    }
    assert_eq!((queue.failures(&"item"), queue.failures(&"other")), (1, 1));
    work.success();
    assert_eq!(drain(&queue), ["other"]);
    clock.advance(99);
    assert_eq!(drain(&queue), [""; 0]);
    clock.advance(1);
    assert_eq!(drain(&queue), ["item"]);
    clock.advance(100_000);
    assert_eq!((drain(&queue), queue.stats().known), (vec![], 0));
}

#[test]
fn longest_wait_bounds_delay_and_token_together() {
    let clock = ManualClock::new();
    let limiter = MaxOfRateLimiter::new()
        .with(ExponentialRateLimiter::new(ms(100), ms(100)))
        .with(BucketRateLimiter::new(0.001, 1));
    let limiter = MaxWaitRateLimiter::new(limiter, ms(250));
    let queue = WorkQueue::with_config(clock.config().rate_limiter(limiter));
    for item in 0..5 {
        queue.add_rate_limited(item);
    }
    clock.advance(100);
    assert_eq!(drain(&queue), [0]);
    clock.advance(149);
    assert_eq!(drain(&queue), [0; 0]);
    clock.advance(1);
    assert_eq!(drain(&queue), [1, 2, 3, 4]);
}

// INV-QUEUE-10: with client-go it runs once more.
#[tokio::test(start_paused = true)]
async fn success_takes_the_waiting_retry_along() {
    let config = WorkQueueConfig::new().event_backoff(Duration::ZERO);
    for queue in [WorkQueue::new(), WorkQueue::with_config(config)] {
        queue.add("a");
        for _ in 0..12 {
            queue.get().await.expect("not shut down").retry();
        }
        // The next retry is due in ten seconds. An event brings the key before, and now it works.
        queue.add("a");
        queue.get().await.expect("not shut down").success();
        let again = timeout(MINUTE, queue.get()).await;
        assert!(again.is_err(), "it is run once more, for no reason");
        assert_eq!(queue.stats().known, 0);
    }
}

// INV-QUEUE-10
#[test]
fn newer_result_makes_an_older_delay_void() {
    let clock = ManualClock::new();
    for older in [
        WorkResult::SuccessFor(ms(2000)),
        WorkResult::RetryAfter(ms(2000)),
        WorkResult::Retry,
    ] {
        for newer in [WorkResult::Success, WorkResult::GiveUp, WorkResult::Done] {
            let limiter = ExponentialRateLimiter::new(ms(2000), ms(2000));
            let config = clock.config().event_backoff(Duration::ZERO);
            let queue = WorkQueue::with_config(config.rate_limiter(limiter));
            queue.add("item");
            queue.try_get().expect("it waits").finish(older);
            clock.advance(1000);
            queue.add("item");
            queue.try_get().expect("it was added").finish(newer);
            clock.advance(100_000);
            assert_eq!(drain(&queue), [""; 0], "{older:?}, then {newer:?}");
        }
        // A newer delay replaces it, be it longer or shorter.
        for delay in [500, 5000] {
            let queue = WorkQueue::with_config(clock.config().event_backoff(Duration::ZERO));
            queue.add("item");
            queue.try_get().expect("it waits").finish(older);
            queue.add("item");
            let work = queue.try_get().expect("it was added");
            work.finish(WorkResult::SuccessFor(ms(delay)));
            clock.advance(delay - 1);
            assert_eq!(drain(&queue), [""; 0], "{older:?}");
            clock.advance(1);
            assert_eq!(drain(&queue), ["item"], "{older:?}");
        }
    }
}

// INV-QUEUE-4, INV-QUEUE-10: what was asked for from outside is not a worker's to decide.
#[test]
fn added_delay_holds_whatever_happens_meanwhile() {
    let clock = ManualClock::new();
    let queue = WorkQueue::with_config(clock.config());
    queue.add_after("item", ms(10_000));
    queue.add("item");
    let work = queue.try_get().expect("it was added");
    work.finish(WorkResult::RetryAfter(ms(2000)));
    clock.advance(2000);
    assert_eq!(drain(&queue), ["item"]);
    clock.advance(7999);
    assert_eq!(drain(&queue), [""; 0]);
    clock.advance(1);
    assert_eq!(drain(&queue), ["item"]);
    assert_eq!(queue.stats().known, 0);
    // Also one that is asked for in the course of the work.
    queue.add("item");
    let work = queue.try_get().expect("it was added");
    queue.add_after("item", ms(100));
    work.give_up();
    clock.advance(100);
    assert_eq!(drain(&queue), ["item"]);
}

// INV-QUEUE-8, INV-QUEUE-10: the work was that on an object which is no more.
#[test]
fn result_of_work_begun_before_a_removal_counts_for_nothing() {
    let clock = ManualClock::new();
    for result in [WorkResult::Retry, WorkResult::Success, WorkResult::GiveUp] {
        let queue = WorkQueue::with_config(clock.config());
        queue.add("item");
        let work = queue.try_get().expect("it was added");
        queue.remove(&"item");
        queue.add_rate_limited("item");
        work.finish(result);
        assert_eq!(
            (queue.failures(&"item"), queue.stats().delayed),
            (1, 1),
            "{result:?}"
        );
    }
}

// INV-QUEUE-11
#[tokio::test(start_paused = true)]
async fn backoff_holds_against_events() {
    let queue = WorkQueue::<&'static str>::new();
    let (begun, mut runs) = (Instant::now(), Vec::new());
    while begun.elapsed() < Duration::from_secs(10) {
        queue.add("a");
        while let Some(work) = queue.try_get() {
            runs.push(begun.elapsed().as_millis());
            work.retry();
        }
        sleep(ms(20)).await;
    }
    // Its backoff up to a second, then once a second.
    assert!((14..=20).contains(&runs.len()), "{runs:?}");
    assert_eq!(
        runs[runs.len() - 1] - runs[runs.len() - 2],
        1000,
        "{runs:?}"
    );
}

// INV-QUEUE-11: events that come while it is worked on are no way round.
#[test]
fn backoff_holds_against_events_during_the_work() {
    let clock = ManualClock::new();
    let limiter = ExponentialRateLimiter::new(ms(1500), ms(1500));
    let queue = WorkQueue::with_config(clock.config().rate_limiter(limiter));
    queue.add_with_priority("item", Priority::Low);
    let work = queue.try_get().expect("it was added");
    queue.add_with_priority("item", Priority::High);
    work.retry();
    assert_eq!(
        (queue.len(), queue.stats().delayed, queue.stats().added),
        (0, 1, 2)
    );
    clock.advance(999);
    assert_eq!(drain(&queue), [""; 0]);
    clock.advance(1);
    let work = queue.try_get().expect("the event has waited for a second");
    assert_eq!((work.priority(), work.failures()), (Priority::High, 1));
    work.success();
    clock.advance(100_000);
    assert_eq!((drain(&queue), queue.stats().added), (vec![], 2));
}

// INV-QUEUE-11
#[test]
fn event_backoff_is_a_choice() {
    let clock = ManualClock::new();
    for (least, waits) in [
        (Some(0), 0),
        (None, 1000),
        (Some(3000), 3000),
        (Some(u64::MAX), 10_000),
    ] {
        let mut config = clock.config();
        if let Some(least) = least {
            config = config.event_backoff(ms(least));
        }
        let queue = WorkQueue::with_config(config);
        queue.add("item");
        let work = queue.try_get().expect("it was added");
        work.retry_after(ms(10_000));
        assert!(queue.add("item"), "it does not wait for this addition yet");
        assert!(!queue.add("item"));
        if waits > 0 {
            clock.advance(waits - 1);
            assert_eq!(drain(&queue), [""; 0], "{least:?}");
            clock.advance(1);
        }
        assert_eq!(drain(&queue), ["item"], "{least:?}");
        // One that failed long ago is brought back at once.
        queue.add("item");
        queue
            .try_get()
            .expect("it was added")
            .retry_after(ms(10_000));
        clock.advance(waits);
        queue.add("item");
        assert_eq!(drain(&queue), ["item"], "{least:?}");
    }
}

// INV-QUEUE-2, INV-QUEUE-7, INV-QUEUE-11: it was added, so it is still worked on.
#[test]
fn shutdown_hands_out_what_was_added_in_its_backoff() {
    for drains in [false, true] {
        let queue = WorkQueue::new();
        for item in ["added", "not added"] {
            queue.add(item);
            queue.try_get().expect("it was added").retry_after(MINUTE);
        }
        queue.add("added");
        assert_eq!((queue.len(), queue.stats().delayed), (0, 2));
        if drains {
            let mut end = std::pin::pin!(queue.shut_down_with_drain());
            assert_eq!(support::poll_once(end.as_mut()), None);
            assert_eq!(drain(&queue), ["added"]);
            assert_eq!(support::poll_once(end), Some(Ok(())));
        } else {
            queue.shut_down();
            assert_eq!(drain(&queue), ["added"]);
        }
        assert_eq!(queue.stats().known, 0);
    }
}

// INV-QUEUE-11: what is forgotten holds nothing back.
#[test]
fn forgotten_item_is_queued_at_once() {
    let queue = WorkQueue::new();
    queue.add("item");
    queue.try_get().expect("it was added").retry_after(MINUTE);
    queue.forget(&"item");
    queue.add("item");
    assert_eq!(drain(&queue), ["item"]);
    assert_eq!(queue.stats().known, 0);
}
