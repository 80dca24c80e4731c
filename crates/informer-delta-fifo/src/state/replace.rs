//! Lists and resyncs: the units of the queue.

use informer_store::{Item, ListEnd, Object, ObjectKey, ObjectList};

use crate::clock::Moment;
use crate::config::QueueOrder;
use crate::delta::Deltas;
use crate::state::compare::{Comparison, View};
use crate::state::unit::{Barrier, BarrierKind, Queue, Unit};
use crate::state::{State, Sync};

impl<K: Object> State<K> {
    /// Returns the view for a list or resync that needs no lock, if nothing is queued or in flight.
    pub(crate) fn view_if_idle(&self) -> Option<View<'static, K>> {
        self.is_idle().then(|| View::Known(self.known.clone()))
    }

    fn is_idle(&self) -> bool {
        let in_flight = self.in_flight.as_ref();
        self.depth() == 0 && in_flight.is_none_or(|flight| flight.entries.is_empty())
    }

    /// Queues a list.
    pub(crate) fn replace(&mut self, list: ObjectList<K>, end: ListEnd, now: Moment) {
        let list = Comparison::new(list, self.list_end(end), &View::All(self));
        self.queue_list(list, now);
    }

    /// Queues a list that was compared without the lock.
    pub(crate) fn replace_compared(&mut self, mut list: Comparison<K>, now: Moment) {
        self.remove_changed(&mut list.entries);
        self.queue_list(list, now);
    }

    /// Removes what has been queued since by another feeder, which there should not be.
    fn remove_changed(&self, entries: &mut Queue<K>) {
        let in_flight = self.in_flight.iter();
        let in_flight = in_flight.flat_map(|flight| flight.entries.iter());
        for (key, _) in self.queue.iter().chain(in_flight) {
            entries.remove(key);
        }
    }

    /// Returns how a list ends: after a lost rewind it is one.
    pub(crate) fn list_end(&self, end: ListEnd) -> ListEnd {
        let is_rewind = end.rewind || self.has_lost_rewind();
        end.rewind(is_rewind)
    }

    fn queue_list(&mut self, list: Comparison<K>, now: Moment) {
        let Comparison {
            end,
            entries,
            unseen,
            unchanged,
            outdated,
            garbage,
        } = list;
        self.counts.unchanged += unchanged;
        self.counts.outdated += outdated;
        self.garbage.extend(garbage);
        unseen.iter().for_each(|key| self.remove_unseen(key));
        let unit = Unit {
            list: Some(end.clone()),
            resync: false,
            deltas: entries.iter().map(|(_, deltas)| deltas.len()).sum(),
        };
        let long = self.push_unit(entries, unit, now, |state| state.receive_list(&end));
        self.needs_list = false;
        if self.sync == Sync::Unpopulated {
            let has_nothing = self.depth() == 0 && self.in_flight.is_none();
            self.sync = if has_nothing {
                Sync::Synced
            } else {
                Sync::Pending
            };
        }
        long.iter().for_each(|key| self.coalesce_if_long(key));
    }

    fn receive_list(&mut self, end: &ListEnd) {
        if end.rewind {
            self.applied = None;
            self.rewound = true;
        }
        // Without a version it is unknown how new the list is.
        let version = Some(&end.resource_version).filter(|version| !version.is_unset());
        self.received = version.cloned();
    }

    /// Queues a resync.
    pub(crate) fn resync(&mut self, now: Moment) {
        self.queue_resync(View::All(self).resync(), now);
    }

    /// Queues the `Sync` deltas of a resync that were found without the lock.
    pub(crate) fn resync_found(&mut self, mut entries: Queue<K>, now: Moment) {
        self.remove_changed(&mut entries);
        self.queue_resync(entries, now);
    }

    fn queue_resync(&mut self, entries: Queue<K>, now: Moment) {
        if self.known.is_none() || self.needs_list {
            return;
        }
        let unit = Unit {
            list: None,
            resync: true,
            deltas: entries.len(),
        };
        self.push_unit(entries, unit, now, |_| {});
    }

    /// Queues a unit at the end. By key it becomes one with a unit that is queued. Returns the keys that may be coalesced.
    fn push_unit(
        &mut self,
        entries: Queue<K>,
        mut unit: Unit,
        now: Moment,
        receive: impl FnOnce(&mut Self),
    ) -> Vec<ObjectKey> {
        self.deltas += unit.deltas;
        self.listed += unit.deltas;
        self.units += 1;
        self.since.get_or_insert(now);
        if self.order == QueueOrder::InOrder {
            self.push_barrier(BarrierKind::Start, now);
        }
        while self.order == QueueOrder::ByKey
            && let Some(barrier) = self.queue.take_barrier()
        {
            if let BarrierKind::End(older) = barrier.kind {
                unit.merge_older(older);
                self.units -= 1;
            }
        }
        let queue = self.queue.take();
        let (queue, long) = self.join(queue, entries);
        self.queue = queue;
        receive(self);
        self.push_barrier(BarrierKind::End(unit), now);
        long
    }

    pub(super) fn push_barrier(&mut self, kind: BarrierKind, now: Moment) {
        self.queue.push_barrier(Box::new(Barrier {
            received: self.received.clone(),
            since: Some(now),
            kind,
        }));
    }

    /// Joins two queues into one. By key, a key that is in both keeps its place in the first. Takes time in proportion to the shorter.
    /// Returns also the keys that may be coalesced.
    pub(super) fn join(
        &self,
        mut first: Queue<K>,
        mut last: Queue<K>,
    ) -> (Queue<K>, Vec<ObjectKey>) {
        let by_key = self.order == QueueOrder::ByKey;
        let mut long = Vec::new();
        let mut append = |key: &ObjectKey, older: &mut Deltas<K>, newer| {
            older.append(newer);
            if self.max_deltas.is_some_and(|max| older.len() > max) {
                long.push(key.clone());
            }
        };
        if first.len() < last.len() {
            for item in first.into_items().rev() {
                match item {
                    Item::Barrier(barrier) => last.push_barrier_front(barrier),
                    Item::Entry(key, mut older) => {
                        if by_key && let Some(newer) = last.remove(&key) {
                            append(&key, &mut older, newer);
                        }
                        last.push_front(key, older);
                    }
                }
            }
            return (last, long);
        }
        for item in last.into_items() {
            match item {
                Item::Barrier(barrier) => first.push_barrier(barrier),
                Item::Entry(key, newer) => match first.get_mut(&key).filter(|_| by_key) {
                    Some(older) => append(&key, older, newer),
                    None => first.push_back(key, newer),
                },
            }
        }
        (first, long)
    }
}
