//! The controller: sources in, a queue, workers that reconcile.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, select_all, try_join_all};
use informer_shared::{InformerStopped, Registration, SyncError};
use informer_store::{Object, ObjectKey};
use informer_workqueue::{Config as QueueConfig, Outcome, WorkQueue};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::reconcile::{Action, ReconcileError, Request};
use crate::source::Source;

/// How long running reconciles may take to end after a stop, unless said otherwise.
const GRACE: Duration = Duration::from_secs(30);

type Wait = Box<dyn Fn() -> BoxFuture<'static, Result<(), SyncError>> + Send + Sync>;
type End = Box<dyn Fn() -> BoxFuture<'static, Arc<str>> + Send + Sync>;

/// Brings keys in order: informers say which, workers do it.
///
/// Sources feed its queue from the moment that they are watched, so that a controller that waits to lead has its work
/// ready. Workers begin with [`run`](Self::run), once all caches are filled. No two work on one key at once.
///
/// See the [crate's documentation](crate) for an example.
pub struct Controller {
    name: Arc<str>,
    queue: WorkQueue<ObjectKey>,
    workers: usize,
    grace: Duration,
    sources: Vec<Watched>,
}

/// A source at work.
struct Watched {
    synced: Wait,
    stopped: End,
    /// Dropped with the controller, which ends the feeding.
    registration: Registration,
}

/// Why a controller ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ControllerError {
    /// A cache was not filled.
    #[error("a cache of the controller {controller} was not filled")]
    NotSynced {
        /// Which controller.
        controller: Arc<str>,
        /// Why not.
        source: SyncError,
    },
    /// An informer stopped under the controller's feet: its work would be decided by a cache that no longer follows.
    #[error("the informer of {informer} has stopped, so the controller {controller} cannot go on")]
    InformerStopped {
        /// Which controller.
        controller: Arc<str>,
        /// Of what the informer was.
        informer: Arc<str>,
    },
}

impl Controller {
    /// A controller with one worker, and the default queue. The name appears in logs and statuses.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self::with_queue(name, WorkQueue::with_config(QueueConfig::new()))
    }

    /// A controller on a queue of your own: with another rate limiter, or metrics.
    #[must_use]
    pub fn with_queue(name: &str, queue: WorkQueue<ObjectKey>) -> Self {
        Self {
            name: name.into(),
            queue,
            workers: 1,
            grace: GRACE,
            sources: Vec::new(),
        }
    }

    /// How many keys are reconciled at once. The default is 1.
    #[must_use]
    #[doc(alias = "MaxConcurrentReconciles")]
    pub const fn workers(mut self, workers: usize) -> Self {
        self.workers = workers;
        self
    }

    /// How long running reconciles may take to end after a stop; then they are dropped. The default is 30 s.
    #[must_use]
    pub const fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Feeds keys from a source, from now on.
    ///
    /// # Errors
    /// When its informer has stopped.
    pub fn watch<K: Object>(mut self, source: Source<K>) -> Result<Self, InformerStopped> {
        let (to_sync, to_stop) = (source.informer().clone(), source.informer().clone());
        let registration = source.feed(&self.name, self.queue.clone())?;
        self.sources.push(Watched {
            synced: Box::new(move || to_sync.synced().into_future().boxed()),
            stopped: Box::new(move || {
                let informer = to_stop.clone();
                async move {
                    // Why is the business of whoever runs the informer.
                    let _ = informer.stopped().await;
                    informer.name().into()
                }
                .boxed()
            }),
            registration,
        });
        Ok(self)
    }

    /// The queue, to add keys by hand and to read what it holds.
    #[must_use]
    pub const fn queue(&self) -> &WorkQueue<ObjectKey> {
        &self.queue
    }

    /// Waits for all caches and for all handlers to have heard of them, then reconciles until it is stopped. Then no key
    /// is begun any more, and those that are worked on have the [grace](Self::grace) to end.
    ///
    /// `reconcile` is asked for one key at a time and worker; it must be able to meet the same state twice, and what a
    /// run before it left half done. Its errors and panics are logged, and its key is tried again with backoff.
    ///
    /// # Cancellation
    /// Dropping the future drops the reconciles that run.
    ///
    /// # Errors
    /// When an informer stops before the controller does.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub async fn run<F, R>(
        self,
        stop: &CancellationToken,
        reconcile: F,
    ) -> Result<(), ControllerError>
    where
        F: Fn(Request) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Action, ReconcileError>> + Send,
    {
        let Some(synced) = stop.run_until_cancelled(self.synced()).await else {
            return Ok(());
        };
        synced?;
        tracing::info!(
            controller = &*self.name,
            workers = self.workers,
            "reconciling"
        );
        let (name, queue) = (Arc::clone(&self.name), self.queue.clone());
        let reconcile = Arc::new(reconcile);
        let handler = move |key: ObjectKey| {
            let (name, reconcile) = (Arc::clone(&name), Arc::clone(&reconcile));
            let failures = queue.failures(&key);
            let request = Request::new(key, failures);
            async move { one(&name, &*reconcile, request).await }
        };
        let mut workers = pin!(self.queue.run_workers(self.workers, handler));
        let ended = tokio::select! {
            () = &mut workers => Ok(()),
            () = stop.cancelled() => Ok(()),
            informer = self.informer_stopped() => Err(ControllerError::InformerStopped {
                controller: Arc::clone(&self.name),
                informer,
            }),
        };
        self.queue.shut_down();
        self.queue.clear();
        if tokio::time::timeout(self.grace, workers).await.is_err() {
            tracing::warn!(controller = &*self.name, "reconciles did not end in time");
        }
        ended
    }

    /// Waits until all caches are filled and all handlers have heard of them.
    async fn synced(&self) -> Result<(), ControllerError> {
        let not_synced = |source| ControllerError::NotSynced {
            controller: Arc::clone(&self.name),
            source,
        };
        let caches = self.sources.iter().map(|source| (source.synced)());
        try_join_all(caches).await.map_err(not_synced)?;
        let handlers = self
            .sources
            .iter()
            .map(|source| source.registration.synced().into_future());
        try_join_all(handlers).await.map_err(not_synced)?;
        Ok(())
    }

    async fn informer_stopped(&self) -> Arc<str> {
        let ends: Vec<_> = self
            .sources
            .iter()
            .map(|source| (source.stopped)())
            .collect();
        if ends.is_empty() {
            return std::future::pending().await;
        }
        select_all(ends).await.0
    }
}

/// Reconciles one key, and tells the log how that went.
async fn one<F, R>(controller: &str, reconcile: &F, request: Request) -> Outcome
where
    F: Fn(Request) -> R,
    R: Future<Output = Result<Action, ReconcileError>>,
{
    let span = tracing::debug_span!("reconcile", controller, key = request.key.as_str());
    let failures = request.failures;
    let result = reconcile(request).instrument(span.clone()).await;
    let _in_span = span.entered();
    match result {
        Ok(action) => action.outcome(),
        Err(error) => {
            let outcome = error.outcome();
            let is_conflict = error.is_conflict();
            let error: &dyn std::error::Error = error.error();
            if is_conflict {
                tracing::debug!(error, failures, "another was faster");
            } else {
                tracing::warn!(error, failures, ?outcome, "not reconciled");
            }
            outcome
        }
    }
}

impl fmt::Debug for Controller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Controller")
            .field("name", &self.name)
            .field("workers", &self.workers)
            .field("sources", &self.sources.len())
            .field("queue", &self.queue)
            .finish_non_exhaustive()
    }
}
