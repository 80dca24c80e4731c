//! The source of a factory's informers: notes each first request, and judges how many start at once.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use informer_reflector::{
    BoxListerWatcher, ListRequest, ListWatchError, ListerWatcher, ListerWatcherSource,
};
use informer_shared::SharedInformer;
use informer_testkit::{ApiServer, MemoryList, MemoryListerWatcher, MemoryWatch};
use informer_wire::{ListOptions, Resource};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::object::Item;
use crate::trace::{Trace, holds, note};

/// The first request of each informer.
pub(super) struct Starts {
    limit: usize,
    patience: Duration,
    state: Mutex<State>,
    trace: Trace,
}

#[derive(Default)]
struct State {
    informers: BTreeMap<String, SharedInformer<Item>>,
    first: BTreeMap<String, Instant>,
    requests: u64,
}

impl Starts {
    pub(super) fn new(limit: usize, patience: Duration, trace: Trace) -> Self {
        Self {
            limit,
            patience,
            state: Mutex::default(),
            trace,
        }
    }

    /// An informer of these objects, one that replaces a stopped one too, may send requests from now on.
    pub(super) fn expect(&self, plural: &str, informer: SharedInformer<Item>) {
        let mut state = self.state.lock();
        state.first.remove(plural);
        state.informers.insert(plural.to_owned(), informer);
    }

    pub(super) fn requests(&self) -> u64 {
        self.state.lock().requests
    }

    /// Judges a request. Of those that have sent one only a few may be at their first list still: not synced, without a
    /// failure, and not for longer than a turn lasts (INV-SHARED-18).
    fn request(&self, plural: &str) {
        let mut state = self.state.lock();
        state.requests += 1;
        if state.first.contains_key(plural) {
            return;
        }
        note!(self.trace, "{plural} send their first request");
        state.first.insert(plural.to_owned(), Instant::now());
        let has_turn = |(plural, since): &(&String, &Instant)| {
            let status = state.informers.get(*plural).map(SharedInformer::status);
            let over = status
                .is_none_or(|status| status.reflector.synced || status.reflector.attempts > 0);
            !over && since.elapsed() < self.patience
        };
        let at_once = state.first.iter().filter(has_turn).count();
        holds!(
            self.trace,
            at_once <= self.limit,
            "{at_once} informers start at once, {} may",
            self.limit
        );
    }
}

/// A source over the server.
pub(super) struct Source {
    pub(super) server: Arc<ApiServer>,
    pub(super) starts: Arc<Starts>,
}

impl ListerWatcherSource<Item> for Source {
    fn lister_watcher(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
    ) -> BoxListerWatcher<Item> {
        BoxListerWatcher::new(Counted {
            inner: self.server.lister_watcher(resource, namespace),
            plural: resource.plural.to_string(),
            starts: Arc::clone(&self.starts),
        })
    }
}

struct Counted {
    inner: MemoryListerWatcher<Item>,
    plural: String,
    starts: Arc<Starts>,
}

impl ListerWatcher for Counted {
    type Object = Item;
    type List = MemoryList<Item>;
    type Watch = MemoryWatch<Item>;

    async fn list(&self, request: ListRequest<Item>) -> Result<Self::List, ListWatchError> {
        self.starts.request(&self.plural);
        self.inner.list(request).await
    }

    async fn watch(&self, options: ListOptions) -> Result<Self::Watch, ListWatchError> {
        self.starts.request(&self.plural);
        self.inner.watch(options).await
    }
}
