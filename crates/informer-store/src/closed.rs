//! The error of whoever waits for what was closed.

/// A store or delta queue was closed: nothing feeds it any more, and no wait for it succeeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("closed; nothing more is received")]
#[doc(alias = "ErrFIFOClosed")]
pub struct Closed;
