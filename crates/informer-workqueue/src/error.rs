//! How waiting for a queue fails.

/// A drain was ended by a shutdown without one: items may still wait or be worked on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the drain was ended by a plain shutdown; items may still wait or be worked on")]
pub struct DrainCancelled;
