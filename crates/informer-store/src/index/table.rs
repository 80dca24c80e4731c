//! One index over the slots of a store.

use std::any::Any;
use std::borrow::Borrow;
use std::hash::Hash;
use std::ops::RangeBounds;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use smallvec::SmallVec;

use crate::index::definition::Definition;
use crate::index::entries::{Place, Values};
use crate::index::error::{IndexFailure, IndexStatus};
use crate::index::ordered::OrderedValues;
use crate::index::values::IndexValues;
use crate::key::ObjectKey;
use crate::object::Object;
use crate::pages::PagedVec;
use crate::posting::Posting;
use crate::watch::Tag;

/// What a store knows of an index, whatever its values are.
pub(crate) trait Table<K>: Send + Sync {
    fn name(&self) -> &Arc<str>;
    /// Asks the function for the values of an object that lives, or will live, in this slot. Changes nothing.
    fn prepare(&self, slot: Option<u32>, key: &ObjectKey, object: &K) -> Prepared;
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

/// The values of one object, ready to be entered.
#[derive(Default)]
pub(crate) struct Prepared {
    /// Values the index has.
    known: SmallVec<[u32; 2]>,
    /// Values it does not have yet.
    pub(super) fresh: Vec<Fresh>,
    failure: Option<Box<IndexFailure>>,
}

pub(crate) struct Fresh {
    pub(super) hash: u32,
    pub(super) value: Arc<dyn Any + Send + Sync>,
}

impl Prepared {
    pub(super) fn add_known(&mut self, id: u32) {
        if !self.known.contains(&id) {
            self.known.push(id);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.known.len() + self.fresh.len()
    }

    pub(crate) fn failure(&self) -> Option<&IndexFailure> {
        self.failure.as_deref()
    }
}

/// Where an object stands in an index: in which values, and at which position of each.
#[derive(Clone)]
enum Places {
    None,
    One(Place),
    Many(triomphe::Arc<Vec<Place>>),
    LeftOut { position: u32 },
}

impl Places {
    fn as_slice(&self) -> &[Place] {
        match self {
            Self::One(place) => std::slice::from_ref(place),
            Self::Many(places) => places,
            Self::None | Self::LeftOut { .. } => &[],
        }
    }

    fn from_places(places: &[Place]) -> Self {
        match places {
            [] => Self::None,
            [place] => Self::One(*place),
            many => Self::Many(triomphe::Arc::new(many.to_vec())),
        }
    }
}

/// An index whose values are of type `V`.
pub(crate) struct TableOf<K, V: 'static> {
    definition: Arc<Definition<K, V>>,
    values: Values<V>,
    /// By slot.
    places: PagedVec<Places, 8>,
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
            places: PagedVec::default(),
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
        let id = self.values.find(crate::key::hash_value(value), value)?;
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

    /// The slots of the values that were prepared and are known.
    pub(crate) fn postings_of<'a>(
        &'a self,
        prepared: &'a Prepared,
    ) -> impl Iterator<Item = &'a Posting> {
        prepared
            .known
            .iter()
            .filter_map(|&id| self.values.entry(id))
            .map(|entry| &entry.slots)
    }

    /// Takes an object out of all values, and out of those left out.
    fn unlink_all(&mut self, places: &Places) {
        for &place in places.as_slice() {
            self.unlink(place);
        }
        if let Places::LeftOut { position } = *places
            && let Some(moved) = self.left_out.swap_remove(position)
            && let Some(places) = self.places.get_mut(moved)
        {
            *places = Places::LeftOut { position };
        }
    }

    fn unlink(&mut self, place: Place) {
        let Some(moved) = self.values.unlink(place) else {
            return;
        };
        self.correct(moved, |other| {
            if other.value == place.value {
                other.position = place.position;
            }
        });
    }

    fn correct(&mut self, slot: u32, mut change: impl FnMut(&mut Place)) {
        match self.places.get_mut(slot) {
            Some(Places::One(place)) => change(place),
            Some(Places::Many(places)) => {
                triomphe::Arc::make_mut(places).iter_mut().for_each(change);
            }
            Some(Places::None | Places::LeftOut { .. }) | None => {}
        }
    }

    /// True if the object has exactly these values already.
    fn is_unchanged(&self, slot: u32, prepared: &Prepared) -> bool {
        let Some(places) = self.places.get(slot) else {
            return false;
        };
        prepared.failure.is_none()
            && prepared.fresh.is_empty()
            && !matches!(places, Places::LeftOut { .. })
            && places
                .as_slice()
                .iter()
                .map(|place| place.value)
                .eq(prepared.known.iter().copied())
    }

    fn leave_out(&mut self, slot: u32, failure: IndexFailure) -> Places {
        self.failures += 1;
        self.last_failure = Some(Arc::new(failure));
        Places::LeftOut {
            position: self.left_out.push(slot),
        }
    }

    /// Enters an object into values; where it is already, it stays.
    fn link_all(&mut self, slot: u32, old: &Places, prepared: Prepared) -> Places {
        let stays = |id: u32| {
            old.as_slice()
                .iter()
                .find(|place| place.value == id)
                .copied()
        };
        let mut places = SmallVec::<[Place; 2]>::new();
        for &id in &prepared.known {
            let place = stays(id).unwrap_or_else(|| self.values.link(id, slot));
            places.push(place);
        }
        for fresh in prepared.fresh {
            let Ok(value) = fresh.value.downcast::<V>() else {
                continue;
            };
            let id = self.values.add(fresh.hash, value);
            places.push(self.values.link(id, slot));
        }
        Places::from_places(&places)
    }
}

impl<K: Object, V: Hash + Eq + Send + Sync + 'static> Table<K> for TableOf<K, V> {
    fn name(&self) -> &Arc<str> {
        self.definition.name()
    }

    fn prepare(&self, slot: Option<u32>, key: &ObjectKey, object: &K) -> Prepared {
        let hint = slot.and_then(|slot| self.places.get(slot)?.as_slice().first());
        let mut values = IndexValues {
            known: &self.values,
            hint: hint.map(|place| place.value),
            found: Prepared::default(),
        };
        let call = || self.definition.call(object, &mut values);
        let (message, panicked) = match catch_unwind(AssertUnwindSafe(call)) {
            Ok(None) => return values.found,
            Ok(Some(message)) => (message, false),
            Err(panic) => (panic_message(&*panic), true),
        };
        let failure = IndexFailure {
            index: Arc::clone(self.definition.name()),
            key: key.clone(),
            message: Arc::from(message),
            panicked,
        };
        Prepared {
            failure: Some(Box::new(failure)),
            ..Prepared::default()
        }
    }

    fn apply(&mut self, slot: u32, mut prepared: Prepared) {
        if self.is_unchanged(slot, &prepared) {
            return;
        }
        let is_new = slot == self.places.len();
        let old = self.places.get(slot).cloned().unwrap_or(Places::None);
        let gone: SmallVec<[Place; 2]> = (old.as_slice().iter())
            .filter(|place| prepared.failure.is_some() || !prepared.known.contains(&place.value))
            .copied()
            .collect();
        if matches!(old, Places::LeftOut { .. }) {
            self.unlink_all(&old);
        }
        for place in gone {
            self.unlink(place);
        }
        let places = match prepared.failure.take() {
            Some(failure) => self.leave_out(slot, *failure),
            None => self.link_all(slot, &old, prepared),
        };
        if is_new {
            self.places.push(places);
        } else if let Some(old) = self.places.get_mut(slot) {
            *old = places;
        }
    }

    fn swap_remove(&mut self, slot: u32) {
        let Some(places) = self.places.get(slot).cloned() else {
            return;
        };
        self.unlink_all(&places);
        self.places.swap_remove(slot);
        // What was the last slot lives here now.
        match self.places.get(slot) {
            Some(Places::LeftOut { position }) => self.left_out.set(*position, slot),
            Some(moved) => {
                moved
                    .as_slice()
                    .iter()
                    .for_each(|place| self.values.moved(*place, slot));
            }
            None => {}
        }
    }

    fn touch(&self, slot: u32, touch: &mut dyn FnMut(Tag)) {
        for place in self.places.get(slot).map_or(&[][..], Places::as_slice) {
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
