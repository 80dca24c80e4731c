//! A `ListerWatcher` made of two async closures.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;
use futures_util::stream::{ErrInto, TryStreamExt as _};
use informer_store::Object;
use informer_wire::{Decoded, ListMeta, ListOptions, WatchEvent};

use crate::error::ListWatchError;
use crate::lister_watcher::{ListEvent, ListRequest, ListerWatcher};

/// Lists and watches by two async closures.
///
/// The first closure is given the options of one page and returns it, as a [`List`] or as a stream of
/// [`ListEvent`]s. The second returns a stream of [`WatchEvent`]s. Errors are anything that turns into a
/// [`ListWatchError`], such as a [`Status`](informer_wire::Status).
///
/// A part of a kind is listed by adding a selector to every request:
///
/// ```
/// use futures_util::stream;
/// use informer_reflector::{List, ListWatch, ListWatchError, ListerWatcher};
/// use informer_wire::{ListMeta, ListOptions, WatchEvent};
/// use k8s_openapi::api::core::v1::Pod;
///
/// async fn ask_for_pods(options: ListOptions) -> Result<List<Pod>, ListWatchError> {
///     // A real function asks a server here.
///     assert_eq!(options.label_selector.as_deref(), Some("app=shop"));
///     Ok(List::new(vec![Pod::default()], ListMeta::at(7.into())))
/// }
///
/// async fn watch_pods(
///     _options: ListOptions,
/// ) -> Result<stream::Pending<Result<WatchEvent<Pod>, ListWatchError>>, ListWatchError> {
///     Ok(stream::pending())
/// }
///
/// let shop_pods = ListWatch::new(ask_for_pods, watch_pods)
///     .with_options_modifier(|options| options.label_selector = Some("app=shop".into()));
/// # fn is_lister(_: impl ListerWatcher<Object = Pod>) {}
/// # is_lister(shop_pods);
/// ```
#[derive(Clone)]
#[doc(alias = "NewFilteredListWatchFromClient")]
pub struct ListWatch<L, W> {
    list: L,
    watch: W,
    modifiers: Vec<Arc<OptionsModifier>>,
    supports_watch_list: bool,
}

/// Changes the options of a request.
pub(crate) type OptionsModifier = dyn Fn(&mut ListOptions) + Send + Sync;

impl<L, W> ListWatch<L, W> {
    /// Lists and watches by these closures.
    #[must_use]
    pub const fn new(list: L, watch: W) -> Self {
        Self {
            list,
            watch,
            modifiers: Vec::new(),
            supports_watch_list: false,
        }
    }

    /// Changes the options of every request, list and watch alike, after everything else was set. A second
    /// modifier runs after the first.
    #[must_use]
    #[doc(alias = "TweakListOptionsFunc")]
    pub fn with_options_modifier(
        mut self,
        modify: impl Fn(&mut ListOptions) + Send + Sync + 'static,
    ) -> Self {
        self.modifiers.push(Arc::new(modify));
        self
    }

    /// Says that the watch closure understands [`send_initial_events`](ListOptions::send_initial_events): it
    /// passes the option on to a server that can start a watch with the present state. By default the reflector
    /// lists and does not ask for it.
    #[must_use]
    pub const fn supports_watch_list(mut self, supports: bool) -> Self {
        self.supports_watch_list = supports;
        self
    }

    fn modified(&self, mut options: ListOptions) -> ListOptions {
        for modify in &self.modifiers {
            modify(&mut options);
        }
        options
    }
}

impl<L, W> fmt::Debug for ListWatch<L, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ListWatch")
            .field("modifiers", &self.modifiers.len())
            .field("supports_watch_list", &self.supports_watch_list)
            .finish_non_exhaustive()
    }
}

impl<K, L, LF, LE, P, W, WF, WE, WS, SE> ListerWatcher for ListWatch<L, W>
where
    K: Object,
    L: Fn(ListOptions) -> LF + Send + Sync + 'static,
    LF: Future<Output = Result<P, LE>> + Send,
    LE: Into<ListWatchError>,
    P: IntoPage<Object = K>,
    W: Fn(ListOptions) -> WF + Send + Sync + 'static,
    WF: Future<Output = Result<WS, WE>> + Send,
    WE: Into<ListWatchError>,
    WS: Stream<Item = Result<WatchEvent<K>, SE>> + Send,
    SE: Into<ListWatchError>,
{
    type Object = K;
    type List = P::Page;
    type Watch = ErrInto<WS, ListWatchError>;

    async fn list(&self, request: ListRequest) -> Result<Self::List, ListWatchError> {
        let page = (self.list)(self.modified(request.options))
            .await
            .map_err(Into::into)?;
        Ok(page.into_page())
    }

    async fn watch(&self, options: ListOptions) -> Result<Self::Watch, ListWatchError> {
        let events = (self.watch)(self.modified(options))
            .await
            .map_err(Into::into)?;
        Ok(events.err_into())
    }

    fn supports_watch_list(&self) -> bool {
        self.supports_watch_list
    }
}

/// One page of a list, whole.
#[derive(Debug, Clone)]
pub struct List<K> {
    /// The objects.
    pub items: Vec<K>,
    /// The resource version of the list, and the token of the next page if one follows.
    pub meta: ListMeta,
}

impl<K> List<K> {
    /// A page of these objects.
    #[must_use]
    pub const fn new(items: Vec<K>, meta: ListMeta) -> Self {
        Self { items, meta }
    }
}

/// What the list closure of a [`ListWatch`] may return: a whole [`List`], or a stream of [`ListEvent`]s.
pub trait IntoPage {
    /// The objects of the page.
    type Object: Object;
    /// The page, item by item.
    type Page: Stream<Item = Result<ListEvent<Self::Object>, ListWatchError>> + Send;

    /// The page, item by item.
    fn into_page(self) -> Self::Page;
}

impl<K: Object> IntoPage for List<K> {
    type Object = K;
    type Page = ListPage<K>;

    fn into_page(self) -> ListPage<K> {
        ListPage {
            items: self.items.into_iter(),
            meta: Some(self.meta),
        }
    }
}

impl<K, E, S> IntoPage for S
where
    K: Object,
    E: Into<ListWatchError>,
    S: Stream<Item = Result<ListEvent<K>, E>> + Send,
{
    type Object = K;
    type Page = ErrInto<S, ListWatchError>;

    fn into_page(self) -> Self::Page {
        self.err_into()
    }
}

/// A [`List`], item by item.
#[derive(Debug)]
pub struct ListPage<K> {
    items: std::vec::IntoIter<K>,
    meta: Option<ListMeta>,
}

impl<K> Unpin for ListPage<K> {}

impl<K> Stream for ListPage<K> {
    type Item = Result<ListEvent<K>, ListWatchError>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let event = match self.items.next() {
            Some(item) => Some(ListEvent::Item(Decoded::Object(item))),
            None => self.meta.take().map(ListEvent::End),
        };
        Poll::Ready(event.map(Ok))
    }
}
