//! The queue between the processor and one handler: never full from the processor's side, never lossy by accident.
//!
//! # Lock order
//! One lock per queue, taken alone. It is held for moving events in or out, never while user code runs, a waker is
//! woken or a replay is laid out.

mod backlog;
mod pending;
mod policy;
mod state;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::vec;

use informer_store::ObjectKey;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;

pub use policy::QueuePolicy;
pub(crate) use state::{End, QueueStatus};

use crate::event::Event;
use crate::notification::Delivery;
use state::QueueState;

/// The producer's side of a handler's queue.
pub(crate) struct Queue<K> {
    inner: Mutex<Inner<K>>,
    phase: watch::Sender<Phase>,
}

struct Inner<K> {
    state: QueueState<K>,
    replay: Option<Replay<K>>,
    waker: Option<Waker>,
}

/// How far the handler behind a queue has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Phase {
    /// It has handled everything of its first state.
    pub(crate) synced: bool,
    /// Its consumer is gone; no callback runs any more.
    pub(crate) ended: bool,
}

/// The objects that a late handler starts from. The consumer lays them out, so that the producer need not.
pub(crate) struct Replay<K> {
    pub(crate) at_most: usize,
    pub(crate) objects: Box<dyn FnOnce() -> Vec<Arc<K>> + Send>,
}

impl<K> Queue<K> {
    /// An empty queue and its only consumer.
    pub(crate) fn new(policy: QueuePolicy) -> (Arc<Self>, Consumer<K>) {
        let inner = Inner {
            state: QueueState::new(policy),
            replay: None,
            waker: None,
        };
        let queue = Arc::new(Self {
            inner: Mutex::new(inner),
            phase: watch::Sender::new(Phase::default()),
        });
        let consumer = Consumer {
            queue: Arc::clone(&queue),
            replay: Vec::new().into_iter(),
        };
        (queue, consumer)
    }

    /// Puts events in, in order. Returns false if the queue takes nothing more.
    pub(crate) fn push_all<'a>(
        &self,
        events: impl Iterator<Item = (&'a ObjectKey, Delivery<K>)>,
        now: Instant,
    ) -> bool {
        let mut events = events.peekable();
        if events.peek().is_none() {
            return self.ended().is_none();
        }
        self.change(|inner| {
            let mut open = inner.state.ended().is_none();
            for (key, delivery) in events {
                open = open && inner.state.push(key, delivery, now);
            }
            open
        })
    }

    /// Hands over the state that the handler starts from. Comes before everything that is pushed.
    pub(crate) fn replay(&self, replay: Replay<K>, now: Instant) {
        self.change(|inner| {
            inner.state.begin_replay(replay.at_most, now);
            inner.replay = Some(replay);
        });
    }

    /// Says that the first state of the cache has been pushed to the end.
    pub(crate) fn mark_source_synced(&self) {
        self.change(|inner| inner.state.mark_source_synced());
    }

    /// Ends the queue.
    pub(crate) fn end(&self, end: End) {
        self.change(|inner| inner.state.end(end));
    }

    /// Why the queue takes nothing more, if so.
    pub(crate) fn ended(&self) -> Option<End> {
        self.inner.lock().state.ended()
    }

    /// Whether reminders of the last resync still wait.
    pub(crate) fn has_resyncs(&self) -> bool {
        self.inner.lock().state.has_resyncs()
    }

    pub(crate) fn status(&self) -> QueueStatus {
        let now = Instant::now();
        self.inner.lock().state.status(now)
    }

    pub(crate) fn phase(&self) -> Phase {
        *self.phase.borrow()
    }

    pub(crate) fn watch_phase(&self) -> watch::Receiver<Phase> {
        self.phase.subscribe()
    }

    /// Changes the state under the lock, then tells of it outside the lock.
    fn change<R>(&self, change: impl FnOnce(&mut Inner<K>) -> R) -> R {
        let mut inner = self.inner.lock();
        let result = change(&mut inner);
        let waker = inner.waker.take();
        let synced = inner.state.turns_synced();
        drop(inner);
        if let Some(waker) = waker {
            waker.wake();
        }
        if synced {
            self.publish_synced();
        }
        result
    }

    fn publish_synced(&self) {
        self.phase.send_modify(|phase| phase.synced = true);
    }
}

/// The handler's side of its queue. Dropping it ends the queue.
pub(crate) struct Consumer<K> {
    queue: Arc<Queue<K>>,
    replay: vec::IntoIter<Arc<K>>,
}

impl<K> Consumer<K> {
    /// Finishes the event that was taken last and takes the next one. `None`: the queue has ended.
    pub(crate) fn poll_next(&mut self, cx: &Context<'_>) -> Poll<Option<Delivery<K>>> {
        loop {
            match self.step(cx) {
                Step::LayOut(replay) => {
                    self.replay = (replay.objects)().into_iter();
                    let objects = self.replay.len();
                    self.queue.inner.lock().state.correct_replay(objects);
                }
                Step::Take(next) => return next,
            }
        }
    }

    fn step(&mut self, cx: &Context<'_>) -> Step<K> {
        let mut inner = self.queue.inner.lock();
        inner.state.finish();
        let synced = inner.state.turns_synced();
        let step = match inner.replay.take() {
            Some(replay) => Step::LayOut(replay),
            None => Step::Take(Self::take(&mut self.replay, &mut inner, cx)),
        };
        drop(inner);
        if synced {
            self.queue.publish_synced();
        }
        step
    }

    fn take(
        replay: &mut vec::IntoIter<Arc<K>>,
        inner: &mut Inner<K>,
        cx: &Context<'_>,
    ) -> Poll<Option<Delivery<K>>> {
        if !replay.as_slice().is_empty() {
            if inner.state.take_replayed()
                && let Some(object) = replay.next()
            {
                return Poll::Ready(Some(
                    Event::Added {
                        object,
                        initial: true,
                    }
                    .into(),
                ));
            }
            *replay = Vec::new().into_iter();
        }
        if let Some(delivery) = inner.state.pop() {
            return Poll::Ready(Some(delivery));
        }
        if inner.state.ended().is_some() {
            return Poll::Ready(None);
        }
        inner.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    /// The next event, or `None` once the queue has ended. Cancel safe: nothing is lost if it is dropped.
    pub(crate) async fn next(&mut self) -> Option<Delivery<K>> {
        std::future::poll_fn(|cx| self.poll_next(cx)).await
    }
}

enum Step<K> {
    LayOut(Replay<K>),
    Take(Poll<Option<Delivery<K>>>),
}

impl<K> Drop for Consumer<K> {
    fn drop(&mut self) {
        self.queue.end(End::Closed);
        self.queue.phase.send_modify(|phase| phase.ended = true);
    }
}
