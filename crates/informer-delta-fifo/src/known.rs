//! Known objects: what the consumer has applied.

use std::sync::Arc;

use informer_store::{Object, ObjectKey, Store};

/// The objects that a consumer has applied: its store.
///
/// The queue compares received objects with them, finds by them what a list lacks, and resyncs them. They must change by batches
/// of the queue only. Objects written locally over those of the server do not count.
///
/// # Lock order
/// The queue calls these methods under its lock; for a list or resync without it, if nothing is queued or in flight. They must be short,
/// must not wait for a consumer and must not call the queue. If one panics, the call that needed it panics and has no effect.
#[doc(alias = "KeyListerGetter")]
pub trait KnownObjects<K: Object>: Send + Sync + 'static {
    /// Returns the object of a key.
    fn known(&self, key: &ObjectKey) -> Option<Arc<K>>;

    /// Calls `visit` with each object once, in any order.
    fn for_each_known(&self, visit: &mut dyn FnMut(&ObjectKey, &Arc<K>));

    /// Returns the key as stored, which lists of unchanged objects share; `None` if there is none, or it is not known.
    fn known_key(&self, key: &ObjectKey) -> Option<ObjectKey> {
        let _ = key;
        None
    }
}

impl<K: Object, T: KnownObjects<K> + ?Sized> KnownObjects<K> for Arc<T> {
    fn known(&self, key: &ObjectKey) -> Option<Arc<K>> {
        (**self).known(key)
    }

    fn for_each_known(&self, visit: &mut dyn FnMut(&ObjectKey, &Arc<K>)) {
        (**self).for_each_known(visit);
    }

    fn known_key(&self, key: &ObjectKey) -> Option<ObjectKey> {
        (**self).known_key(key)
    }
}

/// The objects of the server: those written locally over them do not count.
impl<K: Object> KnownObjects<K> for Store<K> {
    fn known(&self, key: &ObjectKey) -> Option<Arc<K>> {
        self.snapshot().observed(key).cloned()
    }

    fn for_each_known(&self, visit: &mut dyn FnMut(&ObjectKey, &Arc<K>)) {
        let snapshot = self.snapshot();
        for (key, object) in snapshot.iter() {
            if !snapshot.is_overlaid(key) {
                visit(key, object);
            } else if let Some(observed) = snapshot.observed(key) {
                visit(key, observed);
            }
        }
    }

    fn known_key(&self, key: &ObjectKey) -> Option<ObjectKey> {
        self.snapshot().key(key).cloned()
    }
}
