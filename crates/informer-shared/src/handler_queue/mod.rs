//! The queue between the processor and one handler: pushing never waits, and nothing is lost but by its policy.
//!
//! # Lock order
//! One lock per queue, taken alone. It is held for moving events in or out, never while user code runs, a waker is woken
//! or the events of an ended queue are dropped.

mod pending;
mod policy;
mod state;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use informer_store::ObjectKey;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;

pub use policy::QueuePolicy;
pub(crate) use state::{End, QueueStatus};

use crate::notification::Delivery;
use state::QueueState;

/// The processor's side of a handler's queue.
pub(crate) struct HandlerQueue<K> {
    inner: Mutex<Inner<K>>,
    phase: watch::Sender<HandlerPhase>,
}

struct Inner<K> {
    state: QueueState<K>,
    waker: Option<Waker>,
}

/// Where the handler behind a queue stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum HandlerPhase {
    /// It has yet to handle some of its initial notifications.
    #[default]
    NotSynced,
    /// It has handled all initial notifications.
    Synced,
    /// Its consumer was dropped: no call runs any more.
    Ended { synced: bool },
}

impl HandlerPhase {
    pub(crate) const fn is_synced(self) -> bool {
        matches!(self, Self::Synced | Self::Ended { synced: true })
    }

    pub(crate) const fn is_ended(self) -> bool {
        matches!(self, Self::Ended { .. })
    }
}

impl<K> HandlerQueue<K> {
    /// Makes an empty queue and its only consumer.
    pub(crate) fn new(policy: QueuePolicy) -> (Arc<Self>, Consumer<K>) {
        let queue = Arc::new(Self {
            inner: Mutex::new(Inner {
                state: QueueState::new(policy),
                waker: None,
            }),
            phase: watch::Sender::new(HandlerPhase::default()),
        });
        let consumer = Consumer {
            queue: Arc::clone(&queue),
        };
        (queue, consumer)
    }

    /// Queues events in their order. Returns `false` if the queue takes no more.
    pub(crate) fn push_all<'a>(
        &self,
        events: impl Iterator<Item = (&'a ObjectKey, Delivery<K>)>,
        now: Instant,
    ) -> bool
    where
        K: 'a,
    {
        let mut events = events.peekable();
        if events.peek().is_none() {
            return self.ended().is_none();
        }
        self.change(|state| events.all(|(key, delivery)| state.push(key, delivery, now)))
    }

    /// Puts the barrier behind the initial notifications: the handler is synced once it has handled them.
    pub(crate) fn push_barrier(&self) {
        self.change(QueueState::push_barrier);
    }

    /// Ends the queue.
    pub(crate) fn end(&self, end: End) {
        self.change(|state| state.end(end));
    }

    /// Returns why the queue takes no more events, if so.
    pub(crate) fn ended(&self) -> Option<End> {
        self.inner.lock().state.ended()
    }

    /// Returns `true` if events of the last resync are still queued.
    pub(crate) fn has_resyncs(&self) -> bool {
        self.inner.lock().state.has_resyncs()
    }

    pub(crate) fn status(&self) -> QueueStatus {
        let now = Instant::now();
        self.inner.lock().state.status(now)
    }

    pub(crate) fn phase(&self) -> watch::Receiver<HandlerPhase> {
        self.phase.subscribe()
    }

    /// Changes the state under the lock, then wakes the consumer and publishes the phase without it.
    fn change<R>(&self, change: impl FnOnce(&mut QueueState<K>) -> R) -> R {
        let mut inner = self.inner.lock();
        let result = change(&mut inner.state);
        let waker = inner.waker.take();
        let synced = inner.state.pass_barrier();
        let dropped = inner.state.take_dropped();
        drop(inner);
        drop(dropped);
        if let Some(waker) = waker {
            waker.wake();
        }
        if synced {
            self.publish_synced();
        }
        result
    }

    fn publish_synced(&self) {
        self.phase.send_modify(|phase| {
            *phase = match *phase {
                HandlerPhase::Ended { .. } => HandlerPhase::Ended { synced: true },
                _ => HandlerPhase::Synced,
            };
        });
    }
}

/// The handler's side of its queue. Dropping it ends the queue.
pub(crate) struct Consumer<K> {
    queue: Arc<HandlerQueue<K>>,
}

impl<K> Consumer<K> {
    /// Finishes the event that was returned last and returns the next one; `None` once the queue has ended.
    #[expect(
        clippy::needless_pass_by_ref_mut,
        reason = "an event is finished when the next is polled: one at a time"
    )]
    pub(crate) fn poll_next(&mut self, cx: &Context<'_>) -> Poll<Option<Delivery<K>>> {
        let mut inner = self.queue.inner.lock();
        inner.state.finish();
        let synced = inner.state.pass_barrier();
        let next = match inner.state.pop() {
            Some(delivery) => Poll::Ready(Some(delivery)),
            None if inner.state.ended().is_some() => Poll::Ready(None),
            None => {
                inner.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        };
        drop(inner);
        if synced {
            self.queue.publish_synced();
        }
        next
    }

    /// Returns the next event; `None` once the queue has ended. Cancel safe: nothing is lost if it is dropped.
    pub(crate) async fn next(&mut self) -> Option<Delivery<K>> {
        std::future::poll_fn(|cx| self.poll_next(cx)).await
    }
}

impl<K> Drop for Consumer<K> {
    fn drop(&mut self) {
        self.queue.end(End::Closed);
        self.queue.phase.send_modify(|phase| {
            *phase = HandlerPhase::Ended {
                synced: phase.is_synced(),
            };
        });
    }
}
