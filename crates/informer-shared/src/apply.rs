//! Applies deltas to the store and decides which events handlers receive. Pure: no locks, no I/O, no clock.

use std::sync::Arc;

use informer_delta_fifo::{Deleted, Delta};
use informer_store::{Deletion, Object, ObjectKey, ObjectVersion, Relation, Transaction};

use crate::event::{Cause, Event};
use crate::notification::{Delivery, Notification};

/// How handlers receive an object that was deleted and created again under the same name, with a new UID.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum RecreatedAs {
    /// As the old object's deletion, whose final state is unknown, and the new object's addition.
    #[default]
    DeletedAndAdded,
    /// As one update, as in client-go.
    Updated,
}

/// What holds for all deltas of a batch.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Rules {
    pub(crate) recreated: RecreatedAs,
    /// The deltas belong to the first list.
    pub(crate) initial: bool,
    /// The server's resource versions went back: equal versions do not mean equal objects.
    pub(crate) rewind: bool,
    /// Some handler receives the unchanged objects of lists and resyncs.
    pub(crate) unchanged: bool,
}

/// How many deltas had which result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// The store was changed.
    pub(crate) applied: u64,
    /// The store was left as it was: it had the object, or not the deleted one.
    pub(crate) without_effect: u64,
    /// The object was marked as stale.
    pub(crate) undecodable: u64,
}

/// Applies deltas in a transaction of the store and collects notifications.
///
/// Whether an object is added, updated or deleted is decided by what the store holds and not by the type of the delta, so
/// that each handler's history of a key is legal whatever is received. Which of two objects is the newer one was decided
/// by the queue.
pub(crate) struct Applier<'a, 's, K: Object> {
    store: &'a mut Transaction<'s, K>,
    rules: Rules,
    pub(crate) notifications: Vec<Notification<K>>,
    pub(crate) counts: Counts,
}

impl<'a, 's, K: Object> Applier<'a, 's, K> {
    pub(crate) fn new(store: &'a mut Transaction<'s, K>, rules: Rules) -> Self {
        Self {
            store,
            rules,
            notifications: Vec::new(),
            counts: Counts::default(),
        }
    }

    /// Applies the deltas of one key, oldest first.
    pub(crate) fn apply(&mut self, key: &ObjectKey, deltas: &[Delta<K>]) {
        for (at, delta) in deltas.iter().enumerate() {
            let next = deltas.get(at + 1);
            if self.rules.recreated == RecreatedAs::Updated && is_recreation(delta, next) {
                // The deletion was inferred from the new UID; the update stands for both.
                self.counts.without_effect += 1;
                continue;
            }
            match delta {
                Delta::Added(object) | Delta::Updated(object) => {
                    self.put(key, object, Cause::Watch);
                }
                Delta::Replaced(object) => self.put(key, object, Cause::Relist),
                Delta::Sync(_) => self.repeat(key, Cause::Resync),
                Delta::Deleted(deleted) => self.delete(key, deleted),
                Delta::Undecodable(_) => {
                    self.store.mark_stale(key);
                    self.counts.undecodable += 1;
                }
            }
        }
    }

    fn put(&mut self, key: &ObjectKey, new: &Arc<K>, cause: Cause) {
        let stored = self.store.get(key).cloned();
        let is_unchanged = |old: &Arc<K>, relation| {
            Arc::ptr_eq(old, new) || (relation == Relation::Same && !self.rules.rewind)
        };
        let event = match stored {
            None => self.added(new),
            Some(old) => {
                let relation = ObjectVersion::of(&**new).relation_to(&ObjectVersion::of(&*old));
                if is_unchanged(&old, relation) {
                    return self.put_unchanged(key, cause);
                }
                if relation == Relation::Recreated
                    && self.rules.recreated == RecreatedAs::DeletedAndAdded
                {
                    self.notify(key, Delivery::deletion(old, None, true));
                    self.added(new)
                } else {
                    let new = Arc::clone(new);
                    Event::Updated { old, new, cause }
                }
            }
        };
        self.store.upsert(key.clone(), Arc::clone(new));
        self.counts.applied += 1;
        self.notify(key, event);
    }

    fn added(&self, object: &Arc<K>) -> Event<K> {
        Event::Added {
            object: Arc::clone(object),
            initial: self.rules.initial,
        }
    }

    /// The store has this very object. That a list has it too means that it is the newest.
    fn put_unchanged(&mut self, key: &ObjectKey, cause: Cause) {
        if cause == Cause::Relist {
            self.store.clear_stale(key);
            self.repeat(key, cause);
        } else {
            self.counts.without_effect += 1;
        }
    }

    /// Sends the stored object again, unchanged. What is not stored is not brought back.
    fn repeat(&mut self, key: &ObjectKey, cause: Cause) {
        self.counts.without_effect += 1;
        if !self.rules.unchanged {
            return;
        }
        if let Some(object) = self.store.get(key) {
            let (old, new) = (Arc::clone(object), Arc::clone(object));
            self.notify(key, Event::Updated { old, new, cause });
        }
    }

    fn delete(&mut self, key: &ObjectKey, deleted: &Deleted<K>) {
        let Some(stored) = self.store.get(key).cloned() else {
            self.counts.without_effect += 1;
            return;
        };
        let last = deleted.object();
        let (version, stored_version) = (ObjectVersion::of(&**last), ObjectVersion::of(&*stored));
        if !version.deletes(&stored_version) {
            self.counts.without_effect += 1;
            return;
        }
        // If a later object of the key was deleted, the stored one was too, unseen.
        let is_later = version.relation_to(&stored_version) == Relation::Recreated;
        let is_unknown = is_later || deleted.is_final_state_unknown();
        if is_unknown {
            self.store.remove(key);
        } else {
            // Leaves an overlay of a later object alone.
            self.store.delete(key, &Deletion::of(Arc::clone(last)));
        }
        let is_other = !is_later && !Arc::ptr_eq(last, &stored);
        let last = is_other.then(|| Arc::clone(last));
        self.notify(key, Delivery::deletion(stored, last, is_unknown));
        self.counts.applied += 1;
    }

    fn notify(&mut self, key: &ObjectKey, delivery: impl Into<Delivery<K>>) {
        self.notifications.push((key.clone(), delivery.into()));
    }
}

/// Returns `true` for a tombstone right before an object of the same key.
fn is_recreation<K>(delta: &Delta<K>, next: Option<&Delta<K>>) -> bool {
    let is_tombstone = matches!(delta, Delta::Deleted(Deleted::FinalStateUnknown(_)));
    let is_object = matches!(
        next,
        Some(Delta::Added(_) | Delta::Updated(_) | Delta::Replaced(_))
    );
    is_tombstone && is_object
}

#[cfg(test)]
mod tests;
