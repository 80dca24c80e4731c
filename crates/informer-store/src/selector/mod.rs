//! Selectors: which objects a list is of, by their labels or by the fields of their metadata.

mod error;
mod field;
mod label;
mod parse;
mod requirement;

pub use error::SelectorError;
pub use field::FieldSelector;
pub use label::LabelSelector;
pub use requirement::{Operator, Requirement};

use crate::object::ObjectMetadata;

/// Chooses objects by their metadata.
pub trait Selector {
    /// True if an object with this metadata is chosen.
    fn matches<M: ObjectMetadata>(&self, metadata: &M) -> bool;

    /// True if every object is chosen, so that none need be looked at.
    fn is_everything(&self) -> bool;

    /// True if it is clear from the selector alone that no object is chosen.
    fn is_nothing(&self) -> bool;
}

/// Chooses what both choose.
impl<A: Selector, B: Selector> Selector for (A, B) {
    fn matches<M: ObjectMetadata>(&self, metadata: &M) -> bool {
        self.0.matches(metadata) && self.1.matches(metadata)
    }

    fn is_everything(&self) -> bool {
        self.0.is_everything() && self.1.is_everything()
    }

    fn is_nothing(&self) -> bool {
        self.0.is_nothing() || self.1.is_nothing()
    }
}

impl<T: Selector + ?Sized> Selector for &T {
    fn matches<M: ObjectMetadata>(&self, metadata: &M) -> bool {
        (**self).matches(metadata)
    }

    fn is_everything(&self) -> bool {
        (**self).is_everything()
    }

    fn is_nothing(&self) -> bool {
        (**self).is_nothing()
    }
}

#[cfg(test)]
mod tests;
