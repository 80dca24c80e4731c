//! The seam between the reflector and whoever can list and watch.

use std::future::Future;
use std::sync::Arc;

use futures_core::Stream;
use informer_store::{Known, Object, ObjectKey};
use informer_wire::{Decoded, ListMeta, ListOptions, WatchEvent};

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

    /// Whether the source can start a watch with the present state (`sendInitialEvents`). Where it cannot, the
    /// reflector lists and does not try.
    fn supports_watch_list(&self) -> bool {
        true
    }
}

/// A request for one page of a list.
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
