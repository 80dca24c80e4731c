//! The queue's handle: a feeder queues deltas, one consumer pops them.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use informer_store::{
    Closed, Deletion, DeltaSink, ListEnd, Object, ObjectKey, ObjectList, ResourceVersion,
};

use crate::batch::Batch;
use crate::config::DeltaFifoConfig;
use crate::state::{Comparison, Event, State};
use crate::stats::QueueStats;
use crate::wake::Monitor;

/// A queue of deltas between a source of changes and a consumer that keeps a store.
///
/// A clone is another handle of the same queue. It is a [`DeltaSink`]: its methods [`add`](DeltaSink::add),
/// [`update`](DeltaSink::update), [`delete`](DeltaSink::delete), [`undecodable`](DeltaSink::undecodable),
/// [`bookmark`](DeltaSink::bookmark), [`resync`](DeltaSink::resync) and [`replace`](DeltaSink::replace) queue deltas and never wait.
/// [`pop_batch`](Self::pop_batch) and its kin pop them.
///
/// See the [crate's documentation](crate) for an example and the guarantees.
#[doc(alias = "DeltaFIFO")]
#[doc(alias = "RealFIFO")]
#[doc(alias = "Queue")]
pub struct DeltaFifo<K: Object> {
    monitor: Arc<Monitor<K>>,
}

impl<K: Object> DeltaFifo<K> {
    /// Makes an empty queue.
    #[must_use]
    #[doc(alias = "NewDeltaFIFO")]
    #[doc(alias = "NewDeltaFIFOWithOptions")]
    #[doc(alias = "NewRealFIFO")]
    pub fn new(config: DeltaFifoConfig<K>) -> Self {
        Self {
            monitor: Arc::new(Monitor::new(config)),
        }
    }

    /// Pops a batch if there is one and none is in flight: a whole list or resync, however many keys it has, or up to `max` keys (at
    /// least one).
    #[must_use]
    pub fn try_pop_batch(&self, max: usize) -> Option<Batch<K>> {
        let now = self.monitor.now();
        let in_flight = self.monitor.change(|state| state.pop(max, now))?;
        Some(Batch::new(Arc::clone(&self.monitor), in_flight))
    }

    /// Waits for a batch and pops it, as [`try_pop_batch`](Self::try_pop_batch) does. While another batch is in flight, it waits until
    /// that is acknowledged or dropped.
    ///
    /// # Cancellation
    /// Dropping the future pops nothing.
    ///
    /// # Errors
    /// [`Closed`] once the queue is closed and everything in it was acknowledged.
    #[doc(alias = "Pop")]
    pub async fn pop_batch(&self, max: usize) -> Result<Batch<K>, Closed> {
        loop {
            if let Some(result) = self.poll_batch(max) {
                return result;
            }
            let mut waiting = self.monitor.wait_until_ready();
            if let Some(result) = self.poll_batch(max) {
                return result;
            }
            if let Some(listener) = waiting.listener() {
                listener.await;
            }
        }
    }

    /// Waits for a batch on the calling thread and pops it, as [`pop_batch`](Self::pop_batch) does.
    ///
    /// # Errors
    /// [`Closed`] once the queue is closed and everything in it was acknowledged.
    pub fn pop_batch_blocking(&self, max: usize) -> Result<Batch<K>, Closed> {
        use event_listener::Listener;

        loop {
            if let Some(result) = self.poll_batch(max) {
                return result;
            }
            let mut waiting = self.monitor.wait_until_ready();
            if let Some(result) = self.poll_batch(max) {
                return result;
            }
            if let Some(listener) = waiting.listener() {
                listener.wait();
            }
        }
    }

    fn poll_batch(&self, max: usize) -> Option<Result<Batch<K>, Closed>> {
        if let Some(batch) = self.try_pop_batch(max) {
            return Some(Ok(batch));
        }
        let is_finished = self.monitor.read(|state| state.signals().finished);
        is_finished.then_some(Err(Closed))
    }

    /// Returns `true` if the first list was popped and acknowledged, or was empty, or if events were queued before any list. It never
    /// becomes `false` again.
    #[must_use]
    #[doc(alias = "HasSynced")]
    pub fn has_synced(&self) -> bool {
        self.monitor.read(|state| state.has_synced())
    }

    /// Waits until [`has_synced`](Self::has_synced).
    ///
    /// # Cancellation
    /// Dropping the future has no effect.
    ///
    /// # Errors
    /// [`Closed`] if the queue is closed before, unless the first list is in flight: then once it is requeued.
    pub async fn synced(&self) -> Result<(), Closed> {
        loop {
            let listener = self.monitor.wait_until_sync_decided();
            let (has_synced, is_decided) = self
                .monitor
                .read(|state| (state.has_synced(), state.signals().sync_decided));
            if has_synced {
                return Ok(());
            }
            if is_decided {
                return Err(Closed);
            }
            listener.await;
        }
    }

    /// Closes the queue: consumers pop what is queued, then get [`Closed`]. What is queued later is still accepted.
    #[doc(alias = "Close")]
    pub fn close(&self) {
        self.monitor.change(|state| state.close());
    }

    /// Returns `true` if [`close`](Self::close) was called.
    #[must_use]
    #[doc(alias = "IsClosed")]
    pub fn is_closed(&self) -> bool {
        self.monitor.read(|state| state.is_closed())
    }

    /// Returns the number of queued keys; in order, a key counts once for each of its changes.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.monitor.read(|state| state.depth())
    }

    /// Returns an upper bound of the age of the oldest delta that is not acknowledged, to some milliseconds; `None` if there is none.
    ///
    /// It is exact for what was queued into an empty queue. In a queue that is never empty it may be too high by the time that one pass
    /// through the queue takes.
    #[must_use]
    pub fn lag(&self) -> Option<Duration> {
        let since = self.monitor.read(|state| state.since())?;
        Some(self.monitor.age(since))
    }

    /// Returns what the queue holds and has done.
    #[must_use]
    pub fn stats(&self) -> QueueStats {
        self.monitor.read(|state| state.stats())
    }
}

impl<K: Object> Default for DeltaFifo<K> {
    /// Makes an empty queue with the default settings, which has no known objects.
    fn default() -> Self {
        Self::new(DeltaFifoConfig::new())
    }
}

impl<K: Object> DeltaSink<K> for DeltaFifo<K> {
    fn newest(&self, key: &ObjectKey) -> Option<(ObjectKey, Arc<K>)> {
        self.monitor.read(|state| state.newest_object(key))
    }

    fn add(&self, key: ObjectKey, object: Arc<K>) {
        let now = self.monitor.now();
        self.monitor
            .change(|state| state.upsert(Event::Added, key, object, now));
    }

    fn update(&self, key: ObjectKey, object: Arc<K>) {
        let now = self.monitor.now();
        self.monitor
            .change(|state| state.upsert(Event::Modified, key, object, now));
    }

    fn delete(&self, key: ObjectKey, deletion: Deletion<K>) {
        let now = self.monitor.now();
        self.monitor
            .change(|state| state.delete(key, deletion, now));
    }

    fn undecodable(&self, key: ObjectKey, resource_version: Option<ResourceVersion>) {
        let now = self.monitor.now();
        self.monitor
            .change(|state| state.undecodable(key, resource_version, now));
    }

    fn bookmark(&self, resource_version: ResourceVersion) {
        self.monitor
            .change(|state| state.bookmark(resource_version));
    }

    fn resync(&self) {
        let now = self.monitor.now();
        let Some(view) = self.monitor.read(|state| state.view_if_idle()) else {
            return self.monitor.change(|state| state.resync(now));
        };
        let entries = view.resync();
        self.monitor
            .change(|state| state.resync_found(entries, now));
    }

    fn replace(&self, list: ObjectList<K>, end: ListEnd) {
        let now = self.monitor.now();
        let idle = |state: &State<K>| Some((state.view_if_idle()?, state.list_end(end.clone())));
        let Some((view, end)) = self.monitor.read(idle) else {
            return self.monitor.change(|state| state.replace(list, end, now));
        };
        let list = Comparison::new(list, end, &view);
        self.monitor
            .change(|state| state.replace_compared(list, now));
    }

    fn needs_list(&self) -> bool {
        self.monitor.read(|state| state.needs_list())
    }
}

impl<K: Object> Clone for DeltaFifo<K> {
    fn clone(&self) -> Self {
        Self {
            monitor: Arc::clone(&self.monitor),
        }
    }
}

impl<K: Object> fmt::Debug for DeltaFifo<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeltaFifo")
            .field("synced", &self.has_synced())
            .field("closed", &self.is_closed())
            .field("stats", &self.stats())
            .finish()
    }
}
