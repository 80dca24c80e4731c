//! The one lock of a queue, and who is woken when.
//!
//! # Lock order
//! The queue's lock, then whatever the known objects lock. Nothing of a user's runs under it but their
//! [`KnownObjects`] and the object's metadata; objects are dropped after it is released.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use event_listener::{Event, EventListener};
use informer_store::{Object, ObjectKey};
use parking_lot::Mutex;

use crate::clock::{Clock, Moment};
use crate::config::Config;
use crate::known::KnownObjects;
use crate::state::{Applied, Signals, State};

pub(crate) struct Shared<K> {
    state: Mutex<State<K>>,
    known: Option<Arc<dyn KnownObjects<K>>>,
    clock: Clock,
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
            clock: Clock::start(config.clock.as_ref()),
            ready: Event::new(),
            waiting: AtomicUsize::new(0),
            synced: Event::new(),
        }
    }

    pub(crate) fn now(&self) -> Moment {
        self.clock.now()
    }

    /// How long ago it was.
    pub(crate) fn age(&self, moment: Moment) -> Duration {
        self.clock.age(moment)
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
        let before = state.signals();
        let result = transition(&mut state);
        let after = state.signals();
        let garbage = state.take_garbage();
        drop(state);
        drop(garbage);
        if after != before {
            self.wake(before, after);
        }
        result
    }

    fn wake(&self, before: Signals, after: Signals) {
        if after.finished && !before.finished {
            self.ready.notify(usize::MAX);
            self.synced.notify(usize::MAX);
        } else if after.ready && !before.ready && self.waiting.load(Ordering::Relaxed) > 0 {
            self.ready.notify(1);
        }
        if after.synced && !before.synced {
            self.synced.notify(usize::MAX);
        }
    }

    /// Drops the content of a batch, without the lock, and gives its memory to the next ones.
    pub(crate) fn drop_applied(&self, applied: Option<Applied<K>>) {
        let Some(Applied::Whole(mut flight)) = applied else {
            return;
        };
        let Some(content) = Arc::get_mut(&mut flight) else {
            return;
        };
        let is_small = content.replace.is_none();
        content.clear();
        if is_small {
            self.state.lock().reuse(flight);
        }
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
