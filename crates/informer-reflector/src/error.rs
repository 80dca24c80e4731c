//! How listing and watching fails.

use std::error::Error as StdError;
use std::time::Duration;

use informer_wire::{DecodeError, Status};

/// A list or watch that failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListWatchError {
    /// The server answered with an error.
    #[error("the API server refused: {status}")]
    Status {
        /// What the server said, or what its HTTP status code says where the body told nothing.
        status: Box<Status>,
        /// How long the server asks to wait (header `Retry-After` or the status' details).
        retry_after: Option<Duration>,
    },
    /// The server cannot be reached, or the connection broke.
    #[error("cannot talk to the API server")]
    Transport {
        /// True if the connection was refused: nothing listens there, for now.
        refused: bool,
        /// What happened.
        source: Box<dyn StdError + Send + Sync>,
    },
    /// The server did not answer, or fell silent, for longer than it may.
    #[error("the API server gave no {what} within {limit:?}")]
    Timeout {
        /// What was waited for, as `answer to a list`.
        what: &'static str,
        /// For how long.
        limit: Duration,
    },
    /// The server's answer is not what was asked for.
    #[error("the API server's answer cannot be read")]
    Decode(#[from] DecodeError),
}

impl ListWatchError {
    /// The server's error answer.
    #[must_use]
    pub fn status_error(status: Status) -> Self {
        let retry_after = status.retry_after();
        Self::Status { status: Box::new(status), retry_after }
    }

    /// What the server said, if it was the server that refused.
    #[must_use]
    pub fn status(&self) -> Option<&Status> {
        match self {
            Self::Status { status, .. } => Some(status),
            _ => None,
        }
    }

    /// How long the server asks to wait.
    #[must_use]
    pub const fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Status { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}
