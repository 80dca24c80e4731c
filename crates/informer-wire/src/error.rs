//! Errors of decoding.

use crate::status::Status;

/// An error of decoding. It names the place and the reason, and never quotes an object's contents.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The bytes are not valid JSON or protobuf, or not of the requested shape.
    #[error("invalid {what}: {reason}")]
    Malformed {
        /// What was being read, such as `watch event`.
        what: &'static str,
        /// The fault and its place, without the contents.
        reason: String,
    },
    /// More bytes than the [`Limits`](crate::Limits) allow.
    #[error("{what} larger than {limit} bytes; raise the limit if it may be so large")]
    TooLarge {
        /// What is too large, such as `watch event`.
        what: &'static str,
        /// The most bytes allowed.
        limit: u64,
    },
    /// Objects and arrays nested more deeply than the [`Limits`](crate::Limits) allow.
    #[error("{what} nested more than {limit} levels deep; raise the limit if it may be so deep")]
    TooDeep {
        /// What is too deep, such as `watch event`.
        what: &'static str,
        /// The most levels allowed.
        limit: u32,
    },
    /// The bytes ended too early. Nothing of them counts.
    #[error("{what} ended too early; request it again")]
    Truncated {
        /// What broke off, such as `list`.
        what: &'static str,
    },
    /// The server sent another kind than the requested one.
    #[error(
        "the API server sent kind {kind:?} instead of {expected}; check the URL and the Accept header"
    )]
    UnexpectedKind {
        /// What was requested, such as `a list`.
        expected: &'static str,
        /// The received kind; empty if there is none.
        kind: String,
    },
    /// An object without a usable name.
    #[error("{what} without a usable metadata.name")]
    Unnamed {
        /// The object's place, such as `list item`.
        what: &'static str,
    },
    /// The server wrote an error into an answer that had begun well.
    #[error("the API server wrote an error into its answer")]
    Status(#[source] Box<Status>),
}

impl DecodeError {
    pub(crate) fn malformed(what: &'static str, reason: impl Into<String>) -> Self {
        Self::Malformed {
            what,
            reason: reason.into(),
        }
    }

    /// Returns the error that the server wrote into its answer, if this is one.
    #[must_use]
    pub fn status(&self) -> Option<&Status> {
        match self {
            Self::Status(status) => Some(status),
            _ => None,
        }
    }
}
