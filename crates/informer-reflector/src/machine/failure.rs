//! Failures, sorted by what they call for.

use std::time::Duration;

use informer_wire::Status;

use crate::error::ListWatchError;

/// What the machine must know of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Failure {
    /// What it calls for.
    pub kind: FailureKind,
    /// How long the server asks to wait.
    pub retry_after: Option<Duration>,
}

/// The kinds of failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FailureKind {
    /// The resource version or the page token is too old.
    Expired,
    /// The resource version is newer than the server's.
    TooLarge,
    /// The server asks for fewer requests.
    Busy,
    /// Nothing listens at the server's address.
    Refused,
    /// The connection broke or cannot be made.
    Transport,
    /// No answer in time.
    Timeout,
    /// The server does not do what was asked for (400, 405, 406, 415, 422, 501).
    Unsupported,
    /// The server failed inside (500).
    Internal,
    /// The server or something before it is not available (502, 503, 504), or what it sent cannot be read.
    Unavailable,
    /// Anything else; among them 401, 403 and 404.
    Other,
}

impl Failure {
    /// A failure of this kind, with no wish of the server.
    #[must_use]
    pub const fn new(kind: FailureKind) -> Self {
        Self {
            kind,
            retry_after: None,
        }
    }

    /// Says how long the server asks to wait.
    #[must_use]
    pub const fn retry_after(mut self, delay: Duration) -> Self {
        self.retry_after = Some(delay);
        self
    }
}

impl From<&ListWatchError> for Failure {
    fn from(error: &ListWatchError) -> Self {
        let kind = match error {
            ListWatchError::Status { status, .. } => FailureKind::from(&**status),
            ListWatchError::Transport { refused: true, .. } => FailureKind::Refused,
            ListWatchError::Transport { .. } => FailureKind::Transport,
            ListWatchError::Timeout { .. } => FailureKind::Timeout,
            ListWatchError::Decode(_) => FailureKind::Unavailable,
            ListWatchError::Protocol(_)
            | ListWatchError::Panicked { .. }
            | ListWatchError::Other(_) => FailureKind::Other,
        };
        Self {
            kind,
            retry_after: error.retry_after(),
        }
    }
}

impl From<&Status> for FailureKind {
    fn from(status: &Status) -> Self {
        // The order matters: "too large" is a 504 in most servers.
        if status.is_expired() {
            return Self::Expired;
        }
        if status.is_resource_version_too_large() {
            return Self::TooLarge;
        }
        if status.is_too_many_requests() {
            return Self::Busy;
        }
        match status.code {
            400 | 405 | 406 | 415 | 422 | 501 => Self::Unsupported,
            502..=504 => Self::Unavailable,
            500..=599 => Self::Internal,
            0 if status.is_internal_error() => Self::Internal,
            0 if status.is_invalid() || status.is_not_acceptable() => Self::Unsupported,
            _ => Self::Other,
        }
    }
}
