//! Events of a watch.

use std::sync::Arc;

use informer_store::{Deletion, Object, ObjectKey, ObjectVersion, Relation, ResourceVersion};

use crate::clock::Moment;
use crate::coalesce::coalesce;
use crate::config::QueueOrder;
use crate::delta::{Deleted, Delta, Deltas};
use crate::state::{Garbage, Newest, State, Sync};

/// The type of an event with an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    Added,
    Modified,
}

/// What becomes of an object.
enum Outcome<K> {
    Queue(Deltas<K>),
    Unchanged(Arc<K>),
    Outdated(Arc<K>),
}

impl Event {
    const fn delta<K>(self, object: Arc<K>) -> Delta<K> {
        match self {
            Self::Added => Delta::Added(object),
            Self::Modified => Delta::Updated(object),
        }
    }
}

impl<K: Object> State<K> {
    pub(crate) fn upsert(&mut self, event: Event, key: ObjectKey, object: Arc<K>, now: Moment) {
        if self.is_ignoring_events() {
            return self.discard(object);
        }
        let version = object.resource_version();
        let outcome = match self.newest(&key) {
            Newest::Absent => Outcome::Queue(event.delta(object).into()),
            Newest::Present(newest) => after_present(event, object, version.as_ref(), newest),
            Newest::Deleted(old) => after_deleted(event, object, &old),
        };
        self.populate();
        // A watch without a resource version first sends all objects as added, in no order: they tell no version.
        if event == Event::Modified || self.received.is_some() {
            self.receive(version);
        }
        match outcome {
            Outcome::Queue(deltas) => self.push_event(key, deltas, now),
            Outcome::Unchanged(object) => {
                self.counts.unchanged += 1;
                self.discard(object);
            }
            Outcome::Outdated(object) => {
                self.counts.outdated += 1;
                self.discard(object);
            }
        }
    }

    pub(crate) fn delete(&mut self, key: ObjectKey, deletion: Deletion<K>, now: Moment) {
        if self.is_ignoring_events() {
            return deletion.object.into_iter().for_each(|o| self.discard(o));
        }
        let Deletion {
            object, version, ..
        } = deletion;
        let received = version.resource_version.clone();
        match self.newest(&key) {
            Newest::Absent => {
                self.counts.unknown_deletions += 1;
                object.into_iter().for_each(|object| self.discard(object));
            }
            Newest::Deleted(old) => {
                let is_other =
                    version.relation_to(&ObjectVersion::of(&*old)) == Relation::Recreated;
                self.improve_tombstone(&key, object, is_other);
            }
            Newest::Present(newest) => {
                let newest_version = ObjectVersion::of(&*newest);
                if version.deletes(&newest_version) {
                    let is_other = version.relation_to(&newest_version) == Relation::Recreated;
                    let deleted = match object.filter(|_| !is_other) {
                        Some(object) => Deleted::LastState(object),
                        None => Deleted::FinalStateUnknown(newest),
                    };
                    if self.is_unseen(&key) {
                        self.remove_unseen(&key);
                        self.discard(deleted.into_object());
                    } else {
                        self.push_event(key, Delta::Deleted(deleted).into(), now);
                    }
                } else {
                    self.counts.outdated += 1;
                    object.into_iter().for_each(|object| self.discard(object));
                }
            }
        }
        self.populate();
        if !self.needs_list {
            self.receive(received);
        }
    }

    pub(crate) fn undecodable(
        &mut self,
        key: ObjectKey,
        version: Option<ResourceVersion>,
        now: Moment,
    ) {
        if self.is_ignoring_events() {
            return;
        }
        let is_present = matches!(self.newest(&key), Newest::Present(_));
        self.populate();
        self.receive(version.clone());
        if is_present {
            let delta = Delta::Undecodable(version.map(Box::new));
            self.push_event(key, delta.into(), now);
        }
    }

    pub(crate) fn bookmark(&mut self, version: ResourceVersion) {
        if !self.needs_list {
            self.receive(Some(version));
        }
    }

    /// After changes were dropped, nothing is queued but a list: it holds what an event would bring.
    fn is_ignoring_events(&mut self) -> bool {
        self.counts.dropped += u64::from(self.needs_list);
        self.needs_list
    }

    /// An event before any list: there is no first list to wait for (client-go's D7).
    fn populate(&mut self) {
        if self.sync == Sync::Unpopulated {
            self.sync = Sync::Synced;
        }
    }

    fn push_event(&mut self, key: ObjectKey, deltas: Deltas<K>, now: Moment) {
        self.push(key, deltas, now);
        let events = self.deltas.saturating_sub(self.listed);
        if self.max_queued.is_some_and(|max| events > max) {
            self.drop_queued();
        }
    }

    /// Queues deltas: by key the key keeps its place if it has one (client-go's D2), in order they are a change of their own.
    pub(super) fn push(&mut self, key: ObjectKey, deltas: Deltas<K>, now: Moment) {
        self.deltas += deltas.len();
        self.since.get_or_insert(now);
        if self.order == QueueOrder::InOrder {
            return self.queue.push_back(key, deltas);
        }
        let queued = self.queue.push_back_or(key, deltas, Deltas::append);
        if let Some(key) = queued {
            self.coalesce_if_long(&key);
        }
    }

    /// By key, shortens what is queued of a key if it is long.
    pub(super) fn coalesce_if_long(&mut self, key: &ObjectKey) {
        let Some(max) = self.max_deltas else { return };
        let Some(long) = self.queue.get(key).filter(|deltas| deltas.len() > max) else {
            return;
        };
        let (before, short) = (long.len(), coalesce(long, &self.base(key)));
        self.count_coalesced(before - short.len());
        if let Some(queued) = self.queue.get_mut(key) {
            let long = std::mem::replace(queued, short);
            self.garbage.push(Garbage::Deltas(long));
        }
    }

    /// Of two deletions the older stays, unless it is a tombstone and the newer one is of the same object (client-go's D3).
    fn improve_tombstone(&mut self, key: &ObjectKey, object: Option<Arc<K>>, is_other: bool) {
        let Some(mut object) = object else { return };
        if let Some(Delta::Deleted(deleted)) = self.queue.get_mut(key).and_then(Deltas::newest_mut)
            && deleted.is_final_state_unknown()
            && !is_other
        {
            object = std::mem::replace(deleted, Deleted::LastState(object)).into_object();
        }
        self.discard(object);
    }

    /// The queue is beyond its limit.
    fn drop_queued(&mut self) {
        self.counts.dropped += self.deltas as u64;
        let queue = self.queue.take();
        self.garbage.push(Garbage::Queue(Box::new(queue)));
        self.tried.clear();
        (self.deltas, self.units, self.listed) = (0, 0, 0);
        self.since = None;
        // What was dropped is missing: up to where everything is received is unknown until a list.
        self.received = None;
        self.needs_list = true;
    }
}

fn after_present<K: Object>(
    event: Event,
    object: Arc<K>,
    version: Option<&ResourceVersion>,
    newest: Arc<K>,
) -> Outcome<K> {
    let own = ObjectVersion::new(object.uid(), version.cloned());
    match own.relation_to(&ObjectVersion::of(&*newest)) {
        Relation::Same => Outcome::Unchanged(object),
        Relation::Older => Outcome::Outdated(object),
        Relation::Newer => Outcome::Queue(event.delta(object).into()),
        Relation::Recreated => {
            let deleted = Delta::Deleted(Deleted::FinalStateUnknown(newest));
            Outcome::Queue([deleted, Delta::Added(object)].into())
        }
    }
}

/// A deletion of the key is queued, and the server sent the object after it, whatever its version: as if the deletion were applied.
fn after_deleted<K: Object>(event: Event, object: Arc<K>, old: &K) -> Outcome<K> {
    let delta = match (object.uid(), old.uid()) {
        (Some(_), Some(_)) => Delta::Added(object),
        _ => event.delta(object),
    };
    Outcome::Queue(delta.into())
}
