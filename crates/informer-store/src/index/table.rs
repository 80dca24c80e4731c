//! One index over the slots of a store.

use std::any::Any;
use std::borrow::Borrow;
use std::hash::Hash;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use smallvec::SmallVec;

use crate::directory::Directory;
use crate::index::definition::Definition;
use crate::index::error::{IndexFailure, IndexStatus};
use crate::index::values::IndexValues;
use crate::key::ObjectKey;
use crate::object::Object;
use crate::pages::PagedVec;
use crate::posting::Posting;

/// What a store knows of an index, whatever its values are.
pub(crate) trait Table<K>: Send + Sync {
    fn name(&self) -> &Arc<str>;
    /// Asks the function for the values of an object that lives, or will live, in this slot. Changes nothing.
    fn prepare(&self, slot: Option<u32>, key: &ObjectKey, object: &K) -> Prepared;
    /// Enters what was prepared for the object in an old slot, or in the next one.
    fn apply(&mut self, slot: u32, prepared: Prepared);
    /// Takes a slot out; the last slot moves there.
    fn swap_remove(&mut self, slot: u32);
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
}

/// Where an object stands in an index: in which values, and at which position of each.
#[derive(Clone)]
enum Places {
    None,
    One(Place),
    Many(triomphe::Arc<Vec<Place>>),
    LeftOut { position: u32 },
}

#[derive(Clone, Copy)]
struct Place {
    value: u32,
    position: u32,
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

/// The values of an index and the slots that have them.
pub(crate) struct Values<V> {
    by_value: Directory,
    entries: PagedVec<Option<Entry<V>>, 4>,
    /// Numbers of entries that may be free; those at the end are cut off instead.
    free: PagedVec<u32, 32>,
    live: u32,
}

struct Entry<V> {
    value: Arc<V>,
    hash: u32,
    slots: Posting,
}

impl<V> Clone for Entry<V> {
    fn clone(&self) -> Self {
        Self {
            value: Arc::clone(&self.value),
            hash: self.hash,
            slots: self.slots.clone(),
        }
    }
}

impl<V> Clone for Values<V> {
    fn clone(&self) -> Self {
        Self {
            by_value: self.by_value.clone(),
            entries: self.entries.clone(),
            free: self.free.clone(),
            live: self.live,
        }
    }
}

impl<V> Default for Values<V> {
    fn default() -> Self {
        Self {
            by_value: Directory::default(),
            entries: PagedVec::default(),
            free: PagedVec::default(),
            live: 0,
        }
    }
}

impl<V> Values<V> {
    fn entry(&self, id: u32) -> Option<&Entry<V>> {
        self.entries.get(id)?.as_ref()
    }

    /// True if entry `id` is of this value.
    pub(super) fn is<Q>(&self, id: u32, value: &Q) -> bool
    where
        V: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        self.entry(id)
            .is_some_and(|entry| (*entry.value).borrow() == value)
    }

    pub(super) fn find<Q>(&self, hash: u32, value: &Q) -> Option<u32>
    where
        V: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        self.by_value.find(hash, |id| self.is(id, value))
    }

    fn add(&mut self, hash: u32, value: Arc<V>) -> u32 {
        let entry = Some(Entry {
            value,
            hash,
            slots: Posting::default(),
        });
        self.live += 1;
        while let Some(id) = self.free.pop() {
            if let Some(free @ None) = self.entries.get_mut(id) {
                *free = entry;
                self.by_value.insert(hash, id);
                return id;
            }
        }
        let id = self.entries.push(entry);
        self.by_value.insert(hash, id);
        id
    }

    fn link(&mut self, id: u32, slot: u32) -> Place {
        let slots = self
            .entries
            .get_mut(id)
            .and_then(Option::as_mut)
            .map(|entry| &mut entry.slots);
        Place {
            value: id,
            position: slots.map_or(0, |slots| slots.push(slot)),
        }
    }

    /// Takes a slot out of a value, and the value out if it was its last. Returns the slot that moved there.
    fn unlink(&mut self, place: Place) -> Option<u32> {
        let entry = self.entries.get_mut(place.value)?.as_mut()?;
        let moved = entry.slots.swap_remove(place.position);
        if entry.slots.is_empty() {
            let hash = entry.hash;
            self.by_value.remove(hash, place.value);
            self.release(place.value);
        }
        moved
    }

    fn release(&mut self, id: u32) {
        self.live -= 1;
        if self.live == 0 {
            *self = Self::default();
            return;
        }
        if let Some(entry) = self.entries.get_mut(id) {
            *entry = None;
        }
        if id + 1 < self.entries.len() {
            self.free.push(id);
            return;
        }
        while !self.entries.is_empty() && self.entry(self.entries.len() - 1).is_none() {
            self.entries.pop();
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
            definition,
            values: Values::default(),
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
        self.values
            .entries
            .iter()
            .flatten()
            .map(|entry| (&entry.value, &entry.slots))
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
                for place in moved.as_slice() {
                    let entry = self
                        .values
                        .entries
                        .get_mut(place.value)
                        .and_then(Option::as_mut);
                    if let Some(entry) = entry {
                        entry.slots.set(place.position, slot);
                    }
                }
            }
            None => {}
        }
    }

    fn status(&self) -> IndexStatus {
        IndexStatus {
            name: Arc::clone(self.definition.name()),
            values: self.values.live as usize,
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
