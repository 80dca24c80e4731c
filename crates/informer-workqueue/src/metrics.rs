//! What can be measured of a queue.

use std::time::Duration;

/// Counts the events of a queue. Every method does nothing by default.
///
/// Called by whoever uses the queue, with none of its locks held; keep it short. The calls of two users at once may come
/// in either order. Gauges are better read now and then, with [`WorkQueue::stats`](crate::WorkQueue::stats).
#[doc(alias = "MetricsProvider")]
pub trait Metrics: Send + Sync + 'static {
    /// The number of waiting items has changed to this.
    fn depth(&self, depth: usize) {
        let _ = depth;
    }

    /// An item was added that did not wait already.
    #[doc(alias = "adds_total")]
    fn added(&self) {}

    /// An item was taken after it had waited this long.
    #[doc(alias = "queue_duration")]
    fn taken(&self, waited: Duration) {
        let _ = waited;
    }

    /// The work on an item ended after this long.
    #[doc(alias = "work_duration")]
    fn finished(&self, worked: Duration) {
        let _ = worked;
    }

    /// An item is to be tried again after a delay by the rate limiter.
    #[doc(alias = "retries_total")]
    fn retried(&self) {}
}

/// Counts nothing, but times are measured for [`WorkQueueStats`].
impl Metrics for () {}

/// A snapshot of what a queue holds and has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct WorkQueueStats {
    /// Items that wait to be taken.
    pub depth: usize,
    /// Items in work.
    pub processing: usize,
    /// Items that will be queued later.
    pub delayed: usize,
    /// Items that neither wait, nor are delayed, nor in work, and are remembered for their failures alone.
    pub remembered: usize,
    /// Items of all kinds.
    pub known: usize,
    /// How often an item was added that did not wait already.
    pub added: u64,
    /// How often an item was to be tried again by the rate limiter.
    pub retried: u64,
    /// How often a worker gave an item up.
    pub given_up: u64,
    /// For how long all items in work have been in work, together. An hour here with two items in work
    /// means that a worker hangs. Zero unless [`WorkQueueConfig::metrics`](crate::WorkQueueConfig::metrics) is set.
    #[doc(alias = "unfinished_work_seconds")]
    pub unfinished_work: Duration,
    /// For how long the oldest of them. Zero unless metrics are set.
    #[doc(alias = "longest_running_processor_seconds")]
    pub longest_running: Duration,
}
