//! The pop loop: takes batches out of the queue, has them applied, acknowledges them. All informers run on it.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use informer_delta_fifo::{Batch, DeltaFifo};
use informer_store::{Object, ObjectKey, mutant};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::process::{Failures, Process};
use super::status::Record;
use crate::error::RunError;
use crate::informer::Source;
use crate::tasks::ReflectorTask;

/// The most keys in one batch, so that the first of many are applied soon.
pub(crate) const BATCH: usize = 1000;

/// How long to wait after a batch in which keys failed that are tried again; doubled with each such batch in a row.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// A reflector, a queue and what is done with its batches, at work. Its methods are its steps; between two of them no
/// batch is out.
pub(crate) struct Engine<K: Object, P> {
    queue: DeltaFifo<K>,
    pub(crate) process: P,
    reflector: ReflectorTask,
    record: Arc<Record>,
    retry_on_error: bool,
    /// Keys that failed when last tried.
    failed: HashSet<ObjectKey>,
    /// Batches in a row with keys that are tried again.
    retries: u32,
    synced: bool,
}

impl<K: Object, P: Process<K>> Engine<K, P> {
    pub(crate) fn new(queue: DeltaFifo<K>, process: P, record: Arc<Record>) -> Self {
        Self {
            queue,
            process,
            reflector: ReflectorTask::new(),
            record,
            retry_on_error: false,
            failed: HashSet::new(),
            retries: 0,
            synced: false,
        }
    }

    pub(crate) const fn retry_on_error(mut self, retry: bool) -> Self {
        self.retry_on_error = retry;
        self
    }

    /// Works until `stop` or `own_stop` is cancelled, or something ends it that cannot heal.
    pub(crate) async fn run(
        &mut self,
        source: Source,
        stop: &CancellationToken,
        own_stop: &CancellationToken,
    ) -> Result<(), RunError> {
        self.reflector.start(source.run(own_stop.child_token()));
        loop {
            let batch = tokio::select! {
                biased;
                () = stop.cancelled() => return Ok(()),
                () = own_stop.cancelled() => return Ok(()),
                error = self.reflector.ended() => {
                    return if own_stop.is_cancelled() { Ok(()) } else { Err(error) };
                }
                done = self.process.between() => {
                    done?;
                    continue;
                }
                batch = self.queue.pop_batch(BATCH) => match batch {
                    Ok(batch) => batch,
                    Err(_closed) => return Ok(()),
                },
            };
            // Dropped at a stop, the batch returns to the queue.
            let pause = tokio::select! {
                biased;
                pause = self.apply(batch) => pause,
                () = stop.cancelled() => return Ok(()),
                () = own_stop.cancelled() => return Ok(()),
            };
            if let Some(pause) = pause {
                tokio::select! {
                    () = sleep(pause) => {}
                    () = stop.cancelled() => return Ok(()),
                    () = own_stop.cancelled() => return Ok(()),
                }
            }
            // A queue that is never empty must not keep others from the runtime.
            tokio::task::coop::consume_budget().await;
        }
    }

    /// The whole of one batch. Returns how long to wait before the next one.
    async fn apply(&mut self, batch: Batch<K>) -> Option<Duration> {
        let failures = self.process.process(&batch).await.err();
        let failures = failures.filter(|_| !mutant!("controller-swallow-errors"));
        let failures = failures.unwrap_or_default();
        self.note(&batch, &failures);
        let retried = !failures.is_empty() && self.retry_on_error;
        if retried {
            batch.ack_except(failures.iter().map(|(key, _)| key));
        } else {
            batch.ack();
        }
        if !self.synced && self.queue.has_synced() {
            self.synced = true;
            self.process.synced();
        }
        if !retried {
            self.retries = 0;
            return None;
        }
        self.retries = self.retries.saturating_add(1);
        let doubled = 1_u32.checked_shl(self.retries - 1).unwrap_or(u32::MAX);
        Some(FIRST_PAUSE.saturating_mul(doubled).min(LONGEST_PAUSE))
    }

    /// Counts and reports what failed, and counts what failed before and is repaired now.
    fn note(&mut self, batch: &Batch<K>, failures: &Failures) {
        let failing: HashSet<&ObjectKey> = failures.iter().map(|(key, _)| key).collect();
        let before = self.failed.len();
        if batch.replace().is_some() {
            // A list tells of all that is not applied. What it did not tell of again is settled.
            self.failed.retain(|key| failing.contains(key));
        } else if before > 0 {
            let applied = batch.iter().map(|deltas| deltas.key());
            for key in applied.filter(|key| !failing.contains(key)) {
                self.failed.remove(key);
            }
        }
        let repaired = before - self.failed.len();
        self.failed.extend(failing.into_iter().cloned());
        self.record
            .note(batch.len(), failures, repaired, self.failed.len());
    }

    /// Ends what feeds the queue; what it holds is applied if `drain` says so.
    pub(crate) async fn shut_down(&mut self, drain: bool) {
        self.reflector.join().await;
        // What fails now has no second chance.
        self.retry_on_error = false;
        if drain {
            while let Some(batch) = self.queue.try_pop_batch(BATCH) {
                self.apply(batch).await;
            }
        }
    }
}
