//! Counts the requests of an informer, between its reflector and HTTP.

use std::fmt;
use std::sync::Arc;

use informer::reflector::{ListRequest, ListWatchError, ListerWatcher};
use informer::wire::ListOptions;
use parking_lot::Mutex;

/// How many requests of each sort there were.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Requests {
    /// First or only pages of lists.
    pub(crate) lists: usize,
    /// Further pages of lists.
    pub(crate) pages: usize,
    /// Watches that begin with the present state.
    pub(crate) streams: usize,
    /// Watches that begin somewhere in history.
    pub(crate) watches: usize,
}

impl Requests {
    /// How often all objects were asked for.
    pub(crate) fn full(self) -> usize {
        self.lists + self.streams
    }
}

impl fmt::Display for Requests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            lists,
            pages,
            streams,
            watches,
        } = self;
        write!(
            f,
            "{lists} lists (+{pages} pages), {streams} streaming lists, {watches} watches"
        )
    }
}

/// Passes requests on and counts them.
pub(crate) struct Counted<L> {
    source: L,
    requests: Arc<Mutex<Requests>>,
}

impl<L> Counted<L> {
    pub(crate) fn new(source: L) -> (Self, Arc<Mutex<Requests>>) {
        let requests = Arc::default();
        let counted = Self {
            source,
            requests: Arc::clone(&requests),
        };
        (counted, requests)
    }

    fn count(&self, count: impl FnOnce(&mut Requests)) {
        count(&mut self.requests.lock());
    }
}

impl<L: ListerWatcher> ListerWatcher for Counted<L> {
    type Object = L::Object;
    type List = L::List;
    type Watch = L::Watch;

    async fn list(&self, request: ListRequest<L::Object>) -> Result<L::List, ListWatchError> {
        self.count(|requests| match request.options.continue_token {
            None => requests.lists += 1,
            Some(_) => requests.pages += 1,
        });
        self.source.list(request).await
    }

    async fn watch(&self, options: ListOptions) -> Result<L::Watch, ListWatchError> {
        self.count(|requests| requests.watches += 1);
        self.source.watch(options).await
    }

    async fn watch_list(
        &self,
        request: ListRequest<L::Object>,
    ) -> Result<L::Watch, ListWatchError> {
        self.count(|requests| requests.streams += 1);
        self.source.watch_list(request).await
    }

    fn supports_watch_list(&self) -> bool {
        self.source.supports_watch_list()
    }
}
