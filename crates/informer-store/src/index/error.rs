//! What can go wrong with an index, and how it is told.

use std::fmt;
use std::sync::Arc;

use crate::key::ObjectKey;

/// An index that cannot be added, removed or asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// No index has this name.
    #[error("there is no index {name:?}; add it to the store first")]
    NotFound {
        /// The name that was asked for.
        name: String,
    },
    /// An index of this name is there already.
    #[error("an index {name:?} is there already; choose another name or remove that one first")]
    Exists {
        /// The name that was to be added.
        name: String,
    },
    /// The index keeps its values in no order.
    #[error(
        "index {name:?} keeps its values in no order; add it as an ordered index to ask for ranges"
    )]
    NotOrdered {
        /// The name that was asked for.
        name: String,
    },
    /// The index holds values of another type.
    #[error(
        "index {name:?} does not hold values of type {wanted}; ask it for the type it was added with"
    )]
    WrongType {
        /// The name that was asked for.
        name: String,
        /// The kind of value that was asked for.
        wanted: &'static str,
    },
}

/// An index function that failed or panicked on one object, which is left out of that index until a later copy of
/// it is written.
#[derive(Clone)]
#[non_exhaustive]
pub struct IndexFailure {
    /// The index.
    pub index: Arc<str>,
    /// The object.
    pub key: ObjectKey,
    /// The error, or the message of the panic.
    pub message: Arc<str>,
    /// True if the function panicked.
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

/// How an index stands.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct IndexStatus {
    /// The index's name.
    pub name: Arc<str>,
    /// How many values have at least one object.
    pub values: usize,
    /// How many objects are left out, since the function failed or panicked on them.
    pub left_out: usize,
    /// How often the function failed or panicked since the index was added.
    pub failures: u64,
    /// The newest failure.
    pub last_failure: Option<IndexFailure>,
}
