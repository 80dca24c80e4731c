//! Errors of lists and watches.

use std::error::Error as StdError;
use std::time::Duration;

use informer_wire::{DecodeError, Status};

use crate::user_code::chain;

/// A list or watch that failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListWatchError {
    /// The server responded with an error.
    #[error("the API server refused: {status}")]
    Status {
        /// What the server said, or what its HTTP status code says if the body is empty.
        status: Box<Status>,
        /// How long the server asks to wait (header `Retry-After` or the status' details).
        retry_after: Option<Duration>,
    },
    /// The server cannot be reached, or the connection broke.
    #[error("cannot talk to the API server")]
    Transport {
        /// `true` if the connection was refused: nothing listens there, for now.
        refused: bool,
        /// What happened.
        source: Box<dyn StdError + Send + Sync>,
    },
    /// The server did not respond, or was silent, for too long.
    #[error("timed out: no {what} within {limit:?}")]
    Timeout {
        /// What did not happen: `response`, `object`, `event or bookmark`.
        what: &'static str,
        /// The limit.
        limit: Duration,
    },
    /// The server's response cannot be decoded.
    #[error("cannot decode the API server's response")]
    Decode(#[from] DecodeError),
    /// The server's responses contradict each other or the request.
    #[error("invalid response: {0}")]
    Protocol(&'static str),
    /// The code that lists or watches panicked. It is called again later.
    #[error("lister-watcher panicked: {message}")]
    Panicked {
        /// The panic's message.
        message: String,
    },
    /// The code that lists or watches failed for another reason.
    #[error(transparent)]
    Other(Box<dyn StdError + Send + Sync>),
}

impl ListWatchError {
    /// Makes the error of a server's error response.
    #[must_use]
    pub fn status_error(status: Status) -> Self {
        let retry_after = status.retry_after();
        Self::Status {
            status: Box::new(status),
            retry_after,
        }
    }

    /// Makes the error of a connection that broke or could not be made, other than by a refusal.
    #[must_use]
    pub fn transport(source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::Transport {
            refused: false,
            source: source.into(),
        }
    }

    /// Makes the error of a refused connection: nothing listens at the server's address, for now.
    #[must_use]
    pub fn refused(source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::Transport {
            refused: true,
            source: source.into(),
        }
    }

    /// Makes an error that no other variant describes.
    #[must_use]
    pub fn other(source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::Other(source.into())
    }

    /// Returns what the server said, if the server refused.
    #[must_use]
    pub fn status(&self) -> Option<&Status> {
        match self {
            Self::Status { status, .. } => Some(status),
            _ => None,
        }
    }

    /// Returns how long the server asks to wait.
    #[must_use]
    pub const fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Status { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// Returns the error and its causes in one line.
    #[must_use]
    pub fn chain(&self) -> String {
        chain(self)
    }
}

impl From<Status> for ListWatchError {
    fn from(status: Status) -> Self {
        Self::status_error(status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_error_is_displayed_without_a_prefix() {
        let plain = ListWatchError::other("no credentials");
        assert_eq!(plain.chain(), "no credentials");
        let nested = ListWatchError::other(ListWatchError::transport("reset"));
        assert_eq!(nested.chain(), "cannot talk to the API server: reset");
    }
}
