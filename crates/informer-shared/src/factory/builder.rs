//! How a factory is set up: what holds for all its informers, and what for single types.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use informer_delta_fifo::Order;
use informer_reflector::{BoxListerWatcher, ReflectorConfig, Report};
use informer_store::Object;
use informer_wire::{ListOptions, Resource};

use super::InformerFactory;
use crate::handler::BoxError;
use crate::informer::{OnStop, SharedInformerBuilder};
use crate::starts::StartLimit;

type ErrorHandler = dyn Fn(&Resource, &Report<'_>) + Send + Sync;
type Transform<K> = Arc<dyn Fn(&mut K) -> Result<(), BoxError> + Send + Sync>;

/// A factory about to be made. See [`InformerFactory::builder`].
#[must_use = "a factory is made by `build`"]
#[doc(alias = "SharedInformerOption")]
pub struct InformerFactoryBuilder<S> {
    source: S,
    pub(super) options: FactoryOptions,
}

/// What a factory gives each of its informers.
pub(super) struct FactoryOptions {
    pub(super) namespace: Option<String>,
    resync_period: Duration,
    resync_periods: HashMap<TypeId, Duration>,
    /// For each type its `Transform<K>`.
    transforms: HashMap<TypeId, Box<dyn Any + Send + Sync>>,
    reflector: ReflectorConfig,
    error_handler: Option<Arc<ErrorHandler>>,
    on_stop: OnStop,
    queue_order: Order,
    start_limit: StartLimit,
}

impl<S> InformerFactoryBuilder<S> {
    pub(super) fn new(source: S) -> Self {
        let options = FactoryOptions {
            namespace: None,
            resync_period: Duration::ZERO,
            resync_periods: HashMap::new(),
            transforms: HashMap::new(),
            reflector: ReflectorConfig::default(),
            error_handler: None,
            on_stop: OnStop::default(),
            queue_order: Order::default(),
            start_limit: StartLimit::default(),
        };
        Self { source, options }
    }

    /// Lists and watches this namespace only, where resources have namespaces. The default is all of them.
    #[doc(alias = "WithNamespace")]
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.options.namespace = Some(namespace.into());
        self
    }

    /// Changes the options of every list and watch: to add selectors, usually. Several run in the order in which they
    /// were given.
    #[doc(alias = "WithTweakListOptions")]
    pub fn tweak_list_options(
        mut self,
        tweak: impl Fn(&mut ListOptions) + Send + Sync + 'static,
    ) -> Self {
        self.options.reflector = self.options.reflector.with_options_modifier(tweak);
        self
    }

    /// How to list and watch, for all resources. Comes before any tweak, which it would replace.
    pub fn reflector_config(mut self, config: ReflectorConfig) -> Self {
        self.options.reflector = config;
        self
    }

    /// How often handlers are reminded of every object, if neither they nor their type say otherwise. Zero is never,
    /// which is the default.
    #[doc(alias = "defaultResync")]
    pub const fn resync_period(mut self, period: Duration) -> Self {
        self.options.resync_period = period;
        self
    }

    /// The resync period for objects of one type.
    #[doc(alias = "WithCustomResyncConfig")]
    pub fn resync_period_of<K: Object>(mut self, period: Duration) -> Self {
        self.options
            .resync_periods
            .insert(TypeId::of::<K>(), period);
        self
    }

    /// Changes each object of one type once, between its arrival and the cache.
    #[doc(alias = "WithTransform")]
    pub fn transform<K, E>(
        mut self,
        transform: impl Fn(&mut K) -> Result<(), E> + Send + Sync + 'static,
    ) -> Self
    where
        K: Object,
        E: Into<Box<dyn StdError + Send + Sync>>,
    {
        let transform: Transform<K> =
            Arc::new(move |object: &mut K| transform(object).map_err(Into::into));
        self.options
            .transforms
            .insert(TypeId::of::<K>(), Box::new(transform));
        self
    }

    /// Lets someone hear of every failed list and watch of any informer.
    pub fn watch_error_handler(
        mut self,
        handler: impl Fn(&Resource, &Report<'_>) + Send + Sync + 'static,
    ) -> Self {
        self.options.error_handler = Some(Arc::new(handler));
        self
    }

    /// What becomes of events that wait for handlers when informers stop.
    pub const fn on_stop(mut self, on_stop: OnStop) -> Self {
        self.options.on_stop = on_stop;
        self
    }

    /// In which order changes come from the watches to the caches; see
    /// [`SharedInformerBuilder::queue_order`].
    #[doc(alias = "InOrderInformers")]
    pub const fn queue_order(mut self, order: Order) -> Self {
        self.options.queue_order = order;
        self
    }

    /// How many informers fill their caches for the first time at once: by default eight. Give clones of one limit to
    /// factories over one connection.
    pub fn start_limit(mut self, limit: StartLimit) -> Self {
        self.options.start_limit = limit;
        self
    }

    /// Makes the factory.
    #[must_use]
    pub fn build(self) -> InformerFactory<S> {
        InformerFactory::from_parts(self.source, self.options)
    }
}

impl FactoryOptions {
    /// An informer of this resource, set up as the factory says.
    pub(super) fn informer<K: Object>(
        &self,
        resource: &Resource,
        lister_watcher: BoxListerWatcher<K>,
    ) -> SharedInformerBuilder<BoxListerWatcher<K>> {
        let type_id = TypeId::of::<K>();
        let period = self
            .resync_periods
            .get(&type_id)
            .copied()
            .unwrap_or(self.resync_period);
        let mut builder = SharedInformerBuilder::new(lister_watcher)
            .name(resource.to_string())
            .resync_period(period)
            .on_stop(self.on_stop)
            .queue_order(self.queue_order)
            .start_limit(self.start_limit.clone())
            .reflector_config(self.reflector.clone());
        let transform = self
            .transforms
            .get(&type_id)
            .and_then(|any| any.downcast_ref());
        if let Some(transform) = transform.map(|t: &Transform<K>| Arc::clone(t)) {
            builder = builder.transform(move |object: &mut K| transform(object));
        }
        if let Some(handler) = self.error_handler.clone() {
            let resource = resource.clone();
            builder = builder.watch_error_handler(move |report: &Report<'_>| {
                handler(&resource, report);
            });
        }
        builder
    }
}

impl fmt::Debug for FactoryOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FactoryOptions")
            .field("namespace", &self.namespace)
            .field("resync_period", &self.resync_period)
            .field("transforms", &self.transforms.len())
            .field("reflector", &self.reflector)
            .field("queue_order", &self.queue_order)
            .field("start_limit", &self.start_limit)
            .finish_non_exhaustive()
    }
}

impl<S> fmt::Debug for InformerFactoryBuilder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InformerFactoryBuilder")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
