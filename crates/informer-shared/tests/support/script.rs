//! A server that lists what it is given and watches what is sent.

use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use informer_reflector::{ListEvent, ListRequest, ListWatchError, ListerWatcher};
use informer_shared::SharedInformer;
use informer_store::ResourceVersion;
use informer_wire::{Decoded, ListMeta, ListOptions, WatchEvent};
use k8s_openapi::api::core::v1::ConfigMap;
use parking_lot::Mutex;
use tokio::sync::mpsc;

use super::{Item, Seen, config_map, settle, started, until};

#[derive(Clone)]
pub(crate) struct Script(Arc<Mutex<Scripted>>);

struct Scripted {
    version: &'static str,
    items: Vec<ConfigMap>,
    lists: usize,
    watches: Vec<mpsc::UnboundedSender<Item>>,
}

impl Script {
    /// A server whose lists have this version and these objects.
    pub(crate) fn new(version: &'static str, items: Vec<ConfigMap>) -> Self {
        Self(Arc::new(Mutex::new(Scripted {
            version,
            items,
            lists: 0,
            watches: Vec::new(),
        })))
    }

    pub(crate) fn send(&self, event: WatchEvent<ConfigMap>) {
        self.send_item(Ok(event));
    }

    pub(crate) fn send_item(&self, item: Item) {
        let watch = self.0.lock().watches.last().expect("watched").clone();
        watch.send(item).expect("still watched");
    }

    pub(crate) fn lists(&self) -> usize {
        self.0.lock().lists
    }

    pub(crate) async fn watched(&self) {
        until("a watch", || !self.0.lock().watches.is_empty()).await;
        settle().await;
    }
}

impl ListerWatcher for Script {
    type Object = ConfigMap;
    type List = BoxStream<'static, Result<ListEvent<ConfigMap>, ListWatchError>>;
    type Watch = BoxStream<'static, Item>;

    async fn list(&self, _: ListRequest<ConfigMap>) -> Result<Self::List, ListWatchError> {
        let mut state = self.0.lock();
        state.lists += 1;
        let items = state.items.iter().cloned().map(Decoded::Object);
        let end = ListEvent::End(ListMeta::at(ResourceVersion::new(state.version)));
        let page = items.map(ListEvent::Item).chain([end]).map(Ok);
        Ok(futures_util::stream::iter(page.collect::<Vec<_>>()).boxed())
    }

    async fn watch(&self, _: ListOptions) -> Result<Self::Watch, ListWatchError> {
        let (sender, mut receiver) = mpsc::unbounded_channel();
        self.0.lock().watches.push(sender);
        Ok(futures_util::stream::poll_fn(move |cx| receiver.poll_recv(cx)).boxed())
    }

    fn supports_watch_list(&self) -> bool {
        false
    }
}

/// A config map in a version that may be any text.
pub(crate) fn versioned(name: &str, version: &str, value: &str) -> ConfigMap {
    let mut map = config_map(name, &format!("uid-{name}"), 0, value);
    map.metadata.resource_version = Some(version.to_owned());
    map
}

/// An informer of the script with a handler, once both are synced and it is watched.
pub(crate) async fn follow(script: &Script, seen: &Seen) -> SharedInformer<ConfigMap> {
    let informer = SharedInformer::builder(script.clone()).build();
    let informer = informer.expect("no indexes clash");
    informer.add_handler(seen.clone()).expect("not stopped");
    started(&informer).await;
    script.watched().await;
    informer
}
