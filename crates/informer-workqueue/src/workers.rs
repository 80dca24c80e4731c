//! Groups of workers: as many as you like, until the queue is shut down.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use crate::Item;
use crate::queue::WorkQueue;
use crate::work::Outcome;

impl<T: Item> WorkQueue<T> {
    /// One worker on any async runtime: takes items and works on them, one after the other, until the queue is shut
    /// down and nothing waits in it. `sleep` gives a future that is ready after a time.
    ///
    /// A panic of the handler counts as [`Outcome::Retry`] of its item; the worker goes on.
    ///
    /// # Cancellation
    /// Dropping the future ends the work on an item; that is tried again.
    pub async fn run_worker_with<S, F, H, R>(&self, sleep: S, handler: H)
    where
        S: Fn(Duration) -> F,
        F: Future,
        H: Fn(T) -> R,
        R: Future<Output = Outcome>,
    {
        while let Some(work) = self.get_with(&sleep).await {
            let outcome = caught(|| handler(work.item().clone())).await;
            work.finish(outcome.unwrap_or(Outcome::Retry));
        }
    }

    /// A group of workers as tokio tasks: each takes items and works on them, one after the other. Ends when the queue
    /// is shut down, nothing waits in it, and all have finished.
    ///
    /// ```
    /// use informer_workqueue::{Outcome, WorkQueue};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let queue = WorkQueue::new();
    /// for item in 0..100 {
    ///     queue.add(item);
    /// }
    /// let workers = tokio::spawn({
    ///     let queue = queue.clone();
    ///     async move { queue.run_workers(4, |_item: i32| async { Outcome::Success }).await }
    /// });
    /// queue.shut_down_with_drain().await?;
    /// workers.await?;
    /// assert_eq!(queue.stats().known, 0);
    /// # Ok(()) }
    /// ```
    ///
    /// A panic of the handler counts as [`Outcome::Retry`] of its item; the worker goes on.
    ///
    /// # Cancellation
    /// Dropping the future ends the tasks; the items that they work on are tried again.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    #[cfg(feature = "tokio")]
    #[doc(alias = "threadiness")]
    pub async fn run_workers<H, R>(&self, workers: usize, handler: H)
    where
        H: Fn(T) -> R + Send + Sync + 'static,
        R: Future<Output = Outcome> + Send,
    {
        let handler = std::sync::Arc::new(handler);
        let mut group = tokio::task::JoinSet::new();
        for _ in 0..workers.max(1) {
            let (queue, handler) = (self.clone(), std::sync::Arc::clone(&handler));
            group.spawn(async move {
                queue.run_worker_with(tokio::time::sleep, &*handler).await;
            });
        }
        while group.join_next().await.is_some() {}
    }

    /// A group of workers as threads: each takes items and works on them, one after the other. Returns when the queue
    /// is shut down, nothing waits in it, and all have finished.
    ///
    /// A panic of the handler counts as [`Outcome::Retry`] of its item; the worker goes on.
    ///
    /// # Panics
    /// When the system gives no thread.
    pub fn run_workers_blocking<H>(&self, workers: usize, handler: H)
    where
        H: Fn(&T) -> Outcome + Sync,
    {
        let work = || {
            while let Some(work) = self.get_blocking() {
                let outcome = catch_unwind(AssertUnwindSafe(|| handler(work.item())));
                work.finish(outcome.unwrap_or(Outcome::Retry));
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..workers {
                scope.spawn(work);
            }
            work();
        });
    }
}

/// Awaits what a handler makes. `None` if it panics; the panic hook has told of it.
async fn caught<R: Future>(make: impl FnOnce() -> R) -> Option<R::Output> {
    let future = catch_unwind(AssertUnwindSafe(make)).ok()?;
    let mut future = pin!(future);
    std::future::poll_fn(|context| {
        match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
            Ok(poll) => poll.map(Some),
            Err(_) => Poll::Ready(None),
        }
    })
    .await
}
