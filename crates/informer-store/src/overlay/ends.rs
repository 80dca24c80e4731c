//! Overlays that end though nothing of their object was received.

use std::cmp::Ordering;
use std::sync::Arc;
use std::time::Instant;

use crate::effects::Effects;
use crate::key::ObjectKey;
use crate::object::Object;
use crate::object_list::ListEnd;
use crate::root::Root;
use crate::version::ResourceVersion;

impl<K: Object> Root<K> {
    /// Removes an overlaid object; the observed one is visible again.
    pub(crate) fn remove_overlay(&mut self, key: ObjectKey, effects: &mut Effects<K>) {
        let Some(entry) = self.take_entry(&key) else {
            return;
        };
        match entry.observed {
            Some(observed) => self.show_overlay(key, observed, effects),
            None => drop(self.take(&key, effects)),
        }
    }

    /// Removes the overlays that are chosen by key, age and observed object. Returns how many.
    pub(crate) fn remove_overlays_where(
        &mut self,
        effects: &mut Effects<K>,
        is_chosen: impl Fn(&Self, &ObjectKey, Instant, Option<&Arc<K>>) -> bool,
    ) -> usize {
        let Some(overlay) = &self.overlay else {
            return 0;
        };
        let chosen: Vec<_> = overlay
            .entries
            .iter()
            .filter(|(key, entry)| is_chosen(self, key, entry.since, entry.observed.as_ref()))
            .map(|(key, _)| key.clone())
            .collect();
        let count = chosen.len();
        chosen
            .into_iter()
            .for_each(|key| self.remove_overlay(key, effects));
        count
    }

    /// Compares an overlaid object with a resource version of the collection.
    fn compare_overlaid(&self, key: &ObjectKey, other: &ResourceVersion) -> Option<Ordering> {
        self.get(key)?.resource_version()?.compare(other)
    }

    /// Removes the overlays that this version of the store has reached.
    pub(crate) fn remove_reached_overlays(
        &mut self,
        resource_version: &ResourceVersion,
        effects: &mut Effects<K>,
    ) {
        self.remove_overlays_where(effects, |root, key, _, _| {
            root.compare_overlaid(key, resource_version)
                .is_some_and(Ordering::is_le)
        });
    }

    /// Removes the overlays that a list lacks, though it is not older; in a rewind all of them. Returns how many.
    pub(crate) fn remove_unlisted_overlays(
        &mut self,
        end: &ListEnd,
        effects: &mut Effects<K>,
    ) -> usize {
        self.remove_overlays_where(effects, |root, key, _, observed| {
            let is_newer =
                || root.compare_overlaid(key, &end.resource_version) == Some(Ordering::Greater);
            end.rewind || (observed.is_none() && !is_newer())
        })
    }
}
