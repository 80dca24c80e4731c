//! Which objects are undecodable and which event types unknown, so that each version and type is reported once.

use std::collections::HashMap;

use informer_store::{ObjectKey, ResourceVersion};

/// The objects whose newest version cannot be decoded, or was refused by the transform.
#[derive(Debug, Default)]
pub(super) struct UndecodableObjects {
    current: HashMap<ObjectKey, Option<ResourceVersion>>,
    /// Those of the list that is being received.
    listed: HashMap<ObjectKey, Option<ResourceVersion>>,
    total: u64,
}

impl UndecodableObjects {
    /// How many objects are undecodable.
    pub(super) fn count(&self) -> usize {
        self.current.len()
    }

    /// How many versions ever were.
    pub(super) const fn total(&self) -> u64 {
        self.total
    }

    /// An event had an undecodable version. Returns `true` if it is new.
    pub(super) fn insert(&mut self, key: &ObjectKey, version: Option<&ResourceVersion>) -> bool {
        let before = self.current.insert(key.clone(), version.cloned());
        self.is_new(before, version)
    }

    /// The list has an undecodable version. Returns `true` if it is new.
    pub(super) fn insert_listed(
        &mut self,
        key: &ObjectKey,
        version: Option<&ResourceVersion>,
    ) -> bool {
        let before = self.listed.insert(key.clone(), version.cloned());
        let before = before.or_else(|| self.current.get(key).cloned());
        self.is_new(before, version)
    }

    fn is_new(
        &mut self,
        before: Option<Option<ResourceVersion>>,
        version: Option<&ResourceVersion>,
    ) -> bool {
        let new = before.is_none_or(|before| before.as_ref() != version);
        self.total += u64::from(new);
        new
    }

    /// An object without a key is undecodable; such ones are all alike.
    pub(super) const fn insert_keyless(&mut self) {
        self.total += 1;
    }

    /// An event had a usable version, or a deletion.
    pub(super) fn remove(&mut self, key: &ObjectKey) {
        if !self.current.is_empty() {
            self.current.remove(key);
        }
    }

    /// The list has a later, usable version, or a deletion.
    pub(super) fn remove_listed(&mut self, key: &ObjectKey) {
        if !self.listed.is_empty() {
            self.listed.remove(key);
        }
    }

    pub(super) fn start_list(&mut self) {
        self.listed = HashMap::new();
    }

    pub(super) fn finish_list(&mut self) {
        self.current = std::mem::take(&mut self.listed);
    }
}

/// So many event types are remembered; what a server makes up beyond them is only counted.
const MAX_TYPES: usize = 16;

/// Watch events of unknown types.
#[derive(Debug, Default)]
pub(super) struct UnknownEvents {
    types: Vec<Box<str>>,
    total: u64,
}

impl UnknownEvents {
    /// Counts an event. Returns `true` if its type is new.
    pub(super) fn count(&mut self, event_type: &str) -> bool {
        self.total += 1;
        let known = self.types.iter().any(|known| **known == *event_type);
        if known || self.types.len() >= MAX_TYPES {
            return false;
        }
        self.types.push(event_type.into());
        true
    }

    pub(super) const fn total(&self) -> u64 {
        self.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// peers 28
    #[test]
    fn each_undecodable_version_is_new_once() {
        let mut objects = UndecodableObjects::default();
        let key = ObjectKey::namespaced("a", "b");
        let (one, two) = (ResourceVersion::from(1), ResourceVersion::from(2));
        assert!(objects.insert(&key, Some(&one)));
        assert!(!objects.insert(&key, Some(&one)));
        objects.start_list();
        assert!(!objects.insert_listed(&key, Some(&one)));
        assert!(objects.insert_listed(&key, Some(&two)));
        objects.finish_list();
        assert!(!objects.insert(&key, Some(&two)));
        assert_eq!((objects.count(), objects.total()), (1, 2));
    }

    #[test]
    fn list_without_undecodable_objects_clears_all() {
        let mut objects = UndecodableObjects::default();
        let key = ObjectKey::cluster_scoped("b");
        assert!(objects.insert(&key, None));
        objects.start_list();
        assert_eq!(objects.count(), 1);
        objects.finish_list();
        assert_eq!(objects.count(), 0);
    }
}
