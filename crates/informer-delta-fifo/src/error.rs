//! How waiting for a queue ends early.

/// The queue was closed, and what it held was handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the queue is closed; nothing more comes out of it")]
#[doc(alias = "ErrFIFOClosed")]
pub struct Closed;
