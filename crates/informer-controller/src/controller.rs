//! The controller: sources in, a queue, workers that reconcile.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, select_all, try_join_all};
use informer_shared::{Registration, RunError, WaitError};
use informer_store::{Object, ObjectKey};
use informer_workqueue::{WorkQueue, WorkQueueConfig, WorkResult};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::reconcile::{Action, ReconcileError, ReconcileRequest};
use crate::source::EventSource;

/// How long running reconciles may take to end after a stop, by default.
const GRACE: Duration = Duration::from_secs(30);

type Wait = Box<dyn Fn() -> BoxFuture<'static, Result<(), WaitError>> + Send + Sync>;
type End = Box<dyn Fn() -> BoxFuture<'static, Arc<str>> + Send + Sync>;

/// Reconciles keys: event sources queue them, workers call the reconciler.
///
/// Event sources feed its queue from [`watch`](Self::watch) on, so that a controller that waits to lead has its work
/// ready. Workers start with [`run`](Self::run), once all caches are synced. No two reconcile one key at once.
///
/// See the [crate's documentation](crate) for an example.
pub struct Controller {
    name: Arc<str>,
    queue: WorkQueue<ObjectKey>,
    workers: usize,
    grace: Duration,
    sources: Vec<Watched>,
}

/// An event source that is watched.
struct Watched {
    synced: Wait,
    stopped: End,
    /// Dropped with the controller, which removes the handler.
    registration: Registration,
}

/// Why a controller ended with an error.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ControllerError {
    /// An informer or its handler did not become synced.
    #[error("cache of controller {controller} not synced")]
    NotSynced {
        /// The name of the controller.
        controller: Arc<str>,
        /// Why it is not synced.
        source: WaitError,
    },
    /// An informer stopped before the controller: decisions would be based on an outdated cache.
    #[error("informer of {informer} stopped before controller {controller}")]
    InformerStopped {
        /// The name of the controller.
        controller: Arc<str>,
        /// The name of the informer.
        informer: Arc<str>,
    },
}

impl Controller {
    /// Makes a controller with one worker and the default queue. The name appears in logs and statuses.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self::with_queue(name, WorkQueue::with_config(WorkQueueConfig::new()))
    }

    /// Makes a controller with this queue: one with another rate limiter, or with metrics.
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

    /// Sets how many keys are reconciled at once. Default: 1.
    #[must_use]
    #[doc(alias = "MaxConcurrentReconciles")]
    pub const fn workers(mut self, workers: usize) -> Self {
        self.workers = workers;
        self
    }

    /// Sets how long running reconciles may take to end after a stop; then they are dropped. Default: 30 s.
    #[must_use]
    pub const fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Queues the keys of an event source, from now on.
    ///
    /// # Errors
    /// If its informer has stopped.
    pub fn watch<K: Object>(mut self, source: EventSource<K>) -> Result<Self, RunError> {
        let (to_sync, to_stop) = (source.informer().clone(), source.informer().clone());
        let registration = source.feed(&self.name, self.queue.clone())?;
        self.sources.push(Watched {
            synced: Box::new(move || to_sync.synced().into_future().boxed()),
            stopped: Box::new(move || {
                let informer = to_stop.clone();
                async move {
                    // The reason concerns whoever runs the informer.
                    let _ = informer.stopped().await;
                    informer.name().into()
                }
                .boxed()
            }),
            registration,
        });
        Ok(self)
    }

    /// Returns the queue, to add keys and to read its depth.
    #[must_use]
    pub const fn queue(&self) -> &WorkQueue<ObjectKey> {
        &self.queue
    }

    /// Waits until all informers and their handlers are synced, then reconciles until `stop` is cancelled. Then no further
    /// reconcile is started, and running ones have the [grace](Self::grace) to end.
    ///
    /// Each worker calls `reconcile` with one key at a time. It must be idempotent, and complete what an earlier run left
    /// unfinished. Its errors and panics are logged, and the key is retried with backoff.
    ///
    /// # Cancellation
    /// Dropping the future drops the reconciles that run.
    ///
    /// # Errors
    /// If an informer is not synced, or stops before the controller does.
    ///
    /// # Panics
    /// If called outside of a tokio runtime.
    pub async fn run<F, R>(
        self,
        stop: &CancellationToken,
        reconcile: F,
    ) -> Result<(), ControllerError>
    where
        F: Fn(ReconcileRequest) -> R + Send + Sync + 'static,
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
            let request = ReconcileRequest::new(key, failures);
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
            tracing::warn!(
                controller = &*self.name,
                "reconciles dropped: not ended within the grace period"
            );
        }
        ended
    }

    /// Waits until all informers and their handlers are synced.
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

/// Reconciles one key, and logs its errors.
async fn one<F, R>(controller: &str, reconcile: &F, request: ReconcileRequest) -> WorkResult
where
    F: Fn(ReconcileRequest) -> R,
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
                tracing::debug!(error, failures, "reconcile met a conflict");
            } else {
                tracing::warn!(error, failures, ?outcome, "reconcile failed");
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
