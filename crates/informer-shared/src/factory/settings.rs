//! What a factory sets for its informers: for all, for those of a type, for those of a resource.

use std::any::{Any, type_name};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use informer_reflector::{BoxListerWatcher, Report};
use informer_store::Object;
use informer_wire::Resource;

use crate::error::BoxError;
use crate::informer::{Options, SharedInformerBuilder};

/// A builder of an informer of a factory.
pub(super) type FactoryInformerBuilder<K> = SharedInformerBuilder<BoxListerWatcher<K>>;

pub(super) type ErrorHandler = dyn Fn(&Resource, &Report) + Send + Sync;
pub(super) type AnyTransform =
    dyn Fn(&Resource, &mut dyn Any) -> Result<(), BoxError> + Send + Sync;
pub(super) type Configure<K> =
    dyn Fn(&Resource, FactoryInformerBuilder<K>) -> FactoryInformerBuilder<K> + Send + Sync;

/// The settings of a factory.
#[derive(Default)]
pub(super) struct Settings {
    pub(super) namespace: Option<String>,
    pub(super) options: Options,
    pub(super) transforms: Vec<Arc<AnyTransform>>,
    pub(super) error_handlers: Vec<Arc<ErrorHandler>>,
    pub(super) scoped: Vec<Scoped>,
}

/// A setting of informers of one type.
pub(super) struct Scoped {
    type_name: &'static str,
    /// An `Arc<Configure<K>>`.
    configure: Box<dyn Any + Send + Sync>,
    /// An informer had it, or it was reported that none has.
    is_settled: AtomicBool,
}

impl Scoped {
    pub(super) fn new<K: Object>(configure: Arc<Configure<K>>) -> Self {
        Self {
            type_name: type_name::<K>(),
            configure: Box::new(configure),
            is_settled: AtomicBool::new(false),
        }
    }
}

impl Settings {
    /// Makes a builder of an informer of this resource: what holds for all, then for its type.
    pub(super) fn informer<K: Object>(
        &self,
        resource: &Resource,
        lister_watcher: BoxListerWatcher<K>,
    ) -> FactoryInformerBuilder<K> {
        let options = self.options.clone();
        let mut builder =
            SharedInformerBuilder::new(lister_watcher, options).name(resource.to_string());
        for transform in &self.transforms {
            let (transform, resource) = (Arc::clone(transform), resource.clone());
            builder = builder.transform(move |object: &mut K| transform(&resource, object));
        }
        for handler in &self.error_handlers {
            let (handler, resource) = (Arc::clone(handler), resource.clone());
            builder =
                builder.watch_error_handler(move |report: &Report| handler(&resource, report));
        }
        for scoped in &self.scoped {
            if let Some(configure) = scoped.configure.downcast_ref::<Arc<Configure<K>>>() {
                scoped.is_settled.store(true, Ordering::Relaxed);
                builder = configure(resource, builder);
            }
        }
        builder
    }

    /// Logs, once, the types with settings of which there is no informer.
    pub(super) fn report_unused(&self) {
        for scoped in &self.scoped {
            if !scoped.is_settled.swap(true, Ordering::Relaxed) {
                let objects = scoped.type_name;
                tracing::warn!(
                    objects,
                    "factory has settings, but no informer, of this type of objects"
                );
            }
        }
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scoped = self.scoped.iter().map(|scoped| scoped.type_name);
        f.debug_struct("Settings")
            .field("namespace", &self.namespace)
            .field("config", &self.options.config)
            .field("scoped", &scoped.collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}
