//! Figures of a queue.

/// What a queue holds and has done, at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Keys that wait for a consumer. In order, a key counts once for each of its changes.
    pub queued_keys: usize,
    /// Deltas that wait for a consumer.
    pub queued_deltas: usize,
    /// Keys taken out and not yet acknowledged.
    pub in_flight_keys: usize,
    /// Deltas dropped by compression since the start, because a consumer need not see them.
    pub compressed: u64,
    /// Copies dropped since the start because the same copy was known.
    pub unchanged: u64,
    /// Copies and deletions dropped since the start because something newer was known.
    pub stale: u64,
    /// Deletions dropped since the start because the object was not known.
    pub unknown_deletions: u64,
    /// Batches that came back unacknowledged since the start.
    pub returned_batches: u64,
    /// Keys that came back alone, because they could not be applied, since the start.
    pub returned_keys: u64,
}
