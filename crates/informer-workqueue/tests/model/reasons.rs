//! What holds of each run of an item, told from outside: it has a reason, it comes in time, and retries keep to their rate.

use std::collections::BTreeMap;

use informer_workqueue::{Priority, WorkQueue, WorkResult};
use proptest::prelude::*;

use super::naive::{BURST, LONGEST, STEP, TOKEN};
use super::support::{ManualClock, ms};
use super::{Limiter, result};

const EVENT_BACKOFF: u64 = 20;

/// From when on all work succeeds, so that an end comes.
const HEALED: u64 = 5_000;

/// What somebody does with an item.
#[derive(Debug, Clone)]
enum Act {
    Add,
    AddAfter(u64),
    AddRateLimited,
}

/// Acts on items, each so many milliseconds after the one before.
fn acts() -> impl Strategy<Value = Vec<(u64, u8, Act)>> {
    let act = prop_oneof![
        6 => Just(Act::Add),
        2 => (1..200_u64).prop_map(Act::AddAfter),
        1 => Just(Act::AddRateLimited),
    ];
    prop::collection::vec((0..30_u64, 0..4_u8, act), 0..60)
}

/// How work goes. Nothing comes again at once, or time would stand still.
fn results() -> impl Strategy<Value = Vec<WorkResult>> {
    let result = result().prop_map(|result| match result {
        WorkResult::SuccessFor(delay) => WorkResult::SuccessFor(delay.max(ms(1))),
        WorkResult::RetryAfter(delay) => WorkResult::RetryAfter(delay.max(ms(1))),
        other => other,
    });
    prop::collection::vec(result, 1..20)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// It was added: any run after that serves it.
    Added,
    /// A delay was asked for: a run after its end serves it.
    Delay,
    /// Its last work asks for it: the next run serves it, whenever that is.
    Retry,
}

/// Why an item may run, and when it has to have run.
#[derive(Debug, Clone, Copy)]
struct Reason {
    kind: Kind,
    from: u64,
    until: u64,
}

struct Play {
    queue: WorkQueue<u8>,
    now: u64,
    reasons: BTreeMap<u8, Vec<Reason>>,
    /// When an item ran for its retry alone, and that was due before the longest wait for a token had passed.
    retried: Vec<u64>,
}

impl Play {
    fn retry(&self, item: u8) -> Reason {
        let delay = u64::from(self.queue.failures(&item)) * STEP;
        Reason {
            kind: Kind::Retry,
            from: self.now + delay,
            until: self.now + delay.max(LONGEST),
        }
    }

    fn act(&mut self, item: u8, act: &Act) {
        let failures = self.queue.failures(&item);
        let (from, until) = match act {
            Act::Add => {
                self.queue.add_with_priority(item, Priority::Low);
                (self.now, self.now + EVENT_BACKOFF)
            }
            Act::AddAfter(delay) => {
                self.queue.add_after(item, ms(*delay));
                (self.now + delay, self.now + delay + EVENT_BACKOFF)
            }
            Act::AddRateLimited => {
                self.queue.add_rate_limited(item);
                let retry = self.retry(item);
                // One that waits already is left alone.
                if self.queue.failures(&item) > failures {
                    self.reasons.entry(item).or_default().push(retry);
                }
                return;
            }
        };
        let reasons = self.reasons.entry(item).or_default();
        if let Act::Add = act {
            reasons.push(Reason {
                kind: Kind::Added,
                from,
                until,
            });
            return;
        }
        // Of two such delays the one that ends first holds.
        let now = self.now;
        let waits = |old: &Reason| old.kind == Kind::Delay && old.from > now;
        if !reasons.iter().any(|old| waits(old) && old.from <= from) {
            reasons.retain(|old| !waits(old));
            reasons.push(Reason {
                kind: Kind::Delay,
                from,
                until,
            });
        }
    }

    /// A worker takes all that is there, and is done with it at once.
    fn work(&mut self, mut next: impl FnMut() -> WorkResult) -> Result<(), TestCaseError> {
        let now = self.now;
        while let Some(work) = self.queue.try_get() {
            let item = *work;
            let reasons = self.reasons.entry(item).or_default();
            let due: Vec<_> = reasons
                .iter()
                .filter(|reason| reason.from <= now)
                .copied()
                .collect();
            prop_assert!(
                !due.is_empty(),
                "{item} ran at {now} without a reason: {reasons:?}"
            );
            if due
                .iter()
                .all(|reason| reason.kind == Kind::Retry && now < reason.until)
            {
                self.retried.push(now);
            }
            reasons.retain(|reason| reason.kind == Kind::Delay && reason.from > now);
            let result = if now < HEALED {
                next()
            } else {
                WorkResult::Success
            };
            work.finish(result);
            let retry = match result {
                WorkResult::Retry => self.retry(item),
                WorkResult::RetryAfter(delay) | WorkResult::SuccessFor(delay) => {
                    let due = now + delay.as_millis() as u64;
                    // No token is waited for, so none is counted.
                    Reason {
                        kind: Kind::Retry,
                        from: due,
                        until: due,
                    }
                }
                _ => continue,
            };
            self.reasons.entry(item).or_default().push(retry);
        }
        for (item, reasons) in &self.reasons {
            let late = reasons.iter().find(|reason| reason.until <= now);
            prop_assert!(late.is_none(), "{item} has not run at {now}: {late:?}");
        }
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.reasons.values().all(Vec::is_empty)
    }
}

fn play(acts: &[(u64, u8, Act)], results: &[WorkResult]) -> Result<(), TestCaseError> {
    let clock = ManualClock::new();
    let config = clock
        .config()
        .event_backoff(ms(EVENT_BACKOFF))
        .rate_limiter(Limiter);
    let mut play = Play {
        queue: WorkQueue::with_config(config),
        now: 0,
        reasons: BTreeMap::new(),
        retried: Vec::new(),
    };
    let mut results = results.iter().copied().cycle();
    let mut next = || results.next().expect("endless");
    let advance = |play: &mut Play, next: &mut dyn FnMut() -> WorkResult| {
        play.work(next)?;
        clock.advance(1);
        play.now += 1;
        Ok::<_, TestCaseError>(())
    };
    for (wait, item, act) in acts {
        for _ in 0..*wait {
            advance(&mut play, &mut next)?;
        }
        // What is due by now is no longer delayed.
        play.work(&mut next)?;
        play.act(*item, act);
    }
    while !play.is_over() {
        advance(&mut play, &mut next)?;
    }
    prop_assert_eq!(play.queue.stats().delayed, 0);
    prop_assert_eq!(play.queue.len(), 0);
    // Of any moments the first and the last are far enough apart for the tokens of all between.
    for (first, from) in play.retried.iter().enumerate() {
        for (count, until) in (1..).zip(&play.retried[first..]) {
            let tokens = BURST + (until - from) / TOKEN;
            prop_assert!(count <= tokens, "{count} retries from {from} to {until}");
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    // INV-QUEUE-2, INV-QUEUE-4, INV-QUEUE-9, INV-QUEUE-10, INV-QUEUE-11
    #[test]
    fn each_run_has_a_reason_and_each_reason_its_run(
        acts in acts(),
        results in results(),
    ) {
        play(&acts, &results)?;
    }
}
