//! How an informer is set up.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use informer_delta_fifo::{DeltaFifo, DeltaFifoConfig, QueueOrder};
use informer_reflector::__private::call_hook;
use informer_reflector::{ListerWatcher, Reflector, ReflectorConfig, Report, WatchErrorHandler};
use informer_store::{Indexers, Store};
use informer_wire::ListOptions;
use tokio::sync::watch;

use super::SharedInformer;
use super::options::{OnStop, Options};
use super::process::{SharedProcess, Totals};
use super::shared::Shared;
use crate::apply::RecreatedAs;
use crate::error::{BoxError, BuildError};
use crate::handler::Listeners;
use crate::process_loop::{ProcessLoop, Source, Watched};
use crate::schedule::effective_period;
use crate::start_limit::StartLimit;

/// An informer that is being set up. See [`SharedInformer::builder`].
///
/// The order of calls does not matter, and nothing that was set is lost: tweaks, transforms, error handlers and indexers that
/// are set several times all hold, in the order in which they were set. Of any other setting the last one holds.
///
/// ```
/// use std::time::Duration;
/// use informer_reflector::{ListerWatcher, ReflectorConfig};
/// use informer_shared::{BuildError, SharedInformer};
/// use informer_store::{Indexers, IndexValues};
/// use k8s_openapi::api::core::v1::Pod;
///
/// fn pods(source: impl ListerWatcher<Object = Pod>) -> Result<SharedInformer<Pod>, BuildError> {
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
    lister_watcher: L,
    name: Arc<str>,
    options: Options,
    transforms: Vec<Box<Transform<L::Object>>>,
    indexers: Vec<Indexers<L::Object>>,
}

type Transform<K> = dyn Fn(&mut K) -> Result<(), BoxError> + Send + Sync;

impl<L: ListerWatcher> SharedInformerBuilder<L> {
    pub(crate) fn new(lister_watcher: L, options: Options) -> Self {
        Self {
            lister_watcher,
            name: default_name::<L::Object>(),
            options,
            transforms: Vec::new(),
            indexers: Vec::new(),
        }
    }

    /// Sets the informer's name, for status, logs and errors. The default is the name of the objects' type.
    pub fn name(mut self, name: impl Into<Arc<str>>) -> Self {
        self.name = name.into();
        self
    }

    /// Adds indexes of the cache, beside the one by namespace. More can be added at any time.
    pub fn indexers(mut self, indexers: Indexers<L::Object>) -> Self {
        self.indexers.push(indexers);
        self
    }

    /// Sets the default resync period of handlers; see
    /// [`HandlerBuilder::resync_period`](crate::HandlerBuilder::resync_period). At least 1 s; zero, the default, is never.
    pub const fn resync_period(mut self, period: Duration) -> Self {
        self.options.resync_period = effective_period(period);
        self
    }

    /// Changes each object once, between its receipt and the cache: to shrink it, usually. An error or a panic makes the
    /// object undecodable. Several transforms run in the order in which they were set, up to the first error. See
    /// [`Reflector::transform`] for what a transform must leave alone.
    #[doc(alias = "SetTransform")]
    pub fn transform<F, E>(mut self, transform: F) -> Self
    where
        F: Fn(&mut L::Object) -> Result<(), E> + Send + Sync + 'static,
        E: Into<Box<dyn StdError + Send + Sync>>,
    {
        let transform = move |object: &mut L::Object| transform(object).map_err(Into::into);
        self.transforms.push(Box::new(transform));
        self
    }

    /// Adds a handler of the reflector's reports: failed lists and watches, undecodable objects. It runs on the reflector's
    /// task: it must not block. A panic in it is caught and logged.
    #[doc(alias = "SetWatchErrorHandler")]
    pub fn watch_error_handler(mut self, handler: impl WatchErrorHandler) -> Self {
        self.options.error_handlers.push(Arc::new(handler));
        self
    }

    /// Sets how to list and watch: selectors, list mode, page size, timeouts. Replaces the whole configuration that was set
    /// before, by a factory too; [tweaks](Self::tweak_list_options) stay.
    pub fn reflector_config(mut self, config: ReflectorConfig) -> Self {
        self.options.config = config;
        self
    }

    /// Changes the configuration that was set before, by a factory too.
    pub fn map_reflector_config(
        mut self,
        change: impl FnOnce(ReflectorConfig) -> ReflectorConfig,
    ) -> Self {
        self.options.config = change(self.options.config);
        self
    }

    /// Changes the parameters of every list and watch, after the configuration: to add selectors, usually. Several run in
    /// the order in which they were set. One that panics is logged and has no effect.
    #[doc(alias = "TweakListOptionsFunc")]
    pub fn tweak_list_options(
        mut self,
        tweak: impl Fn(&mut ListOptions) + Send + Sync + 'static,
    ) -> Self {
        self.options.tweaks.push(Arc::new(tweak));
        self
    }

    /// Sets how handlers receive an object that was deleted and created again.
    pub const fn recreated_as(mut self, how: RecreatedAs) -> Self {
        self.options.recreated = how;
        self
    }

    /// Sets what happens to queued events when the informer stops.
    pub const fn on_stop(mut self, on_stop: OnStop) -> Self {
        self.options.on_stop = on_stop;
        self
    }

    /// Sets how many changes of one object may be queued between watch and cache before they are coalesced; the default is
    /// 8, the least 3. `None` keeps each one, so that an `Unbounded` or `Bounded` handler receives every step even if the
    /// cache lags behind the watch. Ignored [in order](QueueOrder::InOrder), where nothing is coalesced.
    pub const fn max_deltas(mut self, max: Option<usize>) -> Self {
        self.options.max_deltas = Some(max);
        self
    }

    /// Sets the order in which changes are cached. By key, which is the default, the queued changes of one object are applied
    /// together, and memory is bounded. [In order](QueueOrder::InOrder) changes of all objects are applied as the server made
    /// them, and none is coalesced before it is cached. A handler receives all of them only if its own queue coalesces
    /// nothing either: [`Unbounded`](crate::QueuePolicy::Unbounded) or [`Bounded`](crate::QueuePolicy::Bounded).
    #[doc(alias = "InOrderInformers")]
    pub const fn queue_order(mut self, order: QueueOrder) -> Self {
        self.options.queue_order = order;
        self
    }

    /// Lets the informer take a start slot of this limit. Without one, which is the default outside of a factory, it starts
    /// at once.
    pub fn start_limit(mut self, limit: StartLimit) -> Self {
        self.options.start_limit = Some(limit);
        self
    }

    pub(crate) fn indexers_so_far(&self) -> Vec<Indexers<L::Object>> {
        self.indexers.clone()
    }

    /// Makes the informer. It does nothing before it is started.
    ///
    /// # Errors
    /// [`BuildError::Index`] if two indexes have one name; [`BuildError::Selector`] if a selector does not parse.
    pub fn build(self) -> Result<SharedInformer<L::Object>, BuildError> {
        let store = Store::new();
        for indexers in &self.indexers {
            store.add_indexers(indexers)?;
        }
        store.add_namespace_index()?;
        let options = self.options.clone();
        let name = Arc::clone(&self.name);
        let mut config = DeltaFifoConfig::new()
            .known(store.clone())
            .order(options.queue_order);
        if let Some(max) = options.max_deltas {
            config = config.max_deltas(max);
        }
        let queue = DeltaFifo::new(config);
        let collection = call_hook("collection", || self.lister_watcher.collection()).flatten();
        let (resync_at, due) = watch::channel(None);
        let mut source = Source::new(self.into_reflector(&queue)?.resync_at(due));
        if let Some(limit) = options.start_limit.clone() {
            source = source.limited(limit);
        }
        let (status, watched) = Watched::new("informer", name, &source);
        let of_handlers = watched.clone();
        let listeners = Arc::new(Listeners::new(Arc::new(move || of_handlers.not_synced())));
        let totals = Arc::new(Totals::default());
        let process = SharedProcess::new(
            store.clone(),
            Arc::clone(&listeners),
            resync_at,
            options.recreated,
            Arc::clone(&totals),
        );
        let process_loop =
            ProcessLoop::from_parts(queue.clone(), source, process, status, watched.clone());
        let mut shared = Shared::new(
            (watched, process_loop),
            (store, queue),
            listeners,
            options,
            totals,
        );
        shared.collection = collection;
        Ok(SharedInformer::new(shared))
    }

    fn into_reflector(
        self,
        queue: &DeltaFifo<L::Object>,
    ) -> Result<Reflector<L, DeltaFifo<L::Object>>, BuildError> {
        let mut config = self.options.config;
        for tweak in self.options.tweaks {
            config = config.with_options_modifier(move |options| tweak(options));
        }
        let mut reflector = Reflector::new(self.lister_watcher, Arc::new(queue.clone()))
            .named(&*self.name)
            .config(config)?;
        let (transforms, handlers) = (self.transforms, self.options.error_handlers);
        if !transforms.is_empty() {
            reflector = reflector.transform(move |object: &mut L::Object| {
                transforms
                    .iter()
                    .try_for_each(|transform| transform(object))
            });
        }
        if !handlers.is_empty() {
            reflector = reflector.watch_error_handler(move |report: &Report| {
                // A panic in one does not keep the report from the others.
                for handler in &handlers {
                    call_hook("watch error handler", || handler.handle(report));
                }
            });
        }
        Ok(reflector)
    }
}

/// Returns the last part of a type's name.
fn default_name<K>() -> Arc<str> {
    let full = std::any::type_name::<K>();
    let plain = full.split('<').next().unwrap_or(full);
    Arc::from(plain.rsplit("::").next().unwrap_or(plain))
}

impl<L: ListerWatcher> fmt::Debug for SharedInformerBuilder<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedInformerBuilder")
            .field("name", &self.name)
            .field("config", &self.options.config)
            .finish_non_exhaustive()
    }
}
