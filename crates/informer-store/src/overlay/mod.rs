//! Objects written locally over those that were received.
//!
//! # Invariants
//! - An overlaid object is what readers and indexes have of its key; the observed one, received from the server, is
//!   kept below.
//! - Whatever is received that is not older, not repeated, or a deletion, ends the overlay. What is older, and what a
//!   deletion ends, [`ObjectVersion`] decides.

mod ends;

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use crate::effects::Effects;
use crate::key::{KeyLike, ObjectKey};
use crate::object::Object;
use crate::object_version::{ObjectVersion, Relation};
use crate::root::{Plan, Root, Target};

/// How many objects may be overlaid unless the store is given another number.
pub(crate) const DEFAULT_CAPACITY: usize = 100;

/// The result of [`Store::overlay`](crate::Store::overlay).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Overlaid {
    /// Readers and indexes have the object from now on.
    Visible,
    /// The store has this version or a newer one; nothing was changed.
    Outdated,
    /// The store's [capacity](crate::Store::set_overlay_capacity) for overlays is zero; nothing was changed.
    Refused,
}

/// The overlaid keys of a version.
pub(crate) struct Overlay<K> {
    entries: BTreeMap<ObjectKey, Entry<K>>,
    /// The number of the next entry.
    next: u64,
}

struct Entry<K> {
    /// The object that was received last, if any.
    observed: Option<Arc<K>>,
    since: Instant,
    /// Grows with every overlay.
    number: u64,
}

impl<K> Clone for Entry<K> {
    fn clone(&self) -> Self {
        Self {
            observed: self.observed.clone(),
            since: self.since,
            number: self.number,
        }
    }
}

impl<K> Clone for Overlay<K> {
    fn clone(&self) -> Self {
        Self {
            entries: self.entries.clone(),
            next: self.next,
        }
    }
}

impl<K> Overlay<K> {
    /// Returns the keys beyond `capacity`, oldest first.
    pub(crate) fn surplus(&self, capacity: usize) -> Vec<ObjectKey> {
        let surplus = self.entries.len().saturating_sub(capacity);
        if surplus == 0 {
            return Vec::new();
        }
        let by_age: BTreeMap<u64, &ObjectKey> = self
            .entries
            .iter()
            .map(|(key, entry)| (entry.number, key))
            .collect();
        by_age.into_values().take(surplus).cloned().collect()
    }
}

/// Returns `true` if a received object takes the place of an overlaid one.
fn supersedes<K: Object>(received: &K, overlaid: &K, observed: Option<&K>) -> bool {
    let received = ObjectVersion::of(received);
    let relation = |other: &K| received.relation_to(&ObjectVersion::of(other));
    if observed.is_some_and(|observed| relation(observed) == Relation::Same) {
        return false;
    }
    match relation(overlaid) {
        Relation::Same | Relation::Newer => true,
        Relation::Older => false,
        Relation::Recreated => received.deletes(&ObjectVersion::of(overlaid)),
    }
}

/// Returns `true` if a deletion ends this object.
fn is_ended<K: Object>(object: Option<&Arc<K>>, deletion: &ObjectVersion) -> bool {
    object.is_some_and(|object| deletion.deletes(&ObjectVersion::of(&**object)))
}

/// Received objects and overlaid ones in one version. All of it runs user code.
impl<K: Object> Root<K> {
    fn entry<Q: KeyLike + ?Sized>(&self, key: &Q) -> Option<&Entry<K>> {
        self.overlay.as_ref()?.entries.get(key.as_text())
    }

    fn entry_mut<Q: KeyLike + ?Sized>(&mut self, key: &Q) -> Option<&mut Entry<K>> {
        let overlay = self.overlay.as_mut()?;
        self.contents += 1;
        triomphe::Arc::make_mut(overlay)
            .entries
            .get_mut(key.as_text())
    }

    /// Removes a key from the overlay; the caller changes what readers have of it.
    fn take_entry<Q: KeyLike + ?Sized>(&mut self, key: &Q) -> Option<Entry<K>> {
        let overlay = self.overlay.as_mut()?;
        self.contents += 1;
        let entry = triomphe::Arc::make_mut(overlay)
            .entries
            .remove(key.as_text());
        if overlay.entries.is_empty() {
            self.overlay = None;
        }
        entry
    }

    pub(crate) fn is_overlaid<Q: KeyLike + ?Sized>(&self, key: &Q) -> bool {
        self.entry(key).is_some()
    }

    /// Returns the object of a key that was received last.
    pub(crate) fn observed<Q: KeyLike + ?Sized>(&self, key: &Q) -> Option<&Arc<K>> {
        match self.entry(key) {
            Some(entry) => entry.observed.as_ref(),
            None => self.get(key),
        }
    }

    /// The same for a key whose slot was looked up.
    pub(crate) fn observed_in(&self, slot: Option<u32>, key: &ObjectKey) -> Option<&Arc<K>> {
        match self.entry(key) {
            Some(entry) => entry.observed.as_ref(),
            None => self.object(slot?),
        }
    }

    /// Makes an object visible.
    fn show(&mut self, target: Target, object: Arc<K>, effects: &mut Effects<K>) -> Option<Arc<K>> {
        let mut plan = Plan::default();
        self.plan(&target, &object, &mut plan);
        self.place(target, object, &mut plan, effects)
    }

    /// Makes an object visible because an overlay begins or ends: what was received is as stale as before.
    fn show_overlay(&mut self, key: ObjectKey, object: Arc<K>, effects: &mut Effects<K>) {
        let slot = self.find(&key);
        let is_stale = slot.is_some_and(|slot| self.stale().get(slot));
        self.show(Self::target_in(slot, key.clone()), object, effects);
        if is_stale {
            self.mark_stale(&key, true);
        }
    }

    /// Writes a received object. Returns the one that was observed before.
    pub(crate) fn write(
        &mut self,
        target: Target,
        object: Arc<K>,
        effects: &mut Effects<K>,
    ) -> Option<Arc<K>> {
        if self.overlay.is_none() {
            return self.show(target, object, effects);
        }
        let key = self.target_key(&target)?.clone();
        let Some(entry) = self.entry(&key) else {
            return self.show(target, object, effects);
        };
        let supersedes =
            |overlaid: &Arc<K>| supersedes(&*object, &**overlaid, entry.observed.as_deref());
        if !self.get(&key).is_none_or(supersedes) {
            self.mark_stale(&key, false);
            return self.entry_mut(&key)?.observed.replace(object);
        }
        let entry = self.take_entry(&key);
        self.show(target, object, effects);
        entry?.observed
    }

    /// Removes the observed object of a key, and the overlaid one if it ends with it. Returns the observed one.
    pub(crate) fn remove<Q: KeyLike + ?Sized>(
        &mut self,
        key: &Q,
        effects: &mut Effects<K>,
    ) -> Option<Arc<K>> {
        let Some(entry) = self.entry(key) else {
            return self.take(key, effects);
        };
        let observed = entry.observed.as_deref().map(ObjectVersion::of);
        let ends_overlaid = observed.is_none_or(|observed| is_ended(self.get(key), &observed));
        self.remove_below(key, ends_overlaid, effects)
    }

    /// Removes what a deletion ends: the observed object of a key, the overlaid one, or both. Returns the observed one.
    pub(crate) fn delete(
        &mut self,
        key: &ObjectKey,
        deletion: &ObjectVersion,
        effects: &mut Effects<K>,
    ) -> Option<Arc<K>> {
        let ends_visible = is_ended(self.get(key), deletion);
        let ends_observed = is_ended(self.observed(key), deletion);
        if !ends_visible && !ends_observed {
            return None;
        }
        if !self.is_overlaid(key) {
            return self.take(key, effects);
        }
        self.remove_below(key, ends_visible, effects)
    }

    /// Removes the observed object of an overlaid key, and the overlaid one if that ends too.
    fn remove_below<Q: KeyLike + ?Sized>(
        &mut self,
        key: &Q,
        ends_overlaid: bool,
        effects: &mut Effects<K>,
    ) -> Option<Arc<K>> {
        if !ends_overlaid {
            self.mark_stale(key, false);
            return self.entry_mut(key)?.observed.take();
        }
        let entry = self.take_entry(key);
        self.take(key, effects);
        entry?.observed
    }

    /// Overlays the observed object of a key, unless the store has this version or a newer one.
    pub(crate) fn overlay(
        &mut self,
        key: ObjectKey,
        object: Arc<K>,
        now: Instant,
        effects: &mut Effects<K>,
    ) -> Overlaid {
        if self.is_outdated(&key, &ObjectVersion::of(&*object)) {
            return Overlaid::Outdated;
        }
        let observed = self.observed(&key).cloned();
        let overlay = self.overlay.get_or_insert_with(|| {
            triomphe::Arc::new(Overlay {
                entries: BTreeMap::new(),
                next: 0,
            })
        });
        let overlay = triomphe::Arc::make_mut(overlay);
        let entry = Entry {
            observed,
            since: now,
            number: overlay.next,
        };
        overlay.entries.insert(key.clone(), entry);
        overlay.next += 1;
        self.show_overlay(key, object, effects);
        Overlaid::Visible
    }

    fn is_outdated(&self, key: &ObjectKey, version: &ObjectVersion) -> bool {
        // All that happened up to the store's version was received: this too, or it does not belong here.
        let own = version.resource_version.as_ref();
        let reached = own.zip(self.resource_version.as_ref());
        if reached.is_some_and(|(own, store)| own.compare(store).is_some_and(Ordering::is_le)) {
            return true;
        }
        let Some(visible) = self.get(key) else {
            return false;
        };
        let visible = ObjectVersion::of(&**visible);
        match version.relation_to(&visible) {
            Relation::Same | Relation::Older => true,
            Relation::Newer => false,
            Relation::Recreated => visible.deletes(version),
        }
    }
}
