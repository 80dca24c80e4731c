//! How a controller is set up.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use informer_delta_fifo::DeltaFifo;
use informer_reflector::{ListerWatcher, Reflector, ReflectorConfig, WatchErrorHandler};
use informer_store::ObjectKey;

use super::status::Record;
use crate::informer::Source;

/// What a [`Controller`](crate::Controller) is made of: a queue, what lists and watches into it, and what is done with
/// what comes out.
#[must_use = "a controller is made by `Controller::new`"]
#[doc(alias = "Config")]
pub struct ControllerConfig<L: ListerWatcher, P> {
    queue: DeltaFifo<L::Object>,
    reflector: Reflector<L, DeltaFifo<L::Object>>,
    reflector_config: ReflectorConfig,
    pub(crate) process: P,
    pub(crate) full_resync_period: Duration,
    retry_on_error: bool,
    record: Record,
}

impl<L: ListerWatcher, P> ControllerConfig<L, P> {
    /// A controller that lists and watches into this queue, and applies what comes out with `process`. It never
    /// resyncs, and a key that could not be applied waits for its next change or the next list.
    pub fn new(queue: DeltaFifo<L::Object>, lister_watcher: L, process: P) -> Self {
        Self {
            reflector: Reflector::new(lister_watcher, Arc::new(queue.clone())),
            queue,
            reflector_config: ReflectorConfig::default(),
            process,
            full_resync_period: Duration::ZERO,
            retry_on_error: false,
            record: Record::default(),
        }
    }

    /// What it is called in logs.
    #[doc(alias = "ObjectDescription")]
    pub fn name(mut self, name: impl Into<Arc<str>>) -> Self {
        self.record.name = name.into();
        self
    }

    /// How often the queue is told to remind of every object; zero, the default, is never.
    #[doc(alias = "FullResyncPeriod")]
    pub const fn full_resync_period(mut self, period: Duration) -> Self {
        self.full_resync_period = period;
        self
    }

    /// Asks, whenever a resync is due, whether anyone wants it.
    pub fn should_resync(mut self, ask: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.reflector = self.reflector.should_resync(ask);
        self
    }

    /// Whether a key that could not be applied returns to the queue at once, to be tried again: before newer changes
    /// of it if there are any, with a pause that grows up to a second while tries fail. If not, which is the default,
    /// it is tried with its next change or with the next list, which tells of every object that is not applied.
    pub const fn retry_on_error(mut self, retry: bool) -> Self {
        self.retry_on_error = retry;
        self
    }

    /// Hears of each key that could not be applied, and why. It must not block.
    pub fn on_error<F>(mut self, hook: F) -> Self
    where
        F: Fn(&ObjectKey, &(dyn StdError + 'static)) + Send + Sync + 'static,
    {
        self.record.on_error = Some(Box::new(hook));
        self
    }

    /// Lets someone hear of every failed list and watch, and of every object that is set aside.
    pub fn watch_error_handler(mut self, handler: impl WatchErrorHandler) -> Self {
        self.reflector = self.reflector.watch_error_handler(handler);
        self
    }

    /// Changes each object once, between its arrival and the queue. An error or a panic sets the object aside.
    pub fn transform<F, E>(mut self, transform: F) -> Self
    where
        F: Fn(&mut L::Object) -> Result<(), E> + Send + Sync + 'static,
        E: Into<Box<dyn StdError + Send + Sync>>,
    {
        self.reflector = self.reflector.transform(transform);
        self
    }

    /// How to list and watch: selectors, list mode, page size, waits.
    #[doc(alias = "WatchListPageSize")]
    pub fn reflector_config(mut self, config: ReflectorConfig) -> Self {
        self.reflector_config = config;
        self
    }

    /// Its parts, ready to run.
    pub(super) fn into_parts(self) -> Parts<L, P> {
        let config = if self.full_resync_period.is_zero() {
            self.reflector_config
        } else {
            self.reflector_config.resync_period(self.full_resync_period)
        };
        let reflector = self.reflector.config(config).named(&*self.record.name);
        Parts {
            queue: self.queue,
            source: Source::new(reflector),
            process: self.process,
            retry_on_error: self.retry_on_error,
            record: Arc::new(self.record),
        }
    }
}

/// The parts of a controller.
pub(super) struct Parts<L: ListerWatcher, P> {
    pub(super) queue: DeltaFifo<L::Object>,
    pub(super) source: Source,
    pub(super) process: P,
    pub(super) retry_on_error: bool,
    pub(super) record: Arc<Record>,
}

impl<L: ListerWatcher, P> fmt::Debug for ControllerConfig<L, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ControllerConfig")
            .field("name", &self.record.name)
            .field("queue", &self.queue)
            .field("reflector_config", &self.reflector_config)
            .field("full_resync_period", &self.full_resync_period)
            .field("retry_on_error", &self.retry_on_error)
            .finish_non_exhaustive()
    }
}
