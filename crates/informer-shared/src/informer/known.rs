//! The cache, as the delta FIFO asks it what was applied.

use std::sync::Arc;

use informer_delta_fifo::KnownObjects;
use informer_store::{Object, ObjectKey, Store};

/// The objects of the store.
pub(crate) struct Cached<K>(pub(crate) Store<K>);

impl<K: Object> KnownObjects<K> for Cached<K> {
    fn get(&self, key: &ObjectKey) -> Option<Arc<K>> {
        self.0.get(key)
    }

    fn for_each(&self, visit: &mut dyn FnMut(&ObjectKey, &Arc<K>)) {
        for (key, object) in self.0.snapshot().iter() {
            visit(key, object);
        }
    }

    fn stored_key(&self, key: &ObjectKey) -> Option<ObjectKey> {
        self.0.snapshot().key(key).cloned()
    }
}
