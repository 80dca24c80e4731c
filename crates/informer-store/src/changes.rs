//! The changes of a store since a revision, for consumers that poll.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::key::ObjectKey;
use crate::object::Object;
use crate::snapshot::Snapshot;
use crate::store::StoreReader;
use crate::sync::{AtomicUsize, Mutex};

/// An object that was added, updated or deleted.
#[non_exhaustive]
pub struct StoreChange<K> {
    /// The [revision](StoreReader::revision) in which it was published. A transaction has one revision.
    pub revision: u64,
    /// The object's key.
    pub key: ObjectKey,
    /// The object as it was; `None` if it was added.
    pub old: Option<Arc<K>>,
    /// The object as it is; `None` if it was deleted.
    pub new: Option<Arc<K>>,
}

impl<K> StoreChange<K> {
    pub(crate) const fn new(key: ObjectKey, old: Option<Arc<K>>, new: Option<Arc<K>>) -> Self {
        Self {
            revision: 0,
            key,
            old,
            new,
        }
    }
}

impl<K> Clone for StoreChange<K> {
    fn clone(&self) -> Self {
        let (key, old, new) = (self.key.clone(), self.old.clone(), self.new.clone());
        Self {
            revision: self.revision,
            key,
            old,
            new,
        }
    }
}

impl<K> fmt::Debug for StoreChange<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match (&self.old, &self.new) {
            (None, _) => "added",
            (_, None) => "deleted",
            _ => "updated",
        };
        write!(f, "StoreChange({}: {what} {})", self.revision, self.key)
    }
}

/// The store no longer has the changes since a revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "changes since revision {since} are dropped, the oldest kept one follows revision {complete_since}; take a snapshot and go on from there"
)]
pub struct Lagged {
    /// The revision whose successors were asked for.
    pub since: u64,
    /// The revision after which all changes are kept.
    pub complete_since: u64,
}

/// Changes that are kept no longer.
pub(crate) type Dropped<K> = Vec<StoreChange<K>>;

/// The newest changes of a store. Empty without subscribers.
pub(crate) struct ChangeLog<K> {
    subscribers: AtomicUsize,
    entries: Mutex<Entries<K>>,
}

struct Entries<K> {
    changes: VecDeque<StoreChange<K>>,
    capacity: usize,
    /// Everything published after this revision is in `changes`.
    complete_since: u64,
}

impl<K> Default for ChangeLog<K> {
    fn default() -> Self {
        let changes = VecDeque::new();
        Self {
            subscribers: AtomicUsize::new(0),
            entries: Mutex::new(Entries {
                changes,
                capacity: 0,
                complete_since: 0,
            }),
        }
    }
}

impl<K> ChangeLog<K> {
    pub(crate) fn is_wanted(&self) -> bool {
        self.subscribers.load(Ordering::SeqCst) > 0
    }

    /// Appends the changes of a revision; `None` if they were not gathered, since there was no subscriber when the
    /// write began. Returns those that are kept no longer, to be dropped under no lock.
    pub(crate) fn append(&self, revision: u64, changes: Option<Vec<StoreChange<K>>>) -> Dropped<K> {
        let mut entries = self.entries.lock();
        if !self.is_wanted() {
            return changes.unwrap_or_default();
        }
        let Some(changes) = changes else {
            return entries.forget_until(revision);
        };
        let dated = changes
            .into_iter()
            .map(|change| StoreChange { revision, ..change });
        entries.changes.extend(dated);
        let surplus = entries.changes.len().saturating_sub(entries.capacity);
        match surplus.checked_sub(1) {
            // A revision is kept as a whole or not at all.
            Some(last) => {
                let revision = entries.changes[last].revision;
                entries.forget_until(revision)
            }
            None => Vec::new(),
        }
    }

    fn since(&self, revision: u64) -> Result<Vec<StoreChange<K>>, Lagged> {
        let entries = self.entries.lock();
        let complete_since = entries.complete_since;
        if revision < complete_since {
            return Err(Lagged {
                since: revision,
                complete_since,
            });
        }
        let from = entries
            .changes
            .partition_point(|change| change.revision <= revision);
        Ok(entries.changes.range(from..).cloned().collect())
    }
}

impl<K> Entries<K> {
    fn forget_until(&mut self, revision: u64) -> Dropped<K> {
        let end = self
            .changes
            .partition_point(|change| change.revision <= revision);
        self.complete_since = self.complete_since.max(revision);
        self.changes.drain(..end).collect()
    }
}

/// Polls the changes of a store. Made by [`StoreReader::subscribe`]; while it exists the store keeps its newest
/// changes, deletions included.
///
/// ```
/// use informer_store::Store;
/// use k8s_openapi::api::core::v1::ConfigMap;
///
/// let store: Store<ConfigMap> = Store::new();
/// let mut changes = store.subscribe(1000);
/// let mut map = ConfigMap::default();
/// map.metadata.name = Some("settings".into());
/// store.add(map)?;
/// store.delete("settings");
///
/// for change in changes.next_changes()? {
///     match change.new {
///         Some(object) => println!("{} is now {object:?}", change.key),
///         None => println!("{} is deleted", change.key),
///     }
/// }
/// assert!(changes.next_changes()?.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct StoreChanges<K: Object> {
    store: StoreReader<K>,
    position: u64,
}

impl<K: Object> fmt::Debug for StoreChanges<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreChanges")
            .field("position", &self.position)
            .finish_non_exhaustive()
    }
}

impl<K: Object> StoreReader<K> {
    /// Subscribes to the changes from now on. The store keeps the newest `capacity` changes, or as many as the
    /// subscriber with the largest; a subscriber that is further behind gets [`Lagged`].
    #[must_use]
    pub fn subscribe(&self, capacity: usize) -> StoreChanges<K> {
        let log = &self.shared.log;
        let mut entries = log.entries.lock();
        entries.capacity = entries.capacity.max(capacity);
        let is_first = log.subscribers.fetch_add(1, Ordering::SeqCst) == 0;
        // Read after the count went up: what is published later is kept, or known to be missing.
        let position = self.revision();
        if is_first {
            entries.complete_since = position;
        }
        drop(entries);
        StoreChanges {
            store: self.clone(),
            position,
        }
    }
}

impl<K: Object> StoreChanges<K> {
    /// Returns the changes since the last call, in order. A key that changed twice occurs twice.
    ///
    /// # Errors
    /// If changes were dropped, as there were too many; go on with [`restart`](Self::restart).
    pub fn next_changes(&mut self) -> Result<Vec<StoreChange<K>>, Lagged> {
        let changes = self.since(self.position)?;
        if let Some(last) = changes.last() {
            self.position = last.revision;
        }
        Ok(changes)
    }

    /// Returns the changes since a revision, in order.
    ///
    /// # Errors
    /// If they are not kept, or no longer.
    pub fn since(&self, revision: u64) -> Result<Vec<StoreChange<K>>, Lagged> {
        self.store.shared.log.since(revision)
    }

    /// Returns the present state; [`next_changes`](Self::next_changes) goes on from there.
    pub fn restart(&mut self) -> Snapshot<K> {
        let snapshot = self.store.snapshot();
        self.position = snapshot.revision();
        snapshot
    }

    /// Returns the revision up to which changes were returned.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.position
    }
}

impl<K: Object> Drop for StoreChanges<K> {
    fn drop(&mut self) {
        let log = &self.store.shared.log;
        let mut entries = log.entries.lock();
        let mut dropped = VecDeque::new();
        if log.subscribers.fetch_sub(1, Ordering::SeqCst) == 1 {
            entries.capacity = 0;
            dropped = std::mem::take(&mut entries.changes);
        }
        drop(entries);
        // Under no lock.
        drop(dropped);
    }
}
