//! Waits for a store's state, and watches of it.

use std::borrow::Borrow;
use std::hash::Hash;

use crate::closed::Closed;
use crate::expectation::Expectation;
use crate::index::{Index, index_tag};
use crate::key::{KeyLike, hash_value};
use crate::object::Object;
use crate::store::StoreReader;
use crate::version::ResourceVersion;
use crate::watch::{StoreWatch, Tag};

/// Why a wait for a store cannot succeed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WaitError {
    /// The resource version is no number, or the store's is none, so that neither is known to be newer.
    #[error(
        "resource versions {wanted:?} and {present:?} cannot be compared; read from the server instead of waiting"
    )]
    NotComparable {
        /// The resource version that was waited for.
        wanted: String,
        /// That of the store or the object.
        present: Option<String>,
    },
    /// The store is closed: nothing feeds it any more.
    #[error("the store is closed and receives nothing more; wait on one whose informer runs")]
    Closed,
}

impl From<Closed> for WaitError {
    fn from(_: Closed) -> Self {
        Self::Closed
    }
}

impl<K: Object> StoreReader<K> {
    /// Waits until the store's resource version is this one or a newer one; returns at once if it is. What the server
    /// sent before that version is in the store then.
    ///
    /// This holds where resource versions are one rising history, as those of one resource of one Kubernetes API server
    /// are. Where they are not (an aggregated server that gathers several stores), it promises nothing: wait for the
    /// object by [`wait_for`](Self::wait_for) and [`Expectation::own_version_only`].
    ///
    /// Works on any async runtime. The wait only ends early if the store is [closed](crate::Store::close); wrap it in a
    /// timeout.
    ///
    /// # Cancellation safety
    /// Dropping the future loses nothing.
    ///
    /// # Errors
    /// If the resource version cannot be compared with the store's, or the store is closed.
    pub async fn wait_until(&self, resource_version: &ResourceVersion) -> Result<(), WaitError> {
        self.wait_for(&Expectation::version(resource_version.clone()))
            .await
    }

    /// Waits until the store has what is [expected](Expectation): an object in the version that was written or a newer
    /// one, a deletion, or a resource version. Returns at once if it has.
    ///
    /// Works on any async runtime. The wait only ends early if the store is [closed](crate::Store::close); wrap it in a
    /// timeout.
    ///
    /// # Cancellation safety
    /// Dropping the future loses nothing.
    ///
    /// # Errors
    /// At once if resource versions cannot be compared; if the store is closed.
    pub async fn wait_for(&self, expected: &Expectation) -> Result<(), WaitError> {
        loop {
            let published = self.shared.published.listen();
            if expected.is_met_by(&self.snapshot())? {
                return Ok(());
            }
            if self.shared.is_closed() {
                return Err(WaitError::Closed);
            }
            published.await;
        }
    }

    /// Watches the whole store: all that is published from now on, resource versions included.
    #[must_use]
    pub fn watch(&self) -> StoreWatch<K> {
        StoreWatch::of_store(self)
    }

    /// Watches the object of one key, whether or not there is one at present.
    #[must_use]
    pub fn watch_key<Q: KeyLike + ?Sized>(&self, key: &Q) -> StoreWatch<K> {
        StoreWatch::of_tag(self, Tag::key(key))
    }

    /// Watches the objects that have a value in an index: that one gets the value, loses it, or is written while it has
    /// it. The index may be added later.
    #[must_use]
    pub fn watch_index<V, Q>(&self, index: &Index<V>, value: &Q) -> StoreWatch<K>
    where
        V: Borrow<Q>,
        Q: Hash + ?Sized,
    {
        StoreWatch::of_tag(self, Tag::value(index_tag(index.name()), hash_value(value)))
    }
}
