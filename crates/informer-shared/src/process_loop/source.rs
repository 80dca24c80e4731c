//! The reflector of a process loop, without the type of its lister-watcher, and the task that runs it.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use informer_reflector::{ListerWatcher, Reflector, ReflectorStatus};
use informer_store::DeltaSink;
use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::error::RunError;
use crate::start_limit::StartLimit;

/// The part that errors name.
const PART: &str = "reflector";

/// How long the reflector has to end.
const GRACE: Duration = Duration::from_millis(500);

/// How long the task has to be dropped. One that blocks its thread is abandoned.
const DROP_GRACE: Duration = Duration::from_millis(100);

/// A reflector that has yet to run.
pub(crate) struct Source {
    pub(crate) status: watch::Receiver<ReflectorStatus>,
    /// `true` while others have the start slots.
    pub(crate) waits_for_slot: Arc<AtomicBool>,
    run: Box<dyn FnOnce(CancellationToken) -> BoxFuture<'static, ()> + Send>,
}

impl Source {
    pub(crate) fn new<L: ListerWatcher, S: DeltaSink<L::Object>>(
        reflector: Reflector<L, S>,
    ) -> Self {
        Self {
            status: reflector.status(),
            waits_for_slot: Arc::default(),
            run: Box::new(move |stop| reflector.run(stop).boxed()),
        }
    }

    /// Lets it run once it has a start slot.
    pub(crate) fn limited(mut self, limit: StartLimit) -> Self {
        let (waits, status, run) = (
            Arc::clone(&self.waits_for_slot),
            self.status.clone(),
            self.run,
        );
        self.run = Box::new(move |stop: CancellationToken| {
            let limited = async move {
                let Some(slot) = limit.slot(&waits, &stop).await else {
                    return;
                };
                let mut run = run(stop);
                tokio::select! {
                    // The run first: its end needs no look at the slot.
                    biased;
                    () = &mut run => return,
                    () = limit.slot_over(status) => drop(slot),
                }
                run.await;
            };
            limited.boxed()
        });
        self
    }
}

/// The task that lists and watches. Dropping it ends the task at its next await point.
pub(super) struct ReflectorTask {
    task: JoinSet<()>,
    stop: CancellationToken,
}

impl ReflectorTask {
    pub(super) fn new() -> Self {
        Self {
            task: JoinSet::new(),
            stop: CancellationToken::new(),
        }
    }

    pub(super) fn start(&mut self, source: Source) {
        self.task.spawn((source.run)(self.stop.clone()));
    }

    /// Resolves if the task ends by itself, which it never should.
    pub(super) async fn ended(&mut self) -> RunError {
        let ended = self.task.join_next().await;
        panicked(ended).unwrap_or_else(|| RunError::Panicked {
            part: PART,
            message: Arc::from("it ended by itself"),
        })
    }

    /// Stops the task, and aborts it if it does not end in time.
    ///
    /// # Errors
    /// If it panics at its end.
    pub(super) async fn shut_down(&mut self) -> Result<(), RunError> {
        self.stop.cancel();
        let ended = timeout(GRACE, self.task.join_next()).await;
        if ended.is_err() {
            tracing::warn!("reflector did not stop in time and is aborted");
        }
        if timeout(DROP_GRACE, self.task.shutdown()).await.is_err() {
            tracing::warn!("reflector blocks its thread and is abandoned");
        }
        ended.ok().and_then(panicked).map_or(Ok(()), Err)
    }
}

/// The panic with which the task ended, if it did.
fn panicked(ended: Option<Result<(), JoinError>>) -> Option<RunError> {
    let panic = ended?.err()?.try_into_panic().ok()?;
    Some(RunError::from_panic(PART, &*panic))
}
