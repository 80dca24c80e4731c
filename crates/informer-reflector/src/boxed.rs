//! A boxed `ListerWatcher`, for whoever keeps several kinds of them.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt as _};
use futures_util::stream::{BoxStream, StreamExt as _};
use informer_store::Object;
use informer_wire::{ListOptions, WatchEvent};

use crate::error::ListWatchError;
use crate::lister_watcher::{Collection, ListEvent, ListRequest, ListerWatcher};

/// The items of a boxed list.
type BoxedList<K> = BoxStream<'static, Result<ListEvent<K>, ListWatchError>>;
/// The events of a boxed watch.
type BoxedWatch<K> = BoxStream<'static, Result<WatchEvent<K>, ListWatchError>>;

/// Any [`ListerWatcher`] of objects of type `K`.
///
/// It costs one allocation for each request and none for each object. Cloning copies a pointer.
///
/// ```
/// use informer_reflector::{BoxListerWatcher, ListerWatcher};
///
/// fn erase<L: ListerWatcher>(lister: L) -> BoxListerWatcher<L::Object> {
///     BoxListerWatcher::new(lister)
/// }
/// ```
pub struct BoxListerWatcher<K>(Arc<dyn DynListerWatcher<K>>);

impl<K: Object> BoxListerWatcher<K> {
    /// Boxes a lister-watcher.
    #[must_use]
    pub fn new<L: ListerWatcher<Object = K>>(lister_watcher: L) -> Self {
        Self(Arc::new(lister_watcher))
    }
}

/// `ListerWatcher` in an object-safe form.
trait DynListerWatcher<K>: Send + Sync {
    fn list(&self, request: ListRequest<K>) -> BoxFuture<'_, Result<BoxedList<K>, ListWatchError>>;

    fn watch(&self, options: ListOptions) -> BoxFuture<'_, Result<BoxedWatch<K>, ListWatchError>>;

    fn watch_list(
        &self,
        request: ListRequest<K>,
    ) -> BoxFuture<'_, Result<BoxedWatch<K>, ListWatchError>>;

    fn supports_watch_list(&self) -> bool;

    fn relist_period(&self) -> Option<Duration>;

    fn collection(&self) -> Option<Collection>;
}

impl<L: ListerWatcher> DynListerWatcher<L::Object> for L {
    fn list(
        &self,
        request: ListRequest<L::Object>,
    ) -> BoxFuture<'_, Result<BoxedList<L::Object>, ListWatchError>> {
        ListerWatcher::list(self, request)
            .map(|list| list.map(|list| list.boxed()))
            .boxed()
    }

    fn watch(
        &self,
        options: ListOptions,
    ) -> BoxFuture<'_, Result<BoxedWatch<L::Object>, ListWatchError>> {
        ListerWatcher::watch(self, options)
            .map(|watch| watch.map(|watch| watch.boxed()))
            .boxed()
    }

    fn watch_list(
        &self,
        request: ListRequest<L::Object>,
    ) -> BoxFuture<'_, Result<BoxedWatch<L::Object>, ListWatchError>> {
        ListerWatcher::watch_list(self, request)
            .map(|watch| watch.map(|watch| watch.boxed()))
            .boxed()
    }

    fn supports_watch_list(&self) -> bool {
        ListerWatcher::supports_watch_list(self)
    }

    fn relist_period(&self) -> Option<Duration> {
        ListerWatcher::relist_period(self)
    }

    fn collection(&self) -> Option<Collection> {
        ListerWatcher::collection(self)
    }
}

impl<K: Object> ListerWatcher for BoxListerWatcher<K> {
    type Object = K;
    type List = BoxedList<K>;
    type Watch = BoxedWatch<K>;

    async fn list(&self, request: ListRequest<K>) -> Result<Self::List, ListWatchError> {
        self.0.list(request).await
    }

    async fn watch(&self, options: ListOptions) -> Result<Self::Watch, ListWatchError> {
        self.0.watch(options).await
    }

    async fn watch_list(&self, request: ListRequest<K>) -> Result<Self::Watch, ListWatchError> {
        self.0.watch_list(request).await
    }

    fn supports_watch_list(&self) -> bool {
        self.0.supports_watch_list()
    }

    fn relist_period(&self) -> Option<Duration> {
        self.0.relist_period()
    }

    fn collection(&self) -> Option<Collection> {
        self.0.collection()
    }
}

impl<K> Clone for BoxListerWatcher<K> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<K> fmt::Debug for BoxListerWatcher<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoxListerWatcher").finish_non_exhaustive()
    }
}
