//! Why bytes could not be read as what they should be.

use crate::status::Status;

/// Bytes that could not be decoded. Says where and why, and never quotes an object's contents.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The bytes are no valid JSON, or not of the shape that was asked for.
    #[error("not readable as {what}: {reason}")]
    Malformed {
        /// What was being read, as `watch event`.
        what: &'static str,
        /// What is wrong, and where; without the contents.
        reason: String,
    },
    /// More bytes than the [`Limits`](crate::Limits) allow.
    #[error("the {what} is larger than {limit} bytes; raise that limit if it may be so large")]
    TooLarge {
        /// What is too large, as `watch event`.
        what: &'static str,
        /// How many bytes are allowed.
        limit: u64,
    },
    /// Objects and arrays nested more deeply than the [`Limits`](crate::Limits) allow.
    #[error(
        "the {what} is nested more than {limit} levels deep; raise that limit if it may be so deep"
    )]
    TooDeep {
        /// What is too deep, as `watch event`.
        what: &'static str,
        /// How many levels are allowed.
        limit: u32,
    },
    /// The bytes ended before what they hold did. Nothing of it counts.
    #[error("the {what} broke off before its end; ask for it again")]
    Truncated {
        /// What broke off, as `list`.
        what: &'static str,
    },
    /// The server sent something of another kind than was asked for.
    #[error(
        "the API server sent the kind {kind:?} where {expected} was expected; check the URL and the Accept header"
    )]
    UnexpectedKind {
        /// What was asked for, as `a list`.
        expected: &'static str,
        /// What came; empty if it does not say its kind.
        kind: String,
    },
    /// An object that does not say which one it is.
    #[error("the {what} has no readable metadata.name, so it cannot be told which object it is")]
    Unnamed {
        /// Where the object stands, as `list item`.
        what: &'static str,
    },
    /// The server wrote an error into an answer that had begun well.
    #[error("the API server put an error into its answer")]
    Status(#[source] Box<Status>),
}

impl DecodeError {
    pub(crate) fn malformed(what: &'static str, reason: impl Into<String>) -> Self {
        Self::Malformed {
            what,
            reason: reason.into(),
        }
    }

    /// The error that the server wrote into its answer, if it was that.
    #[must_use]
    pub fn status(&self) -> Option<&Status> {
        match self {
            Self::Status(status) => Some(status),
            _ => None,
        }
    }
}
