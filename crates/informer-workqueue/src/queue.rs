//! The handle of a queue: anyone adds, workers take.

use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use crate::Item;
use crate::config::WorkQueueConfig;
use crate::error::DrainCancelled;
use crate::metrics::WorkQueueStats;
use crate::priority::Priority;
use crate::shared::Shared;
use crate::work::Work;

/// A queue of items to work on, each in it at most once.
///
/// A clone is another handle to the same queue. Adding never waits. Workers take with [`get`](Self::get) (feature
/// `tokio`), [`get_with`](Self::get_with) (any runtime), [`get_blocking`](Self::get_blocking) (threads) or
/// [`try_get`](Self::try_get), any number of them; two never work on one item.
///
/// See the [crate's documentation](crate) for an example and for what is promised.
#[doc(alias = "TypedRateLimitingInterface")]
#[doc(alias = "TypedDelayingInterface")]
#[doc(alias = "RateLimitingQueue")]
pub struct WorkQueue<T> {
    shared: Arc<Shared<T>>,
}

/// What there is for a worker.
enum Next<T: Item> {
    Work(Work<T>),
    Over,
    /// Nothing; the first delayed item is due then.
    Wait(Option<u64>),
}

impl<T: Item> WorkQueue<T> {
    /// Creates a queue with the default settings.
    #[must_use]
    #[doc(alias = "NewTypedRateLimitingQueue")]
    pub fn new() -> Self {
        Self::with_config(WorkQueueConfig::new())
    }

    /// Creates a queue with these settings.
    #[must_use]
    #[doc(alias = "NewTypedRateLimitingQueueWithConfig")]
    pub fn with_config(config: WorkQueueConfig<T>) -> Self {
        Self {
            shared: Arc::new(Shared::new(config)),
        }
    }

    /// Queues an item. One that waits already keeps its place, one in work is queued again once that work is finished, and
    /// one that failed a moment ago waits for a part of its [backoff](crate::WorkQueueConfig::event_backoff). Does nothing after a
    /// shutdown. Returns `true` if the item did not wait already.
    #[doc(alias = "Add")]
    pub fn add(&self, item: T) -> bool {
        self.add_with_priority(item, Priority::Normal)
    }

    /// Queues an item with a priority, as [`add`](Self::add). One that waits with a lower priority moves up.
    #[doc(alias = "Touch")]
    pub fn add_with_priority(&self, item: T, priority: Priority) -> bool {
        self.shared.add(item, priority)
    }

    /// Queues an item after a delay; [`add`](Self::add)s it if that is zero. Of several such delays for one item the one
    /// that ends first holds. It ends whether the item is added or worked on meanwhile or not; what a worker asks for by
    /// [`WorkResult::SuccessFor`](crate::WorkResult::SuccessFor) is void once newer work has another result.
    #[doc(alias = "AddAfter")]
    pub fn add_after(&self, item: T, delay: Duration) {
        self.add_after_with_priority(item, delay, Priority::Normal);
    }

    /// Queues an item with a priority after a delay, as [`add_after`](Self::add_after).
    pub fn add_after_with_priority(&self, item: T, delay: Duration, priority: Priority) {
        self.shared.add_after(item, delay, priority);
    }

    /// Counts a failure of an item, and queues it after a delay by the rate limiter. Does nothing for an item that waits or
    /// is to be retried already: it has not failed again. A worker calls [`Work::retry`] instead.
    #[doc(alias = "AddRateLimited")]
    pub fn add_rate_limited(&self, item: T) {
        self.shared.add_rate_limited(item, Priority::Normal);
    }

    /// Forgets how often an item failed; a retry that waits stays. A worker calls [`Work::success`] instead.
    #[doc(alias = "Forget")]
    pub fn forget(&self, item: &T) {
        self.shared.change(|state| state.forget(item));
        self.shared.pardon(item);
    }

    /// Returns how often an item failed since its failures were last forgotten.
    #[must_use]
    #[doc(alias = "NumRequeues")]
    pub fn failures(&self, item: &T) -> u32 {
        self.shared.read(|state| state.failures(item))
    }

    /// Drops all that is known of an item, because what it stands for is deleted: its place in the queue, its delays, its
    /// failures. If it is in work, the result of that counts for nothing, and it is queued again only if it is added again.
    /// Returns `true` if it was known.
    pub fn remove(&self, item: &T) -> bool {
        let is_known = self.shared.change(|state| state.remove(item));
        self.shared.pardon(item);
        is_known
    }

    /// Drops all items that wait or are delayed, and returns how many. Items in work are left alone.
    pub fn clear(&self) -> usize {
        let now = self.shared.now();
        self.shared.change(|state| state.clear(now))
    }

    /// Returns the next item, if one waits or is due.
    #[must_use]
    #[inline]
    pub fn try_get(&self) -> Option<Work<T>> {
        let taken = self.shared.take()?;
        Some(Work::new(Arc::clone(&self.shared), taken))
    }

    /// Waits for the next item. Returns `None` once the queue is shut down and nothing waits in it.
    ///
    /// # Cancellation
    /// Dropping the future takes nothing.
    ///
    /// # Panics
    /// Outside of a tokio runtime with a timer, while items are delayed.
    #[cfg(feature = "tokio")]
    #[doc(alias = "Get")]
    pub async fn get(&self) -> Option<Work<T>> {
        self.get_with(tokio::time::sleep).await
    }

    /// Waits for the next item on any async runtime; `sleep` returns a future that is ready after a time. Returns `None`
    /// once the queue is shut down and nothing waits in it.
    ///
    /// # Cancellation
    /// Dropping the future takes nothing.
    pub async fn get_with<S, F>(&self, sleep: S) -> Option<Work<T>>
    where
        S: Fn(Duration) -> F,
        F: Future,
    {
        loop {
            // Costs nothing where something waits.
            if let Some(work) = self.try_get() {
                return Some(work);
            }
            let _waiting = self.shared.ready.waiting();
            let mut listener = pin!(self.shared.ready.event().listen());
            match self.next() {
                Next::Work(work) => return Some(work),
                Next::Over => return None,
                Next::Wait(None) => listener.await,
                Next::Wait(Some(due)) => {
                    let mut sleep = pin!(sleep(self.shared.until(due)));
                    std::future::poll_fn(|context| {
                        if listener.as_mut().poll(context).is_ready() {
                            return Poll::Ready(());
                        }
                        sleep.as_mut().poll(context).map(|_| ())
                    })
                    .await;
                }
            }
        }
    }

    /// Waits for the next item on the calling thread. Returns `None` once the queue is shut down and nothing waits in it.
    #[doc(alias = "Get")]
    #[must_use]
    pub fn get_blocking(&self) -> Option<Work<T>> {
        use event_listener::Listener;

        loop {
            if let Some(work) = self.try_get() {
                return Some(work);
            }
            let _waiting = self.shared.ready.waiting();
            event_listener::listener!(self.shared.ready.event() => listener);
            match self.next() {
                Next::Work(work) => return Some(work),
                Next::Over => return None,
                Next::Wait(due) => match due.and_then(|due| self.shared.instant(due)) {
                    Some(due) => drop(listener.wait_deadline(due)),
                    None => listener.wait(),
                },
            }
        }
    }

    fn next(&self) -> Next<T> {
        if let Some(work) = self.try_get() {
            return Next::Work(work);
        }
        let outline = self.shared.read(|state| state.outline());
        // Whatever was added since then wakes the listener, which was made before.
        if outline.is_shut_down && outline.ready == 0 {
            return Next::Over;
        }
        Next::Wait(outline.next_due)
    }

    /// Ignores further additions. Items that wait are still handed out, also those added while in work or in their backoff;
    /// delayed items are dropped. Returns at once, and ends a drain.
    #[doc(alias = "ShutDown")]
    pub fn shut_down(&self) {
        let now = self.shared.now();
        self.shared.change(|state| state.shut_down(false, now));
    }

    /// Ignores further additions, and waits until all waiting items are handed out and finished. Delayed items are dropped,
    /// as by [`shut_down`](Self::shut_down). It needs workers that go on.
    ///
    /// # Cancellation
    /// Dropping the future leaves the queue shut down.
    ///
    /// # Errors
    /// When [`shut_down`](Self::shut_down) is called meanwhile.
    #[doc(alias = "ShutDownWithDrain")]
    pub async fn shut_down_with_drain(&self) -> Result<(), DrainCancelled> {
        let now = self.shared.now();
        self.shared.change(|state| state.shut_down(true, now));
        loop {
            let _waiting = self.shared.idle.waiting();
            let listener = self.shared.idle.event().listen();
            if let Some(end) = self.drained() {
                return end;
            }
            listener.await;
        }
    }

    /// As [`shut_down_with_drain`](Self::shut_down_with_drain), on the calling thread.
    ///
    /// # Errors
    /// When [`shut_down`](Self::shut_down) is called meanwhile.
    pub fn shut_down_with_drain_blocking(&self) -> Result<(), DrainCancelled> {
        use event_listener::Listener;

        let now = self.shared.now();
        self.shared.change(|state| state.shut_down(true, now));
        loop {
            let _waiting = self.shared.idle.waiting();
            event_listener::listener!(self.shared.idle.event() => listener);
            if let Some(end) = self.drained() {
                return end;
            }
            listener.wait();
        }
    }

    fn drained(&self) -> Option<Result<(), DrainCancelled>> {
        let outline = self.shared.read(|state| state.outline());
        if outline.is_idle {
            return Some(Ok(()));
        }
        (!outline.is_draining).then_some(Err(DrainCancelled))
    }

    /// Returns `true` once the queue is shut down.
    #[must_use]
    #[doc(alias = "ShuttingDown")]
    pub fn is_shut_down(&self) -> bool {
        self.shared.read(|state| state.outline().is_shut_down)
    }

    /// Returns the number of items that wait to be taken. Those in work or delayed do not count.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shared.read(|state| state.outline().ready)
    }

    /// Returns `true` if no item waits to be taken.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns a snapshot of what the queue holds and has done.
    #[must_use]
    pub fn stats(&self) -> WorkQueueStats {
        let now = self.shared.stamp();
        let counts = self.shared.read(|state| state.counts(now));
        WorkQueueStats {
            depth: counts.ready,
            processing: counts.processing,
            delayed: counts.delayed,
            remembered: counts.remembered,
            known: counts.known,
            added: counts.added,
            retried: counts.retried,
            given_up: counts.given_up,
            unfinished_work: Duration::from_nanos(
                u64::try_from(counts.unfinished).unwrap_or(u64::MAX),
            ),
            longest_running: Duration::from_nanos(counts.longest_running),
        }
    }
}

impl<T: Item> Default for WorkQueue<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Clone for WorkQueue<T> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<T: Item> fmt::Debug for WorkQueue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkQueue")
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}
