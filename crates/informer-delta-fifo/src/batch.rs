//! A batch: what was popped, until it is acknowledged.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use informer_store::{ListEnd, Object, ObjectKey, ResourceVersion};

use crate::delta::Deltas;
use crate::state::{Acked, InFlight, Queue, new_queue};
use crate::wake::Monitor;

/// Keys with their deltas, popped to be applied.
///
/// Apply it, then [`ack`](Self::ack) it. Dropped without that (a panic, a cancelled task) it returns to the front of the queue, before
/// newer deltas of its keys. One batch is in flight at a time.
///
/// A batch may have no key: it carries the end of an empty list, a resync of nothing, or a resource version.
#[must_use = "a batch that is dropped is requeued"]
pub struct Batch<K: Object> {
    monitor: Arc<Monitor<K>>,
    /// `None` once acknowledged.
    in_flight: Option<Arc<InFlight<K>>>,
}

impl<K: Object> Batch<K> {
    pub(crate) const fn new(monitor: Arc<Monitor<K>>, in_flight: Arc<InFlight<K>>) -> Self {
        Self {
            monitor,
            in_flight: Some(in_flight),
        }
    }

    /// Returns each key once, with its deltas, in the order of each key's first delta.
    ///
    /// Of a list these are first the keys that were queued before it (by key), then those that it lacks, then its own in its order.
    pub fn iter(&self) -> impl Iterator<Item = (&ObjectKey, &Deltas<K>)> {
        self.in_flight
            .iter()
            .flat_map(|content| content.entries.iter())
    }

    /// Returns the number of keys.
    #[must_use]
    pub fn len(&self) -> usize {
        let content = self.in_flight.as_ref();
        content.map_or(0, |content| content.entries.len())
    }

    /// Returns `true` if there is no key.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns `true` if the batch was popped before the queue was synced: its additions belong to the first list.
    #[must_use]
    #[doc(alias = "isInInitialList")]
    pub fn is_initial(&self) -> bool {
        let content = self.in_flight.as_ref();
        content.is_some_and(|content| content.is_initial)
    }

    /// Returns `true` if acknowledging the batch makes the queue [synced](crate::DeltaFifo::has_synced).
    #[must_use]
    pub fn completes_sync(&self) -> bool {
        self.is_initial() && self.list_end().is_some()
    }

    /// Returns the end of the list that this batch holds whole. Write such a batch to the store in one transaction.
    ///
    /// Of several lists that became one batch this is the last; it is a rewind if any of them was.
    #[must_use]
    pub fn list_end(&self) -> Option<&ListEnd> {
        self.in_flight.as_ref()?.list_end()
    }

    /// Returns `true` if the batch holds a resync: `Sync` deltas of all known objects that were neither queued nor in flight.
    #[must_use]
    pub fn is_resync(&self) -> bool {
        let unit = self
            .in_flight
            .as_ref()
            .and_then(|flight| flight.unit.as_ref());
        unit.is_some_and(|unit| unit.resync)
    }

    /// Returns the resource version that the store reaches by applying this batch, if any: everything up to it is applied then.
    ///
    /// Only this may become the store's resource version, and only if all keys of the batch are applied. If some keys of a rewind could not
    /// be applied, take an empty version: the store's own is one of the time that the server went back from.
    #[must_use]
    pub fn applied_up_to(&self) -> Option<&ResourceVersion> {
        self.in_flight.as_ref()?.applied_up_to.as_ref()
    }

    /// Acknowledges the batch: it is applied.
    pub fn ack(mut self) {
        self.acknowledge(new_queue());
    }

    /// Acknowledges the batch but for these keys, which could not be applied: they return to the front of the queue, before newer deltas
    /// of their keys. Keys that are not in the batch are ignored. By key, an object that is not known and is deleted before it is popped
    /// again is forgotten.
    #[doc(alias = "AddIfNotPresent")]
    #[doc(alias = "RetryOnError")]
    pub fn ack_except<'a>(mut self, keys: impl IntoIterator<Item = &'a ObjectKey>) {
        let keys: HashSet<&ObjectKey> = keys.into_iter().collect();
        let mut failed = new_queue();
        if !keys.is_empty() {
            for (key, deltas) in self.iter().filter(|(key, _)| keys.contains(key)) {
                failed.push_back(key.clone(), deltas.clone());
            }
        }
        self.acknowledge(failed);
    }

    fn acknowledge(&mut self, failed: Queue<K>) {
        self.in_flight = None;
        let acked = self.monitor.change(|state| state.ack(failed));
        // Objects are dropped without the lock.
        if let Some(Acked::Many(mut flight)) = acked
            && let Some(content) = Arc::get_mut(&mut flight)
        {
            content.clear();
            self.monitor.change(|state| state.reuse(flight));
        }
    }
}

impl<K: Object> Drop for Batch<K> {
    fn drop(&mut self) {
        let Some(in_flight) = self.in_flight.take() else {
            return;
        };
        // Without the clock, which is user code.
        self.monitor.change(|state| {
            state.recall();
            // The queue's own reference is gone, so this is the last one.
            if let Some(content) = Arc::into_inner(in_flight) {
                state.requeue(content);
            }
        });
    }
}

impl<K: Object> fmt::Debug for Batch<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch")
            .field("keys", &self.len())
            .field("is_initial", &self.is_initial())
            .field("list_end", &self.list_end())
            .field("is_resync", &self.is_resync())
            .field("applied_up_to", &self.applied_up_to())
            .finish_non_exhaustive()
    }
}
