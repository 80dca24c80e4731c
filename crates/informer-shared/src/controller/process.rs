//! What a controller does with the batches that it takes out of its queue.

use std::error::Error as StdError;
use std::fmt;
use std::future::Future;

use informer_delta_fifo::{Batch, KeyDeltas};
use informer_store::{Object, ObjectKey};

use crate::error::RunError;
use crate::handler::{BoxError, HandlerOutcome};

/// Applies batches: the part of a controller that is its user's.
///
/// A function from a batch to a `Result` is one; [`ProcessEach`] makes one of a function for single keys.
#[doc(alias = "ProcessFunc")]
#[doc(alias = "ProcessBatchFunc")]
pub trait Process<K: Object>: Send + 'static {
    /// Applies a batch. The next one comes only after this has returned. If it panics or is dropped, the batch
    /// returns to the queue.
    ///
    /// # Errors
    /// The keys that could not be applied, and why. The rest of the batch counts as applied.
    fn process(&mut self, batch: &Batch<K>) -> impl Future<Output = Result<(), Failures>> + Send;

    /// Whatever else is to be done between two batches. It is dropped whenever a batch is there, so it must lose
    /// nothing at its await points. By default there is nothing.
    ///
    /// # Errors
    /// Why the controller is to end.
    fn between(&mut self) -> impl Future<Output = Result<(), RunError>> + Send {
        std::future::pending()
    }

    /// Hears, once, that the first list was applied.
    fn synced(&mut self) {}
}

impl<K, F, E> Process<K> for F
where
    K: Object,
    F: FnMut(&Batch<K>) -> Result<(), E> + Send + 'static,
    E: Into<Failures>,
{
    async fn process(&mut self, batch: &Batch<K>) -> Result<(), Failures> {
        self(batch).map_err(Into::into)
    }
}

/// Applies a batch key by key, with a function that hears of one key, everything that happened to it, and whether this
/// belongs to the first list.
#[doc(alias = "PopProcessFunc")]
pub struct ProcessEach<F>(F);

impl<F> ProcessEach<F> {
    /// Calls this function for each key, in order. It may return nothing or a `Result`.
    pub const fn new<K, R>(process: F) -> Self
    where
        F: FnMut(KeyDeltas<'_, K>, bool) -> R + Send + 'static,
        R: HandlerOutcome,
    {
        Self(process)
    }
}

impl<K, F, R> Process<K> for ProcessEach<F>
where
    K: Object,
    F: FnMut(KeyDeltas<'_, K>, bool) -> R + Send + 'static,
    R: HandlerOutcome,
{
    async fn process(&mut self, batch: &Batch<K>) -> Result<(), Failures> {
        let mut failures = Failures::new();
        for deltas in batch.iter() {
            let key = deltas.key();
            if let Err(error) = self.0(deltas, batch.is_initial()).into_result() {
                failures.push(key.clone(), error);
            }
        }
        failures.into_result()
    }
}

impl<F> fmt::Debug for ProcessEach<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProcessEach").finish_non_exhaustive()
    }
}

/// The keys of a batch that could not be applied, and why.
#[derive(Debug, Default)]
#[doc(alias = "TransactionError")]
pub struct Failures(Vec<(ObjectKey, BoxError)>);

impl Failures {
    /// None so far.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// This key could not be applied.
    pub fn push(&mut self, key: ObjectKey, error: impl Into<BoxError>) {
        self.0.push((key, error.into()));
    }

    /// True if every key was applied.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Each key, with the reason.
    pub fn iter(
        &self,
    ) -> impl Iterator<Item = (&ObjectKey, &(dyn StdError + Send + Sync + 'static))> {
        self.0.iter().map(|(key, error)| (key, &**error))
    }

    /// `Ok` if there are none.
    ///
    /// # Errors
    /// These, if there are any.
    pub fn into_result(self) -> Result<(), Self> {
        if self.is_empty() { Ok(()) } else { Err(self) }
    }
}

impl fmt::Display for Failures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.first() {
            Some((key, _)) => write!(
                f,
                "{} keys could not be applied, the first is {key}",
                self.len()
            ),
            None => f.write_str("every key was applied"),
        }
    }
}

impl StdError for Failures {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.first().map(|(_, error)| &**error as _)
    }
}
