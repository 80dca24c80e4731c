//! One batch of the queue as one write of the store, and what handlers are to hear of it.

use std::sync::Arc;

use informer_delta_fifo::Batch;
use informer_store::{Deletion, Object, ObjectKey, Store};

use crate::apply::{Applier, Cache, Counts, RecreatedAs};
use crate::notification::Notification;

/// Writes the whole of a batch to the store in one step. `reminds` says whether anybody hears of what did not change.
pub(crate) fn write<K: Object>(
    store: &Store<K>,
    batch: &Batch<K>,
    recreated: RecreatedAs,
    reminds: bool,
) -> (Vec<Notification<K>>, Counts) {
    let mut cache = Write(store.begin_batch());
    let rewind = batch.replace().is_some_and(|end| end.rewind);
    let applier = Applier::new(&mut cache, recreated, batch.is_initial());
    let mut applier = applier.rewind(rewind).reminds(reminds);
    for deltas in batch.iter() {
        applier.apply_all(deltas.key(), deltas.deltas());
    }
    let Applier {
        notifications,
        counts,
        ..
    } = applier;
    if let Some(end) = batch.replace() {
        cache.0.end_list(end);
    }
    if let Some(version) = batch.applied_up_to() {
        cache.0.set_resource_version(version.clone());
    }
    cache.0.commit();
    (notifications, counts)
}

/// The store's batch, as deltas are applied to it.
struct Write<'a, K: Object>(informer_store::Batch<'a, K>);

impl<K: Object> Cache<K> for Write<'_, K> {
    fn get(&self, key: &ObjectKey) -> Option<Arc<K>> {
        self.0.get(key).cloned()
    }

    fn put(&mut self, key: &ObjectKey, object: Arc<K>) {
        self.0.upsert(key.clone(), object);
    }

    fn remove(&mut self, key: &ObjectKey, last: Option<&Arc<K>>) {
        // A deletion that was seen leaves alone what was put over the object by hand and is of a later life.
        if let Some(last) = last {
            self.0.delete(key, &Deletion::of(Arc::clone(last)));
        }
        if self.0.contains(key) {
            self.0.remove(key);
        }
    }

    fn mark_stale(&mut self, key: &ObjectKey) {
        self.0.mark_stale(key);
    }

    fn confirm(&mut self, key: &ObjectKey) {
        self.0.confirm(key);
    }
}
