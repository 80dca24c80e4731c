//! A list compared with the newest of each key: it becomes tombstones of what it lacks, then its items.
//!
//! This takes the time, and changes nothing of the queue. While nothing is queued or in flight, it needs the known objects alone, which
//! nobody changes then, and runs without the queue's lock.

use std::sync::Arc;

use informer_store::{Item, ListEnd, Object, ObjectKey, ObjectList, ObjectVersion, Relation};

use crate::delta::{Deleted, Delta, Deltas};
use crate::known::KnownObjects;
use crate::state::unit::{Queue, new_queue};
use crate::state::{Garbage, Newest, State};

/// Where the newest objects are found.
pub(crate) enum View<'a, K> {
    /// Nothing is queued or in flight.
    Known(Option<Arc<dyn KnownObjects<K>>>),
    /// In the queue, under its lock.
    All(&'a State<K>),
}

impl<K: Object> View<'_, K> {
    fn newest(&self, key: &ObjectKey) -> Newest<K> {
        match self {
            Self::All(state) => state.newest(key),
            Self::Known(known) => match known.as_ref().and_then(|known| known.known(key)) {
                Some(object) => Newest::Present(object),
                None => Newest::Absent,
            },
        }
    }

    fn known(&self) -> Option<&Arc<dyn KnownObjects<K>>> {
        match self {
            Self::All(state) => state.known.as_ref(),
            Self::Known(known) => known.as_ref(),
        }
    }

    fn is_queued(&self, key: &ObjectKey) -> bool {
        matches!(self, Self::All(state) if state.queue.contains(key))
    }

    fn is_in_flight(&self, key: &ObjectKey) -> bool {
        matches!(self, Self::All(state) if state.is_in_flight(key))
    }

    fn is_unseen(&self, key: &ObjectKey) -> bool {
        matches!(self, Self::All(state) if state.is_unseen(key))
    }

    /// Returns a `Sync` delta of every known object that is neither queued nor in flight (client-go's D6).
    pub(crate) fn resync(&self) -> Queue<K> {
        let mut entries = new_queue();
        if let Some(known) = self.known() {
            known.for_each_known(&mut |key, object| {
                if !self.is_queued(key) && !self.is_in_flight(key) {
                    entries.push_back(key.clone(), Delta::Sync(Arc::clone(object)).into());
                }
            });
        }
        entries
    }
}

/// What a list does to the queue.
pub(crate) struct Comparison<K> {
    pub(super) end: ListEnd,
    /// Tombstones, then items.
    pub(super) entries: Queue<K>,
    /// Keys of which nothing stays queued.
    pub(super) unseen: Vec<ObjectKey>,
    pub(super) unchanged: u64,
    pub(super) outdated: u64,
    pub(super) garbage: Vec<Garbage<K>>,
}

impl<K: Object> Comparison<K> {
    pub(crate) fn new(list: ObjectList<K>, end: ListEnd, view: &View<'_, K>) -> Self {
        let mut comparison = Self {
            end,
            entries: new_queue(),
            unseen: Vec::new(),
            unchanged: 0,
            outdated: 0,
            garbage: Vec::new(),
        };
        comparison.compare_unlisted(&list, view);
        let mut items = list.filter_map(|key, object| comparison.item(key, object, view));
        // No key is in both.
        let mut tombstones = std::mem::replace(&mut comparison.entries, new_queue());
        if tombstones.len() < items.len() {
            while let Some(Item::Entry(key, deleted)) = tombstones.pop_back() {
                items.push_front(key, deleted);
            }
            comparison.entries.append(items);
        } else {
            tombstones.append(items);
            comparison.entries = tombstones;
        }
        comparison
    }

    /// Finds what is present and not listed: among what is queued, in flight and known (client-go's D5).
    fn compare_unlisted(&mut self, list: &ObjectList<K>, view: &View<'_, K>) {
        if let View::All(state) = view {
            for (key, _) in state.queue.iter() {
                if !list.contains(key) && !self.entries.contains(key) {
                    self.missing(key, view);
                }
            }
            let in_flight = state.in_flight.iter();
            for (key, _) in in_flight.flat_map(|flight| flight.entries.iter()) {
                if !list.contains(key) && !state.queue.contains(key) {
                    self.missing(key, view);
                }
            }
        }
        if let Some(known) = view.known() {
            known.for_each_known(&mut |key, object| {
                if !list.contains(key) && !view.is_queued(key) && !view.is_in_flight(key) {
                    self.tombstone(key.clone(), Arc::clone(object));
                }
            });
        }
    }

    fn missing(&mut self, key: &ObjectKey, view: &View<'_, K>) {
        if let Newest::Present(newest) = view.newest(key) {
            if view.is_unseen(key) {
                self.unseen.push(key.clone());
            } else {
                self.tombstone(key.clone(), newest);
            }
        }
    }

    fn tombstone(&mut self, key: ObjectKey, object: Arc<K>) {
        let deleted = Delta::Deleted(Deleted::FinalStateUnknown(object));
        self.entries.push_back(key, deleted.into());
    }

    /// Returns what an item of the list queues.
    fn item(
        &mut self,
        key: &ObjectKey,
        object: Option<Arc<K>>,
        view: &View<'_, K>,
    ) -> Option<Deltas<K>> {
        match (object, view.newest(key)) {
            (Some(object), Newest::Present(newest)) => self.present(key, object, newest, view),
            (Some(object), Newest::Deleted(_) | Newest::Absent) => {
                Some(Delta::Replaced(object).into())
            }
            // What is newer than the list was undone by the rewind, whatever the server has now.
            (None, Newest::Present(newest)) if self.end.rewind && self.is_before(&*newest) => {
                self.missing(key, view);
                None
            }
            (None, Newest::Present(_)) => Some(Delta::Undecodable(None).into()),
            (None, Newest::Deleted(_) | Newest::Absent) => None,
        }
    }

    fn is_before(&self, object: &K) -> bool {
        let version = object.resource_version();
        version.is_some_and(|version| self.end.resource_version.is_older_than(&version))
    }

    fn present(
        &mut self,
        key: &ObjectKey,
        object: Arc<K>,
        newest: Arc<K>,
        view: &View<'_, K>,
    ) -> Option<Deltas<K>> {
        let relation = if Arc::ptr_eq(&object, &newest) {
            Relation::Same
        } else {
            ObjectVersion::of(&*object).relation_to(&ObjectVersion::of(&*newest))
        };
        match relation {
            Relation::Recreated => {
                let deleted = Delta::Deleted(Deleted::FinalStateUnknown(newest));
                Some([deleted, Delta::Replaced(object)].into())
            }
            _ if self.end.rewind || relation == Relation::Newer => {
                Some(Delta::Replaced(object).into())
            }
            Relation::Same => {
                self.unchanged += 1;
                self.discard(object);
                // What is queued is still to be applied. What is in flight may fail, and is a list's to repeat.
                (!view.is_queued(key)).then(|| Delta::Replaced(newest).into())
            }
            _ => {
                self.outdated += 1;
                self.discard(object);
                None
            }
        }
    }

    fn discard(&mut self, object: Arc<K>) {
        if Arc::strong_count(&object) == 1 {
            self.garbage.push(Garbage::Object(object));
        }
    }
}
