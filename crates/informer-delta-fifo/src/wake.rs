//! The one lock of a queue, and who is woken when.
//!
//! # Lock order
//! The queue's lock, then whatever the known objects lock. No user code runs under it but [`KnownObjects`](crate::KnownObjects) and
//! the metadata of objects; objects are dropped after it is released.

use std::sync::atomic::Ordering;
use std::time::Duration;

use event_listener::{Event, EventListener};
use informer_store::Object;

use crate::clock::{Clock, Moment};
use crate::config::DeltaFifoConfig;
use crate::state::{Signals, State};
use crate::sync::{AtomicUsize, Mutex};

/// A queue's state under its lock.
pub(crate) struct Monitor<K: Object> {
    state: Mutex<State<K>>,
    clock: Clock,
    /// A batch can be popped, or the queue is finished.
    ready: Event,
    /// The number of consumers that wait for that. They count themselves before they look at the state for the last time.
    waiting: AtomicUsize,
    /// Waiting for synced has an end.
    synced: Event,
}

impl<K: Object> Monitor<K> {
    pub(crate) fn new(config: DeltaFifoConfig<K>) -> Self {
        Self {
            clock: Clock::start(config.clock.as_ref()),
            state: Mutex::new(State::new(config)),
            ready: Event::new(),
            waiting: AtomicUsize::new(0),
            synced: Event::new(),
        }
    }

    #[inline]
    pub(crate) fn now(&self) -> Moment {
        self.clock.now()
    }

    /// Returns how long ago a moment was.
    pub(crate) fn age(&self, moment: Moment) -> Duration {
        self.clock.age(moment)
    }

    pub(crate) fn read<R>(&self, look: impl FnOnce(&State<K>) -> R) -> R {
        look(&self.state.lock())
    }

    /// Runs a transition and wakes those who can go on after it. One that panics lets nobody go on.
    pub(crate) fn change<R>(&self, transition: impl FnOnce(&mut State<K>) -> R) -> R {
        let mut state = self.state.lock();
        let before = state.signals();
        let result = transition(&mut state);
        let after = state.signals();
        let garbage = state.take_garbage();
        drop(state);
        if after != before {
            self.wake(before, after);
        }
        drop(garbage);
        result
    }

    fn wake(&self, before: Signals, after: Signals) {
        if after.finished && !before.finished {
            self.ready.notify(usize::MAX);
        } else if after.ready && !before.ready && self.waiting.load(Ordering::Relaxed) > 0 {
            self.ready.notify(1);
        }
        if after.sync_decided && !before.sync_decided {
            self.synced.notify(usize::MAX);
        }
    }

    /// Starts to wait until a batch can be popped. Look once more before waiting.
    pub(crate) fn wait_until_ready(&self) -> Waiting<'_> {
        // Whoever changes the state after that look sees this, by way of the lock.
        self.waiting.fetch_add(1, Ordering::Relaxed);
        Waiting {
            waiting: &self.waiting,
            listener: Some(self.ready.listen()),
        }
    }

    /// Starts to wait until waiting for synced has an end. Look once more before waiting.
    pub(crate) fn wait_until_sync_decided(&self) -> EventListener {
        self.synced.listen()
    }
}

/// One who waits until a batch can be popped.
pub(crate) struct Waiting<'a> {
    waiting: &'a AtomicUsize,
    listener: Option<EventListener>,
}

impl Waiting<'_> {
    /// Returns the wait itself.
    pub(crate) fn listener(&mut self) -> Option<EventListener> {
        self.listener.take()
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}
