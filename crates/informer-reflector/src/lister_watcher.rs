//! The seam between the reflector and whoever can list and watch.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures_core::Stream;
use informer_store::{Known, Object, ObjectKey};
use informer_wire::{Decoded, ListMeta, ListOptions, Resource, WatchEvent};

use crate::error::ListWatchError;

/// Can list and watch one collection of objects.
///
/// The reflector is generic over it: the HTTP client of the feature `http` is one, [`ListWatch`](ListerWatcher)
/// makes one of two closures, tests script one.
///
/// Dropping a future or a stream ends the request.
pub trait ListerWatcher: Send + Sync + 'static {
    /// What is listed and watched.
    type Object: Object;
    /// One page of a list, item by item.
    type List: Stream<Item = Result<ListEvent<Self::Object>, ListWatchError>> + Send;
    /// The events of a watch, until the server ends it.
    type Watch: Stream<Item = Result<WatchEvent<Self::Object>, ListWatchError>> + Send;

    /// Asks for one page of a list. It counts only if the stream yields [`ListEvent::End`].
    ///
    /// # Errors
    /// When the server cannot be reached or refuses. The stream reports what fails later.
    fn list(
        &self,
        request: ListRequest,
    ) -> impl Future<Output = Result<Self::List, ListWatchError>> + Send;

    /// Opens a watch. The future resolves once the server has agreed.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses. The stream reports what fails later.
    fn watch(
        &self,
        options: ListOptions,
    ) -> impl Future<Output = Result<Self::Watch, ListWatchError>> + Send;

    /// Opens a streaming list: a watch that starts with the present state, as the options ask for by
    /// `sendInitialEvents`, and goes on as any other. Of the present state, copies that the request says are known may
    /// come as [`Decoded::Unchanged`]; of what follows, none may.
    ///
    /// By default it is [`watch`](Self::watch) with these options, which leaves nothing out.
    ///
    /// # Errors
    /// As [`watch`](Self::watch).
    #[doc(alias = "watchList")]
    fn watch_list(
        &self,
        request: ListRequest,
    ) -> impl Future<Output = Result<Self::Watch, ListWatchError>> + Send {
        self.watch(request.options)
    }

    /// Whether the source can start a watch with the present state (`sendInitialEvents`). Where it cannot, the
    /// reflector lists and does not try.
    fn supports_watch_list(&self) -> bool {
        true
    }

    /// How often to list although the watch is in order, where watches of the resource may lose something: see
    /// [`events`](crate#the-resource-events). `None` for never, the default. A period in the configuration holds
    /// instead.
    fn relist_period(&self) -> Option<Duration> {
        None
    }
}

/// What a source of this resource gives as its [`ListerWatcher::relist_period`]: ten minutes for `events` of both
/// groups, whose watches may [lose deletions](crate#the-resource-events), `None` for all else.
///
/// ```
/// use informer_reflector::relist_period;
/// use informer_wire::{Resource, Scope};
///
/// let events = Resource::new("", "v1", "Event", "events", Scope::Namespaced);
/// assert!(relist_period(&events).is_some());
/// ```
#[must_use]
pub fn relist_period(resource: &Resource) -> Option<Duration> {
    let is_events =
        resource.plural == "events" && ["", "events.k8s.io"].contains(&&*resource.group);
    is_events.then(|| Duration::from_secs(600))
}

/// A request for one page of a list, or for a streaming list.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct ListRequest {
    /// The parameters for the server.
    pub options: ListOptions,
    /// Which copies are known already and need not be decoded again.
    pub known: Option<Arc<KnownFn>>,
}

/// Which copy of an object is known already.
pub type KnownFn = dyn Fn(&ObjectKey) -> Option<Known> + Send + Sync;

impl ListRequest {
    /// A request with these parameters.
    #[must_use]
    pub const fn new(options: ListOptions) -> Self {
        Self {
            options,
            known: None,
        }
    }

    /// Says which copies are known already.
    #[must_use]
    pub fn known(mut self, known: Arc<KnownFn>) -> Self {
        self.known = Some(known);
        self
    }
}

impl std::fmt::Debug for ListRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ListRequest")
            .field("options", &self.options)
            .field("known", &self.known.is_some())
            .finish()
    }
}

/// What a page of a list yields.
#[derive(Debug)]
#[non_exhaustive]
pub enum ListEvent<K> {
    /// One object.
    Item(Decoded<K>),
    /// The page has ended well; nothing follows.
    End(ListMeta),
}
