//! The controller: a reflector feeds a queue, and what comes out is applied batch by batch.

mod config;
mod engine;
mod process;
mod shared;
mod status;
mod write;

use std::fmt;
use std::sync::Arc;

use informer_reflector::ListerWatcher;
use informer_store::Object;
use tokio_util::sync::CancellationToken;

pub use config::ControllerConfig;
pub use process::{Failures, Process, ProcessEach};
pub use status::{ControllerMonitor, ControllerStatus};

pub(crate) use engine::Engine;
pub(crate) use shared::SharedProcess;
pub(crate) use status::Record;
pub(crate) use write::write;

use crate::error::RunError;
use crate::informer::Source;

/// Lists and watches into a queue, and applies what comes out: the loop under every informer, for those who keep
/// something else than a store.
///
/// Whoever wants a store and handlers takes an [`Informer`](crate::Informer) or a
/// [`SharedInformer`](crate::SharedInformer), which run on the same loop.
///
/// A batch is [processed](Process), then acknowledged. Keys that could not be applied are counted, logged and told to
/// [`on_error`](ControllerConfig::on_error); they are tried again if
/// [`retry_on_error`](ControllerConfig::retry_on_error) says so, else with the next list, which tells of everything
/// that the queue's known objects lack.
///
/// ```
/// use std::collections::BTreeMap;
/// use informer_delta_fifo::{Delta, DeltaFifo};
/// use informer_reflector::ListerWatcher;
/// use informer_shared::{Controller, ControllerConfig, ProcessEach};
/// use informer_store::Store;
/// use k8s_openapi::api::core::v1::Pod;
///
/// // Counts the changes of each pod.
/// fn count(source: impl ListerWatcher<Object = Pod>) -> Controller<Pod, impl informer_shared::Process<Pod>> {
///     let store: Store<Pod> = Store::new();
///     let queue = DeltaFifo::new(store.clone());
///     let mut changes = BTreeMap::<String, usize>::new();
///     let process = ProcessEach::new(move |deltas: informer_delta_fifo::KeyDeltas<'_, Pod>, _initial| {
///         *changes.entry(deltas.key().to_string()).or_default() += deltas.deltas().len();
///         let mut write = store.begin_batch();
///         match deltas.newest() {
///             Some(Delta::Deleted(_)) => drop(write.remove(deltas.key())),
///             Some(delta) => {
///                 if let Some(pod) = delta.into_object() {
///                     write.upsert(deltas.key().clone(), pod);
///                 }
///             }
///             None => {}
///         }
///         write.commit();
///     });
///     Controller::new(ControllerConfig::new(queue, source, process))
/// }
/// ```
pub struct Controller<K: Object, P> {
    engine: Engine<K, P>,
    source: Source,
    monitor: ControllerMonitor<K>,
}

impl<K: Object, P: Process<K>> Controller<K, P> {
    /// A controller of these parts. It does nothing before it is run.
    pub fn new<L: ListerWatcher<Object = K>>(config: ControllerConfig<L, P>) -> Self {
        let parts = config.into_parts();
        let monitor = ControllerMonitor {
            queue: parts.queue.clone(),
            reflector: parts.source.status.clone(),
            record: Arc::clone(&parts.record),
        };
        Self {
            engine: Engine::new(parts.queue, parts.process, parts.record)
                .retry_on_error(parts.retry_on_error),
            source: parts.source,
            monitor,
        }
    }

    /// A view of it that can be held while it runs, and after.
    #[must_use]
    pub fn monitor(&self) -> ControllerMonitor<K> {
        self.monitor.clone()
    }

    /// Runs until `stop` is cancelled or the queue is closed. Then nothing of it runs any more and the queue is
    /// closed; what was in it stays there.
    ///
    /// A panic of the process passes through to the caller, and its batch returns to the queue.
    ///
    /// # Errors
    /// When the reflector panicked, or [`Process::between`] said so.
    ///
    /// # Cancel safety
    /// Dropping the future ends the controller; its task ends at its next await point.
    #[doc(alias = "RunWithContext")]
    pub async fn run(self, stop: CancellationToken) -> Result<(), RunError> {
        let Self {
            mut engine,
            source,
            monitor,
        } = self;
        let close = CloseOnDrop(monitor);
        let own_stop = CancellationToken::new();
        let outcome = engine.run(source, &stop, &own_stop).await;
        own_stop.cancel();
        engine.shut_down(false).await;
        drop(close);
        outcome
    }
}

/// Nobody may wait for ever for a controller that was dropped or panicked.
struct CloseOnDrop<K: Object>(ControllerMonitor<K>);

impl<K: Object> Drop for CloseOnDrop<K> {
    fn drop(&mut self) {
        self.0.queue.close();
    }
}

impl<K: Object, P> fmt::Debug for Controller<K, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Controller")
            .field("monitor", &self.monitor)
            .finish_non_exhaustive()
    }
}
