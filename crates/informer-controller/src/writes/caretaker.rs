//! Waits until the caches have what was written, and queues the keys that waited for it.
//!
//! # Cancellation
//! Dropped with the controller's run, with all its waits.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use informer_client::Api;
use informer_store::{ObjectKey, ObjectVersion, Relation};
use informer_wire::PartialObjectMetadata;
use informer_workqueue::WorkQueue;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::{Awaited, Writes};

/// How often an object is read from the server before its key goes on without its write, each time after twice as long.
const READS: u32 = 3;

/// How many objects are read at once: a server that lags is not to be asked by all keys together.
const READS_AT_ONCE: usize = 4;

/// Waits for writes. One for each controller that runs.
pub(crate) struct Caretaker {
    pub(crate) writes: Arc<Writes>,
    pub(crate) queue: WorkQueue<ObjectKey>,
    pub(crate) deadline: Duration,
}

/// How the wait for a write ended.
enum End {
    Seen,
    /// The cache has what the server has, whatever that is.
    Overtaken,
    GivenUp,
}

impl Caretaker {
    /// Never ends.
    pub(crate) async fn run(&self) {
        let reads = Semaphore::new(READS_AT_ONCE);
        let mut waits = FuturesUnordered::new();
        loop {
            let fresh = std::mem::take(&mut self.writes.state.lock().fresh);
            waits.extend(fresh.into_iter().map(|key| self.settle(key, &reads)));
            tokio::select! {
                biased;
                () = self.writes.fresh.notified() => {}
                Some(()) = waits.next() => {}
            }
        }
    }

    /// Waits for all writes of a key, then queues it if it is parked.
    async fn settle(&self, key: ObjectKey, reads: &Semaphore) {
        while let Some(write) = self.first(&key) {
            let end = self.wait(&key, &write, reads).await;
            match end {
                End::Seen => {}
                End::Overtaken => tracing::debug!(
                    controller = &*self.writes.record.name,
                    key = key.as_str(),
                    write = %write.expected,
                    "write was overtaken: the cache has what the server has"
                ),
                End::GivenUp => {
                    self.writes.record.gave_up_on_write();
                    tracing::warn!(
                        controller = &*self.writes.record.name,
                        key = key.as_str(),
                        write = %write.expected,
                        resource = %write.write.resource,
                        waited = ?write.since.elapsed(),
                        "key goes on without a write in the cache"
                    );
                }
            }
            self.remove(&key, &write);
        }
    }

    /// Returns a write of a key that its cache lacks. If there is none, the key is forgotten, and queued if it is parked.
    fn first(&self, key: &ObjectKey) -> Option<Awaited> {
        let mut state = self.writes.state.lock();
        let unseen = state.keys.get_mut(key)?;
        unseen.writes.retain(|write| !write.is_seen());
        if let Some(write) = unseen.writes.first() {
            return Some(write.clone());
        }
        let parked = state.keys.remove(key)?.parked;
        self.writes.show(&state);
        drop(state);
        if let Some(priority) = parked {
            self.queue.add_with_priority(key.clone(), priority);
        }
        None
    }

    fn remove(&self, key: &ObjectKey, write: &Awaited) {
        let mut state = self.writes.state.lock();
        if let Some(unseen) = state.keys.get_mut(key) {
            unseen.writes.retain(|other| {
                !(Arc::ptr_eq(&other.write, &write.write)
                    && Arc::ptr_eq(&other.cache, &write.cache))
            });
        }
    }

    async fn wait(&self, key: &ObjectKey, write: &Awaited, reads: &Semaphore) -> End {
        let mut limit = self.deadline;
        for _ in 0..READS {
            let seen = write.cache.until(write.expected.clone());
            let until = write.since.checked_add(limit);
            let until = until.unwrap_or_else(|| Instant::now() + limit);
            if tokio::time::timeout_at(until, seen).await.is_ok() {
                return End::Seen;
            }
            tracing::debug!(
                controller = &*self.writes.record.name,
                key = key.as_str(),
                write = %write.expected,
                ?limit,
                "cache lacks a write past the deadline: reading the object"
            );
            if self.is_overtaken(write, reads).await {
                return End::Overtaken;
            }
            limit = limit.saturating_mul(2).saturating_add(self.deadline);
        }
        End::GivenUp
    }

    /// Reads the object from the server. Returns `true` if the cache has the same, or has the write by now.
    async fn is_overtaken(&self, write: &Awaited, reads: &Semaphore) -> bool {
        let Ok(_permit) = reads.acquire().await else {
            return false;
        };
        if write.is_seen() {
            return true;
        }
        self.writes.record.read_live();
        let of = &write.write;
        let api = Api::<PartialObjectMetadata>::new(write.client.clone(), of.resource.clone());
        let api = match &of.namespace {
            Some(namespace) => api.in_namespace(namespace),
            None => api,
        };
        let read =
            tokio::time::timeout(self.deadline.max(Duration::from_secs(1)), api.get(&of.name));
        let live = match read.await {
            Ok(Ok(object)) => Some(ObjectVersion::of(&object)),
            Ok(Err(error)) if error.is_not_found() => None,
            // Nothing is known.
            Ok(Err(_)) | Err(_) => return write.is_seen(),
        };
        let Some(key) = write.expected.key() else {
            return true;
        };
        let is_same = match (live, write.cache.received(key)) {
            (None, None) => true,
            (Some(live), Some(cached)) => cached.relation_to(&live) == Relation::Same,
            _ => false,
        };
        is_same || write.is_seen()
    }
}
