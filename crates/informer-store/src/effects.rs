//! What a write means to watches, subscribers and failure reports: gathered while it is made, passed on once it is
//! published.

use std::sync::Arc;

use crate::changes::StoreChange;
use crate::index::IndexFailure;
use crate::key::ObjectKey;
use crate::watch::Tag;

/// Gathers only what there is a watch or subscriber for; without them it costs nothing.
pub(crate) struct Effects<K> {
    pub(crate) touched: Touched,
    pub(crate) changes: Option<Vec<StoreChange<K>>>,
    /// Few: gathered in any case.
    pub(crate) failures: Vec<IndexFailure>,
}

/// Which keys and index values a write touched.
pub(crate) enum Touched {
    /// There was no watch when the write began, so they were not gathered.
    Unknown,
    These(Vec<Tag>),
    Everything,
}

impl<K> Effects<K> {
    /// Returns `true` if there are watches or subscribers.
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
            changes.push(StoreChange::new(key.clone(), old.cloned(), new.cloned()));
        }
    }

    pub(crate) fn fail(&mut self, failure: &IndexFailure) {
        self.failures.push(failure.clone());
    }
}
