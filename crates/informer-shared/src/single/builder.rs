//! How a plain informer is set up.

use std::collections::HashMap;
use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use informer_delta_fifo::{DeltaFifo, Order};
use informer_reflector::{ListerWatcher, ReflectorConfig, WatchErrorHandler};
use informer_store::{IndexError, Indexers, NAMESPACE_INDEX, ObjectKey, Store};

use super::Informer;
use super::process::InformerProcess;
use crate::apply::RecreatedAs;
use crate::controller::{Controller, ControllerConfig};
use crate::handler::EventHandler;

/// A plain informer about to be made. See [`Informer::builder`].
#[must_use = "an informer is made by `build`"]
#[doc(alias = "InformerOptions")]
pub struct InformerBuilder<L: ListerWatcher, H> {
    store: Store<L::Object>,
    queue: DeltaFifo<L::Object>,
    indexers: Indexers<L::Object>,
    config: ControllerConfig<L, InformerProcess<L::Object, H>>,
}

impl<L: ListerWatcher, H: EventHandler<L::Object>> InformerBuilder<L, H> {
    pub(crate) fn new(lister_watcher: L, handler: H) -> Self {
        let store = Store::new();
        let queue = DeltaFifo::new(store.clone());
        let process = InformerProcess {
            store: store.clone(),
            recreated: RecreatedAs::default(),
            reminds: false,
            handler,
            missed: HashMap::new(),
        };
        Self {
            config: ControllerConfig::new(queue.clone(), lister_watcher, process),
            store,
            queue,
            indexers: Indexers::new(),
        }
    }

    /// What it is called in logs.
    pub fn name(mut self, name: impl Into<Arc<str>>) -> Self {
        self.config = self.config.name(name);
        self
    }

    /// Indexes of the store, beside the one by namespace. More can be added at any time.
    pub fn indexers(mut self, indexers: Indexers<L::Object>) -> Self {
        self.indexers = indexers;
        self
    }

    /// How often the handler is reminded of every object; zero, the default, is never. With a period, it also hears of
    /// the unchanged objects of a list.
    pub const fn resync_period(mut self, period: Duration) -> Self {
        self.config.process.reminds = !period.is_zero();
        self.config.full_resync_period = period;
        self
    }

    /// Changes each object once, between its arrival and the store. An error or a panic sets the object aside.
    pub fn transform<F, E>(mut self, transform: F) -> Self
    where
        F: Fn(&mut L::Object) -> Result<(), E> + Send + Sync + 'static,
        E: Into<Box<dyn StdError + Send + Sync>>,
    {
        self.config = self.config.transform(transform);
        self
    }

    /// Lets someone hear of every failed list and watch, and of every object that is set aside.
    pub fn watch_error_handler(mut self, handler: impl WatchErrorHandler) -> Self {
        self.config = self.config.watch_error_handler(handler);
        self
    }

    /// Hears of each event whose handling failed. It must not block.
    pub fn on_error<F>(mut self, hook: F) -> Self
    where
        F: Fn(&ObjectKey, &(dyn StdError + 'static)) + Send + Sync + 'static,
    {
        self.config = self.config.on_error(hook);
        self
    }

    /// How to list and watch: selectors, list mode, page size, waits.
    pub fn reflector_config(mut self, config: ReflectorConfig) -> Self {
        self.config = self.config.reflector_config(config);
        self
    }

    /// How the handler hears of a new UID under an old name.
    pub const fn recreated_as(mut self, how: RecreatedAs) -> Self {
        self.config.process.recreated = how;
        self
    }

    /// How many changes of one object may wait for the handler before they are joined to what it must hear; the default
    /// is 8. `None` keeps each one, and so does [`queue_order`](Self::queue_order) in order.
    pub fn max_deltas(self, max: Option<usize>) -> Self {
        self.queue.set_max_deltas(max);
        self
    }

    /// In which order changes come from the watch to the store. By key, which is the default, the changes of one object
    /// that wait come together, and memory is bounded. [In order](Order::InOrder) every change comes where the server
    /// made it among those of all objects, and none is joined to another on the way; what waits while the handler is busy
    /// is not bounded.
    #[doc(alias = "InOrderInformers")]
    pub fn queue_order(self, order: Order) -> Self {
        self.queue.set_order(order);
        self
    }

    /// Makes the informer. It does nothing before it is run.
    ///
    /// # Errors
    /// When two indexes have one name.
    pub fn build(self) -> Result<Informer<L::Object, H>, IndexError> {
        self.store.add_indexers(&self.indexers)?;
        if !self.indexers.names().any(|name| name == NAMESPACE_INDEX) {
            self.store.add_namespace_index()?;
        }
        Ok(Informer {
            store: self.store,
            controller: Controller::new(self.config),
        })
    }
}

impl<L: ListerWatcher, H> fmt::Debug for InformerBuilder<L, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InformerBuilder")
            .field("indexers", &self.indexers)
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}
