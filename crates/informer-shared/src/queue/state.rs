//! One handler's queue as plain data: what waits, whether the handler is synced, and how the queue ends.

use std::time::Duration;

use informer_store::{ObjectKey, mutant};
use tokio::time::Instant;

use super::backlog::{Backlog, Pushed, Taken};
use super::policy::QueuePolicy;
use crate::notification::Delivery;

/// The queue of one handler.
///
/// # Sync accounting
/// Everything that is pushed before [`mark_source_synced`](Self::mark_source_synced) counts, whether it waits or is
/// in the handler's hands, and so does the state that is replayed to a late handler. The queue is synced once the
/// source is and nothing that counts is left. Once synced it stays so.
pub(super) struct QueueState<K> {
    backlog: Backlog<K>,
    limit: Option<usize>,
    /// Objects of the replay that are not yet delivered. The consumer holds the objects.
    replay_left: usize,
    /// When the replay was handed over.
    replay_since: Option<Instant>,
    /// The event in the consumer's hands: whether it counts, and since when it was due.
    in_hand: Option<InHand>,
    source_synced: bool,
    synced: bool,
    end: Option<End>,
    delivered: u64,
    joined: u64,
}

#[derive(Debug, Clone, Copy)]
struct InHand {
    counted: bool,
    since: Instant,
}

/// Why a queue takes nothing more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// What waits is still delivered.
    Draining,
    /// What waited was dropped.
    Closed,
    /// A bounded queue was full. What waited was dropped.
    Full { limit: usize },
}

/// What a handler's queue looks like from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QueueStatus {
    pub(crate) depth: usize,
    pub(crate) lag: Duration,
    pub(crate) delivered: u64,
    pub(crate) joined: u64,
}

impl<K> QueueState<K> {
    pub(super) fn new(policy: QueuePolicy) -> Self {
        Self {
            backlog: Backlog::new(policy.coalesces()),
            limit: policy.limit(),
            replay_left: 0,
            replay_since: None,
            in_hand: None,
            source_synced: false,
            synced: false,
            end: None,
            delivered: 0,
            joined: 0,
        }
    }

    /// Puts an event in. Returns false if the queue takes nothing more.
    pub(super) fn push(&mut self, key: &ObjectKey, delivery: Delivery<K>, now: Instant) -> bool {
        if self.end.is_some() {
            return false;
        }
        let counted = !self.source_synced;
        match self.backlog.push(key, delivery, counted, now) {
            Pushed::Appended => {}
            Pushed::Joined | Pushed::Cancelled => self.joined += 1,
        }
        let Some(limit) = self.limit else { return true };
        if self.backlog.len() - self.backlog.counted() > limit {
            self.backlog.clear();
            self.replay_left = 0;
            self.end = Some(End::Full { limit });
            return false;
        }
        true
    }

    /// The consumer will deliver this many objects before anything that waits here.
    pub(super) fn begin_replay(&mut self, objects: usize, now: Instant) {
        if self.end.is_none() {
            self.replay_left = objects;
            self.replay_since = Some(now);
        }
    }

    /// The replay turned out to be of this many objects.
    pub(super) const fn correct_replay(&mut self, objects: usize) {
        if !self.is_cut_off() {
            self.replay_left = objects;
        }
    }

    /// Takes one object of the replay into the consumer's hands. False if the queue was closed meanwhile.
    pub(super) fn take_replayed(&mut self) -> bool {
        if self.replay_left == 0 {
            return false;
        }
        self.replay_left -= 1;
        let since = self.replay_since.unwrap_or_else(Instant::now);
        self.in_hand = Some(InHand {
            counted: true,
            since,
        });
        true
    }

    /// Takes the next event into the consumer's hands.
    pub(super) fn pop(&mut self) -> Option<Delivery<K>> {
        let Taken {
            delivery,
            counted,
            since,
        } = self.backlog.pop()?;
        self.in_hand = Some(InHand { counted, since });
        Some(delivery)
    }

    /// The consumer is done with the event in its hands.
    pub(super) fn finish(&mut self) {
        if self.in_hand.take().is_some() {
            self.delivered += 1;
        }
    }

    /// The first state has been pushed to the end.
    pub(super) const fn mark_source_synced(&mut self) {
        self.source_synced = true;
    }

    /// True the one time that the queue turns out to be synced.
    pub(super) fn turns_synced(&mut self) -> bool {
        if self.synced || !self.source_synced || self.counted_left() || self.is_cut_off() {
            return false;
        }
        self.synced = true;
        true
    }

    fn counted_left(&self) -> bool {
        let in_hand = self.in_hand.is_some_and(|in_hand| in_hand.counted);
        let in_hand = in_hand && !mutant!("handler-synced-before-it-has-handled");
        in_hand || self.replay_left > 0 || self.backlog.counted() > 0
    }

    const fn is_cut_off(&self) -> bool {
        matches!(self.end, Some(End::Closed | End::Full { .. }))
    }

    /// Ends the queue, unless a stronger end came first.
    pub(super) fn end(&mut self, end: End) {
        if self.is_cut_off() {
            return;
        }
        if end != End::Draining && !mutant!("handler-tell-after-its-removal") {
            self.backlog.clear();
            self.replay_left = 0;
        }
        self.end = Some(end);
    }

    pub(super) const fn ended(&self) -> Option<End> {
        self.end
    }

    /// Whether reminders of the last round still wait.
    pub(super) const fn has_resyncs(&self) -> bool {
        self.backlog.resyncs() > 0
    }

    pub(super) fn status(&self, now: Instant) -> QueueStatus {
        let replay = self.replay_since.filter(|_| self.replay_left > 0);
        let oldest = self
            .in_hand
            .map(|i| i.since)
            .into_iter()
            .chain(replay)
            .chain(self.backlog.oldest());
        QueueStatus {
            depth: self.replay_left + self.backlog.len(),
            lag: oldest
                .min()
                .map_or(Duration::ZERO, |since| now.saturating_duration_since(since)),
            delivered: self.delivered,
            joined: self.joined,
        }
    }
}

#[cfg(test)]
impl<K> QueueState<K> {
    pub(super) const fn is_synced(&self) -> bool {
        self.synced
    }

    pub(super) const fn backlog(&self) -> &Backlog<K> {
        &self.backlog
    }
}
