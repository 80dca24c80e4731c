//! From the client's errors to those of lists and watches.

use informer_client::Error;

use crate::error::ListWatchError;

/// A request that failed before its answer, or a body that broke.
pub(super) fn failed(error: Error, waited_for: &'static str) -> ListWatchError {
    match error {
        Error::Status {
            status,
            retry_after,
        } => ListWatchError::Status {
            status,
            retry_after,
        },
        Error::Transport { refused, source } => ListWatchError::Transport { refused, source },
        Error::Timeout { limit, .. } => ListWatchError::Timeout {
            what: waited_for,
            limit,
        },
        // Its text says what to check, so it stays.
        error @ Error::Tls { .. } => ListWatchError::transport(error),
        error => ListWatchError::other(error),
    }
}
