//! Indexes: which objects have a value, for values that a function reads off each object.
//!
//! # Invariants
//! - What an index says of an object is what its function said when the object was written, never asked again: the
//!   function may be impure and the index still stays exact.
//! - A function that fails or panics leaves its object out of that index, and touches nothing else.
//! - User code runs before anything is changed and outside the lock on the published root.

mod definition;
mod entries;
mod error;
mod ordered;
mod places;
mod table;
mod values;

pub(crate) use definition::index_tag;
pub use definition::{Index, Indexers, NAMESPACE_INDEX};
pub use error::{IndexError, IndexFailure, IndexStatus};
pub(crate) use table::{Prepared, Table, TableOf};
pub use values::{IndexOutcome, IndexValues};
