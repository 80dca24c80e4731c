//! The seam to the store: which objects consumers have applied already.

use std::sync::Arc;

use informer_store::{Object, ObjectKey, Store};

/// The objects that a consumer has applied: its store.
///
/// The queue compares with them what arrives, finds what a list no longer holds, and reminds of them in a resync.
/// They must change by acknowledged or outstanding batches only; objects put over the store by hand do not count.
///
/// # Lock order
/// The queue calls these methods under its own lock. They must be short, must not wait for a consumer, and must
/// not call the queue.
#[doc(alias = "KeyListerGetter")]
pub trait KnownObjects<K: Object>: Send + Sync + 'static {
    /// The object of this key, if it is there.
    fn get(&self, key: &ObjectKey) -> Option<Arc<K>>;

    /// Shows every object once, in any order.
    fn for_each(&self, visit: &mut dyn FnMut(&ObjectKey, &Arc<K>));

    /// The equal key that is stored. The queue holds this one instead of the caller's where it can, so that a list
    /// of unchanged objects costs no memory for keys. `None` where there is no such object, or it cannot be told.
    fn stored_key(&self, key: &ObjectKey) -> Option<ObjectKey> {
        let _ = key;
        None
    }
}

impl<K: Object, T: KnownObjects<K> + ?Sized> KnownObjects<K> for Arc<T> {
    fn get(&self, key: &ObjectKey) -> Option<Arc<K>> {
        (**self).get(key)
    }

    fn for_each(&self, visit: &mut dyn FnMut(&ObjectKey, &Arc<K>)) {
        (**self).for_each(visit);
    }

    fn stored_key(&self, key: &ObjectKey) -> Option<ObjectKey> {
        (**self).stored_key(key)
    }
}

/// What the server said: objects that were put over it by hand do not count.
impl<K: Object> KnownObjects<K> for Store<K> {
    fn get(&self, key: &ObjectKey) -> Option<Arc<K>> {
        self.snapshot().base(key).cloned()
    }

    fn for_each(&self, visit: &mut dyn FnMut(&ObjectKey, &Arc<K>)) {
        let snapshot = self.snapshot();
        for (key, object) in snapshot.iter() {
            if !snapshot.is_overlaid(key) {
                visit(key, object);
            } else if let Some(base) = snapshot.base(key) {
                visit(key, base);
            }
        }
    }

    fn stored_key(&self, key: &ObjectKey) -> Option<ObjectKey> {
        self.snapshot().key(key).cloned()
    }
}
