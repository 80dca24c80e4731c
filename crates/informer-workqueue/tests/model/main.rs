//! The queue against a naive model, with random producers and workers and a clock that moves at random; and what holds
//! whatever a model says: nothing is lost, and nothing runs without a reason.

mod naive;
mod reasons;
#[path = "../support/mod.rs"]
mod support;

use std::time::{Duration, Instant};

use informer_workqueue::{
    Priority, RateLimiter, RetryRate, Work, WorkQueue, WorkQueueConfig, WorkResult,
};
use naive::{BURST, LONGEST, Naive, STARVATION_LIMIT, STEP, Settings, TOKEN};
use proptest::prelude::*;
use support::{ManualClock, ms};

#[derive(Debug, Clone)]
enum Step {
    Add(u8, Priority),
    AddAfter(u8, u64, Priority),
    AddRateLimited(u8),
    Forget(u8),
    Remove(u8),
    Clear,
    Advance(u64),
    Take,
    /// The worker that has had its item longest but so many, and how its work went.
    Finish(usize, WorkResult),
    DropWork(usize),
    ShutDown,
}

fn result() -> impl Strategy<Value = WorkResult> {
    prop_oneof![
        2 => Just(WorkResult::Success),
        1 => (0..30_u64).prop_map(|delay| WorkResult::SuccessFor(ms(delay))),
        4 => Just(WorkResult::Retry),
        1 => (0..30_u64).prop_map(|delay| WorkResult::RetryAfter(ms(delay))),
        1 => Just(WorkResult::GiveUp),
        1 => Just(WorkResult::Done),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let item = || 0..6_u8;
    let priority = || prop::sample::select(vec![Priority::Low, Priority::Normal, Priority::High]);
    prop_oneof![
        20 => (item(), priority()).prop_map(|(item, priority)| Step::Add(item, priority)),
        8 => (item(), 0..40_u64, priority()).prop_map(|(i, delay, p)| Step::AddAfter(i, delay, p)),
        6 => item().prop_map(Step::AddRateLimited),
        2 => item().prop_map(Step::Forget),
        3 => item().prop_map(Step::Remove),
        1 => Just(Step::Clear),
        10 => (1..25_u64).prop_map(Step::Advance),
        20 => Just(Step::Take),
        15 => (0..3_usize, result()).prop_map(|(worker, result)| Step::Finish(worker, result)),
        3 => (0..3_usize).prop_map(Step::DropWork),
        1 => Just(Step::ShutDown),
    ]
}

fn settings() -> impl Strategy<Value = Settings> {
    let event_backoff = prop_oneof![Just(0), Just(20), Just(1_000_000)];
    let max_delayed = prop_oneof![3 => Just(usize::MAX), 1 => 0..5_usize];
    (event_backoff, max_delayed).prop_map(|(event_backoff, max_delayed)| Settings {
        event_backoff,
        max_delayed,
    })
}

/// 5 ms for each failure, and tokens.
struct Limiter;

impl RateLimiter<u8> for Limiter {
    fn delay(&self, _: &u8, failures: u32, _: Instant) -> Duration {
        ms(STEP) * (failures + 1)
    }

    fn rates(&self) -> Vec<RetryRate> {
        let rate = RetryRate::new(1000.0 / TOKEN as f64, BURST as u32);
        vec![rate.longest_wait(ms(LONGEST))]
    }
}

fn run(steps: Vec<Step>, settings: Settings) -> Result<(), TestCaseError> {
    let clock = ManualClock::new();
    let config: WorkQueueConfig<u8> = clock
        .config()
        .starvation_limit(STARVATION_LIMIT)
        .event_backoff(ms(settings.event_backoff))
        .max_delayed(settings.max_delayed)
        .rate_limiter(Limiter);
    let (queue, mut naive) = (WorkQueue::with_config(config), Naive::new(settings));
    let mut works: Vec<Work<u8>> = Vec::new();
    for step in steps {
        let open = !naive.is_shut_down;
        match step {
            Step::Add(item, priority) => {
                queue.add_with_priority(item, priority);
                open.then(|| naive.add(item, priority));
            }
            Step::AddAfter(item, delay, priority) => {
                queue.add_after_with_priority(item, ms(delay), priority);
                open.then(|| naive.add_after(item, delay, priority));
            }
            Step::AddRateLimited(item) => {
                queue.add_rate_limited(item);
                open.then(|| naive.add_rate_limited(item));
            }
            Step::Forget(item) => {
                queue.forget(&item);
                naive.forget(item);
            }
            Step::Remove(item) => {
                queue.remove(&item);
                naive.remove(item);
            }
            Step::Clear => {
                queue.clear();
                naive.clear();
            }
            Step::Advance(millis) => {
                clock.advance(millis);
                naive.now += millis;
            }
            Step::Take => {
                let work = queue.try_get();
                prop_assert_eq!(work.as_ref().map(|work| **work), naive.take());
                works.extend(work);
            }
            Step::Finish(worker, result) if worker < works.len() => {
                let work = works.remove(worker);
                naive.finish(worker, result, work.priority());
                work.finish(result);
            }
            Step::DropWork(worker) if worker < works.len() => {
                let work = works.remove(worker);
                naive.finish(worker, WorkResult::Retry, work.priority());
                drop(work);
            }
            Step::Finish(..) | Step::DropWork(_) => {}
            Step::ShutDown => {
                queue.shut_down();
                naive.shut_down();
            }
        }
        let stats = queue.stats();
        prop_assert_eq!(stats.depth, naive.waiting.len());
        prop_assert_eq!(stats.processing, naive.working.len());
        prop_assert_eq!(stats.delayed, naive.delayed());
        for item in 0..6 {
            let failures = naive.failures.get(&item).copied().unwrap_or_default();
            prop_assert_eq!(queue.failures(&item), failures, "failures of {}", item);
        }
    }
    // In the end all that waits comes out, and nothing is left.
    for work in works {
        work.success();
    }
    queue.shut_down();
    support::drain(&queue);
    prop_assert_eq!(queue.stats().known, 0);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    // INV-QUEUE-1, INV-QUEUE-2, INV-QUEUE-3, INV-QUEUE-4, INV-QUEUE-8, INV-QUEUE-9, INV-QUEUE-10, INV-QUEUE-11
    #[test]
    fn queue_matches_model(steps in prop::collection::vec(step(), 0..200), settings in settings()) {
        run(steps, settings)?;
    }
}
