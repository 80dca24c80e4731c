//! An item in work, until its result is known.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use crate::Item;
use crate::priority::Priority;
use crate::shared::Shared;
use crate::state::{Finish, Taken, Wait};

/// An item that was taken and is worked on. No other worker gets it before this one is done with it.
///
/// End it by its result: [`success`](Self::success), [`retry`](Self::retry), [`retry_after`](Self::retry_after),
/// [`give_up`](Self::give_up), or any [`WorkResult`]. One that is dropped without, by a panic or because its task was
/// cancelled, is tried again as a failure: no item is lost.
///
/// ```
/// use informer_workqueue::WorkQueue;
///
/// let queue = WorkQueue::new();
/// queue.add("shop/cart");
/// let work = queue.try_get().expect("there is one");
/// queue.add("shop/cart");
/// assert!(queue.try_get().is_none(), "nobody works on an item twice at once");
/// work.success();
/// assert!(queue.try_get().is_some(), "it was added again meanwhile");
/// ```
#[must_use = "an item that is dropped without a result is tried again"]
pub struct Work<T: Item> {
    shared: Arc<Shared<T>>,
    taken: Taken<T>,
    is_finished: bool,
}

/// The result of the work on an item. A newer one makes what an older one asked for void.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[must_use = "it does nothing unless work is finished with it"]
pub enum WorkResult {
    /// It succeeded. Failures before are forgotten.
    Success,
    /// It succeeded, and is worked on again after this time. Failures before are forgotten.
    #[doc(alias = "RequeueAfter")]
    SuccessFor(Duration),
    /// It failed, and is tried again after a delay by the rate limiter.
    #[doc(alias = "AddRateLimited")]
    Retry,
    /// It failed, and is tried again after this time. The failure counts.
    RetryAfter(Duration),
    /// It failed, and trying again is of no use. Failures are forgotten; it is worked on again when it is added again.
    #[doc(alias = "TerminalError")]
    GiveUp,
    /// It is finished, neither a success nor a failure: failures before stay counted.
    Done,
}

impl<T: Item> Work<T> {
    pub(crate) const fn new(shared: Arc<Shared<T>>, taken: Taken<T>) -> Self {
        Self {
            shared,
            taken,
            is_finished: false,
        }
    }

    /// Returns the item.
    #[must_use]
    pub const fn item(&self) -> &T {
        &self.taken.item
    }

    /// Returns how often it has failed since the last success.
    #[must_use]
    #[doc(alias = "NumRequeues")]
    pub const fn failures(&self) -> u32 {
        self.taken.failures
    }

    /// Returns the priority with which it waited.
    #[must_use]
    pub const fn priority(&self) -> Priority {
        self.taken.priority
    }

    /// Ends the work as [`WorkResult::Success`].
    pub fn success(self) {
        self.finish(WorkResult::Success);
    }

    /// Ends the work as [`WorkResult::Retry`]: it failed, and is tried again after a delay by the rate limiter.
    pub fn retry(self) {
        self.finish(WorkResult::Retry);
    }

    /// Ends the work as [`WorkResult::RetryAfter`]: it failed, and is tried again after this time.
    pub fn retry_after(self, delay: Duration) {
        self.finish(WorkResult::RetryAfter(delay));
    }

    /// Ends the work as [`WorkResult::GiveUp`]: it failed, and is not tried again.
    pub fn give_up(self) {
        self.finish(WorkResult::GiveUp);
    }

    /// Ends the work with a result. If the item was added meanwhile, it is queued now; after a failure it waits for a part
    /// of its [backoff](crate::WorkQueueConfig::event_backoff).
    ///
    /// Returns after which time it is worked on again by this result, if it is: at the earliest, since a retry may have to
    /// wait for its token of a [rate](crate::RetryRate), and earlier if it is added before.
    #[doc(alias = "Done")]
    pub fn finish(mut self, result: WorkResult) -> Option<Duration> {
        self.end(result)
    }

    fn end(&mut self, result: WorkResult) -> Option<Duration> {
        if std::mem::replace(&mut self.is_finished, true) {
            return None;
        }
        let (shared, slot) = (&self.shared, self.taken.slot);
        let mut next = None;
        let mut again = |delay, wait| {
            next = Some(delay);
            Finish::Again {
                due: shared.due(delay),
                priority: self.taken.priority,
                wait,
            }
        };
        let is_forgiven = !matches!(
            result,
            WorkResult::Retry | WorkResult::RetryAfter(_) | WorkResult::Done
        );
        let finish = match result {
            WorkResult::Success => Finish::Success,
            WorkResult::GiveUp => Finish::GiveUp,
            WorkResult::Done => Finish::Done,
            WorkResult::SuccessFor(delay) => again(delay, Wait::Look),
            WorkResult::Retry => again(shared.fail(slot, &self.taken.item), Wait::Limited),
            WorkResult::RetryAfter(delay) => {
                shared.change(|state| state.fail(slot));
                again(delay, Wait::Backoff)
            }
        };
        shared.finish(slot, finish);
        if is_forgiven {
            shared.pardon(&self.taken.item);
        }
        next
    }
}

impl<T: Item> Deref for Work<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.taken.item
    }
}

impl<T: Item> Drop for Work<T> {
    fn drop(&mut self) {
        self.end(WorkResult::Retry);
    }
}

impl<T: Item + fmt::Debug> fmt::Debug for Work<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Work")
            .field("item", &self.taken.item)
            .field("failures", &self.taken.failures)
            .field("priority", &self.taken.priority)
            .finish_non_exhaustive()
    }
}
