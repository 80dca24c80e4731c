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

use crate::digest::LabelDigest;
use crate::object::ObjectMetadata;

/// Chooses objects by their metadata.
pub trait Selector {
    /// True if an object with this metadata is chosen.
    fn matches<M: ObjectMetadata>(&self, metadata: &M) -> bool;

    /// True if every object is chosen, so that none need be looked at.
    fn is_everything(&self) -> bool;

    /// True if it is clear from the selector alone that no object is chosen.
    fn is_nothing(&self) -> bool;

    /// True if [`decide`](Self::decide) is worth asking.
    #[doc(hidden)]
    fn reads_labels(&self) -> bool {
        false
    }

    /// What the digest of an object's labels says of the object, if it says anything.
    #[doc(hidden)]
    fn decide(&self, digest: LabelDigest) -> Option<bool> {
        let _ = digest;
        None
    }
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

    fn reads_labels(&self) -> bool {
        self.0.reads_labels() || self.1.reads_labels()
    }

    fn decide(&self, digest: LabelDigest) -> Option<bool> {
        match (self.0.decide(digest), self.1.decide(digest)) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), Some(true)) => Some(true),
            _ => None,
        }
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

    fn reads_labels(&self) -> bool {
        (**self).reads_labels()
    }

    fn decide(&self, digest: LabelDigest) -> Option<bool> {
        (**self).decide(digest)
    }
}

#[cfg(test)]
mod tests;
