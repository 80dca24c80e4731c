//! Popping, acknowledging and requeueing.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use informer_store::{Item, Object, ObjectKey};

use crate::clock::Moment;
use crate::config::QueueOrder;
use crate::delta::Deltas;
use crate::state::unit::{Barrier, BarrierKind, InFlight, Queue, new_queue};
use crate::state::{State, Sync};

/// The content of an acknowledged batch.
pub(crate) enum Acked<K> {
    One(#[expect(dead_code, reason = "to be dropped")] Item<Deltas<K>, Box<Barrier>>),
    Many(Arc<InFlight<K>>),
}

impl<K: Object> State<K> {
    /// Pops what comes next: a unit, or up to `max` keys. `None` if there is nothing, or a batch is in flight.
    pub(crate) fn pop(&mut self, max: usize, now: Moment) -> Option<Arc<InFlight<K>>> {
        if !self.signals().ready {
            return None;
        }
        let mut flight = self.spare.take().unwrap_or_default();
        let content = Arc::get_mut(&mut flight)?;
        content.is_initial = self.sync != Sync::Synced;
        content.since = self.since;
        let is_unit_next = match self.order {
            QueueOrder::ByKey => self.units > 0,
            QueueOrder::InOrder => is_start(self.queue.front()),
        };
        if is_unit_next {
            self.pop_unit(content);
        } else {
            self.pop_keys(content, max.max(1));
        }
        if !self.tried.is_empty() {
            for (key, _) in content.entries.iter() {
                self.tried.remove(key);
            }
        }
        if !self.has_queued() {
            while self.queue.take_barrier().is_some() {}
            self.since = None;
            content.applied_up_to.clone_from(&self.received);
        } else if self.queue.barriers() == 0 {
            // So that a version is reached even if the queue is never empty.
            self.push_barrier(BarrierKind::Version, now);
        }
        self.in_flight = Some(Arc::clone(&flight));
        Some(flight)
    }

    /// Pops the unit that comes next, and by key what is queued before it.
    fn pop_unit(&mut self, content: &mut InFlight<K>) {
        if self.order == QueueOrder::InOrder {
            self.queue.pop_front();
        }
        let is_last =
            self.queue.barriers() == 1 && matches!(self.queue.back(), Some(Item::Barrier(_)));
        if self.order == QueueOrder::ByKey || is_last {
            self.pop_unit_whole(content);
        } else {
            self.pop_unit_by_entry(content);
        }
    }

    /// The queue becomes the unit; what stands behind is moved.
    fn pop_unit_whole(&mut self, content: &mut InFlight<K>) {
        let mut rest = new_queue();
        let mut deltas = 0;
        let end = loop {
            match self.queue.pop_back() {
                Some(Item::Entry(key, newer)) => {
                    deltas += newer.len();
                    rest.push_front(key, newer);
                }
                Some(Item::Barrier(barrier)) => match barrier.kind {
                    BarrierKind::End(_) => break Some(barrier),
                    _ => rest.push_barrier_front(barrier),
                },
                None => break None,
            }
        };
        content.entries = std::mem::replace(&mut self.queue, rest);
        content.deltas = self.deltas - deltas;
        self.deltas = deltas;
        end.into_iter().for_each(|end| self.pass(*end, content));
    }

    fn pop_unit_by_entry(&mut self, content: &mut InFlight<K>) {
        while let Some(item) = self.queue.pop_front() {
            match item {
                Item::Entry(key, deltas) => self.take(key, deltas, content),
                Item::Barrier(barrier) => {
                    let is_end = matches!(barrier.kind, BarrierKind::End(_));
                    self.pass(*barrier, content);
                    if is_end {
                        return;
                    }
                }
            }
        }
    }

    fn pop_keys(&mut self, content: &mut InFlight<K>, max: usize) {
        let (len, keys) = (self.queue.len(), self.queue.keys());
        let is_whole = self.units == 0 && len <= max && keys == len;
        if is_whole {
            while self.queue.take_barrier().is_some() {}
            std::mem::swap(&mut content.entries, &mut self.queue);
            content.deltas = std::mem::take(&mut self.deltas);
            return;
        }
        loop {
            match self.queue.front() {
                Some(Item::Entry(key, _)) => {
                    let is_full = content.entries.len() == max;
                    if is_full || content.entries.contains(key) {
                        return;
                    }
                }
                Some(Item::Barrier(barrier)) if matches!(barrier.kind, BarrierKind::Start) => {
                    content.applied_up_to.clone_from(&barrier.received);
                    return;
                }
                Some(Item::Barrier(_)) => {}
                None => return,
            }
            match self.queue.pop_front() {
                Some(Item::Entry(key, deltas)) => self.take(key, deltas, content),
                Some(Item::Barrier(barrier)) => self.pass(*barrier, content),
                None => return,
            }
        }
    }

    fn take(&mut self, key: ObjectKey, deltas: Deltas<K>, content: &mut InFlight<K>) {
        self.deltas -= deltas.len();
        content.deltas += deltas.len();
        content.entries.push_back(key, deltas);
    }

    /// Everything before this barrier is in the batch, or was in earlier ones.
    fn pass(&mut self, barrier: Barrier, content: &mut InFlight<K>) {
        self.since = barrier.since;
        content.applied_up_to = barrier.received;
        if let BarrierKind::End(mut unit) = barrier.kind {
            self.units -= 1;
            unit.deltas = unit.deltas.min(self.listed);
            self.listed -= unit.deltas;
            content.unit = Some(unit);
        }
    }

    /// The batch in flight was applied, but for these keys. Returns its content, to be dropped without the lock.
    pub(crate) fn ack(&mut self, failed: Queue<K>) -> Option<Acked<K>> {
        if self.completes_sync() {
            self.sync = Sync::Synced;
        }
        let mut flight = self.in_flight.take()?;
        if failed.is_empty() {
            if flight.applied_up_to.is_some() {
                self.applied.clone_from(&flight.applied_up_to);
            }
            self.rewound &= self.needs_list || self.has_queued();
        } else {
            self.counts.requeued_keys += failed.len() as u64;
            self.deltas += failed.iter().map(|(_, deltas)| deltas.len()).sum::<usize>();
            self.since = flight.since.or(self.since);
            self.put_front(failed);
        }
        // The batch has let go of it.
        let content = Arc::get_mut(&mut flight).filter(|content| content.entries.len() <= 1);
        let Some(content) = content else {
            return Some(Acked::Many(flight));
        };
        let last = content.entries.pop_front();
        content.clear();
        self.spare = Some(flight);
        last.map(Acked::One)
    }

    /// Keeps the memory of an acknowledged batch for the next one.
    pub(crate) fn reuse(&mut self, flight: Arc<InFlight<K>>) {
        self.spare = Some(flight);
    }

    /// Forgets what is in flight, so that it can be requeued.
    pub(crate) fn recall(&mut self) {
        self.in_flight = None;
    }

    /// Puts a recalled batch back at the front, a unit as a unit.
    pub(crate) fn requeue(&mut self, flight: InFlight<K>) {
        self.counts.requeued_batches += 1;
        self.deltas += flight.deltas;
        let mut entries = flight.entries;
        if let Some(unit) = flight.unit {
            self.listed += unit.deltas;
            let queued = match self.queue.last_barrier_mut().map(|last| &mut last.kind) {
                Some(BarrierKind::End(queued)) if self.order == QueueOrder::ByKey => Some(queued),
                _ => None,
            };
            if let Some(queued) = queued {
                queued.merge_older(unit);
            } else {
                self.units += 1;
                entries.push_barrier(Box::new(Barrier {
                    received: flight.applied_up_to,
                    since: self.since.or(flight.since),
                    kind: BarrierKind::End(unit),
                }));
                if self.order == QueueOrder::InOrder {
                    entries.push_barrier_front(Box::new(Barrier {
                        received: None,
                        since: None,
                        kind: BarrierKind::Start,
                    }));
                }
            }
        }
        self.since = flight.since.or(self.since);
        self.put_front(entries);
    }

    /// Puts entries at the front. By key, newer deltas of their keys move there.
    fn put_front(&mut self, entries: Queue<K>) {
        if self.order == QueueOrder::ByKey && self.known.is_some() {
            self.tried
                .extend(entries.iter().map(|(key, _)| key.clone()));
        }
        let rest = self.queue.take();
        let (queue, long) = self.join(entries, rest);
        self.queue = queue;
        // A batch that is dropped by a panic must not panic: then it stays long.
        let coalesce = || long.iter().for_each(|key| self.coalesce_if_long(key));
        drop(catch_unwind(AssertUnwindSafe(coalesce)));
    }
}

const fn is_start<V>(item: Option<&Item<V, Box<Barrier>>>) -> bool {
    match item {
        Some(Item::Barrier(barrier)) => matches!(barrier.kind, BarrierKind::Start),
        _ => false,
    }
}
