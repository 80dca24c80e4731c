//! The rules of a sink, written a second time.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::sync::Arc;

use super::steps::{ListChange, SinkStep};
use super::{Applied, AppliedObject};
use crate::key::ObjectKey;
use crate::object::Object;
use crate::object_list::ListEnd;
use crate::uid::Uid;
use crate::version::ResourceVersion;

/// A sink as a map, without a queue and without the comparisons of this crate.
pub struct SinkModel<K> {
    applied: Applied<K>,
    /// The UIDs that were deleted, which no server sends again but in a list.
    deleted: HashSet<(ObjectKey, Uid)>,
}

impl<K> Default for SinkModel<K> {
    fn default() -> Self {
        let applied = Applied {
            objects: BTreeMap::new(),
            resource_version: None,
        };
        Self {
            applied,
            deleted: HashSet::new(),
        }
    }
}

impl<K: Object> fmt::Debug for SinkModel<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.applied.fmt(f)
    }
}

/// Which of a received object and the newest one of its key stays.
#[derive(PartialEq, Eq)]
enum Kept {
    /// The received one replaces it.
    Received,
    /// They are of one version.
    Same,
    /// The newest one is newer.
    Newest,
}

impl<K: Object> SinkModel<K> {
    /// Returns what a consumer has.
    #[must_use]
    pub const fn applied(&self) -> &Applied<K> {
        &self.applied
    }

    /// Applies a step. Returns `false`, and does nothing, if no server sends it.
    pub fn apply(&mut self, step: &SinkStep<K>) -> bool {
        match step {
            SinkStep::Add(key, object) | SinkStep::Update(key, object) => {
                let was_deleted = |uid| self.deleted.contains(&(key.clone(), uid));
                if object.uid().is_some_and(was_deleted) {
                    return false;
                }
                if self.compare(key, object) == Kept::Received {
                    self.put(key, object);
                }
                let version = object.resource_version();
                let unordered = matches!(step, SinkStep::Add(..)) && !self.has_version();
                self.advance(version.filter(|_| !unordered));
            }
            SinkStep::Delete(key, deletion) => {
                let (uid, version) = (&deletion.version.uid, &deletion.version.resource_version);
                if self
                    .newest(key)
                    .is_some_and(|newest| match (uid, newest.uid()) {
                        (Some(uid), Some(other)) if *uid != other => {
                            order(version.as_ref(), newest.resource_version().as_ref())
                                == Some(Ordering::Greater)
                        }
                        _ => true,
                    })
                {
                    self.remove(key);
                }
                self.deleted
                    .extend(uid.clone().map(|uid| (key.clone(), uid)));
                self.advance(version.clone());
            }
            SinkStep::Undecodable(key, version) => {
                self.mark(key, true);
                self.advance(version.clone());
            }
            SinkStep::Bookmark(version) => self.advance(Some(version.clone())),
            SinkStep::Resync => {}
            SinkStep::Replace(changes, end) => self.replace(changes, end),
        }
        true
    }

    fn replace(&mut self, changes: &[ListChange<K>], end: &ListEnd) {
        let mut list: BTreeMap<&ObjectKey, Option<&Arc<K>>> = BTreeMap::new();
        for change in changes {
            match change {
                ListChange::Insert(key, object) => drop(list.insert(key, Some(object))),
                ListChange::Undecodable(key) => drop(list.insert(key, None)),
                ListChange::Remove(key) => drop(list.remove(key)),
            }
        }
        let keys: Vec<_> = self.applied.objects.keys().cloned().collect();
        for key in keys.iter().filter(|key| !list.contains_key(key)) {
            self.remove(key);
        }
        for (key, object) in list {
            let Some(object) = object else {
                let newest = self
                    .newest(key)
                    .and_then(|newest| newest.resource_version());
                let version = Some(&end.resource_version);
                if end.rewind && order(newest.as_ref(), version) == Some(Ordering::Greater) {
                    self.remove(key);
                } else {
                    self.mark(key, true);
                }
                continue;
            };
            let is_same = self
                .newest(key)
                .is_some_and(|newest| Arc::ptr_eq(newest, object));
            match self.compare(key, object) {
                _ if is_same => self.mark(key, false),
                Kept::Same if !end.rewind => self.mark(key, false),
                Kept::Newest if !end.rewind => {}
                _ => self.put(key, object),
            }
        }
        self.applied.resource_version = Some(end.resource_version.clone());
    }

    fn newest(&self, key: &ObjectKey) -> Option<&Arc<K>> {
        Some(&self.applied.objects.get(key)?.object)
    }

    fn compare(&self, key: &ObjectKey, object: &Arc<K>) -> Kept {
        let Some(newest) = self.newest(key) else {
            return Kept::Received;
        };
        if object.uid().is_none() || object.uid() != newest.uid() {
            return Kept::Received;
        }
        let (own, other) = (object.resource_version(), newest.resource_version());
        match order(own.as_ref(), other.as_ref()) {
            Some(Ordering::Equal) => Kept::Same,
            Some(Ordering::Less) => Kept::Newest,
            _ => Kept::Received,
        }
    }

    fn put(&mut self, key: &ObjectKey, object: &Arc<K>) {
        self.remove(key);
        if let Some(uid) = object.uid() {
            self.deleted.remove(&(key.clone(), uid));
        }
        let applied = AppliedObject {
            object: Arc::clone(object),
            is_stale: false,
        };
        self.applied.objects.insert(key.clone(), applied);
    }

    fn remove(&mut self, key: &ObjectKey) {
        let removed = self.applied.objects.remove(key);
        let uid = removed.and_then(|removed| removed.object.uid());
        self.deleted.extend(uid.map(|uid| (key.clone(), uid)));
    }

    fn mark(&mut self, key: &ObjectKey, is_stale: bool) {
        if let Some(applied) = self.applied.objects.get_mut(key) {
            applied.is_stale = is_stale;
        }
    }

    fn has_version(&self) -> bool {
        let version = self.applied.resource_version.as_ref();
        version.is_some_and(|version| !version.is_unset())
    }

    fn advance(&mut self, version: Option<ResourceVersion>) {
        let known = self.applied.resource_version.as_ref();
        let version = version.filter(|version| !version.is_unset());
        if version.is_some() && order(version.as_ref(), known) != Some(Ordering::Less) {
            self.applied.resource_version = version;
        }
    }
}

/// Compares two resource versions, if they can be compared.
fn order(a: Option<&ResourceVersion>, b: Option<&ResourceVersion>) -> Option<Ordering> {
    let (a, b) = (a?, b?);
    if a.is_unset() || b.is_unset() {
        return None;
    }
    a.compare(b)
}
