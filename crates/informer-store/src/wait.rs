//! Waiting for a store to catch up.

use crate::object::Object;
use crate::store::Store;
use crate::version::ResourceVersion;

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
        loop {
            let published = self.shared.published.listen();
            if self.has_reached(resource_version)? {
                return Ok(());
            }
            if self.shared.is_closed() {
                return Err(WaitError::Closed);
            }
            published.await;
        }
    }

    fn has_reached(&self, wanted: &ResourceVersion) -> Result<bool, WaitError> {
        let present = self.resource_version();
        let not_comparable = || WaitError::NotComparable {
            wanted: wanted.to_string(),
            present: present.as_ref().map(ToString::to_string),
        };
        if !wanted.is_comparable() {
            return Err(not_comparable());
        }
        match &present {
            None => Ok(false),
            Some(present) => match present.compare(wanted) {
                Some(order) => Ok(order.is_ge()),
                None => Err(not_comparable()),
            },
        }
    }
}
