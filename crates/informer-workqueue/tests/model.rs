//! The queue against a naive model, with random producers and workers and a clock that moves at random.

mod support;

use std::collections::{BTreeMap, BTreeSet};

use informer_workqueue::{Config, Outcome, Priority, Work, WorkQueue};
use proptest::prelude::*;
use support::{ManualClock, ms};

const AGEING: u32 = 3;

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
    Finish(usize, Outcome),
    DropWork(usize),
    ShutDown,
}

fn step() -> impl Strategy<Value = Step> {
    let item = || 0..6_u8;
    let priority = || prop::sample::select(vec![Priority::Low, Priority::Normal, Priority::High]);
    let outcome = prop_oneof![
        Just(Outcome::Success),
        (0..30_u64).prop_map(|delay| Outcome::SuccessFor(ms(delay))),
        Just(Outcome::Retry),
        (0..30_u64).prop_map(|delay| Outcome::RetryAfter(ms(delay))),
        Just(Outcome::GiveUp),
        Just(Outcome::Done),
    ];
    prop_oneof![
        20 => (item(), priority()).prop_map(|(item, priority)| Step::Add(item, priority)),
        8 => (item(), 0..40_u64, priority()).prop_map(|(i, delay, p)| Step::AddAfter(i, delay, p)),
        4 => item().prop_map(Step::AddRateLimited),
        2 => item().prop_map(Step::Forget),
        3 => item().prop_map(Step::Remove),
        1 => Just(Step::Clear),
        10 => (1..25_u64).prop_map(Step::Advance),
        20 => Just(Step::Take),
        15 => (0..3_usize, outcome).prop_map(|(worker, outcome)| Step::Finish(worker, outcome)),
        3 => (0..3_usize).prop_map(Step::DropWork),
        1 => Just(Step::ShutDown),
    ]
}

/// The queue as one would write it down: lists that are searched.
#[derive(Default)]
struct Naive {
    now: u64,
    turn: u64,
    waiting: Vec<(u8, Priority)>,
    /// Item, when it is due, in which turn that was said, and its priority.
    delayed: Vec<(u8, u64, u64, Priority)>,
    working: Vec<u8>,
    again: BTreeMap<u8, Priority>,
    gone: BTreeSet<u8>,
    failures: BTreeMap<u8, u32>,
    passed: BTreeMap<Priority, u32>,
    is_shut_down: bool,
}

impl Naive {
    fn add(&mut self, item: u8, priority: Priority) {
        if self.working.contains(&item) {
            self.gone.remove(&item);
            let old = self.again.entry(item).or_insert(priority);
            *old = priority.max(*old);
            return;
        }
        if let Some(at) = self.waiting.iter().position(|(other, _)| *other == item) {
            if self.waiting[at].1 >= priority {
                return;
            }
            self.waiting.remove(at);
        }
        self.waiting.push((item, priority));
    }

    fn add_after(&mut self, item: u8, delay: u64, priority: Priority) {
        if delay == 0 {
            self.add(item, priority);
            return;
        }
        self.gone.remove(&item);
        self.turn += 1;
        let new = (item, self.now + delay, self.turn, priority);
        match self.delayed.iter_mut().find(|(other, ..)| *other == item) {
            Some(old) => {
                let priority = priority.max(old.3);
                if new.1 < old.1 {
                    *old = new;
                }
                old.3 = priority;
            }
            None => self.delayed.push(new),
        }
    }

    /// Notes a failure; gives back the delay by the limiter: 5 ms for each failure.
    fn fail(&mut self, item: u8) -> u64 {
        let failures = self.failures.entry(item).or_default();
        *failures += 1;
        u64::from(*failures) * 5
    }

    fn take(&mut self) -> Option<u8> {
        self.delayed.sort_by_key(|(_, due, turn, _)| (*due, *turn));
        while self
            .delayed
            .first()
            .is_some_and(|(_, due, ..)| *due <= self.now)
        {
            let (item, _, _, priority) = self.delayed.remove(0);
            self.add(item, priority);
        }
        let waiting: BTreeSet<_> = self.waiting.iter().map(|(_, priority)| *priority).collect();
        let passed = |priority: &&Priority| self.passed.get(priority).copied() >= Some(AGEING);
        let next = *waiting.iter().find(passed).or_else(|| waiting.last())?;
        for lower in waiting.iter().filter(|lower| **lower < next) {
            *self.passed.entry(*lower).or_default() += 1;
        }
        self.passed.insert(next, 0);
        let at = self
            .waiting
            .iter()
            .position(|(_, priority)| *priority == next)?;
        let (item, _) = self.waiting.remove(at);
        self.working.push(item);
        Some(item)
    }

    fn finish(&mut self, worker: usize, outcome: Outcome, priority: Priority) {
        let item = self.working[worker];
        let is_gone = self.gone.contains(&item);
        let delay = match outcome {
            Outcome::SuccessFor(delay) => Some(delay.as_millis() as u64),
            Outcome::RetryAfter(delay) if is_gone => Some(delay.as_millis() as u64),
            Outcome::RetryAfter(delay) => {
                self.fail(item);
                Some(delay.as_millis() as u64)
            }
            Outcome::Retry if is_gone => Some(0),
            Outcome::Retry => Some(self.fail(item)),
            _ => None,
        };
        if !matches!(
            outcome,
            Outcome::Retry | Outcome::RetryAfter(_) | Outcome::Done
        ) {
            self.failures.remove(&item);
        }
        self.working.remove(worker);
        self.gone.remove(&item);
        if let Some(priority) = self.again.remove(&item) {
            self.add(item, priority);
        }
        if let Some(delay) = delay.filter(|_| !is_gone && !self.is_shut_down) {
            self.add_after(item, delay, priority);
        }
        if self.is_shut_down {
            self.forget_idle();
        }
    }

    fn forget_idle(&mut self) {
        let (waiting, working) = (&self.waiting, &self.working);
        self.failures.retain(|item, _| {
            working.contains(item) || waiting.iter().any(|(other, _)| other == item)
        });
    }

    fn remove(&mut self, item: u8) {
        self.waiting.retain(|(other, _)| *other != item);
        self.delayed.retain(|(other, ..)| *other != item);
        self.failures.remove(&item);
        self.again.remove(&item);
        if self.working.contains(&item) {
            self.gone.insert(item);
        }
    }
}

fn run(steps: Vec<Step>) -> Result<(), TestCaseError> {
    let clock = ManualClock::new();
    let config: Config<u8> = clock
        .config()
        .ageing(AGEING)
        .rate_limiter(|_: &u8, failures: u32, _| ms(5) * (failures + 1));
    let (queue, mut naive) = (WorkQueue::with_config(config), Naive::default());
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
                if open {
                    let delay = naive.fail(item);
                    naive.add_after(item, delay, Priority::Normal);
                }
            }
            Step::Forget(item) => {
                queue.forget(&item);
                naive.failures.remove(&item);
            }
            Step::Remove(item) => {
                queue.remove(&item);
                naive.remove(item);
            }
            Step::Clear => {
                queue.clear();
                naive.waiting.clear();
                naive.delayed.clear();
                naive.again.clear();
                if naive.is_shut_down {
                    naive.forget_idle();
                }
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
            Step::Finish(worker, outcome) if worker < works.len() => {
                let work = works.remove(worker);
                naive.finish(worker, outcome, work.priority());
                work.finish(outcome);
            }
            Step::DropWork(worker) if worker < works.len() => {
                let work = works.remove(worker);
                naive.finish(worker, Outcome::Retry, work.priority());
                drop(work);
            }
            Step::Finish(..) | Step::DropWork(_) => {}
            Step::ShutDown => {
                queue.shut_down();
                naive.is_shut_down = true;
                naive.delayed.clear();
                naive.forget_idle();
            }
        }
        let stats = queue.stats();
        prop_assert_eq!(stats.depth, naive.waiting.len());
        prop_assert_eq!(stats.processing, naive.working.len());
        prop_assert_eq!(stats.delayed, naive.delayed.len());
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
    #![proptest_config(ProptestConfig::with_cases(512))]

    // INV-QUEUE-1, INV-QUEUE-2, INV-QUEUE-3, INV-QUEUE-4, INV-QUEUE-8
    #[test]
    fn it_does_what_a_naive_queue_does(steps in prop::collection::vec(step(), 0..200)) {
        run(steps)?;
    }
}
