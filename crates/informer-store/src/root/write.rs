//! Changes of one version: objects that become visible and that are removed, indexes that are added and removed.

use std::sync::Arc;

use smallvec::SmallVec;

use super::{Root, Slot, Target};
use crate::digest::DigestCell;
use crate::effects::Effects;
use crate::index::{Prepared, Table};
use crate::key::{KeyLike, short_hash};
use crate::object::Object;
use crate::watch::Tag;

/// The index values of an object before it is written: all that takes user code.
#[derive(Default)]
pub(crate) struct Plan(
    /// For each index that changes, by its place among them.
    SmallVec<[(usize, Prepared); 2]>,
);

impl<K: Object> Root<K> {
    /// Calls the index functions for an object that is to be written there, into an empty plan. Changes nothing.
    #[inline]
    pub(crate) fn plan(&self, target: &Target, object: &K, plan: &mut Plan) {
        let Some(key) = self.target_key(target) else {
            return;
        };
        let slot = target.old();
        for (at, index) in self.indexes.iter().enumerate() {
            index.prepare(slot, key, object, &mut |prepared| {
                plan.0.push((at, prepared))
            });
        }
    }

    /// Makes an object visible as planned on this version, and returns the one it replaces.
    #[inline]
    pub(crate) fn place(
        &mut self,
        target: Target,
        object: Arc<K>,
        plan: &mut Plan,
        effects: &mut Effects<K>,
    ) -> Option<Arc<K>> {
        self.contents += 1;
        if effects.wanted() {
            self.gather(&target, &object, effects);
        }
        let number = target.old().unwrap_or(self.slots.len());
        if !plan.0.is_empty() {
            self.index_planned(number, plan, effects);
        }
        if effects.watched() {
            self.touch_values(number, effects);
        }
        let Target::New(key) = target else {
            return self.replace(number, object);
        };
        let hash_of = |slot| {
            let slot = self.slots.get(slot).and_then(Option::as_ref);
            slot.map_or(0, |slot| short_hash(&slot.key))
        };
        self.directory.insert(short_hash(&key), number, hash_of);
        let labels = DigestCell::default();
        self.slots.push(Some(Slot {
            key,
            object,
            labels,
        }));
        None
    }

    /// Applies the plan of an old slot, or of the next one, to the indexes.
    fn index_planned(&mut self, number: u32, plan: &mut Plan, effects: &mut Effects<K>) {
        for (at, prepared) in plan.0.drain(..) {
            if let Prepared::Failed(failure) = &prepared {
                effects.fail(failure);
            }
            self.indexes[at].apply(number, prepared);
        }
    }

    /// Replaces the object in a slot, and returns the old one.
    #[inline]
    fn replace(&mut self, number: u32, object: Arc<K>) -> Option<Arc<K>> {
        if self.stale.count() > 0 {
            self.stale.set(number, false);
        }
        let slot = self.slots.get_mut(number)?.as_mut()?;
        slot.labels = DigestCell::default();
        Some(std::mem::replace(&mut slot.object, object))
    }

    /// Gathers the effects of an object that is about to become visible.
    fn gather(&self, target: &Target, object: &Arc<K>, effects: &mut Effects<K>) {
        let Some(key) = self.target_key(target) else {
            return;
        };
        let slot = target.old();
        effects.change(key, slot.and_then(|slot| self.object(slot)), Some(object));
        effects.touch(Tag::key(key));
        if let Some(slot) = slot {
            self.touch_values(slot, effects);
        }
    }

    /// Removes the visible object of a key. The last object moves to its slot.
    pub(crate) fn take<Q: KeyLike + ?Sized>(
        &mut self,
        key: &Q,
        effects: &mut Effects<K>,
    ) -> Option<Arc<K>> {
        let slot = self.find(key)?;
        let last = self.slots.len().checked_sub(1)?;
        self.contents += 1;
        self.touch_values(slot, effects);
        for index in &mut self.indexes {
            index.swap_remove(slot);
        }
        self.stale.swap_remove(slot, last);
        let Slot { key, object, .. } = self.slots.swap_remove(slot)??;
        self.directory.remove(short_hash(&key), slot);
        if let Some(moved) = self.slots.get(slot).and_then(Option::as_ref) {
            self.directory.renumber(short_hash(&moved.key), last, slot);
        }
        effects.touch(Tag::key(&key));
        effects.change(&key, Some(&object), None);
        Some(object)
    }

    fn touch_values(&self, slot: u32, effects: &mut Effects<K>) {
        if effects.watched() {
            for index in &self.indexes {
                index.touch(slot, &mut |tag| effects.touch(tag));
            }
        }
    }

    /// Sets whether an object is stale. Returns `false` if there is none.
    pub(crate) fn mark_stale<Q: KeyLike + ?Sized>(&mut self, key: &Q, is_stale: bool) -> bool {
        let Some(slot) = self.find(key) else {
            return false;
        };
        self.contents += u64::from(self.stale.get(slot) != is_stale);
        self.stale.set(slot, is_stale);
        true
    }

    /// Removes all objects; the indexes stay, empty.
    pub(crate) fn clear(&mut self, effects: &mut Effects<K>) {
        for Slot { key, object, .. } in self.slots() {
            effects.change(key, Some(object), None);
        }
        effects.touch_everything();
        let indexes = self.indexes.iter().map(|index| index.emptied()).collect();
        *self = Self {
            indexes,
            resource_version: self.resource_version.take(),
            revision: self.revision,
            contents: self.contents + 1,
            ..Self::default()
        };
    }

    /// Adds an empty index and fills it. Calls its function.
    pub(crate) fn add_index(&mut self, mut index: Box<dyn Table<K>>, effects: &mut Effects<K>) {
        for (slot, Slot { key, object, .. }) in (0..).zip(self.slots()) {
            let mut found = None;
            index.prepare(None, key, object, &mut |prepared| found = Some(prepared));
            let Some(prepared) = found else { continue };
            if let Prepared::Failed(failure) = &prepared {
                effects.fail(failure);
            }
            index.apply(slot, prepared);
        }
        self.indexes.push(index);
        self.contents += 1;
        effects.touch_everything();
    }

    /// Removes an index. Returns `false` if there is none of this name.
    pub(crate) fn remove_index(&mut self, name: &str, effects: &mut Effects<K>) -> bool {
        let before = self.indexes.len();
        self.indexes.retain(|index| &**index.name() != name);
        self.contents += u64::from(self.indexes.len() < before);
        effects.touch_everything();
        self.indexes.len() < before
    }
}
