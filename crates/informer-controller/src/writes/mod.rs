//! Read-your-writes: what reconciles wrote, and which keys wait until the caches have it.
//!
//! A key with writes that a cache lacks is parked when a worker takes it, and queued again once they are there. The
//! [caretaker] waits for them.
//!
//! # Lock order
//! One lock, never held across user code or other locks but a cache's snapshot.

mod cache;
mod caretaker;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use informer_client::{Client, Write, WriteLog};
use informer_store::{Expectation, ObjectKey};
use informer_wire::{DecodeOptions, PartialObjectMetadata, WireFormat, decode_object};
use informer_workqueue::Priority;
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::Notify;
use tokio::time::Instant;

pub(crate) use cache::Cache;
pub(crate) use caretaker::Caretaker;

use crate::status::Record;

/// How long a cache may lack a write before the object is read from the server, by default.
pub(crate) const WRITE_DEADLINE: Duration = Duration::from_secs(10);

/// The writes of one controller's reconciles.
pub(crate) struct Writes {
    record: Record,
    state: Mutex<State>,
    /// There are keys without anyone that waits for their writes.
    fresh: Notify,
}

#[derive(Default)]
struct State {
    caches: Vec<Arc<dyn Cache>>,
    keys: HashMap<ObjectKey, Unseen>,
    /// The keys that the caretaker does not have yet.
    fresh: Vec<ObjectKey>,
    is_closed: bool,
}

/// The writes of one key that some cache lacks, in their order.
#[derive(Default)]
struct Unseen {
    writes: Vec<Awaited>,
    /// The priority of the key, if it is to be queued again.
    parked: Option<Priority>,
}

/// A write, and a cache that is to have it.
#[derive(Clone)]
struct Awaited {
    cache: Arc<dyn Cache>,
    expected: Expectation,
    write: Arc<Write>,
    /// The client that wrote it, to read the object.
    client: Client,
    since: Instant,
}

impl Writes {
    pub(crate) fn new(record: Record) -> Arc<Self> {
        Arc::new(Self {
            record,
            state: Mutex::default(),
            fresh: Notify::new(),
        })
    }

    /// Adds the cache of an event source.
    pub(crate) fn add_cache(&self, cache: Arc<dyn Cache>) {
        self.state.lock().caches.push(cache);
    }

    /// Returns a client whose writes are remembered for a key.
    pub(crate) fn client(self: &Arc<Self>, key: &ObjectKey, client: &Client) -> Client {
        client.with_write_log(KeyLog {
            writes: Arc::clone(self),
            key: key.clone(),
            client: client.clone(),
        })
    }

    /// Remembers a write for each cache that is to have it, and has it not yet.
    fn remember(&self, key: &ObjectKey, write: Write, client: &Client) {
        let Some(expected) = expectation(&write) else {
            return;
        };
        let write = Arc::new(write);
        let mut state = self.state.lock();
        let state = &mut *state;
        let lacking = |cache: &&Arc<dyn Cache>| cache.covers(&write) && !cache.has(&expected);
        let caches: Vec<_> = state.caches.iter().filter(lacking).cloned().collect();
        if caches.is_empty() || state.is_closed {
            return;
        }
        let unseen = match state.keys.entry(key.clone()) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                state.fresh.push(key.clone());
                self.fresh.notify_one();
                entry.insert(Unseen::default())
            }
        };
        // A cache that has the newer version has passed the older one.
        let is_comparable = expected
            .resource_version()
            .is_some_and(|version| version.is_comparable());
        for cache in caches {
            if is_comparable && !write.is_deleted {
                unseen.writes.retain(|old| {
                    !Arc::ptr_eq(&old.cache, &cache) || old.expected.key() != expected.key()
                });
            }
            unseen.writes.push(Awaited {
                cache,
                expected: expected.clone(),
                write: Arc::clone(&write),
                client: client.clone(),
                since: Instant::now(),
            });
        }
        self.show(state);
    }

    /// Parks a key that a worker has taken, if a cache lacks what was written for it. Returns what is lacking.
    pub(crate) fn park(&self, key: &ObjectKey, priority: Priority) -> Option<Expectation> {
        let mut state = self.state.lock();
        let unseen = state.keys.get_mut(key)?;
        let lacking = unseen.writes.iter().find(|write| !write.is_seen())?;
        let lacking = lacking.expected.clone();
        unseen.parked = unseen.parked.max(Some(priority));
        self.show(&state);
        Some(lacking)
    }

    /// Takes a key off the parked ones: it was deleted, and is not to be queued again.
    pub(crate) fn unpark(&self, key: &ObjectKey) {
        let mut state = self.state.lock();
        if let Some(unseen) = state.keys.get_mut(key)
            && unseen.parked.take().is_some()
        {
            self.show(&state);
        }
    }

    /// Forgets everything, now and for ever: the controller has ended.
    pub(crate) fn close(&self) {
        let old = std::mem::replace(
            &mut *self.state.lock(),
            State {
                is_closed: true,
                ..State::default()
            },
        );
        self.show(&State::default());
        drop(old);
    }

    fn show(&self, state: &State) {
        let parked = state.keys.values().filter(|key| key.parked.is_some());
        self.record.writes(state.keys.len(), parked.count());
    }
}

impl Awaited {
    fn is_seen(&self) -> bool {
        self.cache.has(&self.expected)
    }
}

impl fmt::Debug for Writes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writes").finish_non_exhaustive()
    }
}

/// Remembers what a client wrote for one key.
struct KeyLog {
    writes: Arc<Writes>,
    key: ObjectKey,
    client: Client,
}

impl WriteLog for KeyLog {
    fn wrote(&self, write: Write) {
        self.writes.remember(&self.key, write, &self.client);
    }
}

/// What a cache is to have after a write; `None` if the object has no usable name.
fn expectation(write: &Write) -> Option<Expectation> {
    let json = json!({"metadata": {
        "name": write.name, "namespace": write.namespace, "uid": write.uid, "resourceVersion": write.resource_version,
    }});
    let options = DecodeOptions::default().resource(write.resource.clone());
    let object: PartialObjectMetadata =
        decode_object(WireFormat::Json, json.to_string().as_bytes(), &options).ok()?;
    if write.is_deleted {
        Expectation::deleted(&object).ok()
    } else {
        Expectation::written(&object).ok()
    }
}
