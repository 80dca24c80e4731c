//! Decides what deltas do to the cache and what handlers hear of it. Pure: no locks, no I/O, no user code.

use std::sync::Arc;

use informer_delta_fifo::{Deleted, Delta};
use informer_store::{Known, Object, ObjectKey};

use crate::event::{Cause, Event};
use crate::notification::Notification;

/// What deltas are applied to: the cache, under one write.
pub(crate) trait Cache<K> {
    fn get(&self, key: &ObjectKey) -> Option<Arc<K>>;
    fn put(&mut self, key: &ObjectKey, object: Arc<K>);
    /// Takes an object out. `last` is its last state, where the server told of the deletion.
    fn remove(&mut self, key: &ObjectKey, last: Option<&Arc<K>>);
    /// The newest copy of the object cannot be read; what is cached stays.
    fn mark_stale(&mut self, key: &ObjectKey);
    /// A list held the very copy that is cached: it is the newest.
    fn confirm(&mut self, key: &ObjectKey);
}

/// How a new UID under an old name is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum RecreatedAs {
    /// As the old object's deletion, whose final state is unknown, and the new object's addition.
    #[default]
    DeletedAndAdded,
    /// As one update, as client-go does.
    Updated,
}

/// What became of deltas.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Deltas that changed the cache.
    pub(crate) applied: u64,
    /// Deltas that had nothing to tell: the copy was cached, or the deleted object was not.
    pub(crate) without_effect: u64,
    /// Objects set aside.
    pub(crate) set_aside: u64,
}

/// Applies deltas to a cache and collects what handlers hear.
///
/// Whether an object is added, updated or deleted is decided by what the cache holds, not by the kind of the delta,
/// so that each handler's history of a key is legal whatever arrives.
pub(crate) struct Applier<'a, K, C> {
    cache: &'a mut C,
    recreated: RecreatedAs,
    /// The deltas belong to the first list.
    initial: bool,
    /// The server went back in time.
    rewind: bool,
    /// Somebody wants to hear of objects that did not change.
    reminds: bool,
    pub(crate) notifications: Vec<Notification<K>>,
    pub(crate) counts: Counts,
}

impl<'a, K: Object, C: Cache<K>> Applier<'a, K, C> {
    pub(crate) fn new(cache: &'a mut C, recreated: RecreatedAs, initial: bool) -> Self {
        let (notifications, counts) = (Vec::new(), Counts::default());
        Self {
            cache,
            recreated,
            initial,
            rewind: false,
            reminds: true,
            notifications,
            counts,
        }
    }

    /// Says whether the server went back in time. If so it may have given the version of a cached copy to another.
    pub(crate) const fn rewind(mut self, rewind: bool) -> Self {
        self.rewind = rewind;
        self
    }

    /// Says whether anybody hears of objects that did not change. If not, a list of them costs nothing here.
    pub(crate) const fn reminds(mut self, reminds: bool) -> Self {
        self.reminds = reminds;
        self
    }

    /// Applies the deltas of one key, oldest first.
    pub(crate) fn apply_all(&mut self, key: &ObjectKey, deltas: impl Iterator<Item = Delta<K>>) {
        let mut deltas = deltas.peekable();
        while let Some(delta) = deltas.next() {
            if self.recreated == RecreatedAs::Updated && is_recreation(&delta, deltas.peek()) {
                // The deletion was inferred from the new UID; the update tells of both.
                self.counts.without_effect += 1;
                continue;
            }
            self.apply(key, delta);
        }
    }

    fn apply(&mut self, key: &ObjectKey, delta: Delta<K>) {
        match delta {
            Delta::Added(object) | Delta::Updated(object) => self.put(key, object, Cause::Watch),
            Delta::Replaced(object) => self.put(key, object, Cause::Relist),
            Delta::Sync(_) => self.remind(key, Cause::Resync),
            Delta::Deleted(deleted) => self.delete(key, deleted),
            Delta::SetAside(_) => {
                self.cache.mark_stale(key);
                self.counts.set_aside += 1;
            }
        }
    }

    fn put(&mut self, key: &ObjectKey, new: Arc<K>, cause: Cause) {
        let Some(old) = self.cache.get(key) else {
            self.cache.put(key, Arc::clone(&new));
            self.counts.applied += 1;
            return self.tell(
                key,
                Event::Added {
                    object: new,
                    initial: self.initial,
                },
            );
        };
        if Arc::ptr_eq(&old, &new) || (!self.rewind && is_same_copy(&*old, &*new)) {
            return match cause {
                Cause::Relist => {
                    self.cache.confirm(key);
                    self.remind(key, cause);
                }
                Cause::Watch | Cause::Resync => self.counts.without_effect += 1,
            };
        }
        self.cache.put(key, Arc::clone(&new));
        self.counts.applied += 1;
        if is_same_life(&*old, &*new) || self.recreated == RecreatedAs::Updated {
            return self.tell(key, Event::Updated { old, new, cause });
        }
        self.tell(
            key,
            Event::Deleted {
                object: old,
                final_state_unknown: true,
            },
        );
        self.tell(
            key,
            Event::Added {
                object: new,
                initial: self.initial,
            },
        );
    }

    fn delete(&mut self, key: &ObjectKey, deleted: Deleted<K>) {
        let Some(old) = self.cache.get(key) else {
            self.counts.without_effect += 1;
            return;
        };
        let unknown = deleted.is_final_state_unknown();
        let last = deleted.into_object();
        let (last, unknown) = if is_same_life(&*old, &*last) {
            (Some(last), unknown)
        } else if is_newer(&*old, &*last) {
            // The end of an earlier life, which is long told.
            self.counts.without_effect += 1;
            return;
        } else {
            // A later life ended; so this one did too, unseen.
            (None, true)
        };
        self.cache.remove(key, last.as_ref().filter(|_| !unknown));
        self.counts.applied += 1;
        let last = last.filter(|last| !Arc::ptr_eq(last, &old));
        self.notifications
            .push(Notification::deletion(key.clone(), old, last, unknown));
    }

    /// Reminds of what is cached. Brings nothing back.
    fn remind(&mut self, key: &ObjectKey, cause: Cause) {
        self.counts.without_effect += 1;
        if !self.reminds {
            return;
        }
        let Some(object) = self.cache.get(key) else {
            return;
        };
        let event = Event::Updated {
            old: Arc::clone(&object),
            new: object,
            cause,
        };
        self.notifications
            .push(Notification::reminder(key.clone(), event));
    }

    fn tell(&mut self, key: &ObjectKey, event: Event<K>) {
        self.notifications
            .push(Notification::change(key.clone(), event));
    }
}

/// True for the end of a life that was not seen, right before the next life.
fn is_recreation<K>(delta: &Delta<K>, next: Option<&Delta<K>>) -> bool {
    let ends = matches!(delta, Delta::Deleted(Deleted::FinalStateUnknown(_)));
    let begins = matches!(
        next,
        Some(Delta::Added(_) | Delta::Updated(_) | Delta::Replaced(_))
    );
    ends && begins
}

fn is_same_copy<K: Object>(old: &K, new: &K) -> bool {
    Known::of(old).is_same_copy(&Known::of(new))
}

/// False only if both have a UID and they differ.
fn is_same_life<K: Object>(old: &K, new: &K) -> bool {
    match (old.uid(), new.uid()) {
        (Some(old), Some(new)) => old == new,
        _ => true,
    }
}

/// True if `old` is known to be newer than `last`.
fn is_newer<K: Object>(old: &K, last: &K) -> bool {
    match (old.resource_version(), last.resource_version()) {
        (Some(old), Some(last)) => last.is_older_than(&old),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
