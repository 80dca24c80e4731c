//! The state of a queue: plain data and its transitions. Time is an argument, in nanoseconds since the queue began.
//!
//! # Invariants
//! - An item has at most one slot, and a slot stands in at most one list.
//! - A slot that stands in no list is scheduled, or it is released.
//! - Items that are no longer needed go to the garbage, to be dropped after the lock is released.

mod bucket;
mod delays;
mod finish;
mod slots;

use std::hash::Hash;

use crate::limit::RetryRate;
use crate::priority::Priority;
use crate::schedule::Schedule;
use bucket::Bucket;
use slots::{Flags, Place, Slots};

pub(crate) use delays::Wait;
pub(crate) use finish::Finish;

/// What a queue is limited to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// How many items of higher priorities may pass a waiting one.
    pub(crate) starvation_limit: u32,
    /// How many items may be known for their failures alone.
    pub(crate) max_remembered: usize,
    /// How many items may be delayed.
    pub(crate) max_delayed: usize,
    /// How much of its backoff an item waits out that is added, in nanoseconds.
    pub(crate) event_backoff: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Running,
    ShutDown,
    /// Shut down, and someone waits for the last item to be done.
    Draining,
}

/// An item on its way to a worker.
#[derive(Debug)]
pub(crate) struct Taken<T> {
    pub(crate) slot: u32,
    pub(crate) item: T,
    pub(crate) failures: u32,
    pub(crate) priority: Priority,
    /// How long it waited, in nanoseconds.
    pub(crate) waited: u64,
}

/// What a change may have to tell to those who wait.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outline {
    pub(crate) ready: usize,
    pub(crate) next_due: Option<u64>,
    pub(crate) is_shut_down: bool,
    pub(crate) is_draining: bool,
    /// Nothing waits to be taken, nobody works.
    pub(crate) is_idle: bool,
}

/// How much there is, and how much there was.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counts {
    pub(crate) ready: usize,
    pub(crate) processing: usize,
    pub(crate) delayed: usize,
    pub(crate) remembered: usize,
    pub(crate) known: usize,
    pub(crate) added: u64,
    pub(crate) retried: u64,
    pub(crate) given_up: u64,
    /// Together, for how long the items in work have been worked on, in nanoseconds.
    pub(crate) unfinished: u128,
    /// For how long the oldest of them.
    pub(crate) longest_running: u64,
}

pub(crate) struct State<T> {
    slots: Slots<T>,
    schedule: Schedule,
    /// The rates of all retries together.
    buckets: Vec<Bucket>,
    /// How many were taken from above each priority since one was taken from it, while some waited in it.
    passed: [u32; Priority::COUNT],
    phase: Phase,
    limits: Limits,
    added: u64,
    retried: u64,
    given_up: u64,
    /// The sum of the times at which the items in work were taken.
    taken_at: u128,
    garbage: Garbage<T>,
}

/// Items to drop; most often one or none.
pub(crate) struct Garbage<T> {
    first: Option<T>,
    more: Vec<T>,
}

impl<T> Default for Garbage<T> {
    fn default() -> Self {
        Self {
            first: None,
            more: Vec::new(),
        }
    }
}

impl<T> Garbage<T> {
    fn push(&mut self, item: T) {
        match self.first {
            None => self.first = Some(item),
            Some(_) => self.more.push(item),
        }
    }

    /// Takes back what was pushed last.
    fn pop(&mut self) -> Option<T> {
        self.more.pop().or_else(|| self.first.take())
    }
}

impl<T: Clone + Eq + Hash> State<T> {
    pub(crate) fn new(limits: Limits, rates: &[RetryRate]) -> Self {
        Self {
            slots: Slots::new(),
            schedule: Schedule::default(),
            buckets: rates.iter().map(Bucket::new).collect(),
            passed: [0; Priority::COUNT],
            phase: Phase::Running,
            limits,
            added: 0,
            retried: 0,
            given_up: 0,
            taken_at: 0,
            garbage: Garbage::default(),
        }
    }

    /// Queues an item. Returns whether it did not wait already, or the item if that depends on the time.
    #[inline]
    pub(crate) fn add(
        &mut self,
        item: T,
        priority: Priority,
        now: Option<u64>,
    ) -> Result<bool, Option<T>> {
        let Some(slot) = self.slot(item) else {
            return Ok(false);
        };
        // It is known, so the copy that was given here is not needed and was put away.
        self.queue(slot, priority, now)
            .ok_or_else(|| self.garbage.pop())
    }

    /// Queues an item later. Of two times for one item the earlier holds.
    pub(crate) fn add_later(&mut self, item: T, priority: Priority, due: u64, now: u64) {
        if let Some(slot) = self.slot(item) {
            self.delay(slot, priority, due, now);
        }
    }

    /// Notes a failure of an item that is to be tried again. Returns how many there were before, or `None` if nothing is
    /// to be done: it waits already, or the queue is shut down.
    pub(crate) fn note_failure(&mut self, item: T) -> Option<u32> {
        let slot = self.slot(item)?;
        if self.awaits_retry(slot) {
            return None;
        }
        let before = self.slots[slot].failures;
        self.slots[slot].failures = before.saturating_add(1);
        self.retried += 1;
        self.place_idle(slot);
        Some(before)
    }

    /// Lets an item whose failure was noted wait for its retry, unless one waits by now.
    pub(crate) fn retry_later(&mut self, item: T, priority: Priority, due: u64, now: u64) {
        let Some(slot) = self.slot(item) else {
            return;
        };
        if self.awaits_retry(slot) {
            return;
        }
        if self.slots.place(slot) == Place::Processing {
            self.delay_limited(slot, priority, due, now);
            return;
        }
        self.slots.put(slot, Place::None);
        self.retry(slot, priority, due, Wait::Limited, now);
    }

    /// Whether it matters what time it is when an item is taken.
    pub(crate) const fn has_delays(&self) -> bool {
        self.schedule.len() > 0
    }

    /// The next item, if one waits.
    #[inline]
    pub(crate) fn take(&mut self, now: u64) -> Option<Taken<T>> {
        if self.has_delays() {
            self.promote(now);
        }
        let priority = self.next_priority()?;
        let slot = self.slots.first(Place::Ready(priority))?;
        // Of a user's making: if it panics, the item still waits.
        let item = self.slots[slot].item()?.clone();
        self.slots.put(slot, Place::Processing);
        self.taken_at += u128::from(now);
        let entry = &mut self.slots[slot];
        entry.moment = now;
        Some(Taken {
            slot,
            failures: entry.failures,
            priority,
            waited: now.saturating_sub(entry.waits_since),
            item,
        })
    }

    /// Forgets how often an item failed.
    pub(crate) fn forget(&mut self, item: &T) {
        if let Some(slot) = self.slots.find(item) {
            self.slots[slot].failures = 0;
            // What is forgotten holds nothing back.
            self.slots[slot].flags.remove(Flags::BACKOFF);
            self.place_idle(slot);
        }
    }

    /// How often an item failed since it was last forgotten.
    pub(crate) fn failures(&self, item: &T) -> u32 {
        let slot = self.slots.find(item);
        slot.map_or(0, |slot| self.slots[slot].failures)
    }

    /// Drops all that is known of an item. The result of its work counts for nothing. Returns whether it was known.
    pub(crate) fn remove(&mut self, item: &T) -> bool {
        let Some(slot) = self.slots.find(item) else {
            return false;
        };
        self.cancel_delays(slot);
        self.slots[slot].failures = 0;
        self.slots[slot].again = None;
        if self.slots.place(slot) == Place::Processing {
            self.slots[slot].flags.insert(Flags::REMOVED);
        } else {
            self.slots.put(slot, Place::None);
        }
        self.place_idle(slot);
        true
    }

    /// Ignores further additions. Delayed items are dropped; waiting ones are still handed out.
    pub(crate) fn shut_down(&mut self, drain: bool, now: u64) {
        self.phase = if drain {
            Phase::Draining
        } else {
            Phase::ShutDown
        };
        self.drop_delayed(true, now);
        while let Some(slot) = self.slots.first(Place::Remembered) {
            self.slots.put(slot, Place::None);
            self.place_idle(slot);
        }
    }

    /// Drops all items that wait or are delayed. Returns how many.
    pub(crate) fn clear(&mut self, now: u64) -> usize {
        let mut dropped = self.drop_delayed(false, now);
        for priority in Priority::ALL {
            while let Some(slot) = self.slots.first(Place::Ready(priority)) {
                self.slots.put(slot, Place::None);
                self.place_idle(slot);
                dropped += 1;
            }
        }
        let mut working = self.slots.first(Place::Processing);
        while let Some(slot) = working {
            dropped += usize::from(self.slots[slot].again.take().is_some());
            working = self.slots.after(slot);
        }
        dropped
    }

    #[inline]
    pub(crate) fn outline(&self) -> Outline {
        let ready = self.slots.ready();
        Outline {
            ready,
            next_due: self.schedule.next_due(),
            is_shut_down: self.phase != Phase::Running,
            is_draining: self.phase == Phase::Draining,
            is_idle: ready == 0 && self.slots.len(Place::Processing) == 0,
        }
    }

    pub(crate) fn counts(&self, now: u64) -> Counts {
        let processing = self.slots.len(Place::Processing);
        let oldest = self.slots.first(Place::Processing);
        Counts {
            ready: self.slots.ready(),
            processing,
            delayed: self.schedule.len(),
            remembered: self.slots.len(Place::Remembered),
            known: self.slots.known(),
            added: self.added,
            retried: self.retried,
            given_up: self.given_up,
            unfinished: (u128::from(now) * processing as u128).saturating_sub(self.taken_at),
            longest_running: oldest.map_or(0, |slot| now.saturating_sub(self.slots[slot].moment)),
        }
    }

    /// How many items were ever added.
    pub(crate) const fn added(&self) -> u64 {
        self.added
    }

    #[inline]
    pub(crate) fn take_garbage(&mut self) -> Garbage<T> {
        let more = &mut self.garbage.more;
        Garbage {
            more: if more.is_empty() {
                Vec::new()
            } else {
                std::mem::take(more)
            },
            first: self.garbage.first.take(),
        }
    }

    /// The slot of an item that someone wants to be processed, unless the queue is shut down.
    fn slot(&mut self, item: T) -> Option<u32> {
        if self.phase != Phase::Running {
            self.garbage.push(item);
            return None;
        }
        let garbage = &mut self.garbage;
        Some(self.slots.find_or_insert(item, |spare| garbage.push(spare)))
    }

    /// From which priority the next item comes: the highest, unless a lower one was passed too often.
    fn next_priority(&mut self) -> Option<Priority> {
        let waiting = |state: &Self, priority| state.slots.len(Place::Ready(priority));
        let highest = Priority::ALL
            .into_iter()
            .rev()
            .find(|priority| waiting(self, *priority) > 0)?;
        if waiting(self, highest) == self.slots.ready() {
            // It passes none.
            self.passed[highest.index()] = 0;
            return Some(highest);
        }
        let overdue = |priority: &Priority| {
            waiting(self, *priority) > 0
                && self.passed[priority.index()] >= self.limits.starvation_limit
        };
        let next = Priority::ALL.into_iter().find(overdue).unwrap_or(highest);
        for lower in Priority::ALL.into_iter().filter(|lower| *lower < next) {
            if waiting(self, lower) > 0 {
                self.passed[lower.index()] = self.passed[lower.index()].saturating_add(1);
            }
        }
        self.passed[next.index()] = 0;
        Some(next)
    }

    /// Finds the place of a slot that stands in no list, or lets it go.
    fn place_idle(&mut self, slot: u32) {
        let place = self.slots.place(slot);
        let idle = matches!(place, Place::None | Place::Remembered);
        if !idle || self.schedule.due(slot).is_some() {
            return;
        }
        if self.slots[slot].failures == 0 || self.phase != Phase::Running {
            self.release(slot);
            return;
        }
        if place == Place::None {
            self.slots.put(slot, Place::Remembered);
        }
        if self.slots.len(Place::Remembered) > self.limits.max_remembered
            && let Some(oldest) = self.slots.first(Place::Remembered)
        {
            self.release(oldest);
        }
    }

    fn release(&mut self, slot: u32) {
        self.slots.put(slot, Place::None);
        if let Some(item) = self.slots.release(slot) {
            self.garbage.push(item);
        }
    }
}
