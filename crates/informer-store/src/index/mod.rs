//! Indexes: the objects that have a value, for values that a function reads from each object.
//!
//! # Invariants
//! - The values of an object are those that the function gave when the object was written. It is not called again: it
//!   may be impure and the index is still exact.
//! - A function that fails or panics leaves its object out of that index, and changes nothing else.
//! - User code runs before anything is changed and outside the lock on the published root.

mod definition;
mod entries;
mod error;
mod ordered;
mod places;
mod table;
mod user_code;
mod values;

pub(crate) use definition::index_tag;
pub use definition::{Index, Indexers, NAMESPACE_INDEX};
pub use error::{IndexError, IndexFailure, IndexStatus};
pub(crate) use table::{Prepared, Table, TableOf};
pub use values::{IndexOutcome, IndexValues};
