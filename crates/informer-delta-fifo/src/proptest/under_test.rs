//! Queues and stores as tests drive them.

use std::collections::BTreeMap;
use std::sync::Arc;

use informer_store::{DeltaSink, ListEnd, Object, ObjectKey, ResourceVersion};
use parking_lot::Mutex;

use crate::batch::Batch;
use crate::delta::Delta;
use crate::fifo::DeltaFifo;
use crate::known::KnownObjects;

/// A queue that is compared with the [`Model`](super::Model). At most one batch is in flight.
pub trait QueueUnderTest<K: Object> {
    /// The queue as a sink.
    type Sink: DeltaSink<K>;

    /// Returns the queue as a sink.
    fn sink(&self) -> &Self::Sink;

    /// Pops a batch, which is in flight then. `None` if there is none, or one is in flight.
    fn pop(&mut self, max: usize) -> Option<Popped<K>>;

    /// Acknowledges the batch in flight but for these keys, of which some may not be in it.
    fn ack_except(&mut self, keys: &[ObjectKey]);

    /// Returns the batch in flight to the front.
    fn requeue(&mut self);

    /// Returns the number of queued keys; in order, a key counts once for each of its changes.
    fn depth(&self) -> usize;

    /// Returns the number of queued deltas.
    fn queued_deltas(&self) -> usize;

    /// Returns `true` if the queue is synced.
    fn has_synced(&self) -> bool;

    /// Closes the queue.
    fn close(&mut self);
}

/// What a batch holds.
#[derive(Debug)]
pub struct Popped<K> {
    /// Each key with its deltas, in order.
    pub entries: Vec<(ObjectKey, Vec<Delta<K>>)>,
    /// The end of the list that it holds.
    pub list_end: Option<ListEnd>,
    /// `true` if it holds a resync.
    pub is_resync: bool,
    /// `true` if it was popped before the queue was synced.
    pub is_initial: bool,
    /// The resource version that the store reaches by applying it.
    pub applied_up_to: Option<ResourceVersion>,
}

impl<K> Clone for Popped<K> {
    fn clone(&self) -> Self {
        Self {
            entries: self.entries.clone(),
            list_end: self.list_end.clone(),
            applied_up_to: self.applied_up_to.clone(),
            ..*self
        }
    }
}

impl<K: Object> Popped<K> {
    /// Copies what a batch holds.
    #[must_use]
    pub fn of(batch: &Batch<K>) -> Self {
        let entry = |(key, deltas): (&ObjectKey, &crate::Deltas<K>)| (key.clone(), deltas.to_vec());
        Self {
            entries: batch.iter().map(entry).collect(),
            list_end: batch.list_end().cloned(),
            is_resync: batch.is_resync(),
            is_initial: batch.is_initial(),
            applied_up_to: batch.applied_up_to().cloned(),
        }
    }
}

/// A [`DeltaFifo`] with the batch that is in flight.
#[derive(Debug)]
pub struct FifoUnderTest<K: Object> {
    fifo: DeltaFifo<K>,
    in_flight: Option<Batch<K>>,
}

impl<K: Object> FifoUnderTest<K> {
    /// Makes it of a queue without a batch in flight.
    #[must_use]
    pub const fn new(fifo: DeltaFifo<K>) -> Self {
        Self {
            fifo,
            in_flight: None,
        }
    }
}

impl<K: Object> QueueUnderTest<K> for FifoUnderTest<K> {
    type Sink = DeltaFifo<K>;

    fn sink(&self) -> &DeltaFifo<K> {
        &self.fifo
    }

    fn pop(&mut self, max: usize) -> Option<Popped<K>> {
        let batch = self.fifo.try_pop_batch(max)?;
        let popped = Popped::of(&batch);
        self.in_flight = Some(batch);
        Some(popped)
    }

    fn ack_except(&mut self, keys: &[ObjectKey]) {
        if let Some(batch) = self.in_flight.take() {
            batch.ack_except(keys);
        }
    }

    fn requeue(&mut self) {
        self.in_flight = None;
    }

    fn depth(&self) -> usize {
        self.fifo.depth()
    }

    fn queued_deltas(&self) -> usize {
        self.fifo.stats().queued_deltas
    }

    fn has_synced(&self) -> bool {
        self.fifo.has_synced()
    }

    fn close(&mut self) {
        self.fifo.close();
    }
}

/// A store as naive as can be. A clone is another handle of it.
#[derive(Debug)]
pub struct TestStore<K>(Arc<Mutex<BTreeMap<ObjectKey, Arc<K>>>>);

impl<K> Default for TestStore<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K> Clone for TestStore<K> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<K> TestStore<K> {
    /// Makes an empty store.
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::new(Mutex::new(BTreeMap::new())))
    }

    /// Returns the objects.
    #[must_use]
    pub fn list(&self) -> Vec<Arc<K>> {
        self.0.lock().values().cloned().collect()
    }

    /// Applies a batch, but for these keys.
    pub fn apply_except(&self, popped: &Popped<K>, keys: &[ObjectKey]) {
        let mut objects = self.0.lock();
        for (key, deltas) in &popped.entries {
            if keys.contains(key) {
                continue;
            }
            for delta in deltas {
                match delta {
                    Delta::Added(object) | Delta::Updated(object) | Delta::Replaced(object) => {
                        objects.insert(key.clone(), Arc::clone(object));
                    }
                    Delta::Deleted(_) => drop(objects.remove(key)),
                    Delta::Sync(_) | Delta::Undecodable(_) => {}
                }
            }
        }
    }
}

impl<K: Object> KnownObjects<K> for TestStore<K> {
    fn known(&self, key: &ObjectKey) -> Option<Arc<K>> {
        self.0.lock().get(key).cloned()
    }

    fn for_each_known(&self, visit: &mut dyn FnMut(&ObjectKey, &Arc<K>)) {
        let objects = self.0.lock().clone();
        objects.iter().for_each(|(key, object)| visit(key, object));
    }

    fn known_key(&self, key: &ObjectKey) -> Option<ObjectKey> {
        Some(self.0.lock().get_key_value(key)?.0.clone())
    }
}
