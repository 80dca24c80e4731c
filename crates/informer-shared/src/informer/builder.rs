//! How an informer is set up.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use informer_delta_fifo::{DeltaFifo, Order};
use informer_reflector::{ListerWatcher, Reflector, ReflectorConfig, WatchErrorHandler};
use informer_store::{IndexError, Indexers, NAMESPACE_INDEX, Store};

use super::SharedInformer;
use super::options::{OnStop, Options};
use super::shared::Shared;
use super::source::Source;
use crate::apply::RecreatedAs;
use crate::resync::effective_period;
use crate::starts::StartLimit;

/// An informer about to be made. See [`SharedInformer::builder`].
///
/// ```
/// use std::time::Duration;
/// use informer_reflector::{ListerWatcher, ReflectorConfig};
/// use informer_shared::SharedInformer;
/// use informer_store::{IndexError, Indexers, IndexValues};
/// use k8s_openapi::api::core::v1::Pod;
///
/// fn pods(source: impl ListerWatcher<Object = Pod>) -> Result<SharedInformer<Pod>, IndexError> {
///     SharedInformer::builder(source)
///         .name("pods of the shop")
///         .indexers(Indexers::new().index("node", |pod: &Pod, values: &mut IndexValues<'_>| {
///             values.extend(pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()));
///         }))
///         .transform(|pod: &mut Pod| {
///             pod.metadata.managed_fields = None;
///             Ok::<(), std::convert::Infallible>(())
///         })
///         .reflector_config(ReflectorConfig::default().label_selector("app=shop"))
///         .resync_period(Duration::from_secs(3600))
///         .build()
/// }
/// ```
#[must_use = "an informer is made by `build`"]
#[doc(alias = "SharedIndexInformerOptions")]
pub struct SharedInformerBuilder<L: ListerWatcher> {
    reflector: Reflector<L, DeltaFifo<L::Object>>,
    store: Store<L::Object>,
    fifo: DeltaFifo<L::Object>,
    indexers: Indexers<L::Object>,
    options: Options,
    start_limit: Option<StartLimit>,
}

impl<L: ListerWatcher> SharedInformerBuilder<L> {
    pub(crate) fn new(lister_watcher: L) -> Self {
        let store = Store::new();
        let fifo = DeltaFifo::new(store.clone());
        let reflector = Reflector::new(lister_watcher, Arc::new(fifo.clone()));
        let options = Options {
            name: default_name::<L::Object>(),
            resync_period: None,
            recreated: RecreatedAs::default(),
            on_stop: OnStop::default(),
        };
        Self {
            reflector,
            store,
            fifo,
            indexers: Indexers::new(),
            options,
            start_limit: None,
        }
    }

    /// What is informed of, for status and logs. The default is the name of the objects' type.
    pub fn name(mut self, name: impl Into<Arc<str>>) -> Self {
        self.options.name = name.into();
        self
    }

    /// Indexes of the cache, beside the one by namespace. More can be added at any time.
    pub fn indexers(mut self, indexers: Indexers<L::Object>) -> Self {
        self.indexers = indexers;
        self
    }

    /// How often handlers are reminded of every object, if they do not say otherwise. At least 1 s; zero is never,
    /// which is the default.
    pub const fn resync_period(mut self, period: Duration) -> Self {
        self.options.resync_period = effective_period(period);
        self
    }

    /// Changes each object once, between its arrival and the cache: to shrink it, usually. An error or a panic sets
    /// the object aside.
    #[doc(alias = "SetTransform")]
    pub fn transform<F, E>(mut self, transform: F) -> Self
    where
        F: Fn(&mut L::Object) -> Result<(), E> + Send + Sync + 'static,
        E: Into<Box<dyn StdError + Send + Sync>>,
    {
        self.reflector = self.reflector.transform(transform);
        self
    }

    /// Lets someone hear of every failed list and watch, and of every object that is set aside.
    #[doc(alias = "SetWatchErrorHandler")]
    pub fn watch_error_handler(mut self, handler: impl WatchErrorHandler) -> Self {
        self.reflector = self.reflector.watch_error_handler(handler);
        self
    }

    /// How to list and watch: selectors, list mode, page size, waits.
    pub fn reflector_config(mut self, config: ReflectorConfig) -> Self {
        self.reflector = self.reflector.config(config);
        self
    }

    /// How handlers hear of a new UID under an old name.
    pub const fn recreated_as(mut self, how: RecreatedAs) -> Self {
        self.options.recreated = how;
        self
    }

    /// What becomes of events that wait for handlers when the informer stops.
    pub const fn on_stop(mut self, on_stop: OnStop) -> Self {
        self.options.on_stop = on_stop;
        self
    }

    /// How many changes of one object may wait between watch and cache before they are joined to what handlers must
    /// hear; the default is 8. `None` keeps each one, so that an `Unbounded` or `Bounded` handler misses no step
    /// even when the cache lags behind the watch.
    pub fn max_deltas(self, max: Option<usize>) -> Self {
        self.fifo.set_max_deltas(max);
        self
    }

    /// In which order changes come from the watch to the store. By key, which is the default, the changes of one object
    /// that wait come together, and memory is bounded. [In order](Order::InOrder) every change comes where the server
    /// made it among those of all objects, and none is joined to another on the way; what waits while the cache lags
    /// behind is not bounded. A handler hears of all this only if its own queue joins nothing either:
    /// [`Unbounded`](crate::QueuePolicy::Unbounded) or [`Bounded`](crate::QueuePolicy::Bounded).
    #[doc(alias = "InOrderInformers")]
    pub fn queue_order(self, order: Order) -> Self {
        self.fifo.set_order(order);
        self
    }

    /// Lets the informer take turns with others of the same limit when it starts. Without one, which is the default
    /// outside of a factory, it starts at once.
    pub fn start_limit(mut self, limit: StartLimit) -> Self {
        self.start_limit = Some(limit);
        self
    }

    /// Makes the informer. It does nothing before it is started.
    ///
    /// # Errors
    /// When two indexes have one name.
    pub fn build(self) -> Result<SharedInformer<L::Object>, IndexError> {
        let Self {
            reflector,
            store,
            fifo,
            indexers,
            options,
            start_limit,
        } = self;
        store.add_indexers(&indexers)?;
        if !indexers.names().any(|name| name == NAMESPACE_INDEX) {
            store.add_namespace_index()?;
        }
        let mut source = Source::new(reflector.named(&*options.name));
        if let Some(limit) = start_limit {
            source = source.limited(limit);
        }
        Ok(SharedInformer::new(Shared::new(
            options, store, fifo, source,
        )))
    }
}

/// The last part of a type's name.
fn default_name<K>() -> Arc<str> {
    let full = std::any::type_name::<K>();
    let plain = full.split('<').next().unwrap_or(full);
    Arc::from(plain.rsplit("::").next().unwrap_or(plain))
}

impl<L: ListerWatcher> fmt::Debug for SharedInformerBuilder<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedInformerBuilder")
            .field("reflector", &self.reflector)
            .field("indexers", &self.indexers)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
