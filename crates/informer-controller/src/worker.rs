//! A worker: takes keys from the queue, reconciles one after the other, and logs what fails.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use informer_reflector::__private::{chain, panic_message};
use informer_store::ObjectKey;
use informer_workqueue::{Work, WorkQueue, WorkResult};
use tokio::time::Instant;
use tracing::Instrument;

use crate::reconcile::{Action, ReconcileError, ReconcileRequest};
use crate::status::{FailingKey, Record};
use crate::writes::Writes;

/// From this conflict in a row on they are logged as warnings: others are not just a moment faster.
const CONFLICTS: u32 = 3;

pub(crate) struct Worker {
    pub(crate) queue: WorkQueue<ObjectKey>,
    pub(crate) record: Record,
    pub(crate) writes: Arc<Writes>,
    pub(crate) timeout: Option<Duration>,
}

/// How a reconcile failed.
enum Failure {
    Error(ReconcileError),
    Panic(String),
    Timeout(Duration),
}

impl Worker {
    /// Works until the queue is shut down and nothing waits in it.
    pub(crate) async fn run<F, R>(&self, reconcile: &F)
    where
        F: Fn(ReconcileRequest) -> R,
        R: Future<Output = Result<Action, ReconcileError>>,
    {
        while let Some(work) = self.queue.get_with(tokio::time::sleep).await {
            self.reconcile(reconcile, work).await;
            // A queue that is never empty, and a reconciler that never waits, must not keep others from the runtime.
            tokio::task::coop::consume_budget().await;
        }
    }

    async fn reconcile<F, R>(&self, reconcile: &F, work: Work<ObjectKey>)
    where
        F: Fn(ReconcileRequest) -> R,
        R: Future<Output = Result<Action, ReconcileError>>,
    {
        let key = work.item().clone();
        if let Some(lacking) = self.writes.park(&key, work.priority()) {
            tracing::debug!(
                controller = &*self.record.name,
                key = key.as_str(),
                write = %lacking,
                "key waits until the cache has its write"
            );
            work.finish(WorkResult::Done);
            return;
        }
        let request = ReconcileRequest::new(key.clone(), work.failures(), self.writes.clone());
        let failures = work.failures().saturating_add(1);
        let running = self.record.begin(&key);
        let result = self.call(reconcile, request).await;
        drop(running);
        let failure = match result {
            Ok(action) => {
                self.record.not_failing(&key);
                work.finish(action.outcome());
                return;
            }
            Err(failure) => failure,
        };
        let outcome = match &failure {
            Failure::Error(error) => error.outcome(),
            Failure::Panic(_) | Failure::Timeout(_) => WorkResult::Retry,
        };
        let retry = work.finish(outcome);
        self.report(&key, &failure, failures, retry);
    }

    async fn call<F, R>(&self, reconcile: &F, request: ReconcileRequest) -> Result<Action, Failure>
    where
        F: Fn(ReconcileRequest) -> R,
        R: Future<Output = Result<Action, ReconcileError>>,
    {
        let controller = &*self.record.name;
        let span = tracing::debug_span!("reconcile", controller, key = request.key.as_str());
        // Called within: a function may panic before it returns its future.
        let call = AssertUnwindSafe(async { reconcile(request).await });
        let call = call.catch_unwind().instrument(span);
        let result = match self.timeout {
            None => call.await,
            Some(limit) => match tokio::time::timeout(limit, call).await {
                Ok(result) => result,
                Err(_) => return Err(Failure::Timeout(limit)),
            },
        };
        match result {
            Ok(result) => result.map_err(Failure::Error),
            Err(panic) => Err(Failure::Panic(panic_message(&*panic).to_owned())),
        }
    }

    /// Logs and counts a failure: of which key, the how manieth in a row, and when it is retried.
    fn report(&self, key: &ObjectKey, failure: &Failure, failures: u32, retry: Option<Duration>) {
        let (controller, failing) = (&*self.record.name, key);
        let key = failing.as_str();
        let next_try = retry.and_then(|delay| Instant::now().checked_add(delay));
        let retry = retry.map_or_else(
            || "at its next event".to_owned(),
            |delay| format!("in {delay:?}"),
        );
        let text = match failure {
            Failure::Error(error) => {
                let text = chain(error.error());
                if error.is_conflict() && failures < CONFLICTS {
                    tracing::debug!(
                        controller,
                        key,
                        failures,
                        retry,
                        error = text,
                        "reconcile met a conflict"
                    );
                } else {
                    tracing::warn!(
                        controller,
                        key,
                        failures,
                        retry,
                        error = text,
                        "reconcile failed"
                    );
                }
                text
            }
            Failure::Panic(panic) => {
                tracing::error!(
                    controller,
                    key,
                    failures,
                    retry,
                    panic,
                    "reconcile panicked"
                );
                format!("panicked: {panic}")
            }
            Failure::Timeout(limit) => {
                tracing::warn!(
                    controller,
                    key,
                    failures,
                    retry,
                    ?limit,
                    "reconcile dropped: it took too long"
                );
                format!("took longer than {limit:?}")
            }
        };
        self.record.failed(FailingKey {
            key: failing.clone(),
            failures,
            error: text.into(),
            next_try,
        });
    }
}
