//! How a factory is set up.

use std::any::Any;
use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use informer_delta_fifo::QueueOrder;
use informer_reflector::{BoxListerWatcher, ReflectorConfig, Report};
use informer_store::Object;
use informer_wire::{ListOptions, Resource};

use super::InformerFactory;
use super::settings::{Scoped, Settings};
use crate::error::BuildError;
use crate::informer::{OnStop, SharedInformerBuilder};
use crate::schedule::effective_period;
use crate::start_limit::StartLimit;

/// A factory that is being set up. See [`InformerFactory::builder`].
///
/// Settings hold for all informers, then for those of one type of objects and of any of its resources
/// ([`configure`](Self::configure)), then for one informer ([`informer_with`](InformerFactory::informer_with)), however the
/// calls are ordered. Tweaks, transforms and error handlers of all three hold together. A setting for a type of which there is
/// no informer when the factory is started is logged.
///
/// ```
/// use std::time::Duration;
/// use informer_reflector::ListerWatcherSource;
/// use informer_shared::{BuildError, InformerFactory};
/// use informer_wire::Dynamic;
/// use k8s_openapi::api::core::v1::Pod;
///
/// fn factory<S>(source: S) -> Result<InformerFactory<S>, BuildError>
/// where
///     S: ListerWatcherSource<Pod> + ListerWatcherSource<Dynamic>,
/// {
///     InformerFactory::builder(source)
///         .namespace("shop")
///         .resync_period(Duration::from_secs(3600))
///         .transform(|pod: &mut Pod| {
///             pod.status = None;
///             Ok::<(), std::convert::Infallible>(())
///         })
///         .configure::<Dynamic>(|resource, informer| match &*resource.plural {
///             "widgets" => informer.resync_period(Duration::from_secs(60)),
///             _ => informer,
///         })
///         .build()
/// }
/// ```
#[must_use = "a factory is made by `build`"]
#[doc(alias = "SharedInformerOption")]
pub struct InformerFactoryBuilder<S> {
    source: S,
    settings: Settings,
}

impl<S> InformerFactoryBuilder<S> {
    pub(super) fn new(source: S) -> Self {
        Self {
            source,
            settings: Settings::default(),
        }
    }

    /// Lists and watches this namespace only, where resources have namespaces. The default is all of them.
    #[doc(alias = "WithNamespace")]
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.settings.namespace = Some(namespace.into());
        self
    }

    /// Changes the parameters of every list and watch of any informer: to add selectors, usually. Several run in the order in
    /// which they were set. See [`SharedInformerBuilder::tweak_list_options`].
    #[doc(alias = "WithTweakListOptions")]
    pub fn tweak_list_options(
        mut self,
        tweak: impl Fn(&mut ListOptions) + Send + Sync + 'static,
    ) -> Self {
        self.settings.options.tweaks.push(Arc::new(tweak));
        self
    }

    /// Sets how to list and watch, for all informers. The last one holds; tweaks stay.
    pub fn reflector_config(mut self, config: ReflectorConfig) -> Self {
        self.settings.options.config = config;
        self
    }

    /// Sets the default resync period of handlers; see
    /// [`HandlerBuilder::resync_period`](crate::HandlerBuilder::resync_period). Zero, the default, is never.
    #[doc(alias = "defaultResync")]
    pub const fn resync_period(mut self, period: Duration) -> Self {
        self.settings.options.resync_period = effective_period(period);
        self
    }

    /// Sets the default resync period of handlers for objects of one type.
    #[doc(alias = "WithCustomResyncConfig")]
    pub fn resync_period_of<K: Object>(self, period: Duration) -> Self {
        self.configure::<K>(move |_, informer| informer.resync_period(period))
    }

    /// Changes each object of any informer once, between its receipt and the cache. The function receives the resource and
    /// the object, whose type it finds out by `downcast_mut`. Runs before the transforms of types.
    #[doc(alias = "WithTransform")]
    pub fn transform_all<E>(
        mut self,
        transform: impl Fn(&Resource, &mut dyn Any) -> Result<(), E> + Send + Sync + 'static,
    ) -> Self
    where
        E: Into<Box<dyn StdError + Send + Sync>>,
    {
        let transform = move |resource: &Resource, object: &mut dyn Any| {
            transform(resource, object).map_err(Into::into)
        };
        self.settings.transforms.push(Arc::new(transform));
        self
    }

    /// Changes each object of one type once, between its receipt and the cache. Other forms of the same resource, such as
    /// `Compact<Pod>` beside `Pod`, are other types: see [`transform_all`](Self::transform_all).
    #[doc(alias = "WithTransform")]
    pub fn transform<K, E>(
        self,
        transform: impl Fn(&mut K) -> Result<(), E> + Send + Sync + 'static,
    ) -> Self
    where
        K: Object,
        E: Into<Box<dyn StdError + Send + Sync>>,
    {
        let transform = Arc::new(transform);
        self.configure::<K>(move |_, informer| {
            let transform = Arc::clone(&transform);
            informer.transform(move |object: &mut K| transform(object))
        })
    }

    /// Configures each informer of objects of one type. The function receives the resource, by which it may distinguish those
    /// of a type such as `Dynamic`, and a builder to change.
    pub fn configure<K: Object>(
        mut self,
        configure: impl Fn(
            &Resource,
            SharedInformerBuilder<BoxListerWatcher<K>>,
        ) -> SharedInformerBuilder<BoxListerWatcher<K>>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        let scoped = Scoped::new::<K>(Arc::new(configure));
        self.settings.scoped.push(scoped);
        self
    }

    /// Adds a handler of the reports of all reflectors. It must not block.
    #[doc(alias = "SetWatchErrorHandler")]
    pub fn watch_error_handler(
        mut self,
        handler: impl Fn(&Resource, &Report) + Send + Sync + 'static,
    ) -> Self {
        self.settings.error_handlers.push(Arc::new(handler));
        self
    }

    /// Sets what happens to queued events when informers stop.
    pub const fn on_stop(mut self, on_stop: OnStop) -> Self {
        self.settings.options.on_stop = on_stop;
        self
    }

    /// Sets the order in which changes are cached; see [`SharedInformerBuilder::queue_order`].
    #[doc(alias = "InOrderInformers")]
    pub const fn queue_order(mut self, order: QueueOrder) -> Self {
        self.settings.options.queue_order = order;
        self
    }

    /// Sets how many informers may receive their first lists at once: by default eight. Give clones of one limit to
    /// factories over one connection.
    pub fn start_limit(mut self, limit: StartLimit) -> Self {
        self.settings.options.start_limit = Some(limit);
        self
    }

    /// Makes the factory.
    ///
    /// # Errors
    /// [`BuildError::Selector`] if a selector of the reflector's configuration does not parse.
    pub fn build(self) -> Result<InformerFactory<S>, BuildError> {
        self.settings.options.config.check()?;
        Ok(InformerFactory::from_parts(self.source, self.settings))
    }
}

impl<S> fmt::Debug for InformerFactoryBuilder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InformerFactoryBuilder")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}
