//! What can be measured of a queue.

use std::time::Duration;

/// Hears of what a queue does, to count it. Every method does nothing unless you say so.
///
/// Called by whoever uses the queue, with none of its locks held; keep it short. With two users at once, two calls may
/// come in either order. Gauges are better read now and then, with [`WorkQueue::stats`](crate::WorkQueue::stats).
#[doc(alias = "MetricsProvider")]
pub trait Metrics: Send + Sync + 'static {
    /// So many items wait now to be taken.
    fn depth(&self, depth: usize) {
        let _ = depth;
    }

    /// An item was added that did not wait already.
    #[doc(alias = "adds_total")]
    fn added(&self) {}

    /// An item was taken after it had waited so long.
    #[doc(alias = "queue_duration")]
    fn taken(&self, waited: Duration) {
        let _ = waited;
    }

    /// An item was finished after it was worked on for so long.
    #[doc(alias = "work_duration")]
    fn finished(&self, worked: Duration) {
        let _ = worked;
    }

    /// An item is to be tried again after a delay by the rate limiter.
    #[doc(alias = "retries_total")]
    fn retried(&self) {}
}

/// Nobody hears of anything, but times are measured for [`Stats`].
impl Metrics for () {}

/// What a queue holds and has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Stats {
    /// Items that wait to be taken.
    pub depth: usize,
    /// Items that are worked on.
    pub processing: usize,
    /// Items that will be queued later.
    pub delayed: usize,
    /// Items that neither wait, nor are delayed, nor worked on, and are known for their failures alone.
    pub remembered: usize,
    /// Items of all kinds.
    pub known: usize,
    /// How often an item was added that did not wait already.
    pub added: u64,
    /// How often an item was to be tried again by the rate limiter.
    pub retried: u64,
    /// How often a worker gave an item up.
    pub given_up: u64,
    /// For how long all items that are worked on have been worked on, together. An hour here with two items in work
    /// says that a worker hangs. Zero unless [`Config::metrics`](crate::Config::metrics) is set.
    #[doc(alias = "unfinished_work_seconds")]
    pub unfinished_work: Duration,
    /// For how long the oldest of them. Zero unless metrics are set.
    #[doc(alias = "longest_running_processor_seconds")]
    pub longest_running: Duration,
}
