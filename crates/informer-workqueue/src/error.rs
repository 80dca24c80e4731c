//! Errors of waiting for a queue.

/// A drain was ended by a plain shutdown: items may still wait or be in work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("drain ended by a plain shutdown; items may still wait or be in work")]
pub struct DrainCancelled;
