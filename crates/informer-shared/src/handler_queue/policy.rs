//! How much a handler's queue holds, and what it does when the handler is slow.

/// What happens to events that a handler has not received yet.
///
/// Whatever the policy, a slow handler delays nobody else: not the cache, not other handlers, not the watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum QueuePolicy {
    /// Events of one key are coalesced, so that memory is bounded by the number of objects and a slow handler skips
    /// intermediate states. A key keeps its place in the queue.
    ///
    /// | queued | then | result |
    /// |---|---|---|
    /// | added | updated | added, in the newest state |
    /// | updated | updated | updated, from the first old state to the newest |
    /// | added | deleted | nothing |
    /// | updated | deleted | deleted |
    /// | deleted | added | deleted, then added |
    #[default]
    Coalesce,
    /// Every change of the cache is delivered, however many are queued, as in client-go. Memory grows while the handler
    /// is slower than the cluster. Changes that are coalesced before they are cached are one: see
    /// [`max_deltas`](crate::SharedInformerBuilder::max_deltas).
    Unbounded,
    /// Every change of the cache is delivered, but at most this many may be queued. One more ends the handler with
    /// [`EndReason::QueueFull`](crate::EndReason::QueueFull). The initial objects do not count. A resync does: a handler
    /// with a resync period needs room for as many events as there are objects, which a resync adds at once, or its
    /// first resync ends it.
    Bounded(usize),
}

impl QueuePolicy {
    pub(crate) const fn coalesces(self) -> bool {
        matches!(self, Self::Coalesce)
    }

    pub(crate) const fn limit(self) -> Option<usize> {
        match self {
            Self::Bounded(limit) => Some(limit),
            Self::Coalesce | Self::Unbounded => None,
        }
    }
}
