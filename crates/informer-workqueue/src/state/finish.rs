//! What becomes of an item when its worker is done with it.

use std::hash::Hash;

use super::slots::Place;
use super::{Phase, State};
use crate::priority::Priority;

/// How a worker leaves an item.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Finish {
    /// It is settled; its failures are forgotten.
    Success,
    /// It is not tried again; its failures are forgotten.
    GiveUp,
    /// Its failures stay as they are.
    Done,
    /// It is tried again, at the earliest at this time.
    Again { due: u64, priority: Priority },
}

impl<T: Clone + Eq + Hash> State<T> {
    /// Notes a failure of an item that is worked on. Gives back how many there were before.
    pub(crate) fn fail(&mut self, slot: u32) -> u32 {
        let entry = &mut self.slots[slot];
        let before = entry.failures;
        if !entry.gone {
            entry.failures = before.saturating_add(1);
        }
        self.retried += 1;
        before
    }

    /// Forgets the failures of an item that is worked on.
    pub(crate) fn forgive(&mut self, slot: u32) {
        self.slots[slot].failures = 0;
    }

    /// A worker is done with an item that it took. Gives back for how long it worked, in nanoseconds.
    pub(crate) fn finish(&mut self, slot: u32, finish: Finish, now: u64) -> u64 {
        let taken_at = self.slots[slot].taken_at;
        self.taken_at -= u128::from(taken_at);
        self.slots.put(slot, Place::None);
        let entry = &mut self.slots[slot];
        let is_gone = std::mem::take(&mut entry.gone);
        if let Some(priority) = entry.again.take() {
            self.slots.put(slot, Place::Ready(priority));
        }
        match finish {
            Finish::Success => self.slots[slot].failures = 0,
            Finish::GiveUp => {
                self.slots[slot].failures = 0;
                self.given_up += 1;
            }
            Finish::Done => {}
            Finish::Again { due, priority } => {
                if !is_gone && self.phase == Phase::Running {
                    self.schedule(slot, priority, due, now);
                }
            }
        }
        self.settle(slot);
        now.saturating_sub(taken_at)
    }
}
