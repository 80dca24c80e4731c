//! Whatever settings and delays are given, the queue does not panic, and hands out what was added.

mod support;

use std::time::Duration;

use informer_workqueue::{
    BucketRateLimiter, ExponentialRateLimiter, FastSlowRateLimiter, MaxOfRateLimiter,
    MaxWaitRateLimiter, Parallel, RateLimiter, RetryRate, WorkQueue, WorkQueueConfig, WorkResult,
};
use proptest::prelude::*;
use support::{ManualClock, drain};

fn duration() -> impl Strategy<Value = Duration> {
    prop_oneof![
        Just(Duration::ZERO),
        Just(Duration::from_nanos(1)),
        Just(Duration::from_nanos(u64::MAX)),
        Just(Duration::from_nanos(u64::MAX - 1)),
        Just(Duration::MAX),
        (any::<u64>(), 0..1_000_000_000_u32).prop_map(|(secs, nanos)| Duration::new(secs, nanos)),
        (0..10_000_u64).prop_map(Duration::from_millis),
    ]
}

fn size() -> impl Strategy<Value = usize> {
    prop_oneof![
        Just(0),
        Just(1),
        Just(usize::MAX),
        any::<usize>(),
        0..10_usize
    ]
}

fn limiter() -> impl Strategy<Value = MaxWaitRateLimiter<MaxOfRateLimiter<u32>>> {
    let exponential = (duration(), duration())
        .prop_map(|(base, longest)| ExponentialRateLimiter::new(base, longest));
    let fast_slow = (duration(), duration(), any::<u32>())
        .prop_map(|(fast, slow, attempts)| FastSlowRateLimiter::new(fast, slow, attempts));
    let bucket = (any::<f64>(), any::<u32>())
        .prop_map(|(per_second, burst)| BucketRateLimiter::new(per_second, burst));
    (exponential, fast_slow, bucket, duration()).prop_map(
        |(exponential, fast_slow, bucket, most)| {
            let all = MaxOfRateLimiter::new()
                .with(exponential)
                .with(fast_slow)
                .with(bucket);
            MaxWaitRateLimiter::new(all, most)
        },
    )
}

proptest! {
    // INV-QUEUE-2
    #[test]
    fn any_settings_and_delays_are_honoured_or_clamped(
        limiter in limiter(),
        starvation_limit in any::<u32>(),
        (max_remembered, max_delayed) in (size(), size()),
        event_backoff in duration(),
        (first, second, third) in (duration(), duration(), duration()),
        advance in prop_oneof![0..10_u64, any::<u64>().prop_map(|millis| millis >> 12)],
    ) {
        let clock = ManualClock::new();
        let config = clock
            .config()
            .rate_limiter(limiter)
            .starvation_limit(starvation_limit)
            .max_remembered(max_remembered)
            .max_delayed(max_delayed)
            .event_backoff(event_backoff)
            .metrics(());
        let queue = WorkQueue::with_config(config);
        queue.add(1);
        queue.add_after(2, first);
        for result in [
            WorkResult::Retry,
            WorkResult::RetryAfter(second),
            WorkResult::SuccessFor(third),
            WorkResult::Done,
        ] {
            if let Some(work) = queue.try_get() {
                work.finish(result);
            }
            queue.add(1);
            queue.add_rate_limited(2);
            queue.add_rate_limited(3);
            clock.advance(advance);
        }
        let stats = queue.stats();
        prop_assert!(stats.delayed <= max_delayed);
        prop_assert!(stats.remembered <= max_remembered);
        queue.clear();
        queue.add(4);
        prop_assert_eq!(drain(&queue), [4]);
    }

    #[test]
    fn any_rate_is_a_rate(per_second in any::<f64>(), burst in any::<u32>(), most in duration()) {
        let rate = RetryRate::new(per_second, burst).longest_wait(most);
        let limiter = BucketRateLimiter::new(per_second, burst);
        prop_assert_eq!(RateLimiter::<u8>::rates(&limiter), [RetryRate::new(per_second, burst)]);
        prop_assert_eq!(rate.longest_wait(Duration::MAX), rate);
    }

    #[test]
    fn any_number_of_threads_does_all_pieces(workers in size(), chunk in size()) {
        let done = Parallel::new(workers).chunk_size(chunk).run(50, |_| {});
        prop_assert_eq!(done, 50);
    }
}

// INV-QUEUE-7
#[test]
fn any_number_of_blocking_workers_does_all_items() {
    for workers in [0, 1, usize::MAX] {
        let queue = WorkQueue::new();
        queue.add(1);
        queue.shut_down();
        queue.run_workers_blocking(workers, |_| WorkResult::Success);
        assert_eq!(queue.stats().known, 0);
    }
}

// INV-QUEUE-7
#[tokio::test]
async fn any_number_of_workers_does_all_items() {
    for workers in [0, 1, usize::MAX] {
        let queue = WorkQueue::new();
        queue.add(1);
        queue.shut_down();
        queue
            .run_workers(workers, |_| async { WorkResult::Success })
            .await;
        assert_eq!(queue.stats().known, 0);
    }
}

// INV-QUEUE-4: a delay that never ends is waited for, by tasks and by threads.
#[tokio::test(start_paused = true)]
async fn worker_waits_beside_a_delay_that_never_ends() {
    let queue = WorkQueue::with_config(WorkQueueConfig::new());
    queue.add_after("never", Duration::MAX);
    queue.add_after("in a year", Duration::from_secs(365 * 24 * 3600));
    assert_eq!(queue.get().await.as_deref(), Some(&"in a year"));
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| queue.get_blocking().map(|work| *work));
        queue.add("now");
        // "in a year" was tried again as a failure when its work was dropped.
        let taken = worker.join().expect("no panic");
        assert!(taken == Some("now") || taken == Some("in a year"));
    });
}
