//! The process loop: pops batches of a delta queue that a reflector feeds, has them processed, acknowledges them.

mod failing;
mod process;
mod source;
mod status;

use std::collections::HashSet;
use std::error::Error as StdError;
use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use informer_delta_fifo::{Batch, DeltaFifo};
use informer_reflector::__private::{call_hook, chain};
use informer_reflector::{ListerWatcher, Reflector};
use informer_store::{Object, ObjectKey};
use tokio::sync::watch;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

pub use process::{FailedKeys, Process};
pub use status::ProcessLoopStatus;

pub(crate) use source::Source;
pub(crate) use status::Watched;

use self::failing::Failing;
use self::source::ReflectorTask;
use crate::error::RunError;
use crate::wait::{InformerPhase, Wait};

/// The most keys in one batch, so that the first of many are applied soon.
const BATCH: usize = 1000;

/// How often a key is tried again by default: for about eight seconds.
const RETRIES: u32 = 15;

type ErrorHook = dyn Fn(&ObjectKey, &(dyn StdError + 'static)) + Send + Sync;

/// Lists and watches into a delta queue, and has its batches applied: the loop under every informer, for those who keep
/// something else than a store.
///
/// For a store with handlers take a [`SharedInformer`](crate::SharedInformer), which runs on the same loop.
///
/// A batch is [processed](Process), then acknowledged. [Keys that could not be applied](FailedKeys) are counted, logged,
/// passed to [`on_error`](Self::on_error), and requeued: they are tried again before newer deltas of them, with a pause
/// that grows up to a second, up to [`retries`](Self::retries) times. One that fails more often is given up until its
/// next change or the next list, which holds every object that the queue's known objects lack.
///
/// ```
/// use std::collections::BTreeMap;
/// use std::sync::Arc;
///
/// use informer_delta_fifo::{Batch, DeltaFifo, DeltaFifoConfig};
/// use informer_reflector::{ListerWatcher, Reflector};
/// use informer_shared::{FailedKeys, Process, ProcessLoop};
/// use informer_store::Store;
/// use k8s_openapi::api::core::v1::Pod;
///
/// /// Keeps a store, and counts the changes of each pod.
/// fn count(source: impl ListerWatcher<Object = Pod>) -> ProcessLoop<Pod, impl Process<Pod>> {
///     let store: Store<Pod> = Store::new();
///     let queue = DeltaFifo::new(DeltaFifoConfig::new().known(store.clone()));
///     let reflector = Reflector::new(source, Arc::new(queue.clone()));
///     let mut changes = BTreeMap::<String, usize>::new();
///     let process = move |batch: &Batch<Pod>| -> Result<(), FailedKeys> {
///         let mut transaction = store.transaction();
///         for (key, deltas) in batch.iter() {
///             *changes.entry(key.to_string()).or_default() += deltas.len();
///             let newest = deltas.newest();
///             match newest.object() {
///                 Some(_) if newest.is_deleted() => drop(transaction.remove(key)),
///                 Some(pod) => drop(transaction.upsert(key.clone(), pod.clone())),
///                 None => {}
///             }
///         }
///         transaction.commit();
///         Ok(())
///     };
///     ProcessLoop::new(queue, reflector, process)
/// }
/// ```
///
/// # Waits end
///
/// Dropping the loop, run or not, ends every wait for it.
#[doc(alias = "Controller")]
#[doc(alias = "New")]
#[doc(alias = "processLoop")]
#[must_use = "a process loop does nothing until it is run"]
pub struct ProcessLoop<K: Object, P> {
    queue: DeltaFifo<K>,
    /// `None` once it runs.
    source: Option<Source>,
    process: P,
    reflector: ReflectorTask,
    failing: Failing,
    on_error: Option<Box<ErrorHook>>,
    watched: Watched,
    status: watch::Sender<ProcessLoopStatus>,
}

impl<K: Object, P: Process<K>> ProcessLoop<K, P> {
    /// Makes a loop of a queue, the reflector that feeds it, and what applies its batches. Settings of listing and watching,
    /// the transform and resyncs are the reflector's.
    pub fn new<L>(queue: DeltaFifo<K>, reflector: Reflector<L, DeltaFifo<K>>, process: P) -> Self
    where
        L: ListerWatcher<Object = K>,
    {
        let source = Source::new(reflector);
        let (status, watched) = Watched::new("process loop", Arc::from("objects"), &source);
        Self::from_parts(queue, source, process, status, watched)
    }

    pub(crate) fn from_parts(
        queue: DeltaFifo<K>,
        source: Source,
        process: P,
        status: watch::Sender<ProcessLoopStatus>,
        watched: Watched,
    ) -> Self {
        Self {
            queue,
            source: Some(source),
            process,
            reflector: ReflectorTask::new(),
            failing: Failing::new(RETRIES),
            on_error: None,
            watched,
            status,
        }
    }

    /// Sets the name of what is processed, for logs and errors. The default is `objects`.
    #[doc(alias = "ObjectDescription")]
    pub fn name(mut self, name: impl Into<Arc<str>>) -> Self {
        self.watched.name = name.into();
        self
    }

    /// Sets how often a key that could not be applied is tried again, before it is given up until its next change or the
    /// next list. The default is 15, about eight seconds; zero is never, as in client-go; `u32::MAX` is for ever, and
    /// keeps the deltas of all keys that fail.
    #[doc(alias = "RetryOnError")]
    pub fn retries(mut self, retries: u32) -> Self {
        self.failing.set_retries(retries);
        self
    }

    /// Sets a hook for each failure of a key. It runs in the loop: it must not block. A panic in it is caught and logged.
    pub fn on_error<F>(mut self, hook: F) -> Self
    where
        F: Fn(&ObjectKey, &(dyn StdError + 'static)) + Send + Sync + 'static,
    {
        self.on_error = Some(Box::new(hook));
        self
    }

    /// Returns the loop's status, to be read or watched while it runs and after. The sender is dropped with the loop.
    #[must_use]
    #[doc(alias = "GetController")]
    #[doc(alias = "HasSynced")]
    pub fn status(&self) -> watch::Receiver<ProcessLoopStatus> {
        self.watched.status.clone()
    }

    /// Waits until the first list is applied. Make the wait before the loop is run, and await it meanwhile.
    ///
    /// # Errors
    /// [`WaitError::Stopped`](crate::WaitError::Stopped) if the loop ends before, or is dropped without having run;
    /// [`WaitError::Deadline`](crate::WaitError::Deadline).
    #[doc(alias = "WaitForCacheSync")]
    pub fn synced(&self) -> Wait {
        self.watched.clone().synced()
    }

    /// Runs until `stop` is cancelled or the queue is closed. Then nothing of it runs any more, and the queue is closed;
    /// its content stays.
    ///
    /// A panic of the process unwinds into the caller, and its batch is requeued.
    ///
    /// # Errors
    /// [`RunError::Panicked`] if the reflector panicked; what [`Process::between`] returned.
    ///
    /// # Cancel safety
    /// Dropping the future ends the loop; the reflector's task ends at its next await point.
    #[doc(alias = "RunWithContext")]
    pub async fn run(mut self, stop: CancellationToken) -> Result<(), RunError> {
        let outcome = self.run_until(stop.cancelled()).await;
        outcome.and(self.shut_down(false).await)
    }

    /// Runs until `stop` resolves, the queue is closed, or something ends it that cannot heal.
    pub(crate) async fn run_until(
        &mut self,
        stop: impl Future<Output = ()> + Send,
    ) -> Result<(), RunError> {
        let Some(source) = self.source.take() else {
            return Err(RunError::AlreadyStarted);
        };
        self.mark_started();
        self.reflector.start(source);
        let mut stop = pin!(stop);
        let mut is_all_done = false;
        loop {
            let batch = tokio::select! {
                biased;
                () = &mut stop => return Ok(()),
                error = self.reflector.ended() => return Err(error),
                done = self.process.between(), if !is_all_done => {
                    done?;
                    is_all_done = true;
                    continue;
                }
                batch = self.queue.pop_batch(BATCH) => match batch {
                    Ok(batch) => batch,
                    Err(_closed) => return Ok(()),
                },
            };
            is_all_done = false;
            // If it is dropped at a stop, the batch is requeued.
            let pause = tokio::select! {
                biased;
                pause = self.apply(batch) => pause,
                () = &mut stop => return Ok(()),
            };
            if let Some(pause) = pause {
                tokio::select! {
                    biased;
                    () = &mut stop => return Ok(()),
                    () = sleep(pause) => {}
                }
            }
            // A queue that is never empty must not keep others from the runtime.
            tokio::task::coop::consume_budget().await;
        }
    }

    /// Applies a whole batch. Returns how long to pause before the next one.
    async fn apply(&mut self, batch: Batch<K>) -> Option<Duration> {
        let failed = self.process.process(&batch).await.err().unwrap_or_default();
        let keys: HashSet<&ObjectKey> = failed.iter().map(|(key, _)| key).collect();
        let (all, has_room) = (batch.iter().map(|(key, _)| key), batch.len() < BATCH);
        let outcome = self.failing.note(all, &keys, has_room);
        self.report(&failed);
        let keys = batch.len() as u64;
        if outcome.requeued.is_empty() {
            batch.ack();
        } else {
            batch.ack_except(&outcome.requeued);
        }
        let syncs = !self.watched.is_synced() && self.queue.has_synced();
        self.status.send_modify(|status| {
            status.batches += 1;
            status.keys += keys;
            status.failures += failed.len() as u64;
            status.failing = self.failing.len();
            status.repaired += outcome.repaired;
            status.given_up += outcome.given_up;
            if let Some((key, error)) = failed.iter().last() {
                status.last_error = Some(Arc::from(format!("{key}: {}", chain(error))));
            }
            if syncs {
                status.synced = true;
                status.phase = InformerPhase::Synced;
            }
        });
        if syncs {
            self.process.synced();
        }
        outcome.pause
    }

    fn report(&self, failed: &FailedKeys) {
        for (key, error) in failed.iter() {
            tracing::warn!(
                process_loop = &*self.watched.name,
                %key,
                error = error as &dyn StdError,
                "cannot apply deltas"
            );
            if let Some(hook) = &self.on_error {
                call_hook("process loop's error hook", || hook(key, error));
            }
        }
    }

    /// Ends what feeds the queue. What is queued is applied if `drain` says so.
    ///
    /// # Errors
    /// If the reflector panics at its end.
    pub(crate) async fn shut_down(&mut self, drain: bool) -> Result<(), RunError> {
        let ended = self.reflector.shut_down().await;
        // What fails now has no second chance.
        self.failing.set_retries(0);
        if drain {
            while let Some(batch) = self.queue.try_pop_batch(BATCH) {
                self.apply(batch).await;
            }
        }
        ended
    }
}

impl<K: Object, P> ProcessLoop<K, P> {
    pub(crate) const fn process_mut(&mut self) -> &mut P {
        &mut self.process
    }

    /// Leaves the phase of one that was not started.
    pub(crate) fn mark_started(&self) {
        self.status.send_if_modified(|status| {
            let starts = status.phase == InformerPhase::NotStarted;
            if starts {
                status.phase = InformerPhase::Syncing;
            }
            starts
        });
    }
}

impl<K: Object, P> Drop for ProcessLoop<K, P> {
    /// Nobody may wait for ever for a loop that was dropped or panicked.
    fn drop(&mut self) {
        self.queue.close();
        self.status
            .send_modify(|status| status.phase = InformerPhase::Stopped);
    }
}

impl<K: Object, P> fmt::Debug for ProcessLoop<K, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProcessLoop")
            .field("name", &self.watched.name)
            .field("status", &*self.status.borrow())
            .finish_non_exhaustive()
    }
}
