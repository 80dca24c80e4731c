//! What becomes of an item when the work on it ends.

use std::hash::Hash;

use super::delays::Wait;
use super::slots::{Flags, NEVER, Place};
use super::{Phase, State};
use crate::priority::Priority;

/// How a worker leaves an item.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Finish {
    /// It succeeded; its failures are forgotten.
    Success,
    /// It is not tried again; its failures are forgotten.
    GiveUp,
    /// Its failures stay as they are.
    Done,
    /// It is looked at or tried again, at the earliest at this time.
    Again {
        due: u64,
        priority: Priority,
        wait: Wait,
    },
}

impl<T: Clone + Eq + Hash> State<T> {
    /// Notes a failure of an item in work. Returns how many there were before.
    pub(crate) fn fail(&mut self, slot: u32) -> u32 {
        let entry = &mut self.slots[slot];
        let before = entry.failures;
        if !entry.flags.has(Flags::REMOVED) {
            entry.failures = before.saturating_add(1);
        }
        self.retried += 1;
        before
    }

    /// Ends the work on an item that was taken. Returns how long it took, in nanoseconds.
    pub(crate) fn finish(&mut self, slot: u32, finish: Finish, now: u64) -> u64 {
        let taken_at = std::mem::replace(&mut self.slots[slot].moment, NEVER);
        self.taken_at -= u128::from(taken_at);
        self.slots.put(slot, Place::None);
        let entry = &mut self.slots[slot];
        let (again, since) = (entry.again.take(), entry.waits_since);
        self.given_up += u64::from(matches!(finish, Finish::GiveUp));
        // What was removed since it was taken is another item, if it is one at all.
        if !entry.flags.take(Flags::REMOVED) {
            match finish {
                Finish::Success
                | Finish::GiveUp
                | Finish::Again {
                    wait: Wait::Look, ..
                } => entry.failures = 0,
                Finish::Done | Finish::Again { .. } => {}
            }
            if let Finish::Again {
                due,
                priority,
                wait,
            } = finish
                && self.phase == Phase::Running
            {
                self.retry(slot, priority, due, wait, now);
            }
        }
        if let Some(priority) = again {
            self.queue_again(slot, priority, since, now);
        }
        self.place_idle(slot);
        now.saturating_sub(taken_at)
    }

    /// Queues an item that was added while in work, and counted then.
    fn queue_again(&mut self, slot: u32, priority: Priority, since: u64, now: u64) {
        let added = self.added;
        self.queue(slot, priority, Some(now));
        self.added = added;
        if matches!(self.slots.place(slot), Place::Ready(_)) {
            self.slots[slot].waits_since = since;
        }
    }
}
