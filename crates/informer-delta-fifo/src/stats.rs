//! Figures of a queue.

/// What a queue holds and has done, at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueueStats {
    /// The number of queued keys; in order, a key counts once for each of its changes.
    pub queued_keys: usize,
    /// The number of queued deltas.
    pub queued_deltas: usize,
    /// The number of keys that were popped and are not acknowledged.
    pub in_flight_keys: usize,
    /// Deltas that were coalesced since the start, as no consumer needs them.
    pub coalesced: u64,
    /// Objects ignored since the start because the newest of their key is the same.
    pub unchanged: u64,
    /// Objects and deletions ignored since the start because they were outdated.
    pub outdated: u64,
    /// Deletions ignored since the start because nothing was known of the object.
    pub unknown_deletions: u64,
    /// Deltas dropped since the start, as the queue was [beyond its limit](crate::DeltaFifoConfig::max_queued).
    pub dropped: u64,
    /// Batches that were requeued since the start because they were dropped.
    pub requeued_batches: u64,
    /// Keys that were requeued alone since the start because they could not be applied.
    pub requeued_keys: u64,
}
