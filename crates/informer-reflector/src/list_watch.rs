//! A `ListerWatcher` made of two async closures.

use std::iter::{Chain, Map};
use std::{fmt, future::Future, option, vec};

use futures_core::Stream;
use futures_util::stream::{ErrInto, Iter, TryStreamExt as _, iter};
use informer_store::Object;
use informer_wire::{Decoded, ListMeta, ListOptions, WatchEvent};

use crate::error::ListWatchError;
use crate::lister_watcher::{ListEvent, ListRequest, ListerWatcher};

/// Lists and watches by two async closures.
///
/// The first closure is given the options of one page and returns its objects and its metadata. The second returns a
/// stream of [`WatchEvent`]s. Errors are anything that turns into a [`ListWatchError`], such as a
/// [`Status`](informer_wire::Status). A source whose pages are streams implements [`ListerWatcher`] itself.
///
/// ```
/// use futures_util::stream;
/// use informer_reflector::{ListWatch, ListWatchError, ListerWatcher};
/// use informer_wire::{ListMeta, ListOptions, WatchEvent};
/// use k8s_openapi::api::core::v1::Pod;
///
/// async fn list_pods(_options: ListOptions) -> Result<(Vec<Pod>, ListMeta), ListWatchError> {
///     // A real function sends the options to a server.
///     Ok((vec![Pod::default()], ListMeta::at(7.into())))
/// }
///
/// async fn watch_pods(
///     _options: ListOptions,
/// ) -> Result<stream::Pending<Result<WatchEvent<Pod>, ListWatchError>>, ListWatchError> {
///     Ok(stream::pending())
/// }
///
/// let pods = ListWatch::new(list_pods, watch_pods);
/// # fn is_lister(_: impl ListerWatcher<Object = Pod>) {}
/// # is_lister(pods);
/// ```
#[derive(Clone)]
#[doc(alias = "NewFilteredListWatchFromClient")]
pub struct ListWatch<L, W> {
    list: L,
    watch: W,
    supports_watch_list: bool,
}

impl<L, W> ListWatch<L, W> {
    /// Lists and watches by these closures.
    #[must_use]
    pub const fn new(list: L, watch: W) -> Self {
        Self {
            list,
            watch,
            supports_watch_list: false,
        }
    }

    /// Sets whether the watch closure passes [`send_initial_events`](ListOptions::send_initial_events) on to a server
    /// that can start a watch with the whole state. Default: false, so that the reflector lists.
    #[must_use]
    pub const fn supports_watch_list(mut self, supports: bool) -> Self {
        self.supports_watch_list = supports;
        self
    }
}

impl<L, W> fmt::Debug for ListWatch<L, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ListWatch")
            .field("supports_watch_list", &self.supports_watch_list)
            .finish_non_exhaustive()
    }
}

type Item<K> = Result<ListEvent<K>, ListWatchError>;
/// The objects of a page, and its end.
type Page<K> = Iter<Chain<Map<vec::IntoIter<K>, fn(K) -> Item<K>>, option::IntoIter<Item<K>>>>;

impl<K, L, LF, LE, W, WF, WE, WS, SE> ListerWatcher for ListWatch<L, W>
where
    K: Object,
    L: Fn(ListOptions) -> LF + Send + Sync + 'static,
    LF: Future<Output = Result<(Vec<K>, ListMeta), LE>> + Send,
    LE: Into<ListWatchError>,
    W: Fn(ListOptions) -> WF + Send + Sync + 'static,
    WF: Future<Output = Result<WS, WE>> + Send,
    WE: Into<ListWatchError>,
    WS: Stream<Item = Result<WatchEvent<K>, SE>> + Send,
    SE: Into<ListWatchError>,
{
    type Object = K;
    type List = Page<K>;
    type Watch = ErrInto<WS, ListWatchError>;

    async fn list(&self, request: ListRequest<K>) -> Result<Page<K>, ListWatchError> {
        let (items, meta) = (self.list)(request.options).await.map_err(Into::into)?;
        let item: fn(K) -> Item<K> = |object| Ok(ListEvent::Item(Decoded::Object(object)));
        let end = Some(Ok(ListEvent::End(meta)));
        Ok(iter(items.into_iter().map(item).chain(end)))
    }

    async fn watch(&self, options: ListOptions) -> Result<Self::Watch, ListWatchError> {
        let events = (self.watch)(options).await.map_err(Into::into)?;
        Ok(events.err_into())
    }

    fn supports_watch_list(&self) -> bool {
        self.supports_watch_list
    }
}
