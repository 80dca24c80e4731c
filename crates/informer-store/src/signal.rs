//! Wakes listeners, at next to no cost without them.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{Ordering, fence};
use std::task::{Context, Poll};

use event_listener::{Event, EventListener};

use crate::sync::AtomicUsize;

/// An event that counts its listeners.
#[derive(Default)]
pub(crate) struct Signal {
    event: Event,
    listening: AtomicUsize,
}

impl Signal {
    /// Wakes all listeners. What they wait for was changed before.
    pub(crate) fn notify(&self) {
        // Either this sees the listener, or the listener sees the change.
        fence(Ordering::SeqCst);
        self.notify_of_locked();
    }

    /// Wakes all listeners for a change that was made under a lock, if they look for it under that lock: then the lock
    /// has ordered the two.
    #[inline]
    pub(crate) fn notify_of_locked(&self) {
        if self.listening.load(Ordering::Relaxed) > 0 {
            self.event.notify(usize::MAX);
        }
    }

    /// Starts to listen: look for the change after this, then wait for it.
    pub(crate) fn listen(&self) -> Listening<'_> {
        self.listening.fetch_add(1, Ordering::SeqCst);
        let listening = Listening {
            signal: self,
            listener: self.event.listen(),
        };
        fence(Ordering::SeqCst);
        listening
    }
}

/// Resolves at the next [`notify`](Signal::notify).
pub(crate) struct Listening<'a> {
    signal: &'a Signal,
    listener: EventListener,
}

impl Future for Listening<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.listener).poll(context)
    }
}

impl Drop for Listening<'_> {
    fn drop(&mut self) {
        self.signal.listening.fetch_sub(1, Ordering::SeqCst);
    }
}
