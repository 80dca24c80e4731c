//! A factory of informers: the parts of a program that ask for one kind of objects share one watch and one cache.

mod builder;
mod entry;

use std::fmt;
use std::sync::Arc;

use futures_util::future::join_all;
use informer_reflector::{BoxListerWatcher, ListerWatcherSource};
use informer_store::{IndexError, Lister, Object};
use informer_wire::{Resource, StaticResource};
use parking_lot::Mutex;

pub use builder::InformerFactoryBuilder;
pub use entry::FactorySyncError;

use self::builder::FactoryOptions;
use self::entry::{AnyInformer, Entry, EntryKey, all_synced};
use crate::error::RunError;
use crate::informer::{InformerStatus, SharedInformer, SharedInformerBuilder};
use crate::wait::Wait;

/// Makes informers over one source, such as a connection to an API server, and keeps one for each type and resource.
///
/// Asking for an informer or a lister makes the informer; [`start`](Self::start) starts those that are new. Cloning the
/// factory gives another handle to the same one. The factory owns its informers: they stop when the last handle is gone
/// that leads to them, and a lister is no such handle.
#[doc = include_str!("../../docs/factory-example.md")]
#[doc(alias = "SharedInformerFactory")]
#[doc(alias = "DynamicSharedInformerFactory")]
#[doc(alias = "MetadataSharedInformerFactory")]
pub struct InformerFactory<S> {
    inner: Arc<Inner<S>>,
}

struct Inner<S> {
    source: S,
    options: FactoryOptions,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    entries: Vec<Entry>,
    shut_down: bool,
}

impl<S> InformerFactory<S> {
    /// A factory of informers of all namespaces.
    #[must_use]
    #[doc(alias = "NewSharedInformerFactory")]
    pub fn new(source: S) -> Self {
        Self::builder(source).build()
    }

    /// A factory to be set up.
    #[doc(alias = "NewSharedInformerFactoryWithOptions")]
    pub fn builder(source: S) -> InformerFactoryBuilder<S> {
        InformerFactoryBuilder::new(source)
    }

    fn from_parts(source: S, options: FactoryOptions) -> Self {
        Self {
            inner: Arc::new(Inner {
                source,
                options,
                state: Mutex::default(),
            }),
        }
    }

    /// The informer of this type's resource: the same one whenever it is asked for.
    ///
    /// # Panics
    /// Never: an informer without indexes of its own can always be made.
    #[must_use]
    #[doc(alias = "Informer")]
    pub fn informer<K>(&self) -> SharedInformer<K>
    where
        K: Object + StaticResource,
        S: ListerWatcherSource<K>,
    {
        self.informer_for(K::resource())
    }

    /// A lister over the cache of this type's resource.
    #[must_use]
    pub fn lister<K>(&self) -> Lister<K>
    where
        K: Object + StaticResource,
        S: ListerWatcherSource<K>,
    {
        self.lister_for(K::resource())
    }

    /// The informer of a resource that is known only at run time, as objects of this type.
    ///
    /// # Panics
    /// Never: an informer without indexes of its own can always be made.
    #[must_use]
    #[doc(alias = "ForResource")]
    pub fn informer_for<K>(&self, resource: Resource) -> SharedInformer<K>
    where
        K: Object,
        S: ListerWatcherSource<K>,
    {
        self.informer_with(resource, |builder| builder)
            .expect("there are no indexes to clash")
    }

    /// A lister over the cache of a resource that is known only at run time, as objects of this type.
    #[must_use]
    pub fn lister_for<K>(&self, resource: Resource) -> Lister<K>
    where
        K: Object,
        S: ListerWatcherSource<K>,
    {
        let plural = resource.plural.clone();
        Lister::new(self.informer_for(resource).store().clone(), &plural)
    }

    /// The informer of a resource, set up by `configure` on top of what the factory says. If there is one already, it
    /// is returned as it is.
    ///
    /// # Errors
    /// When two of its indexes have one name.
    #[doc(alias = "InformerFor")]
    pub fn informer_with<K, F>(
        &self,
        resource: Resource,
        configure: F,
    ) -> Result<SharedInformer<K>, IndexError>
    where
        K: Object,
        S: ListerWatcherSource<K>,
        F: FnOnce(
            SharedInformerBuilder<BoxListerWatcher<K>>,
        ) -> SharedInformerBuilder<BoxListerWatcher<K>>,
    {
        let key = EntryKey::of::<K>(resource.clone());
        let known = self.inner.state.lock().find(&key);
        if let Some(informer) = known {
            return Ok(informer);
        }
        // User code runs here, so not under the lock. Of two that are made at once, the first one in stays.
        let options = &self.inner.options;
        let lister_watcher = self
            .inner
            .source
            .lister_watcher(&resource, options.namespace.as_deref());
        let informer = configure(options.informer(&resource, lister_watcher)).build()?;
        let mut state = self.inner.state.lock();
        if let Some(first) = state.find(&key) {
            drop(state);
            return Ok(first);
        }
        state.entries.push(Entry {
            key,
            informer: Box::new(informer.clone()),
        });
        Ok(informer)
    }

    /// Starts the informers that were asked for and are not yet started, in the tokio runtime of the caller, and
    /// returns. Call it again after asking for more.
    ///
    /// # Errors
    /// When there is no runtime, or the factory was shut down. Informers that were started or stopped by other means
    /// are left as they are.
    #[doc(alias = "Start")]
    pub fn start(&self) -> Result<(), RunError> {
        if self.inner.state.lock().shut_down {
            return Err(RunError::Stopped);
        }
        for informer in self
            .inner
            .informers()
            .iter()
            .filter(|informer| !informer.is_started())
        {
            match informer.start() {
                Ok(()) | Err(RunError::AlreadyStarted | RunError::Stopped) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Waits until the caches of all started informers have had their first list.
    ///
    /// # Errors
    /// As soon as one stops before; when a deadline that was set passes. The error says which are late, and why.
    #[doc(alias = "WaitForCacheSync")]
    pub fn wait_for_cache_sync(&self) -> Wait<FactorySyncError> {
        let informers = self.inner.informers();
        let started = informers.iter().filter(|informer| informer.is_started());
        all_synced(started.map(|informer| informer.watched()).collect())
    }

    /// Stops all informers and waits until they have stopped. The factory starts none any more.
    ///
    /// # Errors
    /// The first reason for which an informer had ended otherwise.
    ///
    /// # Cancel safety
    /// All informers stop all the same.
    #[doc(alias = "Shutdown")]
    pub async fn shutdown(&self) -> Result<(), RunError> {
        self.inner.state.lock().shut_down = true;
        let informers = self.inner.informers();
        let results = join_all(informers.iter().map(|informer| informer.stop())).await;
        results.into_iter().collect()
    }

    /// How each informer fares, in the order in which they were asked for.
    #[must_use]
    pub fn status(&self) -> Vec<InformerStatus> {
        self.inner
            .informers()
            .iter()
            .map(|informer| informer.status())
            .collect()
    }
}

impl State {
    fn find<K: Object>(&self, key: &EntryKey) -> Option<SharedInformer<K>> {
        let entry = self.entries.iter().find(|entry| entry.key == *key)?;
        entry
            .informer
            .as_any()
            .downcast_ref::<SharedInformer<K>>()
            .cloned()
    }
}

impl<S> Inner<S> {
    fn informers(&self) -> Vec<Box<dyn AnyInformer>> {
        self.state
            .lock()
            .entries
            .iter()
            .map(|entry| entry.informer.boxed_clone())
            .collect()
    }
}

impl<S> Clone for InformerFactory<S> {
    fn clone(&self) -> Self {
        Self {
            inner: Arc::clone(&self.inner),
        }
    }
}

impl<S> fmt::Debug for InformerFactory<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let informers = self.inner.informers();
        f.debug_struct("InformerFactory")
            .field("options", &self.inner.options)
            .field("informers", &informers.len())
            .finish_non_exhaustive()
    }
}
