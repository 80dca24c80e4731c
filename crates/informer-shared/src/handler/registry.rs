//! The handlers of one informer: who is there, and who has yet to be taken in by the controller.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::end::HandlerEnd;
use super::listener::Listener;
use super::status::HandlerStatus;

/// All handlers of an informer. Handlers come and go from any thread; the controller takes changes in between two
/// batches, so that a late handler's replay and the events after it fit together without a lock.
///
/// # Lock order
/// The lock is taken alone, for moving values in and out. Handlers are dropped after it was released.
pub(crate) struct Registry<K> {
    state: Mutex<State<K>>,
    changed: Notify,
}

struct State<K> {
    listeners: BTreeMap<u64, Arc<Listener<K>>>,
    arrivals: Vec<Arrival<K>>,
    has_changes: bool,
    closed: bool,
}

/// A handler that is new to the controller.
pub(crate) struct Arrival<K> {
    pub(crate) listener: Arc<Listener<K>>,
    pub(crate) runner: Runner,
}

/// What is to run for a handler.
pub(crate) enum Runner {
    Task(BoxFuture<'static, ()>),
    Thread(Box<dyn FnOnce() + Send>),
    /// Whoever holds the stream polls it.
    Stream,
}

/// What has changed since the controller last looked.
pub(crate) struct Changes<K> {
    /// All handlers, the arrivals too.
    pub(crate) listeners: Vec<Arc<Listener<K>>>,
    pub(crate) arrivals: Vec<Arrival<K>>,
}

impl<K> Registry<K> {
    pub(crate) fn new() -> Self {
        Self {
            state: Mutex::new(State {
                listeners: BTreeMap::new(),
                arrivals: Vec::new(),
                has_changes: false,
                closed: false,
            }),
            changed: Notify::new(),
        }
    }

    /// Takes a handler in. Returns false if the informer has stopped.
    pub(crate) fn add(&self, arrival: Arrival<K>) -> bool {
        let mut state = self.state.lock();
        if state.closed {
            return false;
        }
        state
            .listeners
            .insert(arrival.listener.id, Arc::clone(&arrival.listener));
        state.arrivals.push(arrival);
        state.has_changes = true;
        drop(state);
        self.changed.notify_one();
        true
    }

    /// Takes a handler out. One that has not run yet never will.
    pub(crate) fn forget(&self, id: u64) {
        let mut state = self.state.lock();
        let listener = state.listeners.remove(&id);
        let arrival = state
            .arrivals
            .iter()
            .position(|arrival| arrival.listener.id == id);
        let arrival = arrival.map(|at| state.arrivals.swap_remove(at));
        state.has_changes |= listener.is_some();
        drop(state);
        drop((listener, arrival));
        self.changed.notify_one();
    }

    /// Resolves when there may be changes.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// What has changed, if anything.
    pub(crate) fn take_changes(&self) -> Option<Changes<K>> {
        let mut state = self.state.lock();
        if !std::mem::take(&mut state.has_changes) {
            return None;
        }
        let mut arrivals = std::mem::take(&mut state.arrivals);
        let listeners = state.listeners.values().map(Arc::clone).collect();
        drop(state);
        arrivals.sort_by_key(|arrival| arrival.listener.id);
        Some(Changes {
            listeners,
            arrivals,
        })
    }

    /// Takes no more handlers, and ends those that the controller has not taken in.
    pub(crate) fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        let arrivals = std::mem::take(&mut state.arrivals);
        drop(state);
        for arrival in arrivals {
            arrival.listener.end_with(HandlerEnd::InformerStopped);
        }
    }

    /// All handlers, in the order in which they were added.
    pub(crate) fn listeners(&self) -> Vec<Arc<Listener<K>>> {
        self.state
            .lock()
            .listeners
            .values()
            .map(Arc::clone)
            .collect()
    }

    pub(crate) fn statuses(&self) -> Vec<HandlerStatus> {
        self.listeners()
            .iter()
            .map(|listener| listener.status())
            .collect()
    }
}
