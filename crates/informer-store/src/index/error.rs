//! The errors, failures and status of indexes.

use std::fmt;
use std::sync::Arc;

use crate::key::ObjectKey;

/// An index cannot be added, removed or read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// There is no index of this name.
    #[error("there is no index {name:?}; add it to the store first")]
    NotFound {
        /// The name of the index.
        name: String,
    },
    /// There is an index of this name.
    #[error("index {name:?} exists; choose another name or remove it first")]
    Exists {
        /// The name of the index.
        name: String,
    },
    /// The index is not ordered.
    #[error("index {name:?} is not ordered; add it as an ordered index to read ranges")]
    NotOrdered {
        /// The name of the index.
        name: String,
    },
    /// The index has values of another type.
    #[error("index {name:?} has no values of type {wanted}; read it by the type it was added with")]
    WrongType {
        /// The name of the index.
        name: String,
        /// The type of value that was asked for.
        wanted: &'static str,
    },
}

/// An index function failed or panicked on an object, which is left out of that index until it is written again.
#[derive(Clone)]
#[non_exhaustive]
pub struct IndexFailure {
    /// The index.
    pub index: Arc<str>,
    /// The object.
    pub key: ObjectKey,
    /// The error, or the message of the panic.
    pub message: Arc<str>,
    /// `true` if the function panicked.
    pub panicked: bool,
}

impl fmt::Display for IndexFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.panicked { "panicked" } else { "failed" };
        write!(
            f,
            "the function of index {:?} {verb} on {}: {}",
            self.index, self.key, self.message
        )
    }
}

impl fmt::Debug for IndexFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IndexFailure({self})")
    }
}

/// A snapshot of an index's status.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct IndexStatus {
    /// The index's name.
    pub name: Arc<str>,
    /// The number of values that have at least one object.
    pub values: usize,
    /// The number of objects that are left out, since the function failed or panicked on them.
    pub unindexed: usize,
    /// The number of failures and panics of the function since the index was added.
    pub failures: u64,
    /// The newest failure.
    pub last_failure: Option<IndexFailure>,
}
