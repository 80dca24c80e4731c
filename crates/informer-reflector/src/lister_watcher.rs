//! The seam between the reflector and whoever can list and watch.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures_core::Stream;
use informer_store::Object;
use informer_wire::{Decoded, ListMeta, ListOptions, NewestFn, Resource, Scope, WatchEvent};

use crate::error::ListWatchError;

/// Lists and watches one collection of objects.
///
/// The HTTP client of the feature `http` is one, [`ListWatch`](crate::ListWatch) makes one of two closures, tests script
/// one. It needs no time limits: the reflector has them.
///
/// Dropping a future or a stream ends the request.
pub trait ListerWatcher: Send + Sync + 'static {
    /// The type of the objects.
    type Object: Object;
    /// One page of a list, item by item.
    type List: Stream<Item = Result<ListEvent<Self::Object>, ListWatchError>> + Send;
    /// The events of a watch, until the server ends it.
    type Watch: Stream<Item = Result<WatchEvent<Self::Object>, ListWatchError>> + Send;

    /// Requests one page of a list. It counts only if the stream yields [`ListEvent::End`].
    ///
    /// # Errors
    /// When the server cannot be reached or refuses. The stream reports later failures.
    fn list(
        &self,
        request: ListRequest<Self::Object>,
    ) -> impl Future<Output = Result<Self::List, ListWatchError>> + Send;

    /// Opens a watch. The future resolves once the server has responded.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses. The stream reports later failures.
    fn watch(
        &self,
        options: ListOptions,
    ) -> impl Future<Output = Result<Self::Watch, ListWatchError>> + Send;

    /// Opens a streaming list: a watch that starts with the whole state, as the options request by
    /// `sendInitialEvents`, and goes on as any other. Initial events may be [`Decoded::Unchanged`] if the request has
    /// [`newest`](ListRequest::newest); later ones may not.
    ///
    /// By default it is [`watch`](Self::watch) with these options, which decodes everything.
    ///
    /// # Errors
    /// As [`watch`](Self::watch).
    #[doc(alias = "watchList")]
    fn watch_list(
        &self,
        request: ListRequest<Self::Object>,
    ) -> impl Future<Output = Result<Self::Watch, ListWatchError>> + Send {
        self.watch(request.options)
    }

    /// Returns `true` if the source can start a watch with the whole state (`sendInitialEvents`). Where it cannot, the
    /// reflector lists and does not try.
    fn supports_watch_list(&self) -> bool {
        true
    }

    /// Returns how often to list although the watch is in order, where watches of the resource may lose events: see
    /// [`events`](crate#the-resource-events). `None`, the default, or zero for never; at least a second. A period in the
    /// configuration takes precedence.
    fn relist_period(&self) -> Option<Duration> {
        None
    }

    /// Returns what is listed and watched, if it is one resource of an API server. A controller needs it to know which
    /// cache a write is to appear in. `None` by default.
    fn collection(&self) -> Option<Collection> {
        None
    }
}

/// The objects of a resource, in one namespace or in all: what a [`ListerWatcher`] lists and watches, apart from selectors.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Collection {
    /// The resource.
    pub resource: Resource,
    /// The namespace; `None` for all, and for resources without.
    pub namespace: Option<String>,
}

impl Collection {
    /// Makes the collection of a resource, in one namespace or in all (`None`).
    #[must_use]
    pub const fn new(resource: Resource, namespace: Option<String>) -> Self {
        Self {
            resource,
            namespace,
        }
    }

    /// Returns `true` if objects of this resource and namespace belong to it. The version of the API does not count: it
    /// shows the same objects.
    ///
    /// ```
    /// use informer_reflector::Collection;
    /// use informer_wire::Resource;
    ///
    /// let pods = Resource::builtin("pods").unwrap();
    /// let collection = Collection::new(pods.clone(), Some("shop".into()));
    /// assert!(collection.covers(&pods, Some("shop")));
    /// assert!(!collection.covers(&pods, Some("kube-system")));
    /// ```
    #[must_use]
    pub fn covers(&self, resource: &Resource, namespace: Option<&str>) -> bool {
        let is_same =
            self.resource.group == resource.group && self.resource.plural == resource.plural;
        let own = self.namespace.as_deref();
        is_same && (resource.scope == Scope::Cluster || own.is_none() || own == namespace)
    }
}

/// Returns the [`ListerWatcher::relist_period`] of a resource: ten minutes for `events` of both
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
#[non_exhaustive]
pub struct ListRequest<K> {
    /// The parameters for the server.
    pub options: ListOptions,
    /// Returns the newest object of a key that the sink has: an item of the same version need not be decoded.
    pub newest: Option<Arc<NewestFn<K>>>,
}

impl<K> ListRequest<K> {
    /// Makes a request with these parameters.
    #[must_use]
    pub const fn new(options: ListOptions) -> Self {
        Self {
            options,
            newest: None,
        }
    }

    /// Sets where the newest object of a key is looked up.
    #[must_use]
    pub fn newest(mut self, newest: Arc<NewestFn<K>>) -> Self {
        self.newest = Some(newest);
        self
    }
}

impl<K> Default for ListRequest<K> {
    fn default() -> Self {
        Self::new(ListOptions::default())
    }
}

impl<K> Clone for ListRequest<K> {
    fn clone(&self) -> Self {
        Self {
            options: self.options.clone(),
            newest: self.newest.clone(),
        }
    }
}

impl<K> std::fmt::Debug for ListRequest<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ListRequest")
            .field("options", &self.options)
            .field("newest", &self.newest.is_some())
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
