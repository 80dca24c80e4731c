//! What changed since a revision, for consumers that poll.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::key::ObjectKey;
use crate::mutant;
use crate::object::Object;
use crate::snapshot::Snapshot;
use crate::store::Store;
use crate::sync::{AtomicUsize, Mutex};

/// One object that was added, updated or deleted.
#[non_exhaustive]
pub struct Change<K> {
    /// The [revision](Store::revision) in which it was published. A batch has one revision.
    pub revision: u64,
    /// The object's key.
    pub key: ObjectKey,
    /// The object as it was; `None` if it was added.
    pub old: Option<Arc<K>>,
    /// The object as it is; `None` if it was deleted.
    pub new: Option<Arc<K>>,
}

impl<K> Change<K> {
    pub(crate) const fn new(key: ObjectKey, old: Option<Arc<K>>, new: Option<Arc<K>>) -> Self {
        Self {
            revision: 0,
            key,
            old,
            new,
        }
    }
}

impl<K> Clone for Change<K> {
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

impl<K> fmt::Debug for Change<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match (&self.old, &self.new) {
            (None, _) => "added",
            (_, None) => "deleted",
            _ => "updated",
        };
        write!(f, "Change({}: {what} {})", self.revision, self.key)
    }
}

/// The changes asked for are no longer, or not yet, written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "changes since revision {since} are gone, the oldest known follow revision {complete_since}; take a snapshot and go on from there"
)]
pub struct Lagged {
    /// The revision that was asked for.
    pub since: u64,
    /// The revision after which everything is written down.
    pub complete_since: u64,
}

/// The newest changes of a store. Empty while nobody subscribes.
pub(crate) struct ChangeLog<K> {
    subscribers: AtomicUsize,
    entries: Mutex<Entries<K>>,
}

struct Entries<K> {
    changes: VecDeque<Change<K>>,
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

    /// Writes down what a revision changed; `None` if that was not gathered, since nobody had subscribed when the
    /// write began.
    pub(crate) fn append(&self, revision: u64, changes: Option<Vec<Change<K>>>) {
        if !self.is_wanted() {
            return;
        }
        let mut entries = self.entries.lock();
        let Some(changes) = changes else {
            entries.forget_until(revision);
            return;
        };
        let dated = changes
            .into_iter()
            .map(|change| Change { revision, ..change });
        entries.changes.extend(dated);
        let surplus = entries.changes.len().saturating_sub(entries.capacity);
        if let Some(last) = surplus
            .checked_sub(1)
            .map(|last| entries.changes[last].revision)
        {
            // A revision is there as a whole or not at all.
            if mutant!("store-log-splits-a-batch") {
                entries.changes.drain(..surplus);
            } else {
                entries.forget_until(last);
            }
        }
    }

    fn since(&self, revision: u64) -> Result<Vec<Change<K>>, Lagged> {
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
    fn forget_until(&mut self, revision: u64) {
        let gone = self
            .changes
            .partition_point(|change| change.revision <= revision);
        self.changes.drain(..gone);
        self.complete_since = self.complete_since.max(revision);
    }
}

/// Follows the changes of a store by asking. Made by [`Store::subscribe`]; while it lives the store writes its newest
/// changes down, deletions included.
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
///         None => println!("{} is gone", change.key),
///     }
/// }
/// assert!(changes.next_changes()?.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Changes<K: Object> {
    store: Store<K>,
    position: u64,
}

impl<K: Object> fmt::Debug for Changes<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Changes")
            .field("position", &self.position)
            .finish_non_exhaustive()
    }
}

impl<K: Object> Store<K> {
    /// Follows the changes from now on. The store keeps the newest `capacity` changes, or as many as the subscriber
    /// that asked for most; who falls behind further is told so.
    #[must_use]
    pub fn subscribe(&self, capacity: usize) -> Changes<K> {
        let log = &self.shared.log;
        let mut entries = log.entries.lock();
        entries.capacity = entries.capacity.max(capacity);
        let is_first = log.subscribers.fetch_add(1, Ordering::SeqCst) == 0;
        // Read after the count went up: what is published later is written down, or known to be missing.
        let position = self.revision();
        if is_first {
            entries.complete_since = position;
        }
        drop(entries);
        Changes {
            store: self.clone(),
            position,
        }
    }
}

impl<K: Object> Changes<K> {
    /// What changed since this was last called, in order. A key that changed twice is there twice.
    ///
    /// # Errors
    /// When changes were lost, as there were too many; go on with [`restart`](Self::restart).
    pub fn next_changes(&mut self) -> Result<Vec<Change<K>>, Lagged> {
        let changes = self.since(self.position)?;
        if let Some(last) = changes.last() {
            self.position = last.revision;
        }
        Ok(changes)
    }

    /// What changed since a revision, in order.
    ///
    /// # Errors
    /// When that is not, or no longer, written down.
    pub fn since(&self, revision: u64) -> Result<Vec<Change<K>>, Lagged> {
        self.store.shared.log.since(revision)
    }

    /// Everything as it is now; [`next_changes`](Self::next_changes) goes on from here.
    pub fn restart(&mut self) -> Snapshot<K> {
        let snapshot = self.store.snapshot();
        self.position = snapshot.revision();
        snapshot
    }

    /// The revision up to which changes were handed out.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.position
    }
}

impl<K: Object> Drop for Changes<K> {
    fn drop(&mut self) {
        let log = &self.store.shared.log;
        let mut entries = log.entries.lock();
        if log.subscribers.fetch_sub(1, Ordering::SeqCst) == 1 {
            entries.capacity = 0;
            entries.changes = VecDeque::new();
        }
    }
}
