//! How listing and watching fails.

use std::error::Error as StdError;
use std::fmt::Write as _;
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
    /// The server's answers contradict each other or the request.
    #[error("the API server's answers do not fit together: {0}")]
    Protocol(&'static str),
    /// The code that lists or watches panicked. It is asked again later.
    #[error("the code that lists and watches panicked: {message}")]
    Panicked {
        /// What the panic said.
        message: String,
    },
    /// The code that lists or watches failed for a reason of its own.
    #[error(transparent)]
    Other(Box<dyn StdError + Send + Sync>),
}

impl ListWatchError {
    /// The server's error answer.
    #[must_use]
    pub fn status_error(status: Status) -> Self {
        let retry_after = status.retry_after();
        Self::Status {
            status: Box::new(status),
            retry_after,
        }
    }

    /// A connection that broke or could not be made, other than by a refusal.
    #[must_use]
    pub fn transport(source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::Transport {
            refused: false,
            source: source.into(),
        }
    }

    /// A connection that was refused: nothing listens at the server's address, for now.
    #[must_use]
    pub fn refused(source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::Transport {
            refused: true,
            source: source.into(),
        }
    }

    /// A failure of the code that lists or watches which no other kind describes.
    #[must_use]
    pub fn other(source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::Other(source.into())
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

    /// The whole chain of causes in one line.
    #[must_use]
    pub fn chain(&self) -> String {
        let mut text = self.to_string();
        let mut cause = self.source();
        while let Some(error) = cause {
            // Writing to a string cannot fail.
            let _ = write!(text, ": {error}");
            cause = error.source();
        }
        text
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

    /// A text of one's own is told as it is: it says more than that some code failed.
    #[test]
    fn a_reason_of_another_kind_speaks_for_itself() {
        let plain = ListWatchError::other("no credentials");
        assert_eq!(plain.chain(), "no credentials");
        let nested = ListWatchError::other(ListWatchError::transport("reset"));
        assert_eq!(nested.chain(), "cannot talk to the API server: reset");
    }
}
