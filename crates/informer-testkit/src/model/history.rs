//! The revision log of one collection: a bounded window of changes, and the state at any revision
//! inside it.
//!
//! # Invariants
//! - Changes stand in strictly rising order of revision.
//! - Every change above `dropped` is here, and `dropped <= floor`.
//!
//! The floor is what a client may ask for. More than that is kept for watches that are open
//! already, which a small window or a compaction does not end: in a real server the watch cache
//! feeds them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::object::StoredObject;

/// One change of one object. It has `old`, `new` or both.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) revision: u64,
    pub(crate) old: Option<Arc<StoredObject>>,
    pub(crate) new: Option<Arc<StoredObject>>,
}

impl Change {
    pub(crate) fn key(&self) -> &str {
        self.new
            .as_ref()
            .or(self.old.as_ref())
            .map_or("", |object| object.key())
    }
}

/// The number of changes kept for open watches, however small the window.
const KEPT_FOR_OPEN_WATCHES: usize = 10_000;

/// The changes of one collection that are still kept.
#[derive(Debug)]
pub(crate) struct History {
    changes: VecDeque<Change>,
    floor: u64,
    dropped: u64,
    limit: usize,
}

impl History {
    pub(crate) fn new(floor: u64, limit: usize) -> Self {
        Self {
            changes: VecDeque::new(),
            floor,
            dropped: floor,
            limit,
        }
    }

    /// Returns the oldest revision that a list or a new watch may request.
    pub(crate) fn floor(&self) -> u64 {
        self.floor
    }

    pub(crate) fn push(&mut self, change: Change) {
        debug_assert!(
            self.changes
                .back()
                .is_none_or(|last| last.revision < change.revision)
        );
        self.changes.push_back(change);
        self.shrink();
    }

    pub(crate) fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
        self.shrink();
    }

    /// Refuses every revision below this one from now on.
    pub(crate) fn compact(&mut self, revision: u64) {
        self.floor = self.floor.max(revision);
    }

    /// Returns `true` if an open watch at `position` can go on.
    pub(crate) fn reaches(&self, position: u64) -> bool {
        position >= self.dropped
    }

    /// Returns the oldest revision whose state is still known.
    pub(super) fn oldest(&self) -> u64 {
        self.dropped
    }

    /// Drops every change above a revision, as if it had never been.
    pub(super) fn forget_after(&mut self, revision: u64) {
        self.changes.truncate(self.index_after(revision));
        self.floor = self.floor.min(revision);
    }

    fn shrink(&mut self) {
        if let Some(beyond) = self.changes.len().checked_sub(self.limit.saturating_add(1)) {
            self.floor = self.floor.max(self.changes[beyond].revision);
        }
        while self.changes.len() > self.limit.max(KEPT_FOR_OPEN_WATCHES) {
            if let Some(change) = self.changes.pop_front() {
                self.dropped = change.revision;
            }
        }
    }

    fn index_after(&self, revision: u64) -> usize {
        self.changes
            .partition_point(|change| change.revision <= revision)
    }

    /// Returns the changes above a revision, oldest first.
    pub(crate) fn after(&self, revision: u64) -> impl Iterator<Item = &Change> {
        self.changes.range(self.index_after(revision)..)
    }

    /// Returns the difference between now and a revision inside the window: each key that changed since, with its value
    /// then.
    pub(crate) fn undo_to(&self, revision: u64) -> BTreeMap<&str, Option<&Arc<StoredObject>>> {
        let mut then = BTreeMap::new();
        for change in self.after(revision) {
            then.entry(change.key()).or_insert(change.old.as_ref());
        }
        then
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::resource::ResourceType;

    fn object(name: &str, revision: u64) -> Arc<StoredObject> {
        let resource = ResourceType::new("g", "v1", "K", "ks").cluster_scoped();
        let value = json!({"metadata": {"name": name}});
        Arc::new(StoredObject::encode(&resource, &value, revision))
    }

    fn filled(limit: usize) -> History {
        let mut history = History::new(0, limit);
        history.push(Change {
            revision: 2,
            old: None,
            new: Some(object("a", 2)),
        });
        history.push(Change {
            revision: 5,
            old: None,
            new: Some(object("b", 5)),
        });
        history.push(Change {
            revision: 6,
            old: Some(object("a", 2)),
            new: Some(object("a", 6)),
        });
        history.push(Change {
            revision: 9,
            old: Some(object("a", 6)),
            new: None,
        });
        history
    }

    #[test]
    fn history_floor_is_raised_by_limit_and_compaction() {
        assert_eq!(filled(10).floor(), 0);
        assert_eq!(filled(2).floor(), 5);
        let mut history = filled(10);
        history.compact(5);
        assert_eq!(history.floor(), 5);
        assert!(history.reaches(2), "an open watch goes on");
        history.compact(3);
        assert_eq!(history.floor(), 5, "a compaction never gives history back");
    }

    #[test]
    fn open_watch_is_overtaken_only_when_its_changes_are_dropped() {
        let mut history = History::new(0, 1);
        for revision in 1..=10_001 {
            history.push(Change {
                revision,
                old: None,
                new: Some(object("a", revision)),
            });
        }
        assert_eq!(history.floor(), 10_000);
        assert!(history.reaches(1));
        assert!(!history.reaches(0));
    }

    #[test]
    fn rewind_reaches_the_change_before_the_revision() {
        let history = filled(10);
        let after = |revision| {
            history
                .after(revision)
                .map(|c| c.revision)
                .collect::<Vec<_>>()
        };
        assert_eq!(after(4), [5, 6, 9]);
        assert_eq!(after(5), [6, 9]);
        assert_eq!(after(100), [0u64; 0]);
    }

    #[test]
    fn undo_returns_each_changed_key_with_its_value_of_then() {
        let history = filled(10);
        let then = history.undo_to(5);
        assert_eq!(then.len(), 1);
        assert_eq!(then["a"].unwrap().revision(), 2);
        let then = history.undo_to(0);
        assert_eq!(then["a"], None);
        assert_eq!(then["b"], None);
    }
}
