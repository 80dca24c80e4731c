//! One index over the slots of a store.

use std::any::Any;
use std::borrow::Borrow;
use std::hash::Hash;
use std::ops::RangeBounds;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use smallvec::SmallVec;

use crate::index::definition::Definition;
use crate::index::entries::Values;
use crate::index::error::{IndexFailure, IndexStatus};
use crate::index::ordered::OrderedValues;
use crate::index::places::{Place, Places, Standing};
use crate::index::values::{Found, IndexValues};
use crate::key::{ObjectKey, hash_value};
use crate::mutant;
use crate::object::Object;
use crate::posting::Posting;
use crate::watch::Tag;

/// What a store knows of an index, whatever its values are.
pub(crate) trait Table<K>: Send + Sync {
    fn name(&self) -> &Arc<str>;
    /// Asks the function for the values of an object that lives, or will live, in this slot. Changes nothing. Hands
    /// over what is to be entered, unless the object in the slot has just these values.
    fn prepare(
        &self,
        slot: Option<u32>,
        key: &ObjectKey,
        object: &K,
        enter: &mut dyn FnMut(Prepared),
    );
    /// Enters what was prepared for the object in an old slot, or in the next one. Runs no user code but what
    /// [`prepare`](Self::prepare) has run already.
    fn apply(&mut self, slot: u32, prepared: Prepared);
    /// Takes a slot out; the last slot moves there.
    fn swap_remove(&mut self, slot: u32);
    /// The tags of the values of a slot, for those who watch them.
    fn touch(&self, slot: u32, touch: &mut dyn FnMut(Tag));
    fn status(&self) -> IndexStatus;
    fn left_out(&self) -> &Posting;
    /// An index by the same function over nothing.
    fn emptied(&self) -> Box<dyn Table<K>>;
    fn boxed_clone(&self) -> Box<dyn Table<K>>;
    fn as_any(&self) -> &dyn Any;
}

/// What is to be entered of one object.
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
    left_out: Posting,
    failures: u64,
    last_failure: Option<Arc<IndexFailure>>,
}

impl<K, V> Clone for TableOf<K, V> {
    fn clone(&self) -> Self {
        Self {
            definition: Arc::clone(&self.definition),
            values: self.values.clone(),
            places: self.places.clone(),
            left_out: self.left_out.clone(),
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
            left_out: Posting::default(),
            failures: 0,
            last_failure: None,
        }
    }
}

impl<K: 'static, V: Hash + Eq + Send + Sync + 'static> TableOf<K, V> {
    /// The slots that have a value.
    pub(crate) fn slots<Q>(&self, value: &Q) -> Option<&Posting>
    where
        V: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let id = self.values.find(hash_value(value), value)?;
        self.values.entry(id).map(|entry| &entry.slots)
    }

    /// The values that have objects, and their slots.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&Arc<V>, &Posting)> {
        self.values.iter().map(|entry| (&entry.value, &entry.slots))
    }

    /// The values within bounds and their slots, in order; `None` if this index has no order.
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

    /// The slots of the known values of an object; none if the function fails on it.
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

    /// Takes a slot out of a value, or several.
    fn unlink(&mut self, places: &[Place]) {
        for &place in places {
            if let Some(moved) = self.values.unlink(place) {
                self.places.correct(moved, place);
            }
        }
    }

    /// Takes the slot at a position out of those left out.
    fn unleave(&mut self, position: u32) {
        if let Some(moved) = self.left_out.swap_remove(position) {
            self.places.set_left_out(moved, position);
        }
    }

    /// Enters an object into values; where it is already, it stays.
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
        let standing = slot.and_then(|slot| self.places.get(slot));
        let stood = matches!(standing, Some(Standing::In(_)));
        let places = standing.map_or(&[][..], Standing::places);
        let mut values = IndexValues::new(&self.values, places);
        let call = || self.definition.call(object, &mut values);
        match catch_unwind(AssertUnwindSafe(call)) {
            Ok(None) if stood && values.says_the_same() => {}
            Ok(None) => enter(Prepared::Values(values.found())),
            Ok(Some(message)) => enter(self.failed(key, message, false)),
            Err(panic) => enter(self.failed(key, panic_message(&*panic), true)),
        }
    }

    fn apply(&mut self, slot: u32, prepared: Prepared) {
        let result = match prepared {
            Prepared::Values(found) => Ok(found),
            Prepared::Failed(failure) => Err(failure),
        };
        let old = self.places.get(slot).unwrap_or(Standing::In(&[]));
        let left_out = match old {
            Standing::LeftOut { position } => Some(position),
            Standing::In(_) => None,
        };
        let old = SmallVec::<[Place; 2]>::from_slice(old.places());
        let stays = |place: &Place| {
            mutant!("store-index-keeps-old-values")
                || matches!(&result, Ok(found) if found.known.contains(&place.value))
        };
        let gone: SmallVec<[Place; 2]> = old.iter().filter(|p| !stays(p)).copied().collect();
        if let Some(position) = left_out {
            self.unleave(position);
        }
        self.unlink(&gone);
        match result {
            Ok(found) => self.link(slot, &old, found),
            Err(failure) => {
                self.failures += 1;
                self.last_failure = Some(Arc::new(*failure));
                self.places.set_left_out(slot, self.left_out.push(slot));
            }
        }
    }

    fn swap_remove(&mut self, slot: u32) {
        match self.places.get(slot) {
            None => return,
            Some(Standing::LeftOut { position }) => self.unleave(position),
            Some(Standing::In(places)) => {
                let places = SmallVec::<[Place; 2]>::from_slice(places);
                self.unlink(&places);
            }
        }
        self.places.swap_remove(slot);
        // What was the last slot lives here now.
        match self.places.get(slot) {
            Some(Standing::LeftOut { position }) => self.left_out.set(position, slot),
            Some(Standing::In(places)) if !mutant!("store-index-forgets-who-moved") => {
                places
                    .iter()
                    .for_each(|place| self.values.moved(*place, slot));
            }
            Some(Standing::In(_)) | None => {}
        }
    }

    fn touch(&self, slot: u32, touch: &mut dyn FnMut(Tag)) {
        let standing = self.places.get(slot).unwrap_or(Standing::In(&[]));
        for place in standing.places() {
            if let Some(entry) = self.values.entry(place.value) {
                touch(Tag::value(self.definition.tag(), entry.hash));
            }
        }
    }

    fn status(&self) -> IndexStatus {
        IndexStatus {
            name: Arc::clone(self.definition.name()),
            values: self.values.len(),
            left_out: self.left_out.len() as usize,
            failures: self.failures,
            last_failure: self.last_failure.as_deref().cloned(),
        }
    }

    fn left_out(&self) -> &Posting {
        &self.left_out
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

fn panic_message(panic: &(dyn Any + Send)) -> String {
    if let Some(text) = panic.downcast_ref::<&str>() {
        return (*text).to_owned();
    }
    match panic.downcast_ref::<String>() {
        Some(text) => text.clone(),
        None => "a panic without a message".to_owned(),
    }
}
