//! The shared informer: one watch, one cache, any number of handlers.

mod builder;
mod options;
mod run;
mod shared;
mod source;
mod status;

use std::fmt;
use std::sync::Arc;

use informer_reflector::ListerWatcher;
use informer_store::{Expectation, IndexError, Indexers, Lister, Object, ResourceVersion, Store};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

pub use builder::SharedInformerBuilder;
pub use options::OnStop;
pub use status::InformerStatus;

pub(crate) use options::GRACE;
pub(crate) use shared::Shared;
pub(crate) use source::Source;

use crate::error::{InformerStopped, RunError};
use crate::handler::{
    BlockingEventHandler, EventHandler, EventStream, HandlerBuilder, Host, Registration,
};
use crate::synced::{CatchUpError, CaughtUp, Progress, Synced, Watched};
use crate::wait::Wait;

/// Keeps an indexed cache of one kind of objects in step with an API server, and tells handlers what changes.
///
/// Cloning it gives another handle to the same informer. Once the last handle is dropped the informer stops, unless
/// [`run`](Self::run) holds it.
///
/// The cache is always changed before handlers hear of it. Each handler has its own queue: a slow, failing or
/// panicking one holds up neither the cache nor other handlers.
#[doc = include_str!("../../docs/informer-example.md")]
#[doc(alias = "SharedIndexInformer")]
pub struct SharedInformer<K: Object> {
    shared: Arc<Shared<K>>,
    owner: Arc<Owner<K>>,
}

/// Stops the informer when the last handle is gone.
struct Owner<K: Object>(Arc<Shared<K>>);

impl<K: Object> Drop for Owner<K> {
    fn drop(&mut self) {
        self.0.begin_stop();
    }
}

impl<K: Object> SharedInformer<K> {
    pub(crate) fn new(shared: Shared<K>) -> Self {
        let shared = Arc::new(shared);
        Self {
            owner: Arc::new(Owner(Arc::clone(&shared))),
            shared,
        }
    }

    /// An informer of what this lists and watches, to be set up.
    #[doc(alias = "NewSharedIndexInformerWithOptions")]
    pub fn builder<L>(lister_watcher: L) -> SharedInformerBuilder<L>
    where
        L: ListerWatcher<Object = K>,
    {
        SharedInformerBuilder::new(lister_watcher)
    }

    pub(crate) fn watched(&self) -> Watched {
        Watched {
            phase: self.shared.phase.subscribe(),
            progress: self.shared.progress_fn(),
        }
    }

    /// What is informed of, for status and logs.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// Adds an async handler with the default settings, before the informer is started or at any time after. It
    /// first hears of all that is cached, as `Added` with `initial` set.
    ///
    /// # Errors
    /// When the informer has stopped.
    #[doc(alias = "AddEventHandler")]
    pub fn add_handler(
        &self,
        handler: impl EventHandler<K>,
    ) -> Result<Registration, InformerStopped> {
        self.handler().register(handler)
    }

    /// Adds a handler that may block, on a thread of its own, with the default settings.
    ///
    /// # Errors
    /// When the informer has stopped.
    pub fn add_blocking_handler(
        &self,
        handler: impl BlockingEventHandler<K>,
    ) -> Result<Registration, InformerStopped> {
        self.handler().register_blocking(handler)
    }

    /// The events as a stream, with the default settings.
    ///
    /// # Errors
    /// When the informer has stopped.
    pub fn events(&self) -> Result<EventStream<K>, InformerStopped> {
        self.handler().stream()
    }

    /// A handler with settings of its own: name, queue, resync period, filter, what failures do.
    #[doc(alias = "AddEventHandlerWithOptions")]
    pub fn handler(&self) -> HandlerBuilder<K> {
        HandlerBuilder::new(Host {
            registry: Arc::clone(&self.shared.registry),
            fatal: Arc::clone(&self.shared.fatal),
            default_resync: self.shared.resync_period,
            progress: self.shared.progress_fn(),
        })
    }

    /// The cache. It stays readable after the informer has stopped. Only the informer should write to it.
    #[must_use]
    #[doc(alias = "GetStore")]
    #[doc(alias = "GetIndexer")]
    pub fn store(&self) -> &Store<K> {
        &self.shared.store
    }

    /// Reads the cache by namespace, name and selectors.
    #[must_use]
    pub fn lister(&self) -> Lister<K> {
        Lister::new(self.shared.store.clone(), &self.shared.name)
    }

    /// Adds indexes to the cache, at any time. Objects that are cached are indexed before this returns.
    ///
    /// # Errors
    /// When a name is taken; then none is added.
    #[doc(alias = "AddIndexers")]
    pub fn add_indexers(&self, indexers: &Indexers<K>) -> Result<(), IndexError> {
        self.shared.store.add_indexers(indexers)
    }

    /// Starts the informer in the tokio runtime of the caller, and returns. It runs until it is stopped or the last
    /// handle is dropped. How it ended is told by [`stopped`](Self::stopped).
    ///
    /// # Errors
    /// When it was started or stopped before, or there is no runtime.
    pub fn start(&self) -> Result<(), RunError> {
        let runtime = Handle::try_current().map_err(|_| RunError::NoRuntime)?;
        let source = self.shared.claim()?;
        runtime.spawn(run::run(
            Arc::clone(&self.shared),
            source,
            CancellationToken::new(),
        ));
        Ok(())
    }

    /// Runs the informer until `stop` is cancelled, [`stop`](Self::stop) is called, or a handler's failure ends it.
    /// All its tasks and threads have ended then, but for those of handlers that did not end in time.
    ///
    /// # Errors
    /// When it was started or stopped before; when a handler failed whose policy is to end the informer.
    ///
    /// # Cancel safety
    /// Dropping the future ends the informer at once: tasks end at their next await point, threads after the call
    /// that runs.
    #[doc(alias = "RunWithContext")]
    pub async fn run(&self, stop: CancellationToken) -> Result<(), RunError> {
        let source = self.shared.claim()?;
        run::run(Arc::clone(&self.shared), source, stop).await
    }

    /// Stops the informer and waits until it has stopped. It cannot be started again; the cache stays readable.
    ///
    /// # Errors
    /// Where the informer had ended for another reason, that reason.
    ///
    /// # Cancel safety
    /// The informer stops all the same.
    pub async fn stop(&self) -> Result<(), RunError> {
        self.shared.begin_stop();
        self.stopped().await
    }

    /// Waits until the informer has stopped, for whatever reason.
    ///
    /// # Errors
    /// When a handler failed whose policy is to end the informer, or a part of the informer panicked.
    pub async fn stopped(&self) -> Result<(), RunError> {
        // An error cannot be: the sender lives in what this handle holds.
        let _ = self
            .shared
            .phase
            .subscribe()
            .wait_for(|phase| phase.stopped)
            .await;
        self.shared.outcome()
    }

    /// Whether the informer was started.
    #[must_use]
    pub fn is_started(&self) -> bool {
        self.shared.phase().started
    }

    /// Whether the informer has stopped, and everything of it has ended.
    #[must_use]
    #[doc(alias = "IsStopped")]
    pub fn is_stopped(&self) -> bool {
        self.shared.phase().stopped
    }

    /// Whether the cache has had the first list, whole. Once true it stays true. Handlers may still have to hear of
    /// it: ask their registrations.
    #[must_use]
    #[doc(alias = "HasSynced")]
    pub fn has_synced(&self) -> bool {
        self.shared.phase().synced
    }

    /// Waits until the cache has had the first list.
    ///
    /// # Errors
    /// When the informer stops before, or a deadline that was set passes. The error says what stands in the way.
    #[doc(alias = "WaitForCacheSync")]
    pub fn synced(&self) -> Synced {
        self.watched().synced()
    }

    /// Waits until the cache has everything up to this resource version: what the server answered to a write is
    /// cached then, if the informer covers it.
    ///
    /// # Errors
    /// At once where resource versions cannot be compared; when the informer stops before, or a deadline that was set
    /// passes.
    pub fn wait_until(&self, wanted: ResourceVersion) -> CaughtUp {
        self.wait_for(Expectation::version(wanted))
    }

    /// Waits until the cache has what is expected: an object as it was written or newer, or a deletion.
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # use informer_shared::SharedInformer;
    /// # use informer_store::Expectation;
    /// # use k8s_openapi::api::core::v1::Pod;
    /// /// Returns once the cache has what the server answered to a write.
    /// async fn cached(informer: &SharedInformer<Pod>, answer: &Pod) -> Result<(), Box<dyn std::error::Error>> {
    ///     let expected = Expectation::written(answer)?;
    ///     informer.wait_for(expected).deadline(Duration::from_secs(5)).await?;
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// At once where resource versions cannot be compared; when the informer stops before, or a deadline that was set
    /// passes.
    pub fn wait_for(&self, wanted: Expectation) -> CaughtUp {
        let store = self.shared.store.clone();
        let (progress, late) = (self.shared.progress_fn(), wanted.clone());
        let outcome = async move {
            let reached = store.wait_for(&wanted).await;
            reached.map_err(|source| CatchUpError::Never { wanted, source })
        };
        Wait::new(outcome, move |deadline| CatchUpError::Deadline {
            wanted: late,
            deadline,
            progress: progress(),
        })
    }

    /// Up to where everything that the server sent has arrived, applied or not.
    #[must_use]
    #[doc(alias = "LastSyncResourceVersion")]
    pub fn last_sync_resource_version(&self) -> Option<ResourceVersion> {
        self.shared.reflector.borrow().resource_version.clone()
    }

    /// How far the informer is, and what stands in its way: the text of it is for people.
    #[must_use]
    pub fn progress(&self) -> Progress {
        self.shared.progress()
    }

    /// How the informer and its handlers fare.
    #[must_use]
    pub fn status(&self) -> InformerStatus {
        self.shared.status()
    }
}

impl<K: Object> Clone for SharedInformer<K> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            owner: Arc::clone(&self.owner),
        }
    }
}

impl<K: Object> fmt::Debug for SharedInformer<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedInformer")
            .field("name", &self.shared.name)
            .field("phase", &self.shared.phase())
            .field("store", &self.shared.store)
            .finish_non_exhaustive()
    }
}
