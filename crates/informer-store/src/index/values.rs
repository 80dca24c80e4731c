//! The values that an index function gives of an object.

use std::any::Any;
use std::borrow::Borrow;
use std::hash::Hash;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::index::entries::Values;
use crate::index::places::Place;
use crate::key::hash_value;

/// Collects the index values of one object. A value the index already has is not copied.
///
/// ```
/// use informer_store::{IndexValues, Store};
/// # use k8s_openapi::api::core::v1::Pod;
/// let store: Store<Pod> = Store::new();
/// // One value, or none.
/// store.add_index("node", |pod: &Pod, values: &mut IndexValues<'_>| {
///     values.extend(pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()));
/// })?;
/// // Many values.
/// store.add_index("container", |pod: &Pod, values: &mut IndexValues<'_>| {
///     values.extend(pod.spec.iter().flat_map(|spec| &spec.containers).map(|c| c.name.as_str()));
/// })?;
/// # Ok::<(), informer_store::IndexError>(())
/// ```
pub struct IndexValues<'a, V: 'static = String> {
    known: &'a Values<V>,
    /// The places of the values that the object had: mostly it has them still.
    old: &'a [Place],
    given: Given,
}

/// The values that a function has given of an object.
enum Given {
    /// So many of the first of its old values, in their order, and nothing else.
    Old(usize),
    Other(Found),
}

/// Values of one object.
pub(crate) struct Found {
    /// Values the index has.
    pub(super) known: SmallVec<[u32; 2]>,
    /// Values it does not have yet.
    pub(super) fresh: Vec<Fresh>,
}

pub(crate) struct Fresh {
    pub(super) hash: u32,
    pub(super) value: Arc<dyn Any + Send + Sync>,
}

impl<V> std::fmt::Debug for IndexValues<'_, V> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let found = match &self.given {
            Given::Old(count) => *count,
            Given::Other(found) => found.known.len() + found.fresh.len(),
        };
        f.debug_struct("IndexValues")
            .field("found", &found)
            .finish_non_exhaustive()
    }
}

impl<'a, V> IndexValues<'a, V> {
    /// Of an object with these old places, in an index that has these values.
    pub(super) const fn new(known: &'a Values<V>, old: &'a [Place]) -> Self {
        Self {
            known,
            old,
            given: Given::Old(0),
        }
    }

    /// Returns `true` if the object has just its old values.
    #[inline]
    pub(super) const fn is_unchanged(&self) -> bool {
        matches!(self.given, Given::Old(count) if count == self.old.len())
    }

    /// Returns the values of the object.
    pub(super) fn found(self) -> Found {
        match self.given {
            Given::Old(count) => Found::old(&self.old[..count]),
            Given::Other(found) => found,
        }
    }
}

impl Found {
    fn old(places: &[Place]) -> Self {
        Self {
            known: places.iter().map(|place| place.value).collect(),
            fresh: Vec::new(),
        }
    }
}

impl<V: Hash + Eq + Send + Sync + 'static> IndexValues<'_, V> {
    /// Gives the object this value. Twice is the same as once.
    #[inline]
    pub fn push<Q>(&mut self, value: &Q)
    where
        V: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = V> + ?Sized,
    {
        if let Given::Old(count) = &mut self.given
            && let Some(next) = self.old.get(*count)
            && self.known.is(next.value, value)
        {
            *count += 1;
            return;
        }
        self.push_other(value);
    }

    /// Gives the object a value that is not the next of its old ones.
    fn push_other<Q>(&mut self, value: &Q)
    where
        V: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = V> + ?Sized,
    {
        let hash = hash_value(value);
        let id = self.known.find(hash, value);
        if let Given::Old(count) = self.given {
            let old = &self.old[..count];
            if old.iter().any(|place| Some(place.value) == id) {
                return;
            }
            self.given = Given::Other(Found::old(old));
        }
        let Given::Other(found) = &mut self.given else {
            return;
        };
        if let Some(id) = id {
            if !found.known.contains(&id) {
                found.known.push(id);
            }
            return;
        }
        let is_it = |fresh: &Fresh| {
            fresh.hash == hash
                && fresh
                    .value
                    .downcast_ref::<V>()
                    .is_some_and(|known| known.borrow() == value)
        };
        if !found.fresh.iter().any(is_it) {
            let value = value.to_owned();
            self.known.rehearse(&value);
            let value: Arc<dyn Any + Send + Sync> = Arc::new(value);
            found.fresh.push(Fresh { hash, value });
        }
    }

    /// Gives the object all these values.
    pub fn extend<'q, Q>(&mut self, values: impl IntoIterator<Item = &'q Q>)
    where
        V: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = V> + ?Sized + 'q,
    {
        for value in values {
            self.push(value);
        }
    }
}

/// The result of an index function: nothing, or a `Result` whose error leaves the object out of the index.
pub trait IndexOutcome {
    /// Returns the error's text, if the function failed.
    fn failure(self) -> Option<String>;
}

impl IndexOutcome for () {
    fn failure(self) -> Option<String> {
        None
    }
}

impl<E: std::fmt::Display> IndexOutcome for Result<(), E> {
    fn failure(self) -> Option<String> {
        self.err().map(|error| error.to_string())
    }
}
