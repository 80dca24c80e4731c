//! Many informers that start together take start slots, and none of them delays the others for good.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use informer_reflector::{
    BoxListerWatcher, ListEvent, ListRequest, ListWatchError, ListerWatcher, ListerWatcherSource,
};
use informer_shared::{InformerFactory, StartLimit};
use informer_wire::{ListOptions, Resource, Scope};
use k8s_openapi::api::core::v1::ConfigMap;
use support::{Cluster, Item, SECONDS, soon, until};
use tokio::time::{Instant, sleep};

/// A server whose lists take two seconds each, and which counts those that run at once.
#[derive(Clone, Default)]
struct Slow(Arc<Counts>);

#[derive(Default)]
struct Counts {
    running: AtomicUsize,
    most: AtomicUsize,
    begun: AtomicUsize,
}

#[derive(Clone)]
struct SlowLists {
    counts: Arc<Counts>,
    cluster: Cluster,
    hangs: bool,
}

impl ListerWatcherSource<ConfigMap> for Slow {
    /// Resources whose names begin with `hung` never answer, those with `bad` refuse.
    fn lister_watcher(&self, resource: &Resource, _: Option<&str>) -> BoxListerWatcher<ConfigMap> {
        let cluster = Cluster::with(1);
        cluster.fail_lists(resource.plural.starts_with("bad").then_some(403));
        BoxListerWatcher::new(SlowLists {
            counts: Arc::clone(&self.0),
            cluster,
            hangs: resource.plural.starts_with("hung"),
        })
    }
}

impl ListerWatcher for SlowLists {
    type Object = ConfigMap;
    type List = BoxStream<'static, Result<ListEvent<ConfigMap>, ListWatchError>>;
    type Watch = BoxStream<'static, Item>;

    async fn list(&self, request: ListRequest<Self::Object>) -> Result<Self::List, ListWatchError> {
        self.counts.begun.fetch_add(1, Ordering::SeqCst);
        let running = self.counts.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.counts.most.fetch_max(running, Ordering::SeqCst);
        sleep(2 * SECONDS).await;
        if self.hangs {
            std::future::pending::<()>().await;
        }
        self.counts.running.fetch_sub(1, Ordering::SeqCst);
        self.cluster.list(request).await
    }

    async fn watch(&self, options: ListOptions) -> Result<Self::Watch, ListWatchError> {
        Ok(self.cluster.watch(options).await?.boxed())
    }

    fn supports_watch_list(&self) -> bool {
        false
    }
}

fn resource(kind: &str, number: usize) -> Resource {
    Resource::new(
        "shop",
        "v1",
        "Widget",
        format!("{kind}{number}"),
        Scope::Namespaced,
    )
}

// INV-SHARED-18
#[tokio::test(start_paused = true)]
async fn many_informers_start_a_few_at_a_time() {
    let server = Slow::default();
    let factory = InformerFactory::builder(server.clone())
        .start_limit(StartLimit::new(3).jitter(SECONDS))
        .build()
        .unwrap();
    for number in 0..12 {
        let _informer = factory.informer_for::<ConfigMap>(resource("good", number));
    }
    let begin = Instant::now();
    factory.start().unwrap();
    let error = factory
        .wait_for_cache_sync()
        .deadline(3 * SECONDS)
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains("waiting for a start slot"),
        "{error}"
    );
    factory
        .wait_for_cache_sync()
        .deadline(20 * SECONDS)
        .await
        .unwrap();
    assert!(begin.elapsed() >= 8 * SECONDS, "four rounds of two seconds");
    assert_eq!(server.0.most.load(Ordering::SeqCst), 3);
    soon(factory.shutdown()).await.unwrap();
}

// INV-SHARED-18: the default of a factory.
#[tokio::test(start_paused = true)]
async fn factory_starts_eight_informers_at_a_time() {
    let server = Slow::default();
    let factory = InformerFactory::new(server.clone());
    for number in 0..20 {
        let _informer = factory.informer_for::<ConfigMap>(resource("good", number));
    }
    factory.start().unwrap();
    let synced = factory.wait_for_cache_sync().deadline(20 * SECONDS);
    synced.await.unwrap();
    assert_eq!(server.0.most.load(Ordering::SeqCst), 8);
    soon(factory.shutdown()).await.unwrap();
}

// INV-SHARED-18
#[tokio::test(start_paused = true)]
async fn informers_that_hang_or_fail_delay_others_only_for_a_while() {
    let limit = StartLimit::new(2).patience(10 * SECONDS);
    let factory = InformerFactory::builder(Slow::default())
        .start_limit(limit.clone())
        .build()
        .unwrap();
    let mut others = Vec::new();
    for kind in ["hung", "bad"] {
        for number in 0..4 {
            others.push(factory.informer_for::<ConfigMap>(resource(kind, number)));
        }
    }
    factory.start().unwrap();
    // Asked for last, and from another factory with the same limit.
    let second = InformerFactory::builder(Slow::default())
        .start_limit(limit.clone())
        .build()
        .unwrap();
    let good = second.informer_for::<ConfigMap>(resource("good", 0));
    sleep(SECONDS).await;
    second.start().unwrap();
    let begin = Instant::now();
    good.synced().deadline(40 * SECONDS).await.unwrap();
    assert!(begin.elapsed() >= 10 * SECONDS, "it had to wait");
    until("the slots are free", || limit.free() == 2).await;
    assert!(others.iter().all(|other| !other.has_synced()));
    soon(factory.shutdown()).await.unwrap();
    soon(second.shutdown()).await.unwrap();
}

// INV-SHARED-18, INV-SHARED-12
#[tokio::test(start_paused = true)]
async fn informer_that_waits_for_a_start_slot_stops_like_any_other() {
    let server = Slow::default();
    let limit = StartLimit::new(1).patience(Duration::MAX);
    let factory = InformerFactory::builder(server.clone())
        .start_limit(limit.clone())
        .build()
        .unwrap();
    let first = factory.informer_for::<ConfigMap>(resource("hung", 0));
    factory.start().unwrap();
    until("its list", || server.0.begun.load(Ordering::SeqCst) == 1).await;
    let second = factory.informer_for::<ConfigMap>(resource("good", 1));
    let third = factory.informer_for::<ConfigMap>(resource("good", 2));
    factory.start().unwrap();
    sleep(20 * SECONDS).await;
    assert!(!second.has_synced() && !third.has_synced());
    soon(second.stop()).await.unwrap();
    assert_eq!(server.0.begun.load(Ordering::SeqCst), 1);
    // One that stops gives its slot back.
    soon(first.stop()).await.unwrap();
    third.synced().deadline(10 * SECONDS).await.unwrap();
    until("the slot is free", || limit.free() == 1).await;
}
