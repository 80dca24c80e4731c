//! One index over the slots of a store.

use std::any::Any;
use std::borrow::Borrow;
use std::hash::Hash;
use std::ops::RangeBounds;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::index::definition::Definition;
use crate::index::entries::Values;
use crate::index::error::{IndexFailure, IndexStatus};
use crate::index::ordered::OrderedValues;
use crate::index::places::{Membership, Place, Places};
use crate::index::user_code::catch;
use crate::index::values::{Found, IndexValues};
use crate::key::{ObjectKey, hash_value};
use crate::object::Object;
use crate::posting::Posting;
use crate::watch::Tag;

/// An index, whatever its values are.
pub(crate) trait Table<K>: Send + Sync {
    fn name(&self) -> &Arc<str>;
    /// Calls the function for an object in this slot, or a new one. Changes nothing. Passes the result to `enter`,
    /// unless the object in the slot has just these values.
    fn prepare(
        &self,
        slot: Option<u32>,
        key: &ObjectKey,
        object: &K,
        enter: &mut dyn FnMut(Prepared),
    );
    /// Applies what was prepared for the object in an old slot, or in the next one. Never panics: comparisons and drops
    /// of values are caught.
    fn apply(&mut self, slot: u32, prepared: Prepared);
    /// Removes a slot; the last slot moves there. Never panics.
    fn swap_remove(&mut self, slot: u32);
    /// Passes on the tags of the values of a slot.
    fn touch(&self, slot: u32, touch: &mut dyn FnMut(Tag));
    fn status(&self) -> IndexStatus;
    fn unindexed(&self) -> &Posting;
    /// Returns an empty index of the same function.
    fn emptied(&self) -> Box<dyn Table<K>>;
    fn boxed_clone(&self) -> Box<dyn Table<K>>;
    fn as_any(&self) -> &dyn Any;
}

/// The values of an object that is to be written.
pub(crate) enum Prepared {
    Values(Found),
    /// The function failed.
    Failed(Box<IndexFailure>),
}

/// An index whose values are of type `V`.
pub(crate) struct TableOf<K, V: 'static> {
    definition: Arc<Definition<K, V>>,
    values: Values<V>,
    /// By slot.
    places: Places,
    unindexed: Posting,
    failures: u64,
    last_failure: Option<Arc<IndexFailure>>,
}

impl<K, V> Clone for TableOf<K, V> {
    fn clone(&self) -> Self {
        Self {
            definition: Arc::clone(&self.definition),
            values: self.values.clone(),
            places: self.places.clone(),
            unindexed: self.unindexed.clone(),
            failures: self.failures,
            last_failure: self.last_failure.clone(),
        }
    }
}

impl<K, V> TableOf<K, V> {
    pub(super) fn new(definition: Arc<Definition<K, V>>) -> Self {
        Self {
            values: Values::new(definition.order()),
            definition,
            places: Places::default(),
            unindexed: Posting::default(),
            failures: 0,
            last_failure: None,
        }
    }
}

impl<K: 'static, V: Hash + Eq + Send + Sync + 'static> TableOf<K, V> {
    /// Returns the slots that have a value.
    pub(crate) fn slots<Q>(&self, value: &Q) -> Option<&Posting>
    where
        V: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let id = self.values.find(hash_value(value), value)?;
        self.values.entry(id).map(|entry| &entry.slots)
    }

    /// Returns the values that have objects, and their slots.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&Arc<V>, &Posting)> {
        self.values.iter().map(|entry| (&entry.value, &entry.slots))
    }

    /// Returns the values within bounds and their slots, in order; `None` if this index has no order.
    pub(crate) fn range<'a, Q, R>(
        &'a self,
        range: R,
    ) -> Option<impl Iterator<Item = (&'a V, &'a Posting)> + use<'a, K, V, Q, R>>
    where
        V: Borrow<Q> + Ord,
        Q: Ord + ?Sized,
        R: RangeBounds<Q>,
    {
        let order = self
            .values
            .order()?
            .as_any()
            .downcast_ref::<OrderedValues<V>>()?;
        let with_slots = |(value, id)| Some((value, &self.values.entry(id)?.slots));
        Some(order.range(range).filter_map(with_slots))
    }

    /// Returns the slots of the known values of an object; none if the function fails on it.
    pub(crate) fn postings_of<'a>(&'a self, object: &K) -> impl Iterator<Item = &'a Posting>
    where
        K: Object,
    {
        let mut found = None;
        self.prepare(None, &ObjectKey::of(object), object, &mut |prepared| {
            found = Some(prepared);
        });
        let known = match found {
            Some(Prepared::Values(found)) => found.known,
            Some(Prepared::Failed(_)) | None => SmallVec::new(),
        };
        known
            .into_iter()
            .filter_map(|id| self.values.entry(id))
            .map(|entry| &entry.slots)
    }

    #[cold]
    fn failed(&self, key: &ObjectKey, message: String, panicked: bool) -> Prepared
    where
        K: Object,
    {
        Prepared::Failed(Box::new(IndexFailure {
            index: Arc::clone(self.definition.name()),
            key: key.clone(),
            message: Arc::from(message),
            panicked,
        }))
    }

    /// Removes a slot from values.
    fn unlink(&mut self, places: &[Place]) {
        for &place in places {
            if let Some(moved) = self.values.unlink(place) {
                self.places.correct(moved, place);
            }
        }
    }

    /// Removes the slot at a position from the unindexed ones.
    fn remove_unindexed(&mut self, position: u32) {
        if let Some(moved) = self.unindexed.swap_remove(position) {
            self.places.set_unindexed(moved, position);
        }
    }

    /// Adds a slot to values; it keeps its place under old ones.
    fn link(&mut self, slot: u32, old: &[Place], found: Found) {
        let mut places = SmallVec::<[Place; 2]>::new();
        for &id in &found.known {
            let stays = old.iter().find(|place| place.value == id).copied();
            places.push(stays.unwrap_or_else(|| self.values.link(id, slot)));
        }
        for fresh in found.fresh {
            if let Ok(value) = fresh.value.downcast::<V>() {
                let id = self.values.add(fresh.hash, value);
                places.push(self.values.link(id, slot));
            }
        }
        self.places.set(slot, &places);
    }
}

impl<K: Object, V: Hash + Eq + Send + Sync + 'static> Table<K> for TableOf<K, V> {
    fn name(&self) -> &Arc<str> {
        self.definition.name()
    }

    fn prepare(
        &self,
        slot: Option<u32>,
        key: &ObjectKey,
        object: &K,
        enter: &mut dyn FnMut(Prepared),
    ) {
        let membership = slot.and_then(|slot| self.places.get(slot));
        let was_indexed = matches!(membership, Some(Membership::In(_)));
        let places = membership.map_or(&[][..], Membership::places);
        let mut values = IndexValues::new(&self.values, places);
        match catch(|| self.definition.call(object, &mut values)) {
            Ok(None) if was_indexed && values.is_unchanged() => {}
            Ok(None) => enter(Prepared::Values(values.found())),
            Ok(Some(message)) => enter(self.failed(key, message, false)),
            Err(panic) => enter(self.failed(key, panic, true)),
        }
    }

    fn apply(&mut self, slot: u32, prepared: Prepared) {
        let result = match prepared {
            Prepared::Values(found) => Ok(found),
            Prepared::Failed(failure) => Err(failure),
        };
        let old = self.places.get(slot).unwrap_or(Membership::In(&[]));
        let unindexed = match old {
            Membership::Unindexed { position } => Some(position),
            Membership::In(_) => None,
        };
        let old = SmallVec::<[Place; 2]>::from_slice(old.places());
        let stays =
            |place: &Place| matches!(&result, Ok(found) if found.known.contains(&place.value));
        let gone: SmallVec<[Place; 2]> = old.iter().filter(|p| !stays(p)).copied().collect();
        if let Some(position) = unindexed {
            self.remove_unindexed(position);
        }
        self.unlink(&gone);
        match result {
            Ok(found) => self.link(slot, &old, found),
            Err(failure) => {
                self.failures += 1;
                self.last_failure = Some(Arc::new(*failure));
                self.places.set_unindexed(slot, self.unindexed.push(slot));
            }
        }
    }

    fn swap_remove(&mut self, slot: u32) {
        match self.places.get(slot) {
            None => return,
            Some(Membership::Unindexed { position }) => self.remove_unindexed(position),
            Some(Membership::In(places)) => {
                let places = SmallVec::<[Place; 2]>::from_slice(places);
                self.unlink(&places);
            }
        }
        self.places.swap_remove(slot);
        // The last slot moved here.
        match self.places.get(slot) {
            Some(Membership::Unindexed { position }) => self.unindexed.set(position, slot),
            Some(Membership::In(places)) => {
                places
                    .iter()
                    .for_each(|place| self.values.moved(*place, slot));
            }
            None => {}
        }
    }

    fn touch(&self, slot: u32, touch: &mut dyn FnMut(Tag)) {
        let membership = self.places.get(slot).unwrap_or(Membership::In(&[]));
        for place in membership.places() {
            if let Some(entry) = self.values.entry(place.value) {
                touch(Tag::value(self.definition.tag(), entry.hash));
            }
        }
    }

    fn status(&self) -> IndexStatus {
        IndexStatus {
            name: Arc::clone(self.definition.name()),
            values: self.values.len(),
            unindexed: self.unindexed.len() as usize,
            failures: self.failures,
            last_failure: self.last_failure.as_deref().cloned(),
        }
    }

    fn unindexed(&self) -> &Posting {
        &self.unindexed
    }

    fn emptied(&self) -> Box<dyn Table<K>> {
        let mut empty = Self::new(Arc::clone(&self.definition));
        empty.failures = self.failures;
        empty.last_failure.clone_from(&self.last_failure);
        Box::new(empty)
    }

    fn boxed_clone(&self) -> Box<dyn Table<K>> {
        Box::new(self.clone())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
