//! An item in the hands of a worker, until it is acknowledged.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use crate::Item;
use crate::priority::Priority;
use crate::shared::Shared;
use crate::state::{Finish, Taken};

/// An item that was taken and is worked on. No other worker gets it before this one is done with it.
///
/// Say how it went: [`success`](Self::success), [`retry`](Self::retry), [`retry_after`](Self::retry_after),
/// [`give_up`](Self::give_up), or any [`Outcome`]. One that is dropped unsaid, by a panic or because its task was
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
#[must_use = "an item that is dropped without a word is tried again"]
pub struct Work<T: Item> {
    shared: Arc<Shared<T>>,
    taken: Taken<T>,
    is_settled: bool,
}

/// How the work on an item went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// All is well. Failures before are forgotten.
    Success,
    /// All is well for now; the item is to be looked at again after this time. Failures before are forgotten.
    #[doc(alias = "RequeueAfter")]
    SuccessFor(Duration),
    /// It failed, and is tried again after a delay by the rate limiter.
    #[doc(alias = "AddRateLimited")]
    Retry,
    /// It failed, and is tried again after this time. The failure counts.
    RetryAfter(Duration),
    /// It is of no use to try again. Failures are forgotten; the item is worked on again when it is added again.
    #[doc(alias = "TerminalError")]
    GiveUp,
    /// It is finished; failures before stay counted.
    Done,
}

impl<T: Item> Work<T> {
    pub(crate) const fn new(shared: Arc<Shared<T>>, taken: Taken<T>) -> Self {
        Self {
            shared,
            taken,
            is_settled: false,
        }
    }

    /// The item.
    #[must_use]
    pub const fn item(&self) -> &T {
        &self.taken.item
    }

    /// How often it has failed before, since the last success.
    #[must_use]
    #[doc(alias = "NumRequeues")]
    pub const fn failures(&self) -> u32 {
        self.taken.failures
    }

    /// With which priority it waited.
    #[must_use]
    pub const fn priority(&self) -> Priority {
        self.taken.priority
    }

    /// All is well: [`Outcome::Success`].
    pub fn success(self) {
        self.finish(Outcome::Success);
    }

    /// It failed, and is tried again after a delay by the rate limiter: [`Outcome::Retry`].
    pub fn retry(self) {
        self.finish(Outcome::Retry);
    }

    /// It failed, and is tried again after this time: [`Outcome::RetryAfter`].
    pub fn retry_after(self, delay: Duration) {
        self.finish(Outcome::RetryAfter(delay));
    }

    /// It is not tried again: [`Outcome::GiveUp`].
    pub fn give_up(self) {
        self.finish(Outcome::GiveUp);
    }

    /// Says how it went. If the item was added meanwhile, it is queued now.
    #[doc(alias = "Done")]
    pub fn finish(mut self, outcome: Outcome) {
        self.settle(outcome);
    }

    fn settle(&mut self, outcome: Outcome) {
        if std::mem::replace(&mut self.is_settled, true) {
            return;
        }
        let (shared, slot) = (&self.shared, self.taken.slot);
        let again = |delay| Finish::Again {
            due: shared.due(delay),
            priority: self.taken.priority,
        };
        let is_forgiven = !matches!(
            outcome,
            Outcome::Retry | Outcome::RetryAfter(_) | Outcome::Done
        );
        let finish = match outcome {
            Outcome::Success => Finish::Success,
            Outcome::GiveUp => Finish::GiveUp,
            Outcome::Done => Finish::Done,
            Outcome::SuccessFor(delay) => {
                shared.change(|state| state.forgive(slot));
                again(delay)
            }
            Outcome::Retry => again(shared.fail(slot, &self.taken.item)),
            Outcome::RetryAfter(delay) => {
                shared.change(|state| state.fail(slot));
                again(delay)
            }
        };
        shared.finish(slot, finish);
        if is_forgiven {
            shared.pardon(&self.taken.item);
        }
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
        self.settle(Outcome::Retry);
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
