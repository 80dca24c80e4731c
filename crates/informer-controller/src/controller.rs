//! The controller: sources in, a queue, workers that reconcile.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, select_all, try_join_all};
use informer_shared::{EndReason, Registration, RunError, WaitError};
use informer_store::{Object, ObjectKey};
use informer_workqueue::{WorkQueue, WorkQueueConfig};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::reconcile::{Action, ReconcileError, ReconcileRequest};
use crate::source::EventSource;
use crate::status::{ControllerPhase, ControllerStatus, Record, SourceStatus};
use crate::worker::Worker;
use crate::writes::{Caretaker, WRITE_DEADLINE, Writes};

/// How long running reconciles may take to end after a stop, by default.
const GRACE: Duration = Duration::from_secs(30);

/// How long the caches may take to be synced, by default.
const CACHE_SYNC_TIMEOUT: Duration = Duration::from_secs(120);

/// The most workers: more tasks than that do not work on more keys.
const MAX_WORKERS: usize = 16_384;

type Wait = Box<dyn Fn(Duration) -> BoxFuture<'static, Result<(), WaitError>> + Send + Sync>;

/// Reconciles keys: event sources queue them, workers call the reconciler.
///
/// Event sources feed its queue from [`watch`](Self::watch) on, so that a controller that waits to lead has its work
/// ready. Workers start with [`run`](Self::run), once all caches are synced. No two reconcile one key at once.
///
/// See the [crate's documentation](crate) for an example.
pub struct Controller {
    queue: WorkQueue<ObjectKey>,
    workers: usize,
    grace: Duration,
    cache_sync_timeout: Duration,
    reconcile_timeout: Option<Duration>,
    write_deadline: Duration,
    record: Record,
    writes: Arc<Writes>,
    sources: Vec<Watched>,
}

/// An event source that is watched.
struct Watched {
    synced: Wait,
    /// Removed with the controller.
    status: SourceStatus,
}

/// Why a controller ended with an error.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ControllerError {
    /// An informer or its handler did not become synced, or not in time.
    #[error("cache of controller {controller} not synced")]
    NotSynced {
        /// The name of the controller.
        controller: Arc<str>,
        /// Which cache it is, and why it is not synced.
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
    /// An event source ended before the controller, though its informer runs: nothing would be reconciled for its events
    /// any more.
    #[error("event source {informer} of controller {controller} ended")]
    SourceEnded {
        /// The name of the controller.
        controller: Arc<str>,
        /// The name of the source's informer.
        informer: Arc<str>,
        /// Why it ended.
        source: EndReason,
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
        let record = Record::new(name.into());
        Self {
            queue,
            workers: 1,
            grace: GRACE,
            cache_sync_timeout: CACHE_SYNC_TIMEOUT,
            reconcile_timeout: None,
            write_deadline: WRITE_DEADLINE,
            writes: Writes::new(record.clone()),
            record,
            sources: Vec::new(),
        }
    }

    /// Sets how many keys are reconciled at once: at least one, at most 16,384. Default: 1.
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

    /// Sets how long [`run`](Self::run) waits for the caches to be synced before it ends with an error. Default: two
    /// minutes, as with controller-runtime.
    #[must_use]
    #[doc(alias = "CacheSyncTimeout")]
    pub const fn cache_sync_timeout(mut self, timeout: Duration) -> Self {
        self.cache_sync_timeout = timeout;
        self
    }

    /// Sets how long one reconcile may take; then it is dropped, and its key is retried with backoff. Default: no limit.
    ///
    /// With or without a limit, a reconcile that takes longer than a minute is logged as a warning, and each running one
    /// is in the [status](Self::status).
    #[must_use]
    #[doc(alias = "ReconciliationTimeout")]
    pub const fn reconcile_timeout(mut self, timeout: Duration) -> Self {
        self.reconcile_timeout = Some(timeout);
        self
    }

    /// Sets how long a cache may lack what a reconcile [wrote](ReconcileRequest::client) before the object is read from
    /// the server, the first of three times. Default: 10 s.
    #[must_use]
    pub const fn write_deadline(mut self, deadline: Duration) -> Self {
        self.write_deadline = deadline;
        self
    }

    /// Queues the keys of an event source, from now on.
    ///
    /// # Errors
    /// If its informer has stopped.
    pub fn watch<K: Object>(mut self, source: EventSource<K>) -> Result<Self, RunError> {
        let informer = source.informer().clone();
        let writes = Arc::clone(&self.writes);
        let status = source.feed(self.queue.clone(), self.record.clone(), writes)?;
        self.writes.add_cache(Arc::new(informer.clone()));
        self.record.add_source(status.clone());
        self.sources.push(Watched {
            status,
            synced: Box::new(move |limit| informer.synced().deadline(limit).into_future().boxed()),
        });
        Ok(self)
    }

    /// Returns the queue, to add keys and to read its depth.
    #[must_use]
    pub const fn queue(&self) -> &WorkQueue<ObjectKey> {
        &self.queue
    }

    /// Returns the status, which outlives the controller: keep it for health checks and metrics.
    #[must_use]
    pub fn status(&self) -> watch::Receiver<ControllerStatus> {
        self.record.subscribe()
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
    /// If a cache is not synced [in time](Self::cache_sync_timeout), or an event source or its informer ends before the
    /// controller does.
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
        let workers = self.workers.clamp(1, MAX_WORKERS);
        tracing::info!(controller = &*self.record.name, workers, "reconciling");
        self.record.begin_reconciling(workers);
        let reconcile = Arc::new(reconcile);
        let mut group = JoinSet::new();
        for _ in 0..workers {
            let worker = Worker {
                queue: self.queue.clone(),
                record: self.record.clone(),
                writes: Arc::clone(&self.writes),
                timeout: self.reconcile_timeout,
            };
            let reconcile = Arc::clone(&reconcile);
            group.spawn(async move { worker.run(&*reconcile).await });
        }
        let caretaker = Caretaker {
            writes: Arc::clone(&self.writes),
            queue: self.queue.clone(),
            deadline: self.write_deadline,
        };
        let mut slow = pin!(self.record.warn_of_slow());
        let ended = tokio::select! {
            biased;
            () = stop.cancelled() => Ok(()),
            error = self.source_ended() => Err(error),
            () = join(&mut group) => Ok(()),
            () = &mut slow => Ok(()),
            () = caretaker.run() => Ok(()),
        };
        self.queue.shut_down();
        self.queue.clear();
        let in_time = tokio::select! {
            biased;
            () = join(&mut group) => true,
            () = tokio::time::sleep(self.grace) => false,
            () = slow => false,
        };
        if !in_time {
            tracing::warn!(
                controller = &*self.record.name,
                "reconciles dropped: not ended within the grace period"
            );
        }
        ended
    }

    /// Waits until all informers and their handlers are synced.
    async fn synced(&self) -> Result<(), ControllerError> {
        let not_synced = |source| ControllerError::NotSynced {
            controller: Arc::clone(&self.record.name),
            source,
        };
        let limit = self.cache_sync_timeout;
        let began = tokio::time::Instant::now();
        let caches = self.sources.iter().map(|source| (source.synced)(limit));
        try_join_all(caches).await.map_err(not_synced)?;
        let left = limit.saturating_sub(began.elapsed());
        let synced = |registration: &Registration| registration.synced().deadline(left);
        let handlers = self.sources.iter().filter_map(|source| {
            let synced = source.status.ask(synced)?;
            Some(synced.into_future())
        });
        try_join_all(handlers).await.map_err(not_synced)?;
        Ok(())
    }

    /// Waits until an event source has ended.
    async fn source_ended(&self) -> ControllerError {
        if self.sources.is_empty() {
            return std::future::pending().await;
        }
        let ends = self.sources.iter().filter_map(|source| {
            let ended = source.status.ask(Registration::ended)?.into_future();
            Some(ended.map(|reason| (Arc::from(source.status.informer()), reason)))
        });
        let (informer, reason) = select_all(ends).await.0;
        let controller = Arc::clone(&self.record.name);
        match reason {
            Ok(EndReason::InformerStopped) | Err(_) => ControllerError::InformerStopped {
                controller,
                informer,
            },
            Ok(source) => ControllerError::SourceEnded {
                controller,
                informer,
                source,
            },
        }
    }
}

/// Waits until all workers have ended.
///
/// # Panics
/// If one panicked outside of the reconciler: with a worker less, or none, nobody would notice.
async fn join(group: &mut JoinSet<()>) {
    while let Some(ended) = group.join_next().await {
        if let Err(error) = ended
            && let Ok(panic) = error.try_into_panic()
        {
            std::panic::resume_unwind(panic);
        }
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        for source in &self.sources {
            source.status.remove();
        }
        self.writes.close();
        self.record.enter(ControllerPhase::Stopped);
    }
}

impl fmt::Debug for Controller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Controller")
            .field("name", &self.record.name)
            .field("workers", &self.workers)
            .field("sources", &self.sources.len())
            .field("queue", &self.queue)
            .finish_non_exhaustive()
    }
}
