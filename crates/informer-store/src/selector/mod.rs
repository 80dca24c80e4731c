//! Selectors: by labels, or by fields of the metadata.

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
    /// Returns `true` if an object with this metadata is chosen.
    fn matches<M: ObjectMetadata>(&self, metadata: &M) -> bool;

    /// Returns `true` if every object is chosen, so that none need be read.
    fn is_everything(&self) -> bool;

    /// Returns `true` if the selector cannot choose any object.
    fn is_nothing(&self) -> bool;

    /// Returns `true` if [`decide`](Self::decide) is worth a call.
    #[doc(hidden)]
    fn reads_labels(&self) -> bool {
        false
    }

    /// Decides by the digest of an object's labels, if it can.
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
