//! What an index function writes its values into.

use std::any::Any;
use std::borrow::Borrow;
use std::hash::Hash;
use std::sync::Arc;

use crate::index::entries::Values;
use crate::index::table::{Fresh, Prepared};
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
    pub(super) known: &'a Values<V>,
    /// The value that the object had so far: most often it has it still.
    pub(super) hint: Option<u32>,
    pub(super) found: Prepared,
}

impl<V> std::fmt::Debug for IndexValues<'_, V> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IndexValues")
            .field("found", &self.found.len())
            .finish_non_exhaustive()
    }
}

impl<V: Hash + Eq + Send + Sync + 'static> IndexValues<'_, V> {
    /// The object has this value. Saying it twice is the same as once.
    pub fn push<Q>(&mut self, value: &Q)
    where
        V: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = V> + ?Sized,
    {
        if let Some(hint) = self.hint
            && self.known.is(hint, value)
        {
            return self.found.add_known(hint);
        }
        let hash = hash_value(value);
        if let Some(id) = self.known.find(hash, value) {
            return self.found.add_known(id);
        }
        let is_it = |fresh: &Fresh| {
            fresh.hash == hash
                && fresh
                    .value
                    .downcast_ref::<V>()
                    .is_some_and(|known| known.borrow() == value)
        };
        if !self.found.fresh.iter().any(is_it) {
            let value = value.to_owned();
            self.known.rehearse(&value);
            let value: Arc<dyn Any + Send + Sync> = Arc::new(value);
            self.found.fresh.push(Fresh { hash, value });
        }
    }

    /// The object has all these values.
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

/// What an index function may return: nothing, or a `Result` whose error leaves the object out of the index.
pub trait IndexOutcome {
    /// The error's text, if the function failed.
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
