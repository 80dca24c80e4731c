//! Waiting for a store to catch up, or to change.

use std::borrow::Borrow;
use std::hash::Hash;

use crate::expectation::Expectation;
use crate::index::{Index, index_tag};
use crate::key::{KeyLike, hash_value};
use crate::object::Object;
use crate::store::Store;
use crate::version::ResourceVersion;
use crate::watch::{Tag, Watch};

/// Why a wait for a store cannot succeed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WaitError {
    /// The resource version is no number, or the store's is none, so that neither is known to be newer.
    #[error(
        "resource versions {wanted:?} and {present:?} cannot be compared; read from the server instead of waiting"
    )]
    NotComparable {
        /// What was waited for.
        wanted: String,
        /// What the store has.
        present: Option<String>,
    },
    /// Nothing feeds the store any more.
    #[error("the store is no longer fed; wait on one whose informer runs")]
    Closed,
}

impl<K: Object> Store<K> {
    /// Waits until the store has everything up to this resource version: what the server answered to a write is here
    /// then, if it matches what is watched. Resolves at once if it has. Works on any async runtime.
    ///
    /// The wait has no end of its own other than [`close`](Self::close); wrap it in a timeout.
    ///
    /// Dropping the future loses nothing.
    ///
    /// # Errors
    /// When the resource version cannot be compared with the store's, or the store is closed.
    pub async fn wait_until(&self, resource_version: &ResourceVersion) -> Result<(), WaitError> {
        self.wait_for(&Expectation::version(resource_version.clone()))
            .await
    }

    /// Waits until the store has what is [expected](Expectation): an object as it was written or newer, a deletion, or
    /// everything up to a version. Resolves at once if it has. Works on any async runtime.
    ///
    /// The wait has no end of its own other than [`close`](Self::close); wrap it in a timeout.
    ///
    /// Dropping the future loses nothing.
    ///
    /// # Errors
    /// At once when resource versions cannot be compared; when the store is closed.
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

    /// Watches the whole store: tells of everything that is published from now on, resource versions included.
    #[must_use]
    pub fn watch(&self) -> Watch<K> {
        Watch::of_store(self)
    }

    /// Watches the object of one key, whether or not there is one at present.
    #[must_use]
    pub fn watch_key<Q: KeyLike + ?Sized>(&self, key: &Q) -> Watch<K> {
        Watch::of_tag(self, Tag::key(key))
    }

    /// Watches the objects that have a value in an index: tells when one gets the value, loses it, or is written while
    /// it has it. The index may be added later.
    #[must_use]
    pub fn watch_index<V, Q>(&self, index: &Index<V>, value: &Q) -> Watch<K>
    where
        V: Borrow<Q>,
        Q: Hash + ?Sized,
    {
        Watch::of_tag(self, Tag::value(index_tag(index.name()), hash_value(value)))
    }
}
