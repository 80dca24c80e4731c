//! Wakes those who wait for a change under a lock, at next to no cost while nobody does.

use std::sync::atomic::Ordering;

use event_listener::Event;

use crate::sync::AtomicUsize;

/// An event that counts who waits for it.
///
/// Whoever waits is [counted](Self::waiting) first, then listens, then takes the lock to see whether there is something
/// to wait for. Whoever changes something takes the lock, then wakes. If the one who waits had the lock first, the other
/// knows of the count; if not, the one who waits sees the change. So the lock is all the order that is needed.
pub(crate) struct Signal {
    event: Event,
    waiting: AtomicUsize,
}

/// One who waits, until it is dropped.
pub(crate) struct Waiting<'a>(&'a Signal);

impl Signal {
    pub(crate) const fn new() -> Self {
        Self {
            event: Event::new(),
            waiting: AtomicUsize::new(0),
        }
    }

    /// Counts one who will listen to the [event](Self::event).
    pub(crate) fn waiting(&self) -> Waiting<'_> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        Waiting(self)
    }

    pub(crate) const fn event(&self) -> &Event {
        &self.event
    }

    /// Wakes so many more of those who listen.
    #[inline]
    pub(crate) fn wake(&self, count: usize) {
        if self.is_awaited() {
            self.event.notify_additional(count);
        }
    }

    /// Wakes all who listen.
    #[inline]
    pub(crate) fn wake_all(&self) {
        if self.is_awaited() {
            self.event.notify(usize::MAX);
        }
    }

    fn is_awaited(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}
