//! The reflector: drives the machine with a `ListerWatcher`, a sink and a clock.

mod apply;
mod hooks;
mod io;
mod metrics;
mod observe;
mod run;
mod undecodable;

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use informer_store::{DeltaSink, SelectorError};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use self::hooks::Hooks;
pub use self::io::{Incoming, Io};
use self::run::Driver;
use crate::config::{ReflectorConfig, period};
use crate::lister_watcher::ListerWatcher;
use crate::report::WatchErrorHandler;
use crate::status::ReflectorStatus;

/// Keeps a sink, such as a store or a delta queue, equal to a collection of an API server: lists, watches, and
/// recovers from whatever the server or the network does.
///
/// It runs until it is stopped. No failure ends it: each is reported and retried.
#[doc = include_str!("../../docs/reflector-example.md")]
pub struct Reflector<L: ListerWatcher, S> {
    lister_watcher: Arc<L>,
    sink: Arc<S>,
    config: ReflectorConfig,
    name: String,
    hooks: Hooks<L::Object>,
    resync: Resync,
    status: watch::Sender<ReflectorStatus>,
}

/// When to resync.
enum Resync {
    Every(Option<Duration>),
    At(watch::Receiver<Option<Instant>>),
}

impl<L: ListerWatcher, S: DeltaSink<L::Object>> Reflector<L, S> {
    /// Makes a reflector from this source into this sink. The sink needs it for itself: it takes one history.
    #[must_use]
    #[doc(alias = "NewReflector")]
    pub fn new(lister_watcher: L, sink: Arc<S>) -> Self {
        Self {
            lister_watcher: Arc::new(lister_watcher),
            sink,
            config: ReflectorConfig::default(),
            name: String::from("objects"),
            hooks: Hooks::default(),
            resync: Resync::Every(None),
            status: watch::Sender::new(ReflectorStatus::default()),
        }
    }

    /// Sets how to list and watch.
    ///
    /// # Errors
    /// When a selector does not parse: the server would refuse every request.
    pub fn config(mut self, config: ReflectorConfig) -> Result<Self, SelectorError> {
        config.check()?;
        self.config = config;
        Ok(self)
    }

    /// Sets what is reflected, for logs: the field `resource` of the span `reflector`. Default: `objects`.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Changes each object once, between its receipt and the sink; also the last states that come with deletions.
    /// An object that it refuses, or at which it panics, is undecodable. A second transform replaces the first.
    ///
    /// The key of an object is that of its name and namespace before. UID and resource version are what the cache compares
    /// objects by, so they are restored if the transform changes them, which is reported once. Where a type cannot restore
    /// them ([`Object::restore_version`](informer_store::Object::restore_version)), the object is refused.
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

    /// Sets who receives the reports. A second handler replaces the first.
    #[must_use]
    #[doc(alias = "SetWatchErrorHandler")]
    pub fn watch_error_handler(mut self, handler: impl WatchErrorHandler) -> Self {
        self.hooks.error_handler = Some(Arc::new(handler));
        self
    }

    /// Sets how often the sink resyncs, from the end of the first list on: it queues a `Sync` delta for every object.
    /// Never requests anything from the server. Default, and zero: never. At least a second.
    ///
    /// No effect on a sink without consumers, such as a [`Store`](informer_store::Store). Replaces
    /// [`resync_at`](Self::resync_at).
    #[must_use]
    pub fn resync_period(mut self, every: Duration) -> Self {
        self.resync = Resync::Every(period(every));
        self
    }

    /// Sets that the sink resyncs at times that someone else knows: once when the time in the channel has passed, then at
    /// the next time that is sent. Before the first list is complete it waits. Replaces
    /// [`resync_period`](Self::resync_period).
    #[must_use]
    #[doc(alias = "ShouldResync")]
    pub fn resync_at(mut self, at: watch::Receiver<Option<Instant>>) -> Self {
        self.resync = Resync::At(at);
        self
    }

    /// Returns the reflector's status, which can be read, and waited for, at any time. It ends with
    /// [`ReflectorPhase::Stopped`](crate::ReflectorPhase::Stopped).
    #[must_use]
    pub fn status(&self) -> watch::Receiver<ReflectorStatus> {
        self.status.subscribe()
    }

    /// Runs until `stop` is cancelled. Needs a tokio runtime with time.
    ///
    /// # Cancel safety
    /// Dropping the future ends the reflector at once, as cancelling `stop` does. A list that is not complete leaves no
    /// trace in the sink.
    ///
    /// # Panics
    /// Panics of the source and of hooks are caught and reported. A panic of the sink ends the future.
    pub async fn run(self, stop: CancellationToken) {
        let span = tracing::info_span!("reflector", resource = %self.name);
        Driver::new(self).run(stop).instrument(span).await;
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
