//! The queue as one would write it down: maps that are searched, times in whole milliseconds.

use std::collections::{BTreeMap, BTreeSet};

use informer_workqueue::{Priority, WorkResult};

pub(crate) const STARVATION_LIMIT: u32 = 3;

/// The delay of a retry, for each failure so far.
pub(crate) const STEP: u64 = 5;

/// The tokens of all retries: how long one takes to come back, and how many there are at most.
pub(crate) const TOKEN: u64 = 10;
pub(crate) const BURST: u64 = 2;

/// How long an item waits for its retry at most, from its failure.
pub(crate) const LONGEST: u64 = 60;

/// What a model is told that can differ.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings {
    pub(crate) event_backoff: u64,
    pub(crate) max_delayed: usize,
}

#[derive(Debug, Clone, Copy)]
struct Retry {
    due: u64,
    since: u64,
    is_backoff: bool,
    needs_token: bool,
    has_token: bool,
    /// It was added while it waited.
    is_held: bool,
}

/// An added delay; one of a rate limiter needs a token.
#[derive(Debug, Clone, Copy)]
struct Added {
    due: u64,
    is_limited: bool,
    has_token: bool,
}

pub(crate) struct Naive {
    settings: Settings,
    pub(crate) now: u64,
    turn: u64,
    pub(crate) waiting: Vec<(u8, Priority)>,
    added: BTreeMap<u8, Added>,
    retries: BTreeMap<u8, Retry>,
    /// For each delayed item: its earlier time, and in which turn that was set.
    first: BTreeMap<u8, (u64, u64)>,
    later: BTreeMap<u8, Priority>,
    pub(crate) working: Vec<u8>,
    again: BTreeMap<u8, Priority>,
    removed: BTreeSet<u8>,
    pub(crate) failures: BTreeMap<u8, u32>,
    passed: BTreeMap<Priority, u32>,
    /// The content of the bucket, counted in milliseconds of coming back; below zero where tokens are promised.
    level: i64,
    level_at: u64,
    /// When each token that was taken was to be had.
    tokens: Vec<u64>,
    pub(crate) is_shut_down: bool,
}

impl Naive {
    pub(crate) fn new(settings: Settings) -> Self {
        Self {
            settings,
            now: 0,
            turn: 0,
            waiting: Vec::new(),
            added: BTreeMap::new(),
            retries: BTreeMap::new(),
            first: BTreeMap::new(),
            later: BTreeMap::new(),
            working: Vec::new(),
            again: BTreeMap::new(),
            removed: BTreeSet::new(),
            failures: BTreeMap::new(),
            passed: BTreeMap::new(),
            level: (BURST * TOKEN) as i64,
            level_at: 0,
            tokens: Vec::new(),
            is_shut_down: false,
        }
    }

    pub(crate) fn delayed(&self) -> usize {
        self.first.len()
    }

    fn refill(&mut self) {
        let passed = (self.now - self.level_at) as i64;
        self.level = (self.level + passed).min((BURST * TOKEN) as i64);
        self.level_at = self.now;
    }

    /// When a token can be had.
    fn next_token(&mut self) -> u64 {
        self.refill();
        self.now + (TOKEN as i64 - self.level).max(0) as u64
    }

    fn take_token(&mut self) {
        let time = self.next_token();
        self.tokens.push(time);
        self.level -= TOKEN as i64;
    }

    /// The token of this time was not used. Those after it keep their times.
    fn put_back(&mut self, time: u64) {
        if self.tokens.last() == Some(&time) {
            self.refill();
            self.tokens.pop();
            self.level += TOKEN as i64;
        }
    }

    fn is_waiting(&self, item: u8) -> bool {
        self.waiting.iter().any(|(other, _)| *other == item)
    }

    /// Writes the earlier of the two times of an item.
    fn order(&mut self, item: u8, priority: Priority) {
        let added = self.added.get(&item).map(|added| added.due);
        let retry = self.retries.get(&item).map(|retry| retry.due);
        let known = self.first.contains_key(&item);
        let later = self.later.entry(item).or_insert(priority);
        *later = if known {
            priority.max(*later)
        } else {
            priority
        };
        let Some(due) = added.into_iter().chain(retry).min() else {
            self.first.remove(&item);
            return;
        };
        if self.first.get(&item).is_none_or(|(old, _)| *old != due) {
            self.turn += 1;
            self.first.insert(item, (due, self.turn));
        }
    }

    fn void_retry(&mut self, item: u8) {
        if let Some(retry) = self.retries.remove(&item) {
            if retry.has_token {
                self.put_back(retry.due);
            }
            self.order(item, self.later[&item]);
        }
    }

    fn ready(&mut self, item: u8, priority: Priority) {
        self.void_retry(item);
        self.waiting.push((item, priority));
    }

    pub(crate) fn add(&mut self, item: u8, priority: Priority) {
        if self.working.contains(&item) {
            let old = self.again.entry(item).or_insert(priority);
            *old = priority.max(*old);
            return;
        }
        if let Some(at) = self.waiting.iter().position(|(other, _)| *other == item) {
            if self.waiting[at].1 < priority {
                self.waiting.remove(at);
                self.waiting.push((item, priority));
            }
            return;
        }
        let until = |retry: &Retry| retry.since + self.settings.event_backoff;
        let held = self
            .retries
            .get(&item)
            .filter(|retry| retry.is_backoff && self.now < until(retry));
        let Some(mut retry) = held.copied() else {
            self.ready(item, priority);
            return;
        };
        if until(&retry) < retry.due {
            let due = retry.due;
            retry.due = until(&retry);
            if retry.has_token {
                self.put_back(due);
            }
            (retry.needs_token, retry.has_token) = (false, false);
        }
        retry.is_held = true;
        self.retries.insert(item, retry);
        self.order(item, priority);
    }

    pub(crate) fn add_after(&mut self, item: u8, delay: u64, priority: Priority) {
        if delay == 0 {
            self.add(item, priority);
            return;
        }
        let due = self.now + delay;
        match self.added.get_mut(&item) {
            Some(added) => added.due = added.due.min(due),
            None => {
                let new = Added {
                    due,
                    is_limited: false,
                    has_token: false,
                };
                self.added.insert(item, new);
            }
        }
        self.order(item, priority);
        self.limit();
    }

    /// Counts a failure; returns the delay of its retry.
    fn fail(&mut self, item: u8) -> u64 {
        let failures = self.failures.entry(item).or_default();
        *failures += 1;
        u64::from(*failures) * STEP
    }

    pub(crate) fn add_rate_limited(&mut self, item: u8) {
        let is_limited = self.added.get(&item).is_some_and(|added| added.is_limited);
        if is_limited || self.is_waiting(item) || self.retries.contains_key(&item) {
            return;
        }
        let delay = self.fail(item);
        if !self.working.contains(&item) {
            self.retry(item, delay, Priority::Normal, true, true);
            return;
        }
        let due = self.now + delay;
        let due = self
            .added
            .get(&item)
            .map_or(due, |added| added.due.min(due));
        self.added.insert(
            item,
            Added {
                due,
                is_limited: true,
                has_token: false,
            },
        );
        self.order(item, Priority::Normal);
        self.limit();
    }

    fn retry(&mut self, item: u8, delay: u64, priority: Priority, is_backoff: bool, token: bool) {
        let mut retry = Retry {
            due: self.now + delay,
            since: self.now,
            is_backoff,
            needs_token: token,
            has_token: false,
            is_held: false,
        };
        if delay == 0 {
            retry.due = self.admit(&mut retry);
        }
        if retry.due <= self.now {
            self.ready(item, priority);
            return;
        }
        self.retries.insert(item, retry);
        self.order(item, priority);
        self.limit();
    }

    fn admit(&mut self, retry: &mut Retry) -> u64 {
        if !std::mem::take(&mut retry.needs_token) {
            return self.now;
        }
        let next = self.next_token();
        let mut until = retry.since + LONGEST;
        if retry.is_held {
            until = until.min(retry.since + self.settings.event_backoff);
        }
        if until < next {
            return until.max(self.now);
        }
        self.take_token();
        retry.has_token = true;
        next
    }

    fn is_retry_first(&self, item: u8) -> bool {
        let retry = self.retries.get(&item).map_or(u64::MAX, |retry| retry.due);
        retry < self.added.get(&item).map_or(u64::MAX, |added| added.due)
    }

    fn promote(&mut self) {
        while let Some((item, _)) = self.pop(self.now) {
            let priority = self.later[&item];
            let is_retry = self.is_retry_first(item);
            if is_retry {
                let mut retry = self.retries[&item];
                retry.due = self.admit(&mut retry);
                self.retries.insert(item, retry);
                if retry.due > self.now {
                    self.order(item, priority);
                    continue;
                }
            } else if let Some(mut added) = self.added.get(&item).copied()
                && added.is_limited
                && !added.has_token
            {
                added.due = self.next_token();
                if self.now + LONGEST < added.due {
                    added.due = self.now + LONGEST;
                } else {
                    self.take_token();
                    added.has_token = true;
                }
                self.added.insert(item, added);
                if added.due > self.now {
                    self.order(item, priority);
                    continue;
                }
            }
            self.fire(item, is_retry);
        }
    }

    fn pop(&mut self, until: u64) -> Option<(u8, u64)> {
        let first = self
            .first
            .iter()
            .map(|(item, (due, turn))| (*due, *turn, *item));
        let (due, _, item) = first.min().filter(|(due, ..)| *due <= until)?;
        self.first.remove(&item);
        Some((item, due))
    }

    fn fire(&mut self, item: u8, is_retry: bool) {
        let priority = self.later[&item];
        if is_retry {
            // The token is spent.
            self.retries.remove(&item);
            self.order(item, priority);
            self.ready(item, priority);
        } else {
            self.added.remove(&item);
            self.order(item, priority);
            self.add(item, priority);
        }
    }

    fn limit(&mut self) {
        while self.first.len() > self.settings.max_delayed {
            let (item, _) = self.pop(u64::MAX).expect("there are some");
            let is_retry = self.is_retry_first(item);
            if let Some(retry) = self.retries.get_mut(&item) {
                retry.is_backoff = false;
            }
            self.fire(item, is_retry);
        }
    }

    pub(crate) fn take(&mut self) -> Option<u8> {
        self.promote();
        let waiting: BTreeSet<_> = self.waiting.iter().map(|(_, priority)| *priority).collect();
        let passed =
            |priority: &&Priority| self.passed.get(priority).copied() >= Some(STARVATION_LIMIT);
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

    pub(crate) fn finish(&mut self, worker: usize, result: WorkResult, priority: Priority) {
        let item = self.working.remove(worker);
        if !self.removed.remove(&item) {
            let millis = |delay: std::time::Duration| delay.as_millis() as u64;
            let again = match result {
                WorkResult::SuccessFor(delay) => Some((millis(delay), false, false)),
                WorkResult::RetryAfter(delay) => {
                    self.fail(item);
                    Some((millis(delay), true, false))
                }
                WorkResult::Retry => Some((self.fail(item), true, true)),
                _ => None,
            };
            if !matches!(
                result,
                WorkResult::Retry | WorkResult::RetryAfter(_) | WorkResult::Done
            ) {
                self.failures.remove(&item);
            }
            if let Some((delay, is_backoff, token)) = again.filter(|_| !self.is_shut_down) {
                self.retry(item, delay, priority, is_backoff, token);
            }
        }
        if let Some(priority) = self.again.remove(&item) {
            self.add(item, priority);
        }
        if self.is_shut_down {
            self.forget_idle();
        }
    }

    pub(crate) fn forget_idle(&mut self) {
        let (waiting, working) = (&self.waiting, &self.working);
        self.failures.retain(|item, _| {
            working.contains(item) || waiting.iter().any(|(other, _)| other == item)
        });
    }

    pub(crate) fn forget(&mut self, item: u8) {
        self.failures.remove(&item);
        if let Some(retry) = self.retries.get_mut(&item) {
            retry.is_backoff = false;
        }
    }

    /// Ends the delays of an item; returns whether it was added while its retry waited.
    fn cancel(&mut self, item: u8) -> bool {
        self.first.remove(&item);
        let added = self.added.remove(&item);
        let retry = self.retries.remove(&item);
        if let Some(retry) = retry.filter(|retry| retry.has_token) {
            self.put_back(retry.due);
        }
        if let Some(added) = added.filter(|added| added.has_token) {
            self.put_back(added.due);
        }
        retry.is_some_and(|retry| retry.is_held)
    }

    pub(crate) fn remove(&mut self, item: u8) {
        self.waiting.retain(|(other, _)| *other != item);
        self.cancel(item);
        self.failures.remove(&item);
        self.again.remove(&item);
        if self.working.contains(&item) {
            self.removed.insert(item);
        }
    }

    /// All tokens that are waited for come back at once.
    fn put_all_back(&mut self) {
        self.refill();
        self.level = self.level.max(0);
        self.tokens.clear();
    }

    pub(crate) fn clear(&mut self) {
        self.put_all_back();
        self.waiting.clear();
        self.again.clear();
        let delayed: Vec<u8> = self.first.keys().copied().collect();
        for item in delayed {
            self.cancel(item);
        }
        if self.is_shut_down {
            self.forget_idle();
        }
    }

    pub(crate) fn shut_down(&mut self) {
        self.is_shut_down = true;
        self.put_all_back();
        while let Some((item, _)) = self.pop(u64::MAX) {
            if self.cancel(item) {
                self.waiting.push((item, self.later[&item]));
            }
        }
        self.forget_idle();
    }
}
