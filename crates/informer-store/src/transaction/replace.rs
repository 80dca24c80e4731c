//! A whole list over what is stored: its objects are written, all others are removed.

use std::sync::Arc;

use super::Transaction;
use crate::key::ObjectKey;
use crate::object::Object;
use crate::object_version::{ObjectVersion, Relation};
use crate::root::Root;
use crate::version::ResourceVersion;

/// Which of a listed object and a stored one of its key stays.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Precedence {
    /// The newer one.
    Newer,
    /// The listed one, but for one of the same version.
    Listed,
    /// The listed one, even of the same version: the server's versions went back.
    Rewind,
}

/// A list whose keys were looked up in the transaction that it is written to.
pub(crate) struct Listed<K> {
    items: Vec<Item<K>>,
}

struct Item<K> {
    slot: Option<u32>,
    key: ObjectKey,
    /// `None` if it is undecodable.
    object: Option<Arc<K>>,
}

impl<K: Object> Listed<K> {
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        Self {
            items: Vec::with_capacity(capacity),
        }
    }

    /// Adds an item. Of several items of one key the last holds.
    pub(crate) fn push(&mut self, slot: Option<u32>, key: ObjectKey, object: Option<Arc<K>>) {
        self.items.push(Item { slot, key, object });
    }

    /// Returns the stored keys that the list lacks, but for those that are only overlaid.
    fn unlisted(&self, root: &Root<K>) -> Vec<ObjectKey> {
        let mut is_listed = vec![false; root.len()];
        for slot in self.items.iter().filter_map(|item| item.slot) {
            if let Some(is_listed) = is_listed.get_mut(slot as usize) {
                *is_listed = true;
            }
        }
        let slots = is_listed.into_iter().zip(root.slots());
        slots
            .filter(|(is_listed, _)| !is_listed)
            .map(|(_, slot)| &slot.key)
            .filter(|key| root.overlay.is_none() || root.observed(*key).is_some())
            .cloned()
            .collect()
    }
}

impl<K: Object> Transaction<'_, K> {
    /// Writes a list over what is stored.
    pub(crate) fn write_list(
        &mut self,
        list: Listed<K>,
        precedence: Precedence,
        resource_version: &ResourceVersion,
    ) {
        let mut unlisted = list.unlisted(&self.root);
        if !unlisted.is_empty() && unlisted.len() == self.len() && self.root.overlay.is_none() {
            self.clear();
            unlisted.clear();
        }
        let mut undone = Vec::new();
        // Writes append and move nothing: the slots hold until something is removed.
        for Item { slot, key, object } in list.items {
            let slot = slot.or_else(|| self.root.find(&key));
            match object {
                Some(object) => self.write_listed(slot, key, object, precedence),
                None if self.is_undone(&key, precedence, resource_version) => undone.push(key),
                None => drop(self.mark_stale(&key)),
            }
        }
        for key in unlisted.iter().chain(&undone) {
            self.remove(key);
        }
    }

    /// Writes a listed object, unless the stored one stays.
    fn write_listed(
        &mut self,
        slot: Option<u32>,
        key: ObjectKey,
        object: Arc<K>,
        precedence: Precedence,
    ) {
        if let Some(stored) = self.root.observed_in(slot, &key) {
            if Arc::ptr_eq(stored, &object) {
                self.clear_stale(&key);
                return;
            }
            let relation = ObjectVersion::of(&*object).relation_to(&ObjectVersion::of(&**stored));
            match (relation, precedence) {
                (Relation::Same, Precedence::Newer | Precedence::Listed) => {
                    self.clear_stale(&key);
                    return;
                }
                (Relation::Older, Precedence::Newer) => return,
                _ => {}
            }
        }
        self.write(Root::<K>::target_in(slot, key), object);
    }

    /// Returns `true` if a rewind has the key in a form that cannot be decoded, and what is stored of it is of the
    /// future that was undone.
    fn is_undone(&self, key: &ObjectKey, precedence: Precedence, list: &ResourceVersion) -> bool {
        let stored = self.get(key).and_then(|stored| stored.resource_version());
        precedence == Precedence::Rewind && stored.is_some_and(|stored| list.is_older_than(&stored))
    }
}
