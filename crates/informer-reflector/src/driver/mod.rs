//! The reflector: drives the machine with a `ListerWatcher`, a sink and a clock.

mod apply;
mod consistency;
mod drive;
mod hooks;
pub(crate) mod io;
mod metrics;
mod set_aside;
mod unknown;

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use informer_store::DeltaSink;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use self::drive::Driver;
use self::hooks::Hooks;
use crate::config::ReflectorConfig;
use crate::lister_watcher::ListerWatcher;
use crate::report::WatchErrorHandler;
use crate::status::ReflectorStatus;

/// Keeps a sink, such as a store or a delta FIFO, equal to a collection of an API server: lists, watches, and
/// recovers from whatever the server or the network does.
///
/// It runs until it is told to stop. No failure ends it: each is reported and retried.
#[doc = include_str!("../../docs/reflector-example.md")]
pub struct Reflector<L: ListerWatcher, S> {
    lister_watcher: Arc<L>,
    sink: Arc<S>,
    config: ReflectorConfig,
    name: String,
    hooks: Hooks<L::Object>,
    status: watch::Sender<ReflectorStatus>,
}

impl<L: ListerWatcher, S: DeltaSink<L::Object>> Reflector<L, S> {
    /// A reflector from this source into this sink.
    #[must_use]
    #[doc(alias = "NewReflector")]
    pub fn new(lister_watcher: L, sink: Arc<S>) -> Self {
        Self {
            lister_watcher: Arc::new(lister_watcher),
            sink,
            config: ReflectorConfig::default(),
            name: String::from("objects"),
            hooks: Hooks::default(),
            status: watch::Sender::new(ReflectorStatus::default()),
        }
    }

    /// How to list and watch.
    #[must_use]
    pub fn config(mut self, config: ReflectorConfig) -> Self {
        self.config = config;
        self
    }

    /// What is reflected, for logs: the field `resource` of the span `reflector`. Default: `objects`.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Changes each object once, between its arrival and the sink; also the last states that come with deletions.
    /// An object that it refuses is set aside. A second transform replaces the first.
    ///
    /// It sees each received copy once. It should leave names and namespaces alone, for keys are made of them.
    #[must_use]
    #[doc(alias = "SetTransform")]
    pub fn transform<F, E>(mut self, transform: F) -> Self
    where
        F: Fn(&mut L::Object) -> Result<(), E> + Send + Sync + 'static,
        E: Into<Box<dyn StdError + Send + Sync>>,
    {
        self.hooks.transform = Some(Arc::new(move |object| {
            transform(object).map_err(Into::into)
        }));
        self
    }

    /// Lets someone hear of every failure. A second handler replaces the first.
    #[must_use]
    #[doc(alias = "SetWatchErrorHandler")]
    pub fn watch_error_handler(mut self, handler: impl WatchErrorHandler) -> Self {
        self.hooks.error_handler = Some(Arc::new(handler));
        self
    }

    /// Asks, whenever a resync is due, whether anyone wants it.
    #[must_use]
    #[doc(alias = "ShouldResync")]
    pub fn should_resync(mut self, ask: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.hooks.should_resync = Some(Arc::new(ask));
        self
    }

    /// The reflector's state: readable at any time, and a change of it can be awaited. It ends with
    /// [`Phase::Stopped`](crate::Phase::Stopped).
    #[must_use]
    pub fn status(&self) -> watch::Receiver<ReflectorStatus> {
        self.status.subscribe()
    }

    /// Runs until `stop` is cancelled. Needs a tokio runtime with time.
    ///
    /// # Cancel safety
    /// Dropping the future ends the reflector at once, as cancelling `stop` does. A list that has not arrived
    /// whole leaves no trace in the sink.
    ///
    /// # Panics
    /// Panics of the source and of hooks are caught and reported. A panic of the sink ends the future.
    pub async fn run(self, stop: CancellationToken) {
        let span = tracing::info_span!("reflector", resource = %self.name);
        Driver::new(self).drive(stop).instrument(span).await;
    }
}

impl<L: ListerWatcher, S> fmt::Debug for Reflector<L, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reflector")
            .field("name", &self.name)
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}
