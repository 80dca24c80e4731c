//! One handler's queue as plain data: its events, whether the handler is synced, and how the queue ends.

use std::time::Duration;

use informer_store::{Item, KeyQueue, ObjectKey};
use tokio::time::Instant;

use super::pending::Pending;
use super::policy::QueuePolicy;
use crate::notification::Delivery;

/// The queue of one handler.
///
/// # Invariants
/// - A coalescing queue holds a key at most once.
/// - There is one barrier at most, behind the initial notifications. The handler is synced once it has handled all before
///   the barrier, which is removed then.
/// - A queue that was cut off is empty.
pub(super) struct QueueState<K> {
    queue: KeyQueue<Entry<K>, Synced>,
    policy: QueuePolicy,
    initial: Initial,
    /// Entries that are resyncs.
    resyncs: usize,
    /// Since when the event that is being handled was queued.
    handling: Option<Instant>,
    end: Option<End>,
    /// The events of a queue that was cut off, until the lock is released.
    dropped: Option<KeyQueue<Entry<K>, Synced>>,
    delivered: u64,
    coalesced: u64,
}

/// What is queued of one key, and since when.
pub(super) struct Entry<K> {
    pending: Pending<K>,
    since: Instant,
}

/// The barrier behind the initial notifications.
pub(super) struct Synced;

/// The initial notifications of a handler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Initial {
    /// More of them may be pushed.
    Open,
    /// All were pushed, and this many were not popped when they were last counted.
    Queued(usize),
    /// All were handled.
    Handled,
}

/// Why a queue takes no more events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The queued events are still delivered.
    Draining,
    /// The queued events were dropped.
    Closed,
    /// A bounded queue was full. The queued events were dropped.
    Full { limit: usize },
}

/// A snapshot of a queue's status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QueueStatus {
    pub(crate) depth: usize,
    pub(crate) lag: Duration,
    pub(crate) delivered: u64,
    pub(crate) coalesced: u64,
}

impl<K> QueueState<K> {
    pub(super) fn new(policy: QueuePolicy) -> Self {
        Self {
            queue: KeyQueue::new(),
            policy,
            initial: Initial::Open,
            resyncs: 0,
            handling: None,
            end: None,
            dropped: None,
            delivered: 0,
            coalesced: 0,
        }
    }

    /// Queues an event. Returns `false` if the queue takes no more.
    pub(super) fn push(&mut self, key: &ObjectKey, delivery: Delivery<K>, now: Instant) -> bool {
        if self.end.is_some() {
            return false;
        }
        if self.policy.coalesces()
            && let Some(entry) = self.queue.get_mut(key)
        {
            self.coalesced += 1;
            self.resyncs -= usize::from(entry.pending.is_resync());
            if entry.pending.coalesce(delivery) {
                self.resyncs += usize::from(entry.pending.is_resync());
            } else {
                self.queue.remove(key);
            }
            return true;
        }
        let pending = Pending::from(delivery);
        self.resyncs += usize::from(pending.is_resync());
        let entry = Entry {
            pending,
            since: now,
        };
        self.queue.push_back(key.clone(), entry);
        let limit = self.policy.limit().filter(|limit| self.counted() > *limit);
        if let Some(limit) = limit {
            self.cut_off(End::Full { limit });
        }
        limit.is_none()
    }

    /// Returns how many entries count towards the limit: those behind the barrier.
    fn counted(&self) -> usize {
        match self.initial {
            Initial::Open => 0,
            Initial::Queued(initial) => self.queue.len() - initial,
            Initial::Handled => self.queue.len(),
        }
    }

    /// Removes the next event from the queue, to be handled. Of a recreated key the addition keeps the place.
    pub(super) fn pop(&mut self) -> Option<Delivery<K>> {
        let Item::Entry(key, Entry { pending, since }) = self.queue.pop_front()? else {
            return None;
        };
        self.resyncs -= usize::from(pending.is_resync());
        let (delivery, rest) = pending.split();
        match rest {
            Some(pending) => self.queue.push_front(key, Entry { pending, since }),
            None => {
                if let Initial::Queued(initial) = &mut self.initial {
                    *initial = initial.saturating_sub(1);
                }
            }
        }
        self.handling = Some(since);
        Some(delivery)
    }

    /// The event that was popped last has been handled.
    pub(super) fn finish(&mut self) {
        if self.handling.take().is_some() {
            self.delivered += 1;
        }
    }

    /// All initial notifications were pushed.
    pub(super) fn push_barrier(&mut self) {
        if self.initial == Initial::Open && !self.is_cut_off() {
            self.initial = Initial::Queued(self.queue.len());
            self.queue.push_barrier(Synced);
        }
    }

    /// Removes the barrier if all before it was handled: the handler is synced. Returns `true` once.
    pub(super) fn pass_barrier(&mut self) -> bool {
        let passes =
            self.handling.is_none() && matches!(self.queue.front(), Some(Item::Barrier(Synced)));
        if passes {
            self.queue.pop_front();
            self.initial = Initial::Handled;
        }
        passes
    }

    const fn is_cut_off(&self) -> bool {
        matches!(self.end, Some(End::Closed | End::Full { .. }))
    }

    /// Ends the queue, unless it was cut off before.
    pub(super) fn end(&mut self, end: End) {
        if self.is_cut_off() {
            return;
        }
        match end {
            End::Draining => self.end = Some(end),
            End::Closed | End::Full { .. } => self.cut_off(end),
        }
    }

    fn cut_off(&mut self, end: End) {
        self.end = Some(end);
        self.resyncs = 0;
        self.dropped = Some(self.queue.take());
    }

    /// Takes the events that were dropped: what they hold is not dropped under the lock.
    pub(super) const fn take_dropped(&mut self) -> Option<KeyQueue<Entry<K>, Synced>> {
        self.dropped.take()
    }

    pub(super) const fn ended(&self) -> Option<End> {
        self.end
    }

    /// Returns `true` if events of the last resync are still queued.
    pub(super) const fn has_resyncs(&self) -> bool {
        self.resyncs > 0
    }

    pub(super) fn status(&self, now: Instant) -> QueueStatus {
        let oldest = self.queue.iter().next().map(|(_, entry)| entry.since);
        let oldest = self.handling.into_iter().chain(oldest).min();
        QueueStatus {
            depth: self.queue.len(),
            lag: oldest.map_or(Duration::ZERO, |since| now.saturating_duration_since(since)),
            delivered: self.delivered,
            coalesced: self.coalesced,
        }
    }
}

#[cfg(test)]
impl<K> QueueState<K> {
    pub(super) const fn is_synced(&self) -> bool {
        matches!(self.initial, Initial::Handled)
    }

    /// Panics unless the invariants hold.
    pub(super) fn check(&self) {
        let resyncs = self.queue.iter().filter(|(_, e)| e.pending.is_resync());
        assert_eq!(resyncs.count(), self.resyncs);
        let barrier = usize::from(matches!(self.initial, Initial::Queued(_)) && !self.is_cut_off());
        assert_eq!(self.queue.barriers(), barrier);
        assert!(!self.policy.coalesces() || self.queue.keys() == self.queue.len());
        assert!(!self.is_cut_off() || self.queue.is_empty());
        if let (Initial::Queued(initial), false, false) =
            (self.initial, self.policy.coalesces(), self.is_cut_off())
        {
            let ahead = self
                .queue
                .items()
                .take_while(|i| matches!(i, Item::Entry(..)));
            assert_eq!(ahead.count(), initial);
        }
    }
}
