//! The lock of a queue, and who is woken when.
//!
//! # Lock order
//! The queue's lock is the only one. Under it nothing of a user's runs but hashing, comparing and cloning items; items
//! are dropped, limiters and metrics called after it is released.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::Item;
use crate::config::{Clock, WorkQueueConfig};
use crate::limit::RateLimiter;
use crate::metrics::Metrics;
use crate::priority::Priority;
use crate::signal::Signal;
use crate::state::{Finish, Outline, State, Taken};
use crate::sync::Mutex;

pub(crate) struct Shared<T> {
    state: Mutex<State<T>>,
    /// There is more to take, an earlier time to wait for, or nothing more to come.
    pub(crate) ready: Signal,
    /// The queue is shut down, and idle or no longer draining.
    pub(crate) idle: Signal,
    limiter: Arc<dyn RateLimiter<T>>,
    metrics: Option<Arc<dyn Metrics>>,
    clock: Arc<Clock>,
    began: Instant,
}

impl<T: Item> Shared<T> {
    pub(crate) fn new(config: WorkQueueConfig<T>) -> Self {
        Self {
            state: Mutex::new(State::new(config.limits, &config.limiter.rates())),
            ready: Signal::new(),
            idle: Signal::new(),
            limiter: config.limiter,
            metrics: config.metrics,
            began: (config.clock)(),
            clock: config.clock,
        }
    }

    /// Nanoseconds since the queue began.
    pub(crate) fn now(&self) -> u64 {
        nanos((self.clock)().saturating_duration_since(self.began))
    }

    /// The same where only metrics want to know.
    pub(crate) fn stamp(&self) -> u64 {
        if self.metrics.is_some() {
            self.now()
        } else {
            0
        }
    }

    pub(crate) fn read<R>(&self, look: impl FnOnce(&State<T>) -> R) -> R {
        look(&self.state.lock())
    }

    /// Runs a transition and wakes those who can go on after it.
    #[inline]
    pub(crate) fn change<R>(&self, transition: impl FnOnce(&mut State<T>) -> R) -> R {
        let mut state = self.state.lock();
        let before = state.outline();
        let result = transition(&mut state);
        let after = state.outline();
        let garbage = state.take_garbage();
        drop(state);
        drop(garbage);
        self.tell(before, after);
        result
    }

    /// Wakes those who can go on after a change.
    #[inline]
    fn tell(&self, before: Outline, after: Outline) {
        let is_earlier = |due| before.next_due.is_none_or(|before| due < before);
        if after.is_shut_down != before.is_shut_down || after.next_due.is_some_and(is_earlier) {
            self.ready.wake_all();
        } else if after.ready > before.ready {
            self.ready.wake(after.ready - before.ready);
        }
        if after.is_shut_down && (after.is_idle || !after.is_draining) {
            self.idle.wake_all();
        }
        if let Some(metrics) = &self.metrics
            && after.ready != before.ready
        {
            metrics.depth(after.ready);
        }
    }

    /// Runs a transition that may add items, and counts them.
    #[inline]
    fn adding<R>(&self, transition: impl FnOnce(&mut State<T>) -> R) -> R {
        let (result, added) = self.change(|state| {
            let before = state.added();
            let result = transition(state);
            (result, state.added() - before)
        });
        if let Some(metrics) = &self.metrics {
            (0..added).for_each(|_| metrics.added());
        }
        result
    }

    #[inline]
    pub(crate) fn add(&self, item: T, priority: Priority) -> bool {
        let now = self.metrics.is_some().then(|| self.now());
        match self.adding(|state| state.add(item, priority, now)) {
            Ok(is_new) => is_new,
            // Seldom: it has just failed, and reading the clock costs more than all the rest.
            Err(Some(item)) => {
                let now = self.now();
                let added = self.adding(|state| state.add(item, priority, Some(now)));
                added.unwrap_or(false)
            }
            Err(None) => false,
        }
    }

    pub(crate) fn add_after(&self, item: T, delay: Duration, priority: Priority) {
        let now = self.now();
        let due = later(now, delay);
        self.adding(|state| state.add_later(item, priority, due, now));
    }

    /// Adds an item after a delay by the rate limiter, unless it waits already.
    pub(crate) fn add_rate_limited(&self, item: T, priority: Priority) {
        let noted = item.clone();
        if let Some(failures) = self.change(|state| state.note_failure(noted)) {
            let delay = self.limit(&item, failures);
            let now = self.now();
            let due = later(now, delay);
            self.adding(|state| state.retry_later(item, priority, due, now));
        }
    }

    #[inline]
    pub(crate) fn take(&self) -> Option<Taken<T>> {
        if self.metrics.is_some() {
            return self.take_at(self.now());
        }
        // Reading the clock costs more than all the rest.
        let mut has_delays = false;
        let taken = self.change(|state| {
            has_delays = state.has_delays();
            if has_delays { None } else { state.take(0) }
        });
        if has_delays {
            return self.take_at(self.now());
        }
        taken
    }

    fn take_at(&self, now: u64) -> Option<Taken<T>> {
        let taken = self.adding(|state| state.take(now))?;
        if let Some(metrics) = &self.metrics {
            metrics.taken(Duration::from_nanos(taken.waited));
        }
        Some(taken)
    }

    pub(crate) fn finish(&self, slot: u32, finish: Finish) {
        let now = match finish {
            Finish::Again { .. } => self.now(),
            Finish::Success | Finish::GiveUp | Finish::Done => self.stamp(),
        };
        let worked = self.adding(|state| state.finish(slot, finish, now));
        if let Some(metrics) = &self.metrics {
            metrics.finished(Duration::from_nanos(worked));
        }
    }

    /// How long an item that was taken waits before it is tried again.
    pub(crate) fn fail(&self, slot: u32, item: &T) -> Duration {
        let failures = self.change(|state| state.fail(slot));
        self.limit(item, failures)
    }

    fn limit(&self, item: &T, failures: u32) -> Duration {
        if let Some(metrics) = &self.metrics {
            metrics.retried();
        }
        self.limiter.delay(item, failures, (self.clock)())
    }

    /// When a retry is due that waits so long from now.
    pub(crate) fn due(&self, delay: Duration) -> u64 {
        later(self.now(), delay)
    }

    /// Lets the limiter forget an item.
    pub(crate) fn pardon(&self, item: &T) {
        self.limiter.forget(item);
    }

    /// How long until a time.
    pub(crate) fn until(&self, due: u64) -> Duration {
        Duration::from_nanos(due.saturating_sub(self.now()))
    }

    /// At what instant a time is.
    pub(crate) fn instant(&self, due: u64) -> Option<Instant> {
        Instant::now().checked_add(self.until(due))
    }
}

pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// The time after a delay, which is some time, however long the delay.
fn later(now: u64, delay: Duration) -> u64 {
    now.saturating_add(nanos(delay)).min(u64::MAX - 1)
}
