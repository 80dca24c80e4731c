//! What a reconciler is given, and what it answers.

use std::error::Error as StdError;
use std::fmt;
use std::ops::Deref;
use std::time::Duration;

use informer_store::ObjectKey;
use informer_workqueue::Outcome;

/// Any error of a user's.
pub type BoxError = Box<dyn StdError + Send + Sync>;

/// A key to bring in order. What has changed is not said, on purpose: look at what is, in the stores, and act on that.
#[derive(Debug, Clone)]
#[non_exhaustive]
#[doc(alias = "reconcile.Request")]
pub struct Request {
    /// Which object. It may be gone.
    pub key: ObjectKey,
    /// How often this key has failed since it last went well.
    pub failures: u32,
}

impl Request {
    pub(crate) const fn new(key: ObjectKey, failures: u32) -> Self {
        Self { key, failures }
    }
}

impl Deref for Request {
    type Target = ObjectKey;

    fn deref(&self) -> &ObjectKey {
        &self.key
    }
}

/// What is to happen with a key that was reconciled without an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[doc(alias = "reconcile.Result")]
pub enum Action {
    /// Nothing, until something changes.
    Done,
    /// Look again after this time, or when something changes.
    RequeueAfter(Duration),
    /// Look again soon, with the backoff of an error, but without one.
    Requeue,
}

/// Why a key could not be reconciled, and whether it is tried again.
///
/// Every error turns into one that is tried again, with backoff. One of the API server's that asks to wait is waited for.
///
/// ```
/// use informer_controller::{Action, ReconcileError};
///
/// fn reconcile(size: &str) -> Result<Action, ReconcileError> {
///     // Nothing but a change of the object helps here, and that brings the key back.
///     let size: u32 = size.parse().map_err(ReconcileError::terminal)?;
///     std::fs::create_dir_all("/tmp")?;
///     Ok(Action::Done)
/// }
/// # assert!(reconcile("7").is_ok() && reconcile("x").is_err());
/// ```
#[derive(Debug)]
pub struct ReconcileError {
    source: BoxError,
    retry: Retry,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Retry {
    Backoff,
    /// Another wrote the object first: expected, and soon over.
    Conflict,
    After(Duration),
    Never,
}

impl ReconcileError {
    /// An error that trying again does not help: the key is left until something changes.
    #[doc(alias = "TerminalError")]
    pub fn terminal(error: impl Into<BoxError>) -> Self {
        Self {
            source: error.into(),
            retry: Retry::Never,
        }
    }

    /// An error after which the key is tried again after this time.
    pub fn retry_after(error: impl Into<BoxError>, delay: Duration) -> Self {
        Self {
            source: error.into(),
            retry: Retry::After(delay),
        }
    }

    /// The error.
    #[must_use]
    pub fn error(&self) -> &(dyn StdError + Send + Sync + 'static) {
        &*self.source
    }

    /// True if it is not tried again.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        self.retry == Retry::Never
    }

    /// True if another wrote the object first.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        self.retry == Retry::Conflict
    }

    pub(crate) const fn outcome(&self) -> Outcome {
        match self.retry {
            Retry::Backoff | Retry::Conflict => Outcome::Retry,
            Retry::After(delay) => Outcome::RetryAfter(delay),
            Retry::Never => Outcome::GiveUp,
        }
    }
}

impl<E: StdError + Send + Sync + 'static> From<E> for ReconcileError {
    fn from(error: E) -> Self {
        let retry = match find(&error) {
            Some(error) if error.is_conflict() => Retry::Conflict,
            Some(error) => error.retry_after().map_or(Retry::Backoff, Retry::After),
            None => Retry::Backoff,
        };
        Self {
            source: Box::new(error),
            retry,
        }
    }
}

/// The answer of an API server among the causes of an error.
fn find<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a informer_client::Error> {
    let mut next: Option<&'a (dyn StdError + 'static)> = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        next = error.source();
    }
    None
}

impl fmt::Display for ReconcileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.source.fmt(f)
    }
}

impl Action {
    pub(crate) const fn outcome(self) -> Outcome {
        match self {
            Self::Done => Outcome::Success,
            Self::RequeueAfter(delay) => Outcome::SuccessFor(delay),
            Self::Requeue => Outcome::Retry,
        }
    }
}
