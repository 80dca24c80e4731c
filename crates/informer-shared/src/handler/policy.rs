//! What a failure of a handler leads to.

/// What a handler's panic or error leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FailurePolicy {
    /// The handler ends. Others and the informer continue.
    StopHandler,
    /// The event counts as handled, and the next one follows.
    Skip,
    /// The informer stops with the failure as its error.
    StopInformer,
}
