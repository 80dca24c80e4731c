//! Groups of workers: as many as you like, until the queue is shut down.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use crate::Item;
use crate::queue::WorkQueue;
use crate::work::WorkResult;

/// How many workers a group has at most.
#[cfg(feature = "tokio")]
const MAX_TASKS: usize = 16_384;
const MAX_THREADS: usize = 1024;

/// After how many items a worker lets other tasks run, if no work has waited for anything.
const ITEMS_WITHOUT_PAUSE: u32 = 32;

impl<T: Item> WorkQueue<T> {
    /// Runs one worker on any async runtime: takes items and works on them, one after the other, until the queue is shut
    /// down and nothing waits in it. `sleep` returns a future that is ready after a time.
    ///
    /// A panic of the handler counts as [`WorkResult::Retry`] of its item; the worker goes on. It yields to other tasks
    /// from time to time, also where neither the queue nor the work ever waits.
    ///
    /// # Cancellation
    /// Dropping the future ends the work on an item; that is tried again.
    pub async fn run_worker_with<S, F, H, R>(&self, sleep: S, handler: H)
    where
        S: Fn(Duration) -> F,
        F: Future,
        H: Fn(T) -> R,
        R: Future<Output = WorkResult>,
    {
        let mut items = 0_u32;
        while let Some(work) = self.get_with(&sleep).await {
            let result = caught(|| handler(work.item().clone())).await;
            work.finish(result.unwrap_or(WorkResult::Retry));
            items = items.wrapping_add(1);
            if items.is_multiple_of(ITEMS_WITHOUT_PAUSE) {
                yield_now().await;
            }
        }
    }

    /// Runs a group of workers as tokio tasks: each takes items and works on them, one after the other. Ends when the
    /// queue is shut down, nothing waits in it, and all have finished. At least one worker, at most 16,384.
    ///
    /// ```
    /// use informer_workqueue::{WorkResult, WorkQueue};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let queue = WorkQueue::new();
    /// for item in 0..100 {
    ///     queue.add(item);
    /// }
    /// let workers = tokio::spawn({
    ///     let queue = queue.clone();
    ///     async move { queue.run_workers(4, |_item: i32| async { WorkResult::Success }).await }
    /// });
    /// queue.shut_down_with_drain().await?;
    /// workers.await?;
    /// assert_eq!(queue.stats().known, 0);
    /// # Ok(()) }
    /// ```
    ///
    /// A panic of the handler counts as [`WorkResult::Retry`] of its item; the worker goes on.
    ///
    /// # Cancellation
    /// Dropping the future ends the tasks; the items that they work on are tried again.
    ///
    /// # Panics
    /// Outside of a tokio runtime, or if a worker panics outside of the handler: without a timer, or in the code of an
    /// item, a rate limiter or metrics.
    #[cfg(feature = "tokio")]
    #[doc(alias = "threadiness")]
    pub async fn run_workers<H, R>(&self, workers: usize, handler: H)
    where
        H: Fn(T) -> R + Send + Sync + 'static,
        R: Future<Output = WorkResult> + Send,
    {
        let handler = std::sync::Arc::new(handler);
        let mut group = tokio::task::JoinSet::new();
        for _ in 0..workers.clamp(1, MAX_TASKS) {
            let (queue, handler) = (self.clone(), std::sync::Arc::clone(&handler));
            group.spawn(async move {
                queue.run_worker_with(tokio::time::sleep, &*handler).await;
            });
        }
        while let Some(ended) = group.join_next().await {
            // With a worker less, or none, nobody would notice.
            if let Err(error) = ended
                && let Ok(panic) = error.try_into_panic()
            {
                std::panic::resume_unwind(panic);
            }
        }
    }

    /// Runs a group of workers as threads, the calling one among them: each takes items and works on them, one after the
    /// other. Returns when the queue is shut down, nothing waits in it, and all have finished. At least one worker, at
    /// most 1,024, and no more than the system has threads for.
    ///
    /// A panic of the handler counts as [`WorkResult::Retry`] of its item; the worker goes on.
    pub fn run_workers_blocking<H>(&self, workers: usize, handler: H)
    where
        H: Fn(&T) -> WorkResult + Sync,
    {
        let work = || {
            while let Some(work) = self.get_blocking() {
                let result = catch_unwind(AssertUnwindSafe(|| handler(work.item())));
                work.finish(result.unwrap_or(WorkResult::Retry));
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..workers.min(MAX_THREADS) {
                if std::thread::Builder::new()
                    .spawn_scoped(scope, work)
                    .is_err()
                {
                    break;
                }
            }
            work();
        });
    }
}

/// Lets other tasks run.
async fn yield_now() {
    let mut has_yielded = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut has_yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Awaits what a handler makes. Returns `None` if it panics; the panic hook has reported it.
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
