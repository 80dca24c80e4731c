//! What a process loop does with the batches that it pops.

use std::error::Error as StdError;
use std::fmt;
use std::future::Future;

use informer_delta_fifo::Batch;
use informer_store::{Object, ObjectKey};

use crate::error::{BoxError, RunError};

/// Applies batches: the part of a process loop that is its user's.
///
/// A function from a batch to a `Result` is one, where its error converts to [`FailedKeys`].
#[doc(alias = "ProcessFunc")]
#[doc(alias = "ProcessBatchFunc")]
#[doc(alias = "PopProcessFunc")]
pub trait Process<K: Object>: Send + 'static {
    /// Applies a batch. The next one follows only after this has returned. If it panics or is dropped, the batch is
    /// requeued.
    ///
    /// # Errors
    /// The keys that could not be applied, and why: they are requeued. The rest of the batch counts as applied.
    fn process(&mut self, batch: &Batch<K>) -> impl Future<Output = Result<(), FailedKeys>> + Send;

    /// Does whatever else is to be done between two batches. It is dropped whenever a batch is queued, so it must lose
    /// nothing at its await points; once it has returned, it is called again after the next batch. By default there is
    /// nothing.
    ///
    /// # Errors
    /// Why the loop is to end.
    fn between(&mut self) -> impl Future<Output = Result<(), RunError>> + Send {
        std::future::pending()
    }

    /// Called once, when the first list was applied.
    fn synced(&mut self) {}
}

impl<K, F, E> Process<K> for F
where
    K: Object,
    F: FnMut(&Batch<K>) -> Result<(), E> + Send + 'static,
    E: Into<FailedKeys>,
{
    async fn process(&mut self, batch: &Batch<K>) -> Result<(), FailedKeys> {
        self(batch).map_err(Into::into)
    }
}

/// The keys of a batch that could not be applied, and why.
///
/// ```
/// use informer_shared::FailedKeys;
/// use informer_store::ObjectKey;
///
/// let mut failed = FailedKeys::new();
/// failed.push(ObjectKey::namespaced("shop", "cart"), "the disk is full");
/// assert_eq!(failed.to_string(), "cannot apply deltas of shop/cart");
/// assert!(failed.into_result().is_err());
/// ```
#[derive(Debug, Default)]
#[doc(alias = "TransactionError")]
pub struct FailedKeys(Vec<(ObjectKey, BoxError)>);

impl FailedKeys {
    /// Makes an empty list.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds a key that could not be applied.
    pub fn push(&mut self, key: ObjectKey, error: impl Into<BoxError>) {
        self.0.push((key, error.into()));
    }

    /// Returns `true` if every key was applied.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of keys.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns each key with its error.
    pub fn iter(
        &self,
    ) -> impl Iterator<Item = (&ObjectKey, &(dyn StdError + Send + Sync + 'static))> {
        self.0.iter().map(|(key, error)| (key, &**error))
    }

    /// Converts into a `Result`: `Ok` if there are none.
    ///
    /// # Errors
    /// These keys, if there are any.
    pub fn into_result(self) -> Result<(), Self> {
        if self.is_empty() { Ok(()) } else { Err(self) }
    }
}

impl fmt::Display for FailedKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0[..] {
            [] => f.write_str("all deltas are applied"),
            [(key, _)] => write!(f, "cannot apply deltas of {key}"),
            [(key, _), others @ ..] => {
                write!(
                    f,
                    "cannot apply deltas of {key} and {} others",
                    others.len()
                )
            }
        }
    }
}

impl StdError for FailedKeys {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.first().map(|(_, error)| &**error as _)
    }
}
