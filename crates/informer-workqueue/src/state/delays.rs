//! Delayed items: added delays, retries, and what an addition does to an item whose retry waits.
//!
//! An item has up to two times at which it is queued. Its *added* delay was asked for and ends when it ends, whatever
//! happens meanwhile. Its *retry* is what its last work left behind, a backoff or the wish to look again, and is void once
//! the item is queued in another way: newer work decides then.
//!
//! # Invariants
//! - The schedule has the earlier of the two times, the slot the later one.
//! - Only an item in no list has a retry.
//! - A token is taken when a retry is due, and put back if the retry does not run after all.

use std::hash::Hash;

use super::State;
use super::slots::{Flags, NEVER, Place};
use crate::priority::Priority;

/// What a retry waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// All was well: its time. An addition queues the item at once.
    Look,
    /// It failed: its time.
    Backoff,
    /// It failed: its time, and a token then.
    Limited,
}

/// The two times of an item; `NEVER` for one that it does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Times {
    added: u64,
    retry: u64,
}

impl<T: Clone + Eq + Hash> State<T> {
    /// Queues an item later, whatever becomes of it meanwhile. Of two such times the earlier holds.
    pub(super) fn delay(&mut self, slot: u32, priority: Priority, due: u64, now: u64) {
        if due <= now {
            self.queue(slot, priority, Some(now));
            return;
        }
        let times = self.times(slot);
        let added = times.added.min(due);
        self.set_times(slot, Times { added, ..times }, priority);
        self.limit_delayed(now);
    }

    /// Lets an item that stands in no list wait for its retry.
    pub(super) fn retry(&mut self, slot: u32, priority: Priority, due: u64, wait: Wait, now: u64) {
        self.void_retry(slot);
        let entry = &mut self.slots[slot];
        entry.waits_since = now;
        if wait != Wait::Look {
            entry.flags.insert(Flags::BACKOFF);
        }
        if wait == Wait::Limited && !self.buckets.is_empty() {
            entry.flags.insert(Flags::NEEDS_TOKEN);
        }
        let retry = if due > now {
            due
        } else {
            self.admit(slot, true, now)
        };
        if retry <= now {
            self.slots[slot].flags.remove(Flags::RETRY);
            self.make_ready(slot, priority, now);
            return;
        }
        let times = self.times(slot);
        self.set_times(slot, Times { retry, ..times }, priority);
        self.limit_delayed(now);
    }

    /// Lets an item in work be retried once this time has come and there is a token, whatever its worker says.
    pub(super) fn delay_limited(&mut self, slot: u32, priority: Priority, due: u64, now: u64) {
        let flags = &mut self.slots[slot].flags;
        flags.insert(Flags::LIMITED);
        flags.remove(Flags::LIMITED_TOKEN);
        let due = due.max(now.saturating_add(1)).min(NEVER - 1);
        self.delay(slot, priority, due, now);
    }

    /// Returns whether a retry of an item waits, or the item itself.
    pub(super) fn awaits_retry(&self, slot: u32) -> bool {
        match self.slots.place(slot) {
            Place::Ready(_) => true,
            _ if self.slots[slot].flags.has(Flags::LIMITED) => true,
            _ => self.times(slot).retry != NEVER,
        }
    }

    /// Queues an item because it was added. One whose backoff began a moment ago is held back. Returns whether it did
    /// not wait already, or `None` if that depends on the time.
    pub(super) fn queue(
        &mut self,
        slot: u32,
        priority: Priority,
        now: Option<u64>,
    ) -> Option<bool> {
        match self.slots.place(slot) {
            Place::Ready(old) => {
                if priority > old {
                    self.slots.put(slot, Place::Ready(priority));
                }
                Some(false)
            }
            Place::Processing => {
                let entry = &mut self.slots[slot];
                let old = entry.again;
                entry.again = old.max(Some(priority));
                if old.is_none() {
                    entry.waits_since = now.unwrap_or(0);
                    self.added += 1;
                }
                Some(old.is_none())
            }
            Place::None | Place::Remembered => {
                if self.slots[slot].flags.has(Flags::BACKOFF) {
                    let (now, until) = (now?, self.held_until(slot));
                    if now < until {
                        return Some(self.hold(slot, priority, until));
                    }
                }
                self.make_ready(slot, priority, now.unwrap_or(0));
                Some(true)
            }
        }
    }

    /// Until when an item that was added waits, because it failed a moment ago.
    fn held_until(&self, slot: u32) -> u64 {
        let failed = self.slots[slot].waits_since;
        failed.saturating_add(self.limits.event_backoff)
    }

    /// Lets an item that was added wait for its retry, or until then if that is earlier.
    fn hold(&mut self, slot: u32, priority: Priority, until: u64) -> bool {
        let times = self.times(slot);
        if until < times.retry {
            self.put_back(slot, Flags::HAS_TOKEN, times.retry);
            self.slots[slot].flags.remove(Flags::NEEDS_TOKEN);
        }
        let retry = times.retry.min(until);
        self.set_times(slot, Times { retry, ..times }, priority);
        let flags = &mut self.slots[slot].flags;
        let is_new = !flags.has(Flags::HELD);
        flags.insert(Flags::HELD);
        self.added += u64::from(is_new);
        is_new
    }

    /// Puts an item that stands in no list among those that wait to be taken. Its retry is void.
    pub(super) fn make_ready(&mut self, slot: u32, priority: Priority, now: u64) {
        let flags = self.slots[slot].flags;
        // One that is held was counted when it was added.
        self.added += u64::from(!flags.has(Flags::HELD));
        // Most often there is nothing delayed at all.
        if self.schedule.len() > 0 || flags.has(Flags::RETRY) {
            self.void_retry(slot);
        }
        self.slots.put(slot, Place::Ready(priority));
        self.slots[slot].waits_since = now;
    }

    /// Queues what is due.
    pub(super) fn promote(&mut self, now: u64) {
        while let Some(slot) = self.schedule.pop_due(now) {
            let is_retry = self.slots[slot].flags.has(Flags::RETRY_FIRST);
            let due = if is_retry || self.slots[slot].flags.has(Flags::LIMITED) {
                self.admit(slot, is_retry, now)
            } else {
                now
            };
            if due <= now {
                self.fire(slot, now);
                continue;
            }
            let (other, priority) = (self.slots.other(slot), self.slots[slot].later);
            let times = if is_retry {
                Times {
                    added: other,
                    retry: due,
                }
            } else {
                Times {
                    added: due,
                    retry: other,
                }
            };
            self.set_times(slot, times, priority);
        }
    }

    /// When an item that is due may run: now, or once there is a token for it, which is taken.
    fn admit(&mut self, slot: u32, is_retry: bool, now: u64) -> u64 {
        let entry = &mut self.slots[slot];
        let is_paid = if is_retry {
            !entry.flags.take(Flags::NEEDS_TOKEN)
        } else {
            entry.flags.has(Flags::LIMITED_TOKEN)
        };
        if is_paid {
            return now;
        }
        let since = if is_retry { entry.waits_since } else { now };
        let is_held = is_retry && entry.flags.has(Flags::HELD);
        let next = self.buckets.iter().map(|bucket| bucket.next(now)).max();
        let until = self.buckets.iter().map(|bucket| bucket.until(since)).min();
        let (next, mut until) = (next.unwrap_or(now), until.unwrap_or(NEVER));
        if is_held {
            until = until.min(self.held_until(slot));
        }
        if until < next {
            return until.max(now);
        }
        self.buckets.iter_mut().for_each(|bucket| bucket.take(now));
        let token = if is_retry {
            Flags::HAS_TOKEN
        } else {
            Flags::LIMITED_TOKEN
        };
        self.slots[slot].flags.insert(token);
        next.min(NEVER - 1)
    }

    /// Queues an item whose earlier time, just taken from the schedule, has come. The later one stays.
    fn fire(&mut self, slot: u32, now: u64) {
        let (other, priority) = (self.slots.other(slot), self.slots[slot].later);
        if self.slots[slot].flags.has(Flags::RETRY_FIRST) {
            // Its token is spent.
            self.slots[slot].flags.remove(Flags::HAS_TOKEN);
            self.set_times(
                slot,
                Times {
                    added: other,
                    retry: NEVER,
                },
                priority,
            );
            self.make_ready(slot, priority, now);
        } else {
            self.slots[slot]
                .flags
                .remove(Flags::LIMITED.with(Flags::LIMITED_TOKEN));
            self.set_times(
                slot,
                Times {
                    added: NEVER,
                    retry: other,
                },
                priority,
            );
            self.queue(slot, priority, Some(now));
        }
    }

    /// Queues the first of the delayed items early where there are too many.
    fn limit_delayed(&mut self, now: u64) {
        while self.schedule.len() > self.limits.max_delayed
            && let Some(slot) = self.schedule.pop()
        {
            // Too early does no harm, too late might: no backoff holds it, and no token is waited for.
            self.slots[slot].flags.remove(Flags::BACKOFF);
            self.fire(slot, now);
        }
    }

    /// Ends the wait of an item for its retry.
    fn void_retry(&mut self, slot: u32) {
        let times = self.times(slot);
        if times.retry != NEVER {
            let priority = self.slots[slot].later;
            self.set_times(
                slot,
                Times {
                    retry: NEVER,
                    ..times
                },
                priority,
            );
            self.put_back(slot, Flags::HAS_TOKEN, times.retry);
        }
        self.slots[slot].flags.remove(Flags::RETRY);
    }

    /// Ends all waits of an item.
    pub(super) fn cancel_delays(&mut self, slot: u32) {
        let times = self.times(slot);
        self.put_back(slot, Flags::HAS_TOKEN, times.retry);
        self.put_back(slot, Flags::LIMITED_TOKEN, times.added);
        self.schedule.remove(slot);
        self.slots.set_other(slot, NEVER);
        let flags = &mut self.slots[slot].flags;
        flags.remove(Flags::RETRY.with(Flags::LIMITED));
    }

    /// Ends the waits of all items. One that was added while its retry waited stays if `keeps_added`. Returns how many
    /// do not stay.
    pub(super) fn drop_delayed(&mut self, keeps_added: bool, now: u64) -> usize {
        let mut dropped = 0;
        self.buckets
            .iter_mut()
            .for_each(|bucket| bucket.put_all_back(now));
        while let Some(slot) = self.schedule.pop() {
            let (flags, priority) = (self.slots[slot].flags, self.slots[slot].later);
            self.cancel_delays(slot);
            if keeps_added && flags.has(Flags::HELD) {
                self.slots.put(slot, Place::Ready(priority));
            } else {
                dropped += 1;
                self.place_idle(slot);
            }
        }
        dropped
    }

    /// Returns the token of an item that was to run at this time.
    fn put_back(&mut self, slot: u32, token: Flags, time: u64) {
        if self.slots[slot].flags.take(token) {
            self.buckets
                .iter_mut()
                .for_each(|bucket| bucket.put_back(time));
        }
    }

    fn times(&self, slot: u32) -> Times {
        let Some(first) = self.schedule.due(slot) else {
            return Times {
                added: NEVER,
                retry: NEVER,
            };
        };
        let other = self.slots.other(slot);
        if self.slots[slot].flags.has(Flags::RETRY_FIRST) {
            Times {
                added: other,
                retry: first,
            }
        } else {
            Times {
                added: first,
                retry: other,
            }
        }
    }

    /// Writes the times of an item, and the priority that it has then at least.
    fn set_times(&mut self, slot: u32, times: Times, priority: Priority) {
        let before = self.schedule.due(slot);
        let entry = &mut self.slots[slot];
        entry.later = match before {
            Some(_) => entry.later.max(priority),
            None => priority,
        };
        entry.flags.remove(Flags::RETRY_FIRST);
        if times.retry < times.added {
            entry.flags.insert(Flags::RETRY_FIRST);
        }
        let first = times.added.min(times.retry);
        self.slots.set_other(slot, times.added.max(times.retry));
        if first == NEVER {
            self.schedule.remove(slot);
            return;
        }
        if self.slots.place(slot) == Place::Remembered {
            self.slots.put(slot, Place::None);
        }
        if before != Some(first) {
            self.schedule.set(slot, first);
        }
    }
}
