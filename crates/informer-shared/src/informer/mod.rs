//! The shared informer: one watch, one cache, any number of handlers.

mod builder;
mod cache;
mod options;
mod process;
mod run;
mod shared;
mod status;
mod weak;

use std::fmt;
use std::sync::Arc;

use informer_reflector::{Collection, ListerWatcher};
use informer_store::Object;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

pub use builder::SharedInformerBuilder;
pub use options::OnStop;
pub use status::InformerStatus;
pub use weak::WeakInformer;

pub(crate) use options::Options;

use self::shared::Shared;
use crate::error::RunError;
use crate::handler::{
    BlockingEventHandler, EventHandler, EventStream, HandlerBuilder, Registration,
    is_within_informer,
};
use crate::process_loop::Watched;
use crate::wait::{InformerPhase, NotSynced, Wait};

/// Keeps an indexed cache of one kind of objects equal to that of an API server, and sends its changes to handlers.
///
/// A clone is another handle of the same informer. Once the last handle is dropped the informer stops, unless
/// [`run`](Self::run) holds it. A [`WeakInformer`] is no such handle.
///
/// The cache is always changed before handlers receive the change. Each handler has its own queue: a slow, failing or
/// panicking one delays neither the cache nor other handlers.
#[doc = include_str!("../../docs/informer-example.md")]
///
/// # Within its own handlers
///
/// Every method may be called within a handler of the informer, but none waits there for the end of that handler:
/// [`stop`](Self::stop) begins the stop and returns, [`stopped`](Self::stopped) is refused. The call then has the time that
/// [`OnStop`] gives it. A handler that awaits the stop in a task that it spawned is dropped when that time is over.
#[doc(alias = "SharedIndexInformer")]
#[doc(alias = "NewInformer")]
#[doc(alias = "NewIndexerInformer")]
#[doc(alias = "NewInformerWithOptions")]
pub struct SharedInformer<K: Object> {
    owner: Arc<Owner<K>>,
}

/// Stops the informer when the last handle is dropped.
struct Owner<K: Object>(Arc<Shared<K>>);

impl<K: Object> Drop for Owner<K> {
    fn drop(&mut self) {
        self.0.begin_stop();
    }
}

impl<K: Object> SharedInformer<K> {
    fn new(shared: Shared<K>) -> Self {
        Self {
            owner: Arc::new(Owner(Arc::new(shared))),
        }
    }

    fn shared(&self) -> &Arc<Shared<K>> {
        &self.owner.0
    }

    /// Returns a builder of an informer of what this lists and watches.
    #[doc(alias = "NewSharedIndexInformerWithOptions")]
    pub fn builder<L>(lister_watcher: L) -> SharedInformerBuilder<L>
    where
        L: ListerWatcher<Object = K>,
    {
        SharedInformerBuilder::new(lister_watcher, Options::default())
    }

    pub(crate) fn watched(&self) -> Watched {
        self.shared().watched.clone()
    }

    /// Returns the informer's name, for status and logs.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.shared().watched.name
    }

    /// Returns what it lists and watches, if its lister-watcher [knows](ListerWatcher::collection).
    #[must_use]
    pub fn collection(&self) -> Option<&Collection> {
        self.shared().collection.as_ref()
    }

    /// Returns a handle that does not keep the informer running.
    #[must_use]
    pub fn downgrade(&self) -> WeakInformer<K> {
        WeakInformer::new(&self.owner)
    }

    /// Adds an async handler with the default settings, before the informer is started or at any time after. It first
    /// receives all cached objects, as `Added` with `initial` set.
    ///
    /// # Errors
    /// [`RunError::Stopped`] if the informer has stopped.
    #[doc(alias = "AddEventHandler")]
    pub fn add_handler(&self, handler: impl EventHandler<K>) -> Result<Registration, RunError> {
        self.handler().register(handler)
    }

    /// Adds a handler that may block, on a thread of its own, with the default settings.
    ///
    /// # Errors
    /// [`RunError::Stopped`] if the informer has stopped.
    pub fn add_blocking_handler(
        &self,
        handler: impl BlockingEventHandler<K>,
    ) -> Result<Registration, RunError> {
        self.handler().register_blocking(handler)
    }

    /// Returns the events as a stream, with the default settings.
    ///
    /// # Errors
    /// [`RunError::Stopped`] if the informer has stopped.
    pub fn events(&self) -> Result<EventStream<K>, RunError> {
        self.handler().stream()
    }

    /// Returns a builder of a handler with a name, queue, resync period, filter or failure policies of its own.
    #[doc(alias = "AddEventHandlerWithOptions")]
    pub fn handler(&self) -> HandlerBuilder<K> {
        let shared = self.shared();
        HandlerBuilder::new(Arc::clone(&shared.listeners), shared.options.resync_period)
    }

    /// Starts the informer in the tokio runtime of the caller, and returns. It runs until it is stopped or the last handle
    /// is dropped. [`stopped`](Self::stopped) returns how it ended.
    ///
    /// # Errors
    /// [`RunError::AlreadyStarted`], [`RunError::Stopped`], [`RunError::NoRuntime`].
    pub fn start(&self) -> Result<(), RunError> {
        let runtime = Handle::try_current().map_err(|_| RunError::NoRuntime)?;
        let process_loop = self.shared().claim()?;
        let shared = Arc::clone(self.shared());
        runtime.spawn(run::run(shared, process_loop, CancellationToken::new()));
        Ok(())
    }

    /// Runs the informer until `stop` is cancelled, [`stop`](Self::stop) is called, or a handler's failure ends it. All its
    /// tasks and threads have ended then, but for those of handlers that did not end in time.
    ///
    /// # Errors
    /// [`RunError::AlreadyStarted`], [`RunError::Stopped`]; [`RunError::Handler`] if a handler failed whose policy is to
    /// stop the informer; [`RunError::Panicked`].
    ///
    /// # Cancel safety
    /// Dropping the future ends the informer at once: tasks end at their next await point, threads after the call that
    /// runs.
    #[doc(alias = "RunWithContext")]
    pub async fn run(&self, stop: CancellationToken) -> Result<(), RunError> {
        let process_loop = self.shared().claim()?;
        run::run(Arc::clone(self.shared()), process_loop, stop).await
    }

    /// Stops the informer and waits until it has stopped. It cannot be started again; the cache stays readable.
    ///
    /// Within a handler of the informer it begins the stop and returns at once.
    ///
    /// # Errors
    /// Where the informer had ended for another reason, that reason.
    ///
    /// # Cancel safety
    /// The informer stops all the same.
    pub async fn stop(&self) -> Result<(), RunError> {
        self.shared().begin_stop();
        match self.stopped().await {
            Err(RunError::WithinHandler) => Ok(()),
            outcome => outcome,
        }
    }

    /// Waits until the informer has stopped, for whatever reason.
    ///
    /// # Errors
    /// [`RunError::Handler`] if a handler failed whose policy is to stop the informer; [`RunError::Panicked`];
    /// [`RunError::WithinHandler`], at once, within a handler of the informer, whose end it would wait for.
    pub async fn stopped(&self) -> Result<(), RunError> {
        let shared = self.shared();
        let mut status = shared.watched.status.clone();
        if !self.is_stopped() {
            if is_within_informer(shared.listeners.id) {
                return Err(RunError::WithinHandler);
            }
            // An error means that the process loop was dropped, which it is at the end.
            let _ = status
                .wait_for(|status| status.phase == InformerPhase::Stopped)
                .await;
        }
        shared.outcome()
    }

    /// Returns `true` if the informer was started.
    #[must_use]
    pub fn is_started(&self) -> bool {
        self.shared().was_started()
    }

    /// Returns `true` if the informer has stopped, and everything of it has ended.
    #[must_use]
    #[doc(alias = "IsStopped")]
    pub fn is_stopped(&self) -> bool {
        self.shared().watched.phase() == InformerPhase::Stopped
    }

    /// Returns `true` if the informer has stopped or is about to.
    pub(crate) fn is_stopping(&self) -> bool {
        self.shared().stop.is_cancelled()
    }

    /// Returns `true` if the cache has the first list. Once true it stays true. Handlers may still have to receive it: ask
    /// their registrations.
    #[must_use]
    #[doc(alias = "HasSynced")]
    pub fn has_synced(&self) -> bool {
        self.shared().watched.is_synced()
    }

    /// Waits until the cache has the first list.
    ///
    /// # Errors
    /// [`WaitError::Stopped`](crate::WaitError::Stopped) if the informer stops before;
    /// [`WaitError::Deadline`](crate::WaitError::Deadline), which says what it waits for.
    #[doc(alias = "WaitForCacheSync")]
    pub fn synced(&self) -> Wait {
        self.watched().synced()
    }

    /// Returns why the cache is not synced, or stopped being fed; `None` while it is synced.
    #[must_use]
    pub fn not_synced(&self) -> Option<NotSynced> {
        let watched = &self.shared().watched;
        (watched.phase() != InformerPhase::Synced).then(|| watched.not_synced())
    }

    /// Returns the informer's status and that of its handlers.
    #[must_use]
    pub fn status(&self) -> InformerStatus {
        self.shared().status()
    }
}

impl<K: Object> Clone for SharedInformer<K> {
    fn clone(&self) -> Self {
        Self {
            owner: Arc::clone(&self.owner),
        }
    }
}

impl<K: Object> fmt::Debug for SharedInformer<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedInformer")
            .field("name", &self.name())
            .field("phase", &self.shared().watched.phase())
            .field("store", &self.store())
            .finish_non_exhaustive()
    }
}
