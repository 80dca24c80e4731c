//! Errors, classified by what they call for.

use informer_wire::Status;

use crate::error::ListWatchError;

/// What an error calls for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorClass {
    /// The resource version or the continue token is too old.
    Expired,
    /// The resource version is newer than the server's.
    TooLarge,
    /// The server asks for fewer requests.
    Busy,
    /// Nothing listens at the server's address.
    Refused,
    /// The connection broke or cannot be made.
    Transport,
    /// No response, or no progress, in time.
    Timeout,
    /// The server does not support the request (400, 405, 406, 415, 422, 501).
    Unsupported,
    /// The server has no such resource (404).
    NotFound,
    /// The server failed internally (500).
    Internal,
    /// The server or a proxy before it is not available (502, 503, 504), or the response cannot be decoded.
    Unavailable,
    /// Anything else; among them 401 and 403.
    Other,
}

impl From<&ListWatchError> for ErrorClass {
    fn from(error: &ListWatchError) -> Self {
        match error {
            ListWatchError::Status { status, .. } => Self::from(&**status),
            ListWatchError::Transport { refused: true, .. } => Self::Refused,
            ListWatchError::Transport { .. } => Self::Transport,
            ListWatchError::Timeout { .. } => Self::Timeout,
            ListWatchError::Decode(_) => Self::Unavailable,
            ListWatchError::Protocol(_)
            | ListWatchError::Panicked { .. }
            | ListWatchError::Other(_) => Self::Other,
        }
    }
}

impl From<&Status> for ErrorClass {
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
        if status.is_not_found() {
            return Self::NotFound;
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
