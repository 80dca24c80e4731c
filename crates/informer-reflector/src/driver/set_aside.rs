//! Which objects are set aside, so that each version is reported once.

use std::collections::HashMap;

use informer_store::{ObjectKey, ResourceVersion};

/// The objects whose newest version cannot be used.
#[derive(Debug, Default)]
pub(super) struct SetAsideObjects {
    now: HashMap<ObjectKey, Option<ResourceVersion>>,
    /// Those of the list that is coming in.
    listed: HashMap<ObjectKey, Option<ResourceVersion>>,
    total: u64,
}

impl SetAsideObjects {
    /// How many are set aside.
    pub(super) fn count(&self) -> usize {
        self.now.len()
    }

    /// How many versions ever were.
    pub(super) const fn total(&self) -> u64 {
        self.total
    }

    /// An event brought a version that cannot be used. True if it was not known yet.
    pub(super) fn set_aside(&mut self, key: &ObjectKey, version: Option<&ResourceVersion>) -> bool {
        let before = self.now.insert(key.clone(), version.cloned());
        self.is_new(before, version)
    }

    /// A list that is coming in holds a version that cannot be used. True if it was not known yet.
    pub(super) fn set_aside_in_list(
        &mut self,
        key: &ObjectKey,
        version: Option<&ResourceVersion>,
    ) -> bool {
        let before = self.listed.insert(key.clone(), version.cloned());
        let before = before.or_else(|| self.now.get(key).cloned());
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

    /// A nameless object was set aside; such ones cannot be told apart.
    pub(super) const fn nameless(&mut self) {
        self.total += 1;
    }

    /// An event brought a usable version, or a deletion.
    pub(super) fn clear(&mut self, key: &ObjectKey) {
        if !self.now.is_empty() {
            self.now.remove(key);
        }
    }

    /// The list that is coming in has a later, usable version, or a deletion.
    pub(super) fn clear_in_list(&mut self, key: &ObjectKey) {
        if !self.listed.is_empty() {
            self.listed.remove(key);
        }
    }

    /// The objects of the list that is coming in that cannot be used.
    pub(super) fn listed(&self) -> impl Iterator<Item = &ObjectKey> {
        self.listed.keys()
    }

    pub(super) fn begin_list(&mut self) {
        self.listed.clear();
    }

    /// What the list does not hold is gone; what it holds in usable form is in order.
    pub(super) fn finish_list(&mut self) {
        self.now = std::mem::take(&mut self.listed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// peers 28
    #[test]
    fn each_version_is_new_once() {
        let mut aside = SetAsideObjects::default();
        let key = ObjectKey::namespaced("a", "b");
        let (one, two) = (ResourceVersion::from(1), ResourceVersion::from(2));
        assert!(aside.set_aside(&key, Some(&one)));
        assert!(!aside.set_aside(&key, Some(&one)));
        aside.begin_list();
        assert!(!aside.set_aside_in_list(&key, Some(&one)));
        assert!(aside.set_aside_in_list(&key, Some(&two)));
        aside.finish_list();
        assert!(!aside.set_aside(&key, Some(&two)));
        assert_eq!((aside.count(), aside.total()), (1, 2));
    }

    #[test]
    fn a_list_without_them_clears_all() {
        let mut aside = SetAsideObjects::default();
        let key = ObjectKey::cluster_scoped("b");
        assert!(aside.set_aside(&key, None));
        aside.begin_list();
        assert_eq!(aside.count(), 1);
        aside.finish_list();
        assert_eq!(aside.count(), 0);
    }
}
