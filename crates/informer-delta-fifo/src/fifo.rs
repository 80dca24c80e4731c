//! The queue's handle: producers put in, one consumer takes out.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use informer_store::{Deletion, DeltaSink, Known, Object, ObjectKey, ResourceVersion};

use crate::batch::Batch;
use crate::config::{Config, Order};
use crate::error::Closed;
use crate::known::KnownObjects;
use crate::list::FifoReplace;
use crate::shared::Shared;
use crate::state::Change;
use crate::stats::Stats;

/// A queue of per-key deltas between a source of changes and a consumer that keeps a store.
///
/// Cloning it gives another handle to the same queue. It is a [`DeltaSink`]: [`add`](DeltaSink::add),
/// [`update`](DeltaSink::update), [`delete`](DeltaSink::delete), [`set_aside`](DeltaSink::set_aside),
/// [`bookmark`](DeltaSink::bookmark), [`resync`](DeltaSink::resync) and [`begin_replace`](DeltaSink::begin_replace)
/// put in; none of them waits. [`pop_batch`](Self::pop_batch) and its kin take out.
///
/// Give it one history, in the server's order: a copy of an unknown key that is older than what has arrived counts as
/// deleted since, and does not come out.
///
/// See the [crate's documentation](crate) for an example and for what is promised.
#[doc(alias = "DeltaFIFO")]
#[doc(alias = "RealFIFO")]
#[doc(alias = "Queue")]
pub struct DeltaFifo<K> {
    shared: Arc<Shared<K>>,
}

impl<K: Object> DeltaFifo<K> {
    /// A queue in front of this store, with the default settings.
    #[must_use]
    #[doc(alias = "NewDeltaFIFO")]
    pub fn new(known: impl KnownObjects<K>) -> Self {
        Self::with_config(&Config::new().known_objects(known))
    }

    /// A queue with these settings.
    #[must_use]
    #[doc(alias = "NewDeltaFIFOWithOptions")]
    pub fn with_config(config: &Config<K>) -> Self {
        Self {
            shared: Arc::new(Shared::new(config)),
        }
    }

    /// Takes out what comes next, if there is anything and no batch is out: the keys of a whole replace, however
    /// many, or up to `max` keys (at least one).
    #[must_use]
    pub fn try_pop_batch(&self, max: usize) -> Option<Batch<K>> {
        let flight = self.shared.change(|state| state.pop(max))?;
        Some(Batch::new(Arc::clone(&self.shared), flight))
    }

    /// Waits for a batch, as [`try_pop_batch`](Self::try_pop_batch) gives it. While another batch is out, it waits
    /// for that to be settled.
    ///
    /// # Cancellation
    /// Dropping the future takes nothing out.
    ///
    /// # Errors
    /// [`Closed`] once the queue is closed and everything in it was acknowledged.
    #[doc(alias = "Pop")]
    pub async fn pop_batch(&self, max: usize) -> Result<Batch<K>, Closed> {
        loop {
            if let Some(result) = self.poll_batch(max) {
                return result;
            }
            let mut waiting = self.shared.wait_until_ready();
            if let Some(result) = self.poll_batch(max) {
                return result;
            }
            if let Some(listener) = waiting.listener() {
                listener.await;
            }
        }
    }

    /// Waits for a batch on the calling thread, as [`pop_batch`](Self::pop_batch) does.
    ///
    /// # Errors
    /// [`Closed`] once the queue is closed and everything in it was acknowledged.
    pub fn pop_batch_blocking(&self, max: usize) -> Result<Batch<K>, Closed> {
        use event_listener::Listener;

        loop {
            if let Some(result) = self.poll_batch(max) {
                return result;
            }
            let mut waiting = self.shared.wait_until_ready();
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
        self.shared
            .read(|state| state.is_finished())
            .then_some(Err(Closed))
    }

    /// True once the first list was taken out and acknowledged; at once if it was empty, or if changes arrived
    /// before any list. It never becomes false again.
    #[must_use]
    #[doc(alias = "HasSynced")]
    pub fn has_synced(&self) -> bool {
        self.shared.read(|state| state.has_synced())
    }

    /// Waits until [`has_synced`](Self::has_synced).
    ///
    /// # Cancellation
    /// Dropping the future has no effect.
    ///
    /// # Errors
    /// [`Closed`] if the queue is closed and drained before.
    pub async fn synced(&self) -> Result<(), Closed> {
        loop {
            let listener = self.shared.synced.listen();
            let (synced, finished) = self
                .shared
                .read(|state| (state.has_synced(), state.is_finished()));
            if synced {
                return Ok(());
            }
            if finished {
                return Err(Closed);
            }
            listener.await;
        }
    }

    /// Changes how many deltas a key may hold from now on; see [`Config::max_deltas`]. What was compressed before
    /// stays so.
    pub fn set_max_deltas(&self, max: Option<usize>) {
        self.shared.change(|state| state.set_max_deltas(max));
    }

    /// Changes in which order the queue hands out what it holds; see [`Config::order`]. A queue that holds something,
    /// or whose batch is out, keeps its order; then this is `false`.
    pub fn set_order(&self, order: Order) -> bool {
        self.shared.change(|state| state.set_order(order))
    }

    /// Closes the queue: consumers get what is in it, then [`Closed`]. What is put in later is still taken in.
    #[doc(alias = "Close")]
    pub fn close(&self) {
        self.shared.change(|state| state.close());
    }

    /// True once [`close`](Self::close) was called.
    #[must_use]
    #[doc(alias = "IsClosed")]
    pub fn is_closed(&self) -> bool {
        self.shared.read(|state| state.is_closed())
    }

    /// How many keys wait to be taken out.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.shared.read(|state| state.depth())
    }

    /// For how long the oldest delta has waited that is not yet acknowledged, to some milliseconds.
    #[must_use]
    pub fn oldest_age(&self) -> Option<Duration> {
        let oldest = self.shared.read(|state| state.oldest())?;
        Some(self.shared.age(oldest))
    }

    /// What the queue holds and has done.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.shared.read(|state| state.stats())
    }
}

impl<K: Object> DeltaSink<K> for DeltaFifo<K> {
    type Replace = FifoReplace<K>;

    fn known(&self, key: &ObjectKey) -> Option<Known> {
        self.shared.read(|state| state.known(key))
    }

    fn add(&self, key: ObjectKey, object: Arc<K>) {
        let now = self.shared.now();
        self.shared
            .change(|state| state.upsert(Change::Add, key, object, now));
    }

    fn update(&self, key: ObjectKey, object: Arc<K>) {
        let now = self.shared.now();
        self.shared
            .change(|state| state.upsert(Change::Update, key, object, now));
    }

    fn delete(&self, key: ObjectKey, deletion: Deletion<K>) {
        let now = self.shared.now();
        self.shared.change(|state| state.delete(key, deletion, now));
    }

    fn set_aside(&self, key: ObjectKey, resource_version: Option<ResourceVersion>) {
        let now = self.shared.now();
        self.shared
            .change(|state| state.set_aside(key, resource_version, now));
    }

    fn bookmark(&self, resource_version: ResourceVersion) {
        self.shared.change(|state| state.bookmark(resource_version));
    }

    fn resync(&self) {
        let now = self.shared.now();
        self.shared.change(|state| state.resync(now));
    }

    fn begin_replace(&self) -> FifoReplace<K> {
        FifoReplace::begin(Arc::clone(&self.shared))
    }
}

impl<K> Clone for DeltaFifo<K> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
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
