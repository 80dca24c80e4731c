//! A factory of informers: the parts of a program that ask for one kind of objects share one watch and one cache.

mod builder;
mod entry;
mod settings;

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use futures_util::future::join_all;
use informer_reflector::{BoxListerWatcher, ListerWatcherSource};
use informer_store::{IndexError, Indexers, Lister, Object};
use informer_wire::{Resource, StaticResource};
use parking_lot::Mutex;

pub use builder::InformerFactoryBuilder;

use self::entry::{AnyInformer, EntryKey, all_synced};
use self::settings::Settings;
use crate::error::{BuildError, RunError};
use crate::informer::{InformerStatus, SharedInformer, SharedInformerBuilder};
use crate::wait::Wait;

/// Makes informers over one source, such as a connection to an API server, and keeps one for each type of objects and each
/// resource: group, version and plural.
///
/// Asking for an informer or a lister makes the informer; [`start`](Self::start) starts those that are new. An informer that
/// was stopped by itself is replaced by a new one when it is asked for again. A clone is another handle of the same factory.
/// The factory owns its informers: they stop when the last handle is dropped that leads to them. A lister is no such handle.
#[doc = include_str!("../../docs/factory-example.md")]
///
/// # Lock order
/// The lock is taken alone. No user code runs under it.
#[doc(alias = "SharedInformerFactory")]
#[doc(alias = "DynamicSharedInformerFactory")]
#[doc(alias = "MetadataSharedInformerFactory")]
pub struct InformerFactory<S> {
    inner: Arc<Inner<S>>,
}

struct Inner<S> {
    source: S,
    settings: Settings,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// In the order in which they were asked for.
    informers: Vec<(EntryKey, Arc<dyn AnyInformer>)>,
    shut_down: bool,
}

impl<S> InformerFactory<S> {
    /// Makes a factory of informers of all namespaces, with the default settings.
    #[must_use]
    #[doc(alias = "NewSharedInformerFactory")]
    pub fn new(source: S) -> Self {
        Self::from_parts(source, Settings::default())
    }

    /// Returns a builder of a factory.
    #[doc(alias = "NewSharedInformerFactoryWithOptions")]
    pub fn builder(source: S) -> InformerFactoryBuilder<S> {
        InformerFactoryBuilder::new(source)
    }

    fn from_parts(source: S, mut settings: Settings) -> Self {
        // One for all informers.
        settings.options.start_limit.get_or_insert_default();
        Self {
            inner: Arc::new(Inner {
                source,
                settings,
                state: Mutex::default(),
            }),
        }
    }

    /// Returns the informer of this type's resource: the same one whenever it is asked for.
    ///
    /// # Panics
    /// If the settings of its type or resource make an informer that cannot be built: two indexes of one name, or a selector
    /// that does not parse. [`informer_with`](Self::informer_with) returns an error instead.
    #[must_use]
    #[doc(alias = "Informer")]
    pub fn informer<K>(&self) -> SharedInformer<K>
    where
        K: Object + StaticResource,
        S: ListerWatcherSource<K>,
    {
        self.informer_for(K::resource())
    }

    /// Returns a lister of the cache of this type's resource.
    ///
    /// # Panics
    /// As [`informer`](Self::informer).
    #[must_use]
    pub fn lister<K>(&self) -> Lister<K>
    where
        K: Object + StaticResource,
        S: ListerWatcherSource<K>,
    {
        self.lister_for(K::resource())
    }

    /// Returns the informer of a resource that is known only at run time, with objects of this type.
    ///
    /// # Panics
    /// As [`informer`](Self::informer).
    #[must_use]
    #[doc(alias = "ForResource")]
    pub fn informer_for<K>(&self, resource: Resource) -> SharedInformer<K>
    where
        K: Object,
        S: ListerWatcherSource<K>,
    {
        let known = self.inner.state.lock().find(&EntryKey::of::<K>(&resource));
        if let Some(informer) = known {
            return informer;
        }
        match self.informer_with(resource, |builder| builder) {
            Ok((informer, _)) => informer,
            Err(error) => panic!("the factory's settings make no informer: {error}"),
        }
    }

    /// Returns a lister of the cache of a resource that is known only at run time, with objects of this type.
    ///
    /// # Panics
    /// As [`informer`](Self::informer).
    #[must_use]
    pub fn lister_for<K>(&self, resource: Resource) -> Lister<K>
    where
        K: Object,
        S: ListerWatcherSource<K>,
    {
        let plural = resource.plural.clone();
        Lister::new(self.informer_for(resource).store().clone(), &plural)
    }

    /// Returns the informer of a resource, configured on top of the factory's settings, and whether this call made it.
    ///
    /// If there is one already, indexes that it lacks, by name, are added to it; its other settings stay.
    ///
    /// # Errors
    /// [`BuildError::Index`] if two of a new informer's indexes have one name; [`BuildError::Selector`] if a selector does not
    /// parse.
    #[doc(alias = "InformerFor")]
    pub fn informer_with<K, F>(
        &self,
        resource: Resource,
        configure: F,
    ) -> Result<(SharedInformer<K>, bool), BuildError>
    where
        K: Object,
        S: ListerWatcherSource<K>,
        F: FnOnce(
            SharedInformerBuilder<BoxListerWatcher<K>>,
        ) -> SharedInformerBuilder<BoxListerWatcher<K>>,
    {
        let key = EntryKey::of::<K>(&resource);
        // User code runs here, so not under the lock.
        let (source, settings) = (&self.inner.source, &self.inner.settings);
        let lister_watcher = source.lister_watcher(&resource, settings.namespace.as_deref());
        let builder = configure(settings.informer(&resource, lister_watcher));
        let indexers = builder.indexers_so_far();
        let known = self.inner.state.lock().find(&key);
        if let Some(informer) = known {
            add_missing(&informer, &indexers)?;
            return Ok((informer, false));
        }
        let informer = builder.build()?;
        let mut state = self.inner.state.lock();
        let Some(first) = state.find(&key) else {
            let replaced = state.keep(key, Arc::new(informer.clone()));
            drop(state);
            drop(replaced);
            return Ok((informer, true));
        };
        drop(state);
        // Of two that are made at once, the first one stays.
        add_missing(&first, &indexers)?;
        Ok((first, false))
    }

    /// Starts the informers that were asked for and are not yet started, in the tokio runtime of the caller, and returns. Call
    /// it again after asking for more.
    ///
    /// # Errors
    /// [`RunError::NoRuntime`]; [`RunError::Stopped`] if the factory was shut down. Informers that were started or stopped by
    /// other means are left as they are.
    #[doc(alias = "Start")]
    pub fn start(&self) -> Result<(), RunError> {
        let state = self.inner.state.lock();
        if state.shut_down {
            return Err(RunError::Stopped);
        }
        let informers = state.informers();
        drop(state);
        // Not under the lock: a start in a runtime that has ended drops handlers. One that a shutdown has stopped meanwhile
        // does not start any more.
        for informer in informers {
            match informer.start() {
                Ok(()) | Err(RunError::AlreadyStarted | RunError::Stopped) => {}
                Err(error) => return Err(error),
            }
        }
        self.inner.settings.report_unused();
        Ok(())
    }

    /// Waits until the caches of all informers that were asked for have their first lists. One that is not started is waited
    /// for too: it is named in the error of a deadline.
    ///
    /// # Errors
    /// [`WaitError::Informers`](crate::WaitError::Informers) as soon as one stops before, or when a deadline that was set
    /// passes. It says which are late, and why.
    #[doc(alias = "WaitForCacheSync")]
    pub fn wait_for_cache_sync(&self) -> Wait {
        let informers = self.inner.informers();
        all_synced(
            informers
                .iter()
                .map(|informer| informer.watched())
                .collect(),
        )
    }

    /// Stops all informers and waits until they have stopped. The factory starts none any more.
    ///
    /// Within a handler of one of them, that informer's stop begins and is not waited for.
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

    /// Returns the status of each informer, in the order in which they were asked for.
    #[must_use]
    pub fn status(&self) -> Vec<InformerStatus> {
        let informers = self.inner.informers();
        informers.iter().map(|informer| informer.status()).collect()
    }
}

impl State {
    fn informers(&self) -> Vec<Arc<dyn AnyInformer>> {
        let informers = self.informers.iter().map(|(_, informer)| informer);
        informers.map(Arc::clone).collect()
    }

    /// Returns the informer of this key, unless it has stopped while the factory goes on.
    fn find<K: Object>(&self, key: &EntryKey) -> Option<SharedInformer<K>> {
        let (_, informer) = self.informers.iter().find(|(own, _)| own == key)?;
        let is_usable = self.shut_down || !informer.is_stopping();
        let informer: &dyn Any = &**informer;
        informer.downcast_ref().filter(|_| is_usable).cloned()
    }

    /// Keeps an informer, in the place of one that has stopped, which is returned.
    fn keep(
        &mut self,
        key: EntryKey,
        informer: Arc<dyn AnyInformer>,
    ) -> Option<Arc<dyn AnyInformer>> {
        if let Some((_, stopped)) = self.informers.iter_mut().find(|(own, _)| *own == key) {
            return Some(std::mem::replace(stopped, informer));
        }
        self.informers.push((key, informer));
        None
    }
}

/// Adds the indexes that an informer lacks.
fn add_missing<K: Object>(
    informer: &SharedInformer<K>,
    indexers: &[Indexers<K>],
) -> Result<(), IndexError> {
    for indexers in indexers {
        for name in indexers.names() {
            // One that is there already, or is added by somebody else meanwhile, stays.
            match informer.add_indexers(&indexers.filtered(|own| own == name)) {
                Ok(()) | Err(IndexError::Exists { .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}

impl<S> Inner<S> {
    fn informers(&self) -> Vec<Arc<dyn AnyInformer>> {
        self.state.lock().informers()
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
            .field("settings", &self.inner.settings)
            .field("informers", &informers.len())
            .finish_non_exhaustive()
    }
}
