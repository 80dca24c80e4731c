//! One version of everything a store holds. Cloned in constant time; changed in the parts that are written.
//!
//! # Invariants
//! - Slots are dense: `0..len` hold one object each. A removal moves the last object to the gap.
//! - The directory, the slots and every index speak of the same slots.
//! - Order depends on the sequence of writes alone, never on hashes.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::digest::DigestCell;
use crate::directory::Directory;
use crate::effects::Effects;
use crate::flags::Flags;
use crate::index::{Prepared, Table};
use crate::key::{KeyLike, KeyText, ObjectKey, short_hash};
use crate::mutant;
use crate::object::Object;
use crate::overlay::Overlay;
use crate::pages::{Iter, PagedVec, Warm, warm_object};
use crate::version::ResourceVersion;
use crate::watch::Tag;

pub(crate) struct Root<K> {
    directory: Directory,
    slots: PagedVec<Option<Slot<K>>, 8>,
    indexes: Vec<Box<dyn Table<K>>>,
    /// Slots whose object is known to be out of date, since a newer copy could not be decoded.
    stale: Flags,
    /// Objects added by hand; `None` if there is none.
    pub(crate) overlay: Option<triomphe::Arc<Overlay<K>>>,
    pub(crate) resource_version: Option<ResourceVersion>,
    /// Counts the writes that were published.
    pub(crate) revision: u64,
    /// Counts the changes of anything but the resource version.
    pub(crate) contents: u64,
}

/// One object and its key.
pub(crate) struct Slot<K> {
    pub(crate) key: ObjectKey,
    pub(crate) object: Arc<K>,
    /// Of this very copy of the object: readers of several versions fill the cell of a page that these share.
    pub(crate) labels: DigestCell,
}

impl<K> Clone for Slot<K> {
    fn clone(&self) -> Self {
        Self {
            key: self.key.clone(),
            object: Arc::clone(&self.object),
            labels: self.labels.clone(),
        }
    }
}

impl<K> Warm for Slot<K> {
    #[inline]
    fn warm(&self) {
        self.key.warm();
        warm_object(&self.object);
    }
}

/// The slots of a version, in their order.
pub(crate) struct Slots<'a, K>(Iter<'a, Option<Slot<K>>, 8>);

impl<'a, K> Iterator for Slots<'a, K> {
    type Item = &'a Slot<K>;

    #[inline]
    fn next(&mut self) -> Option<&'a Slot<K>> {
        self.0.next()?.as_ref()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<K> ExactSizeIterator for Slots<'_, K> {}

/// Where an object is to be written.
pub(crate) enum Target {
    /// Into this slot, under the key that it has.
    Old(u32),
    /// Into a new slot, under this key.
    New(ObjectKey),
}

impl Target {
    const fn old(&self) -> Option<u32> {
        match self {
            Self::Old(slot) => Some(*slot),
            Self::New(_) => None,
        }
    }
}

/// What is to be said of an object before it is written: all that takes user code.
#[derive(Default)]
pub(crate) struct Plan(
    /// For each index, by its place among them, that has something to enter.
    SmallVec<[(usize, Prepared); 2]>,
);

impl<K: Object> Clone for Root<K> {
    fn clone(&self) -> Self {
        Self {
            directory: self.directory.clone(),
            slots: self.slots.clone(),
            indexes: self
                .indexes
                .iter()
                .map(|index| index.boxed_clone())
                .collect(),
            stale: self.stale.clone(),
            overlay: self.overlay.clone(),
            resource_version: self.resource_version.clone(),
            revision: self.revision,
            contents: self.contents,
        }
    }
}

impl<K> Default for Root<K> {
    fn default() -> Self {
        Self {
            directory: Directory::default(),
            slots: PagedVec::default(),
            indexes: Vec::new(),
            stale: Flags::default(),
            overlay: None,
            resource_version: None,
            revision: 0,
            contents: 0,
        }
    }
}

impl<K: Object> Root<K> {
    pub(crate) const fn len(&self) -> usize {
        self.slots.len() as usize
    }

    /// The slot of a key: its number, and what it holds.
    #[inline]
    fn find_slot<Q: KeyLike + ?Sized>(&self, key: &Q) -> Option<(u32, &Slot<K>)> {
        let text = key.as_text();
        self.directory.find_map(short_hash(key), |number| {
            let slot = self.slot(number)?;
            is_same_text(slot.key.as_str(), text).then_some((number, slot))
        })
    }

    #[inline]
    pub(crate) fn find<Q: KeyLike + ?Sized>(&self, key: &Q) -> Option<u32> {
        self.find_slot(key).map(|(number, _)| number)
    }

    /// The object that readers see.
    #[inline]
    pub(crate) fn get<Q: KeyLike + ?Sized>(&self, key: &Q) -> Option<&Arc<K>> {
        self.find_slot(key).map(|(_, slot)| &slot.object)
    }

    #[inline]
    pub(crate) fn object(&self, slot: u32) -> Option<&Arc<K>> {
        Some(&self.slot(slot)?.object)
    }

    pub(crate) fn key(&self, slot: u32) -> Option<&ObjectKey> {
        Some(&self.slot(slot)?.key)
    }

    #[inline]
    pub(crate) fn slot(&self, number: u32) -> Option<&Slot<K>> {
        self.slots.peek(number)?.as_ref()
    }

    /// All slots, in their order.
    pub(crate) fn slots(&self) -> Slots<'_, K> {
        Slots(self.slots.iter())
    }

    /// The slot of a key, if there is one, and the key: the one that is here, if any.
    pub(crate) fn resolve(&self, text: &KeyText<'_>) -> (Option<u32>, ObjectKey) {
        match self.find_slot(text) {
            Some((number, slot)) => (Some(number), slot.key.clone()),
            None => (None, text.to_key()),
        }
    }

    /// Where to write the object of a key that was looked up, or is now. Counts no reference to a key that is here
    /// already: that would hold up the reads that follow.
    pub(crate) fn target(&self, text: &KeyText<'_>) -> Target {
        self.find(text)
            .map_or_else(|| Target::New(text.to_key()), Target::Old)
    }

    /// The same for a key whose slot was looked up.
    pub(crate) fn target_in(slot: Option<u32>, key: ObjectKey) -> Target {
        slot.map_or(Target::New(key), Target::Old)
    }

    /// The key of a target; `None` only if its slot is not of this version.
    pub(crate) fn target_key<'a>(&'a self, target: &'a Target) -> Option<&'a ObjectKey> {
        match target {
            Target::Old(slot) => self.key(*slot),
            Target::New(key) => Some(key),
        }
    }

    pub(crate) const fn stale(&self) -> &Flags {
        &self.stale
    }

    pub(crate) fn indexes(&self) -> &[Box<dyn Table<K>>] {
        &self.indexes
    }

    pub(crate) fn index(&self, name: &str) -> Option<&dyn Table<K>> {
        self.indexes
            .iter()
            .find(|index| &**index.name() == name)
            .map(|index| &**index)
    }

    /// Asks the index functions for all that it takes to write an object there, and adds it to an empty plan. Runs user
    /// code, changes nothing.
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

    /// Shows an object as planned on this version, and returns the one it replaces.
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
            self.tell(&target, &object, effects);
        }
        let number = target.old().unwrap_or(self.slots.len());
        if !plan.0.is_empty() {
            self.enter(number, plan, effects);
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

    /// Enters into the indexes what was planned for an old slot, or for the next one.
    fn enter(&mut self, number: u32, plan: &mut Plan, effects: &mut Effects<K>) {
        for (at, prepared) in plan.0.drain(..) {
            if let Prepared::Failed(failure) = &prepared {
                effects.fail(failure);
            }
            self.indexes[at].apply(number, prepared);
        }
    }

    /// Puts an object in the place of the one in a slot, which it returns.
    #[inline]
    fn replace(&mut self, number: u32, object: Arc<K>) -> Option<Arc<K>> {
        if self.stale.count() > 0 {
            self.stale.set(number, false);
        }
        let slot = self.slots.get_mut(number)?.as_mut()?;
        if !mutant!("store-labels-outlive-their-copy") {
            slot.labels = DigestCell::default();
        }
        Some(std::mem::replace(&mut slot.object, object))
    }

    /// Tells those who listen of an object that is about to be shown.
    fn tell(&self, target: &Target, object: &Arc<K>, effects: &mut Effects<K>) {
        let Some(key) = self.target_key(target) else {
            return;
        };
        let slot = target.old();
        effects.change(key, slot.and_then(|slot| self.object(slot)), Some(object));
        effects.touch(Tag::key(key));
        if let Some(slot) = slot
            && !mutant!("store-watch-misses-lost-values")
        {
            self.touch_values(slot, effects);
        }
    }

    /// Takes out the object that readers see of a key. The last object moves to its slot.
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
        if let Some(moved) = self.slots.get(slot).and_then(Option::as_ref)
            && !mutant!("store-directory-forgets-who-moved")
        {
            self.directory.renumber(short_hash(&moved.key), last, slot);
        }
        effects.touch(Tag::key(&key));
        if !mutant!("store-log-forgets-deletions") {
            effects.change(&key, Some(&object), None);
        }
        Some(object)
    }

    fn touch_values(&self, slot: u32, effects: &mut Effects<K>) {
        if effects.watched() {
            for index in &self.indexes {
                index.touch(slot, &mut |tag| effects.touch(tag));
            }
        }
    }

    /// Says whether an object is out of date. False if it is not here.
    pub(crate) fn mark_stale<Q: KeyLike + ?Sized>(&mut self, key: &Q, is_stale: bool) -> bool {
        let Some(slot) = self.find(key) else {
            return false;
        };
        self.contents += u64::from(self.stale.get(slot) != is_stale);
        self.stale.set(slot, is_stale);
        true
    }

    /// Takes all objects out; the indexes stay, empty.
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

    /// Adds an empty index and fills it. Runs user code.
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

    /// Takes an index out. False if there is none of this name.
    pub(crate) fn remove_index(&mut self, name: &str, effects: &mut Effects<K>) -> bool {
        let before = self.indexes.len();
        self.indexes.retain(|index| &**index.name() != name);
        self.contents += u64::from(self.indexes.len() < before);
        effects.touch_everything();
        self.indexes.len() < before
    }
}

/// True if the texts are equal; at once if they are one. Who looks up what came out of the store asks with its texts.
#[inline]
fn is_same_text(a: &str, b: &str) -> bool {
    std::ptr::eq(a, b) || a == b
}
