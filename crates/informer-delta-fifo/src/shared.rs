//! The one lock of a queue, and who is woken when.
//!
//! # Lock order
//! The queue's lock, then whatever the known objects lock. Nothing of a user's runs under it but their
//! [`KnownObjects`] and the object's metadata; objects are dropped after it is released.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use event_listener::{Event, EventListener};
use informer_store::{Object, ObjectKey};
use parking_lot::Mutex;

use crate::config::{Clock, Config};
use crate::known::KnownObjects;
use crate::state::State;

pub(crate) struct Shared<K> {
    state: Mutex<State<K>>,
    known: Option<Arc<dyn KnownObjects<K>>>,
    clock: Arc<Clock>,
    /// There is something to take out, or the queue is closed.
    ready: Event,
    /// How many wait for that. Raised before they look at the state for the last time.
    waiting: AtomicUsize,
    /// The queue is synced or closed.
    pub(crate) synced: Event,
}

impl<K: Object> Shared<K> {
    pub(crate) fn new(config: &Config<K>) -> Self {
        Self {
            state: Mutex::new(State::new(config)),
            known: config.known.clone(),
            clock: Arc::clone(&config.clock),
            ready: Event::new(),
            waiting: AtomicUsize::new(0),
            synced: Event::new(),
        }
    }

    pub(crate) fn now(&self) -> Instant {
        (self.clock)()
    }

    pub(crate) fn stored_key(&self, key: &ObjectKey) -> Option<ObjectKey> {
        self.known.as_ref()?.stored_key(key)
    }

    /// Starts to wait until there is something to take out. Look once more before going to sleep.
    pub(crate) fn wait_until_ready(&self) -> Waiting<'_> {
        // Whoever changes the state after that look sees this, by way of the lock.
        self.waiting.fetch_add(1, Ordering::Relaxed);
        Waiting {
            waiting: &self.waiting,
            listener: Some(self.ready.listen()),
        }
    }

    pub(crate) fn read<R>(&self, look: impl FnOnce(&State<K>) -> R) -> R {
        look(&self.state.lock())
    }

    /// Runs a transition and wakes those who can go on after it.
    pub(crate) fn change<R>(&self, transition: impl FnOnce(&mut State<K>) -> R) -> R {
        let mut state = self.state.lock();
        let before = (state.is_ready(), state.has_synced(), state.is_finished());
        let result = transition(&mut state);
        let after = (state.is_ready(), state.has_synced(), state.is_finished());
        let garbage = state.take_garbage();
        drop(state);
        drop(garbage);
        if after.2 && !before.2 {
            self.ready.notify(usize::MAX);
            self.synced.notify(usize::MAX);
        } else if after.0 && !before.0 && self.waiting.load(Ordering::Relaxed) > 0 {
            self.ready.notify(1);
        }
        if after.1 && !before.1 {
            self.synced.notify(usize::MAX);
        }
        result
    }
}

/// One who waits until there is something to take out.
pub(crate) struct Waiting<'a> {
    waiting: &'a AtomicUsize,
    listener: Option<EventListener>,
}

impl Waiting<'_> {
    /// The wait itself.
    pub(crate) fn listener(&mut self) -> Option<EventListener> {
        self.listener.take()
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}
