//! What a reconciler receives and returns.

use std::error::Error as StdError;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use informer_client::Client;
use informer_store::ObjectKey;
use informer_workqueue::WorkResult;

use crate::writes::Writes;

/// An error of any type.
pub type BoxError = Box<dyn StdError + Send + Sync>;

/// A key to reconcile. It does not say what changed, on purpose: read the present state from the stores.
#[derive(Debug, Clone)]
#[non_exhaustive]
#[doc(alias = "reconcile.Request")]
pub struct ReconcileRequest {
    /// The object's key. The object may be deleted.
    pub key: ObjectKey,
    /// How often this key has failed since its last success.
    pub failures: u32,
    writes: Arc<Writes>,
}

impl ReconcileRequest {
    pub(crate) const fn new(key: ObjectKey, failures: u32, writes: Arc<Writes>) -> Self {
        Self {
            key,
            failures,
            writes,
        }
    }

    /// Returns this client with a memory: what an [`Api`](informer_client::Api) or a [`Finalizer`](crate::Finalizer) of it
    /// writes is waited for, deletes too. The key is reconciled again once the caches of all informers that the controller
    /// watches have it, so never on a state without its own writes; until then it holds no worker.
    ///
    /// Not waited for are objects that none of these informers lists (by resource and namespace), dry runs, requests by
    /// [`Client::request`], and writes without a response, which may have happened or not.
    ///
    /// A cache that lacks a write for [a time](crate::Controller::write_deadline) is compared with the server: the key goes
    /// on if the cache has what the server has, such as nothing, and waits on otherwise, up to seven times as long. It then
    /// goes on with a warning. That is so for an object that an informer's selectors exclude, unless a bookmark
    /// of the server, sent about each minute, comes first.
    ///
    /// ```
    /// use informer_client::{Api, Client};
    /// use informer_controller::{Action, ReconcileError, ReconcileRequest};
    /// use k8s_openapi::api::core::v1::ConfigMap;
    ///
    /// async fn reconcile(client: Client, request: ReconcileRequest) -> Result<Action, ReconcileError> {
    ///     let maps = Api::<ConfigMap>::namespaced(request.client(&client), "shop");
    ///     maps.create(&ConfigMap::default()).await?;
    ///     Ok(Action::Done)
    /// }
    /// ```
    #[must_use]
    pub fn client(&self, client: &Client) -> Client {
        self.writes.client(&self.key, client)
    }
}

impl Deref for ReconcileRequest {
    type Target = ObjectKey;

    fn deref(&self) -> &ObjectKey {
        &self.key
    }
}

/// The shortest time until a key is reconciled again: a delay that was computed as zero must not spin.
const MIN_DELAY: Duration = Duration::from_millis(100);

/// What to do with a key after a reconcile without an error. What an earlier reconcile of the key asked for is void.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[doc(alias = "reconcile.Result")]
#[must_use = "it does nothing unless a reconcile returns it"]
pub enum Action {
    /// Reconcile it at its next event.
    Done,
    /// Reconcile it again after this time, at least 100 ms, or at its next event.
    RequeueAfter(Duration),
    /// Reconcile it again with the backoff of a failure.
    Requeue,
}

/// Why a reconcile failed, and whether it is retried.
///
/// Every error converts into one that is retried with backoff; if an API server asked to wait, after that time.
///
/// ```
/// use informer_controller::{Action, ReconcileError};
///
/// fn reconcile(size: &str) -> Result<Action, ReconcileError> {
///     // Only a change of the object helps, and that queues the key again.
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
    /// A concurrent write came first: expected, and soon over.
    Conflict,
    After(Duration),
    Never,
}

impl ReconcileError {
    /// Makes an error that is not retried: the key is reconciled at its next event.
    #[doc(alias = "TerminalError")]
    pub fn terminal(error: impl Into<BoxError>) -> Self {
        Self {
            source: error.into(),
            retry: Retry::Never,
        }
    }

    /// Makes an error after which the key is retried after this time, at least 100 ms.
    pub fn retry_after(error: impl Into<BoxError>, delay: Duration) -> Self {
        Self {
            source: error.into(),
            retry: Retry::After(delay),
        }
    }

    /// Returns the error.
    #[must_use]
    pub fn error(&self) -> &(dyn StdError + Send + Sync + 'static) {
        &*self.source
    }

    /// Returns `true` if it is not retried.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        self.retry == Retry::Never
    }

    /// Returns `true` if it is a conflict with a concurrent write.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        self.retry == Retry::Conflict
    }

    pub(crate) fn outcome(&self) -> WorkResult {
        match self.retry {
            Retry::Backoff | Retry::Conflict => WorkResult::Retry,
            Retry::After(delay) => WorkResult::RetryAfter(delay.max(MIN_DELAY)),
            Retry::Never => WorkResult::GiveUp,
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

/// Finds the response of an API server among the causes of an error.
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
    pub(crate) fn outcome(self) -> WorkResult {
        match self {
            Self::Done => WorkResult::Success,
            Self::RequeueAfter(delay) => WorkResult::SuccessFor(delay.max(MIN_DELAY)),
            Self::Requeue => WorkResult::Retry,
        }
    }
}
