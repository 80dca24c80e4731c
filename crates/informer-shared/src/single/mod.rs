//! The plain informer: one watch, one store, one handler, which runs in the loop that writes the store.

mod builder;
mod process;

use std::fmt;

use informer_reflector::ListerWatcher;
use informer_store::{Lister, Object, Store};
use tokio_util::sync::CancellationToken;

pub use builder::InformerBuilder;

use crate::controller::{Controller, ControllerMonitor};
use crate::error::RunError;
use crate::handler::EventHandler;
use process::InformerProcess;

/// Keeps an indexed store of one kind of objects in step with an API server, and tells one handler what changes.
///
/// The handler runs in the loop that writes the store: it hears of a batch of changes once all of it is stored, and the
/// next batch waits for it. The reader of the watch never does. Take a [`SharedInformer`](crate::SharedInformer) for
/// more handlers, for ones that are slow, or for late ones.
///
/// An event whose handler fails is counted, logged and told to [`on_error`](InformerBuilder::on_error), and counts as
/// told. With the next list the object is told again, as an update that changes nothing or as its deletion, if the list
/// has no news of it. A panic of the handler passes through to the caller of [`run`](Self::run).
///
/// ```
/// use std::time::Duration;
/// use informer_reflector::ListerWatcher;
/// use informer_shared::{Event, Informer};
/// use informer_store::IndexError;
/// use k8s_openapi::api::core::v1::Pod;
/// use tokio_util::sync::CancellationToken;
///
/// async fn follow(source: impl ListerWatcher<Object = Pod>, stop: CancellationToken) -> Result<(), Box<dyn std::error::Error>> {
///     let informer = Informer::builder(source, |event: Event<Pod>| async move { println!("{event:?}") })
///         .resync_period(Duration::from_secs(600))
///         .build()?;
///     let pods = informer.store().clone();
///     informer.run(stop).await?;
///     println!("{} pods in the end", pods.len());
///     Ok(())
/// }
/// ```
#[doc(alias = "NewInformer")]
#[doc(alias = "NewIndexerInformer")]
#[doc(alias = "NewInformerWithOptions")]
pub struct Informer<K: Object, H> {
    store: Store<K>,
    controller: Controller<K, InformerProcess<K, H>>,
}

impl<K: Object, H: EventHandler<K>> Informer<K, H> {
    /// An informer of what this lists and watches, with this handler, to be set up.
    pub fn builder<L>(lister_watcher: L, handler: H) -> InformerBuilder<L, H>
    where
        L: ListerWatcher<Object = K>,
    {
        InformerBuilder::new(lister_watcher, handler)
    }

    /// The store. It stays readable after the informer has ended. Only the informer should write to it.
    #[must_use]
    pub const fn store(&self) -> &Store<K> {
        &self.store
    }

    /// Reads the store by namespace, name and selectors. `resource` is what errors call the objects.
    #[must_use]
    pub fn lister(&self, resource: &str) -> Lister<K> {
        Lister::new(self.store.clone(), resource)
    }

    /// A view of the informer that can be held while it runs, and after: whether it is synced, and how it fares.
    #[must_use]
    pub fn monitor(&self) -> ControllerMonitor<K> {
        self.controller.monitor()
    }

    /// Runs until `stop` is cancelled. Then nothing of it runs any more. A panic of the handler passes through.
    ///
    /// # Errors
    /// When the reflector panicked.
    ///
    /// # Cancel safety
    /// Dropping the future ends the informer; its task ends at its next await point.
    #[doc(alias = "RunWithContext")]
    pub async fn run(self, stop: CancellationToken) -> Result<(), RunError> {
        let close = CloseOnDrop(self.store);
        let outcome = self.controller.run(stop).await;
        drop(close);
        outcome
    }
}

/// Nobody may wait for ever for a version that will not come.
struct CloseOnDrop<K: Object>(Store<K>);

impl<K: Object> Drop for CloseOnDrop<K> {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl<K: Object, H> fmt::Debug for Informer<K, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Informer")
            .field("store", &self.store)
            .field("controller", &self.controller)
            .finish()
    }
}
