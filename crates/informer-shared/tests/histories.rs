//! Servers whose versions are no single rising history, transforms that drop versions, keys that fail during a list.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use informer_delta_fifo::{Batch, DeltaFifo, DeltaFifoConfig};
use informer_reflector::{ListEvent, ListRequest, ListWatchError, ListerWatcher, Reflector};
use informer_shared::{FailedKeys, Process, ProcessLoop, SharedInformer};
use informer_store::{ResourceVersion, Store};
use informer_wire::{Decoded, ListMeta, ListOptions, Status, WatchEvent};
use k8s_openapi::api::core::v1::ConfigMap;
use support::running::start;
use support::script::{Script, follow, versioned};
use support::{Cluster, Item, SECONDS, Seen, key, settle, started, until, values};
use tokio::sync::{Notify, Semaphore};

fn deleted(name: &str, version: &str) -> WatchEvent<ConfigMap> {
    WatchEvent::Deleted(Decoded::Object(versioned(name, version, "1")))
}

// INV-REFL-6, k/k 58545: the deletion has the version of the object's last change, which is older than the list.
#[tokio::test(start_paused = true)]
async fn deletion_of_the_stored_uid_is_applied_whatever_its_version() {
    for version in ["40", "30", "60", "opaque"] {
        let script = Script::new("50", vec![versioned("a", "40", "1")]);
        let seen = Seen::new();
        let informer = follow(&script, &seen).await;
        script.send(deleted("a", version));
        tokio::time::sleep(60 * SECONDS).await;
        assert_eq!(values(informer.store()).len(), 0, "at {version}");
        assert_eq!(seen.lines(), ["+a=1 initial", "-a"]);
    }
}

// INV-FIFO-18: several stores behind one list, each with versions of its own.
#[tokio::test(start_paused = true)]
async fn objects_with_versions_of_another_history_are_applied() {
    let script = Script::new("500", vec![versioned("a", "17", "1")]);
    let seen = Seen::new();
    let informer = follow(&script, &seen).await;
    script.send(WatchEvent::Added(Decoded::Object(versioned(
        "b", "20", "1",
    ))));
    tokio::time::sleep(SECONDS).await;
    script.send(WatchEvent::Modified(Decoded::Object(versioned(
        "b", "30", "2",
    ))));
    tokio::time::sleep(SECONDS).await;
    script.send(WatchEvent::Modified(Decoded::Object(versioned(
        "a", "31", "2",
    ))));
    tokio::time::sleep(SECONDS).await;
    let expected: BTreeMap<String, String> = [("a", "2"), ("b", "2")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
    assert_eq!(values(informer.store()), expected);
    let written = informer_store::Expectation::written(&versioned("b", "30", "2")).unwrap();
    let wait = informer.wait_for(written.own_version_only());
    wait.deadline(SECONDS).await.unwrap();
    script.send(deleted("b", "31"));
    tokio::time::sleep(60 * SECONDS).await;
    assert_eq!(values(informer.store()).len(), 1);
    assert_eq!(
        seen.lines(),
        ["+a=1 initial", "+b=1", "~b=1>2 watch", "~a=1>2 watch", "-b"]
    );
    assert_eq!(script.lists(), 1);
}

/// A transform that drops what the cache compares objects by: it is restored.
fn strip(map: &mut ConfigMap) -> Result<(), Infallible> {
    map.metadata.resource_version = None;
    map.metadata.uid = None;
    Ok(())
}

async fn stripped(cluster: &Cluster, seen: &Seen) -> SharedInformer<ConfigMap> {
    let informer = SharedInformer::builder(cluster.clone())
        .transform(strip)
        .build()
        .unwrap();
    informer.add_handler(seen.clone()).unwrap();
    started(&informer).await;
    settle().await;
    informer
}

// INV-SHARED-9
#[tokio::test(start_paused = true)]
async fn unchanged_relist_sends_nothing_if_a_transform_drops_versions() {
    let (cluster, seen) = (Cluster::with(10), Seen::new());
    let _informer = stripped(&cluster, &seen).await;
    seen.take();
    for round in 0..3 {
        let lists = cluster.lists();
        // One change in the gap, so that a list is needed.
        cluster.while_away(|cluster| {
            cluster.put("another", &round.to_string());
        });
        tokio::time::sleep(SECONDS * 300).await;
        settle().await;
        assert!(cluster.lists() > lists, "it has listed");
    }
    let events = ["+another=0", "~another=0>1 relist", "~another=1>2 relist"];
    assert_eq!(seen.take(), events);
}

// INV-SHARED-7
#[tokio::test(start_paused = true)]
async fn recreation_in_a_gap_is_two_events_if_a_transform_drops_uids() {
    let (cluster, seen) = (Cluster::with(1), Seen::new());
    let _informer = stripped(&cluster, &seen).await;
    seen.take();
    cluster.while_away(|cluster| {
        cluster.delete("0");
        cluster.put("0", "new");
    });
    tokio::time::sleep(SECONDS * 30).await;
    settle().await;
    assert_eq!(seen.take(), ["-0 unknown", "+0=new"]);
}

// INV-REFL-6: a late, older object, as from a server that is behind.
#[tokio::test(start_paused = true)]
async fn late_older_object_is_not_applied_whether_or_not_a_transform_drops_versions() {
    let keep = |_: &mut ConfigMap| Ok(());
    for transform in [keep as fn(&mut ConfigMap) -> _, strip] {
        let script = Script::new("50", vec![versioned("a", "40", "new")]);
        let builder = SharedInformer::builder(script.clone()).transform(transform);
        let informer = builder.build().unwrap();
        started(&informer).await;
        script.watched().await;
        script.send(WatchEvent::Modified(Decoded::Object(versioned(
            "a", "30", "old",
        ))));
        tokio::time::sleep(60 * SECONDS).await;
        let cached = values(informer.store());
        assert_eq!(cached.values().collect::<Vec<_>>(), ["new"]);
    }
}

/// The first list is empty. Later ones hold `k`, undecoded if it is known, and end when asked to.
#[derive(Clone)]
struct Slow(Script, Arc<Notify>);

impl ListerWatcher for Slow {
    type Object = ConfigMap;
    type List = BoxStream<'static, Result<ListEvent<ConfigMap>, ListWatchError>>;
    type Watch = BoxStream<'static, Item>;

    async fn list(&self, request: ListRequest<ConfigMap>) -> Result<Self::List, ListWatchError> {
        let newest = request.newest.clone();
        let known = newest.as_ref().and_then(|newest| newest(&key("k")));
        let first = self.0.lists() == 0;
        drop(self.0.list(request).await?);
        if first {
            let end = ListEvent::End(ListMeta::at(ResourceVersion::new("1")));
            return Ok(futures_util::stream::iter([Ok(end)]).boxed());
        }
        let item = match known {
            Some((key, object)) => Decoded::Unchanged(key, object),
            None => Decoded::Object(versioned("k", "3", "1")),
        };
        let others = ListEvent::Item(Decoded::Object(versioned("x", "2", "1")));
        let end = Arc::clone(&self.1);
        let end = async move {
            end.notified().await;
            Ok(ListEvent::End(ListMeta::at(ResourceVersion::new("10"))))
        };
        let items = futures_util::stream::iter([Ok(ListEvent::Item(item)), Ok(others)]);
        Ok(items.chain(futures_util::stream::once(end)).boxed())
    }

    async fn watch(&self, options: ListOptions) -> Result<Self::Watch, ListWatchError> {
        self.0.watch(options).await
    }

    fn supports_watch_list(&self) -> bool {
        false
    }
}

/// Waits for leave, then applies; `k` is refused the first time.
struct Gated {
    store: Store<ConfigMap>,
    leave: Arc<Semaphore>,
    refuses: bool,
}

impl Process<ConfigMap> for Gated {
    async fn process(&mut self, batch: &Batch<ConfigMap>) -> Result<(), FailedKeys> {
        self.leave.acquire().await.expect("open").forget();
        let mut failed = FailedKeys::new();
        for (key, deltas) in batch.iter() {
            if key.name() == "k" && std::mem::take(&mut self.refuses) {
                failed.push(key.clone(), "refused once");
            } else if let Some(object) = deltas.newest().object() {
                self.store.upsert(key.clone(), Arc::clone(object));
            }
        }
        failed.into_result()
    }
}

// INV-CTRL-2: an object that was known when a list began, and failed while it was received.
#[tokio::test(start_paused = true)]
async fn list_holds_every_object_that_is_not_applied() {
    let (script, end) = (Script::new("1", Vec::new()), Arc::new(Notify::new()));
    let (store, leave) = (Store::new(), Arc::new(Semaphore::new(1)));
    let process = Gated {
        store: store.clone(),
        leave: Arc::clone(&leave),
        refuses: true,
    };
    let queue = DeltaFifo::new(DeltaFifoConfig::new().known(store.clone()));
    let source = Slow(script.clone(), Arc::clone(&end));
    let reflector = Reflector::new(source, Arc::new(queue.clone()));
    let running = start(ProcessLoop::new(queue, reflector, process).retries(0));
    script.watched().await;
    tokio::time::sleep(SECONDS).await;
    for (name, version) in [("x", "2"), ("k", "3")] {
        script.send(WatchEvent::Added(Decoded::Object(versioned(
            name, version, "1",
        ))));
        tokio::time::sleep(SECONDS).await;
    }
    let expired = Status::failure(410, "Expired", "too old");
    script.send_item(Err(ListWatchError::status_error(expired)));
    until("the second list", || script.lists() == 2).await;
    tokio::time::sleep(SECONDS).await;
    // What is queued is processed, and `k` fails, while the list is being received.
    leave.add_permits(100);
    tokio::time::sleep(SECONDS).await;
    assert_eq!((running.status().failures, script.lists()), (1, 2));
    assert!(store.get(&key("k")).is_none());
    end.notify_one();
    until("the list is applied", || store.get(&key("k")).is_some()).await;
    running.end().await;
}
