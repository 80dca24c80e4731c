//! What a write leaves behind for those who listen: gathered while it is made, told once it is published.

use std::sync::Arc;

use crate::changes::Change;
use crate::index::IndexFailure;
use crate::key::ObjectKey;
use crate::watch::Tag;

/// Gathers only what somebody listens for; with no listener it costs nothing.
pub(crate) struct Effects<K> {
    pub(crate) touched: Touched,
    pub(crate) changes: Option<Vec<Change<K>>>,
    /// Few, and known to all who ask for the index's status: gathered whether or not somebody listens.
    pub(crate) failures: Vec<IndexFailure>,
}

/// Which keys and index values a write touched.
pub(crate) enum Touched {
    /// Nobody watched when the write began, so it was not written down.
    Unknown,
    These(Vec<Tag>),
    Everything,
}

impl<K> Effects<K> {
    /// True if somebody listens for keys, values or changes.
    pub(crate) const fn wanted(&self) -> bool {
        self.watched() || self.changes.is_some()
    }

    pub(crate) const fn watched(&self) -> bool {
        matches!(self.touched, Touched::These(_))
    }

    pub(crate) fn touch(&mut self, tag: Tag) {
        if let Touched::These(tags) = &mut self.touched {
            tags.push(tag);
        }
    }

    pub(crate) fn touch_everything(&mut self) {
        self.touched = Touched::Everything;
    }

    pub(crate) fn change(&mut self, key: &ObjectKey, old: Option<&Arc<K>>, new: Option<&Arc<K>>) {
        if let Some(changes) = &mut self.changes {
            changes.push(Change::new(key.clone(), old.cloned(), new.cloned()));
        }
    }

    pub(crate) fn fail(&mut self, failure: &IndexFailure) {
        self.failures.push(failure.clone());
    }
}
