//! All handlers of one informer, and what the process loop has yet to learn of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::listener::{AnyListener, Informer, Listener, NotSyncedFn, next_id};
use super::registration::Registration;
use super::status::HandlerStatus;
use crate::error::{EndReason, RunError};

/// The handlers of an informer. They are added and removed from any thread; the process loop takes changes in between two
/// batches, so that a late handler's initial objects and the events after them fit together without a lock.
///
/// # Lock order
/// The lock is taken alone, for moving values in and out. Handlers are dropped after it was released.
pub(crate) struct Listeners<K> {
    pub(crate) id: u64,
    state: Mutex<State<K>>,
    changed: Notify,
    not_synced: Arc<NotSyncedFn>,
}

/// All by their ids, which is the order in which they were added.
struct State<K> {
    all: BTreeMap<u64, Arc<Listener<K>>>,
    /// Those that the process loop has not taken in.
    new: BTreeMap<u64, NewListener<K>>,
    /// Those that ended since the process loop looked.
    ended: Vec<u64>,
    /// A handler's failure that ends the informer.
    failure: Option<RunError>,
    closed: bool,
}

/// A listener and its code.
pub(crate) struct NewListener<K> {
    pub(crate) listener: Arc<Listener<K>>,
    pub(crate) code: Code,
}

/// What runs for a handler.
pub(crate) enum Code {
    Task(BoxFuture<'static, ()>),
    Thread(Box<dyn FnOnce() + Send>),
    /// Whoever holds the stream polls it.
    Stream,
}

impl<K> Listeners<K> {
    pub(crate) fn new(not_synced: Arc<NotSyncedFn>) -> Self {
        Self {
            id: next_id(),
            state: Mutex::new(State {
                all: BTreeMap::new(),
                new: BTreeMap::new(),
                ended: Vec::new(),
                failure: None,
                closed: false,
            }),
            changed: Notify::new(),
            not_synced,
        }
    }

    /// Resolves when there may be changes.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Takes the next handler that is new to the process loop.
    pub(crate) fn take_new(&self) -> Option<NewListener<K>> {
        let mut state = self.state.lock();
        Some(state.new.pop_first()?.1)
    }

    /// Takes the ids of the handlers that have ended since the last call.
    pub(crate) fn take_ended(&self) -> Vec<u64> {
        std::mem::take(&mut self.state.lock().ended)
    }

    /// Returns the failure that ends the informer, if any.
    pub(crate) fn failure(&self) -> Option<RunError> {
        self.state.lock().failure.clone()
    }

    /// Takes no more handlers, and ends those that the process loop has not taken in.
    pub(crate) fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        state.ended = Vec::new();
        let new = std::mem::take(&mut state.new);
        drop(state);
        for new in new.into_values() {
            new.listener.end_with(EndReason::InformerStopped);
        }
    }

    /// Returns all handlers, in the order in which they were added.
    pub(crate) fn all(&self) -> Vec<Arc<Listener<K>>> {
        self.state.lock().all.values().map(Arc::clone).collect()
    }
}

impl<K: Send + Sync + 'static> Informer for Listeners<K> {
    fn id(&self) -> u64 {
        self.id
    }

    fn ended(&self, listener: u64) {
        let mut state = self.state.lock();
        if state.closed || state.new.contains_key(&listener) {
            return;
        }
        state.ended.push(listener);
        drop(state);
        self.changed.notify_one();
    }

    /// One that has not run yet never will.
    fn remove(&self, listener: u64) {
        let mut state = self.state.lock();
        let removed = (state.all.remove(&listener), state.new.remove(&listener));
        drop(state);
        drop(removed);
    }

    fn fail(&self, failure: RunError) {
        self.state.lock().failure.get_or_insert(failure);
        self.changed.notify_one();
    }

    fn not_synced(&self) -> Arc<NotSyncedFn> {
        Arc::clone(&self.not_synced)
    }
}

impl<K: Send + Sync + 'static> Listeners<K> {
    /// Adds a handler.
    ///
    /// # Errors
    /// When the informer has stopped; its code is dropped.
    pub(super) fn add(
        &self,
        listener: &Arc<Listener<K>>,
        code: Code,
    ) -> Result<Registration, RunError> {
        let new = NewListener {
            listener: Arc::clone(listener),
            code,
        };
        let mut state = self.state.lock();
        if state.closed {
            drop(state);
            return Err(RunError::Stopped);
        }
        state.all.insert(listener.id, Arc::clone(listener));
        state.new.insert(listener.id, new);
        drop(state);
        self.changed.notify_one();
        Ok(Registration::new(Arc::clone(listener) as _))
    }

    pub(crate) fn statuses(&self) -> Vec<HandlerStatus> {
        self.all()
            .iter()
            .map(|listener| listener.status())
            .collect()
    }
}
