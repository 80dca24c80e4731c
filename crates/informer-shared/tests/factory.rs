//! Informers of one factory: shared by type and resource, started and stopped together.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use informer_reflector::{BoxListerWatcher, ListerWatcherSource};
use informer_shared::{InformerFactory, QueuePolicy, RunError, WaitError};
use informer_store::{IndexValues, Indexers, LabelSelector};
use informer_wire::{Resource, Scope, StaticResource};
use k8s_openapi::api::core::v1::ConfigMap;
use parking_lot::Mutex;
use support::{
    Cluster, SECONDS, Seen, change_two, received_in_each_order, settle, soon, started, until,
    value_of,
};

/// Config maps of one cluster, under whatever resource; remembers the requested resources.
#[derive(Clone, Default)]
struct Source {
    cluster: Cluster,
    requested: Arc<Mutex<Vec<String>>>,
}

impl Source {
    fn with(count: usize) -> Self {
        Self {
            cluster: Cluster::with(count),
            ..Self::default()
        }
    }
}

impl ListerWatcherSource<ConfigMap> for Source {
    fn lister_watcher(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
    ) -> BoxListerWatcher<ConfigMap> {
        self.requested
            .lock()
            .push(format!("{resource} in {namespace:?}"));
        BoxListerWatcher::new(self.cluster.clone())
    }
}

fn widgets() -> Resource {
    Resource::new("shop", "v1", "Widget", "widgets", Scope::Namespaced)
}

async fn synced(factory: &InformerFactory<Source>) {
    factory.start().unwrap();
    let wait = factory.wait_for_cache_sync().deadline(10 * SECONDS);
    wait.await.unwrap();
}

// INV-SHARED-15, FA1
#[tokio::test(start_paused = true)]
async fn informers_and_listers_of_one_resource_share_one_watch() {
    let source = Source::with(2);
    let factory = InformerFactory::new(source.clone());
    let lister = factory.lister::<ConfigMap>();
    assert_eq!(
        factory.status().len(),
        1,
        "asking for the lister makes the informer"
    );
    let first = factory.informer::<ConfigMap>();
    let second = factory.clone().informer::<ConfigMap>();
    // Kind and scope follow from group, version and plural.
    let spelled = Resource::new("", "v1", "Configmap", "configmaps", Scope::Cluster);
    let third = factory.informer_for::<ConfigMap>(spelled);
    synced(&factory).await;
    assert!(first.has_synced() && second.has_synced() && third.has_synced());
    assert_eq!(
        lister
            .namespaced("ns")
            .list(&LabelSelector::everything())
            .len(),
        2
    );
    assert_eq!(source.cluster.lists(), 1);
    assert_eq!(*source.requested.lock(), ["v1/configmaps in None"]);
    assert_eq!(first.name(), "v1/configmaps");
    let missing = lister.namespaced("ns").get("9").unwrap_err();
    assert!(missing.to_string().contains("configmaps"), "{missing}");
}

// INV-SHARED-15
#[tokio::test(start_paused = true)]
async fn informer_that_is_asked_for_later_is_started_by_the_next_start() {
    let source = Source::default();
    let factory = InformerFactory::new(source.clone());
    factory
        .wait_for_cache_sync()
        .await
        .expect("there is nothing to wait for");
    let early = factory.informer::<ConfigMap>();
    synced(&factory).await;
    let late = factory.informer_for::<ConfigMap>(widgets());
    // INV-SHARED-13: all that were asked for are waited for.
    let wait = factory.wait_for_cache_sync().deadline(10 * SECONDS);
    let error = wait.await.unwrap_err().to_string();
    assert_eq!(
        error,
        "1 of 2 informers not synced: informer of shop/v1/widgets not synced within 10s: \
         not started; call `start` or `run`"
    );
    assert!(early.has_synced() && !late.is_started());
    synced(&factory).await;
    assert!(late.has_synced());

    soon(factory.shutdown()).await.unwrap();
    soon(factory.shutdown()).await.unwrap();
    assert!(early.is_stopped() && late.is_stopped());
    assert!(matches!(factory.start(), Err(RunError::Stopped)));
    assert_eq!(source.cluster.open_watches(), 0);
}

// INV-SHARED-13: nothing was started, which is no success.
#[tokio::test(start_paused = true)]
async fn factory_that_was_not_started_is_not_synced() {
    let factory = InformerFactory::new(Source::with(1));
    let _informer = factory.informer::<ConfigMap>();
    let waited = factory.wait_for_cache_sync().deadline(SECONDS).await;
    let error = waited.unwrap_err();
    assert!(error.is_deadline(), "{error}");
    // Whoever waits before the start is released by it.
    let wait = tokio::spawn(factory.wait_for_cache_sync().into_future());
    settle().await;
    factory.start().unwrap();
    soon(wait).await.unwrap().unwrap();
}

// INV-SHARED-15: InformerFor with a constructor of one's own
#[tokio::test(start_paused = true)]
async fn informer_with_configures_a_new_informer_and_adds_indexes_to_another() {
    let factory = InformerFactory::new(Source::with(2));
    let by = |name: &str| {
        Indexers::new().index(name, |o: &ConfigMap, v: &mut IndexValues<'_>| {
            v.extend([value_of(o).as_str()]);
        })
    };
    let (informer, is_new) = factory
        .informer_with::<ConfigMap, _>(ConfigMap::resource(), |builder| {
            builder.name("mine").indexers(by("value"))
        })
        .unwrap();
    assert!(is_new);
    synced(&factory).await;
    // Another part of the program needs another index, and does not know of the first.
    let (same, is_new) = factory
        .informer_with::<ConfigMap, _>(ConfigMap::resource(), |builder| {
            builder
                .name("other")
                .indexers(by("value"))
                .indexers(by("late"))
        })
        .unwrap();
    assert!(!is_new);
    assert_eq!(
        (same.name(), factory.informer::<ConfigMap>().name()),
        ("mine", "mine")
    );
    for index in ["value", "late", "namespace"] {
        let value = if index == "namespace" { "ns" } else { "first" };
        let found = informer.store().by_index(index, value).unwrap();
        assert_eq!(found.len(), 2, "{index}");
    }
    let twice = factory.informer_with::<ConfigMap, _>(widgets(), |builder| {
        builder.indexers(by("value")).indexers(by("value"))
    });
    assert!(twice.is_err(), "two indexes of one name");
}

// INV-SHARED-15: the cache of one that was stopped is never fed again.
#[tokio::test(start_paused = true)]
async fn informer_that_was_stopped_by_itself_is_replaced() {
    let source = Source::with(1);
    let factory = InformerFactory::new(source.clone());
    let first = factory.informer::<ConfigMap>();
    synced(&factory).await;
    soon(first.stop()).await.unwrap();
    let lister = factory.lister::<ConfigMap>();
    let second = factory.informer::<ConfigMap>();
    assert_eq!(factory.status().len(), 1);
    assert!(!second.is_started());
    synced(&factory).await;
    source.cluster.put("1", "new");
    until("the new one follows", || lister.get("ns/1").is_ok()).await;
    assert_eq!((first.store().len(), second.store().len()), (1, 2));
    assert!(first.store().is_closed() && !lister.store().is_closed());
    // The factory itself was stopped: nothing is replaced any more.
    soon(factory.shutdown()).await.unwrap();
    assert!(factory.informer::<ConfigMap>().is_stopped());
}

// INV-SHARED-13, WS2
#[tokio::test(start_paused = true)]
async fn waiting_for_all_names_the_late_and_why() {
    let source = Source::default();
    source.cluster.fail_lists(Some(403));
    let reports = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&reports);
    let factory = InformerFactory::builder(source.clone())
        .watch_error_handler(move |resource, report| {
            assert!(resource.to_string().starts_with("v1/") && report.to_string().contains("403"));
            count.fetch_add(1, Ordering::Relaxed);
        })
        .build()
        .unwrap();
    let late = factory.informer::<ConfigMap>();
    factory.start().unwrap();
    let error = factory
        .wait_for_cache_sync()
        .deadline(10 * SECONDS)
        .await
        .unwrap_err();
    let text = error.to_string();
    let WaitError::Informers { total, failed, .. } = error else {
        panic!("{text}")
    };
    assert_eq!((total, failed.len()), (1, 1));
    assert!(text.starts_with("1 of 1 informers not synced"), "{text}");
    assert!(
        text.contains("v1/configmaps") && text.contains("refused with 403"),
        "{text}"
    );
    assert!(reports.load(Ordering::Relaxed) > 0);
    let wait = tokio::spawn(factory.wait_for_cache_sync().into_future());
    settle().await;
    soon(late.stop()).await.unwrap();
    let error = soon(wait).await.unwrap().unwrap_err();
    assert!(error.to_string().contains("before it stopped"), "{error}");
    assert!(
        factory.start().is_ok(),
        "one that was stopped is left alone"
    );
}

// INV-SHARED-13, WS2: no need to wait for the others, which may never end.
#[tokio::test(start_paused = true)]
async fn waiting_for_all_fails_as_soon_as_one_has_stopped() {
    let source = Source::default();
    source.cluster.hang();
    let factory = InformerFactory::new(source);
    let hung = factory.informer::<ConfigMap>();
    let stopped = factory.informer_for::<ConfigMap>(widgets());
    factory.start().unwrap();
    let wait = tokio::spawn(factory.wait_for_cache_sync().into_future());
    settle().await;
    assert!(!wait.is_finished());
    soon(stopped.stop()).await.unwrap();
    let error = soon(wait).await.unwrap().unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("1 of 2 informers not synced"), "{text}");
    assert!(text.contains("shop/v1/widgets not synced before"), "{text}");
    assert!(!error.is_deadline() && !hung.is_stopped());
}

// INV-SHARED-12
#[tokio::test(start_paused = true)]
async fn informers_live_while_the_factory_or_a_handle_does() {
    let source = Source::with(1);
    let factory = InformerFactory::new(source.clone());
    let informer = factory.informer::<ConfigMap>();
    synced(&factory).await;
    drop(factory);
    settle().await;
    assert!(!informer.is_stopped(), "the user's handle keeps it");
    drop(informer);
    until("the end", || source.cluster.open_watches() == 0).await;

    let factory = InformerFactory::new(source.clone());
    let lister = factory.lister::<ConfigMap>();
    factory.start().unwrap();
    until("the watch", || source.cluster.open_watches() == 1).await;
    drop(factory);
    until("the end", || source.cluster.open_watches() == 0).await;
    assert!(
        lister.store().is_closed(),
        "a lister shows that it is not fed"
    );
}

// INV-SHARED-12: whatever is started at the same time is stopped, or not started.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn start_races_with_shutdown() {
    for _ in 0..200 {
        let factory = InformerFactory::new(Source::with(1));
        let informers: Vec<_> = (0..5)
            .map(|n| {
                let plural = format!("widgets{n}");
                let resource = Resource::new("shop", "v1", "Widget", plural, Scope::Namespaced);
                factory.informer_for::<ConfigMap>(resource)
            })
            .collect();
        let starts = factory.clone();
        let start = tokio::spawn(async move { starts.start() });
        soon(factory.shutdown()).await.unwrap();
        let _ = soon(start).await.unwrap();
        assert!(informers.iter().all(|informer| informer.is_stopped()));
        assert!(matches!(factory.start(), Err(RunError::Stopped)));
    }
}

// INV-CTRL-5
#[tokio::test(start_paused = true)]
async fn informers_of_a_factory_cache_changes_in_the_chosen_order() {
    for (order, expected) in received_in_each_order() {
        let source = Source::default();
        let builder = InformerFactory::builder(source.clone());
        let factory = builder.queue_order(order).build().unwrap();
        let informer = factory.informer::<ConfigMap>();
        let seen = Seen::new();
        let _all = informer
            .handler()
            .queue(QueuePolicy::Unbounded)
            .register(seen.clone())
            .unwrap();
        started(&informer).await;
        until("the watch", || source.cluster.open_watches() == 1).await;
        change_two(&source.cluster);
        until("all changes", || seen.lines().len() == expected.len()).await;
        assert_eq!(seen.take(), expected, "{order:?}");
    }
}

// INV-SHARED-12: user code is dropped under no lock of the factory, also where a start drops it.
#[test]
fn start_in_a_runtime_that_has_ended_ends_the_informers() {
    struct AtDrop(InformerFactory<Source>, std::sync::mpsc::Sender<usize>);
    impl Drop for AtDrop {
        fn drop(&mut self) {
            let _ = self.1.send(self.0.status().len());
        }
    }

    let factory = InformerFactory::new(Source::with(1));
    let (sender, dropped) = std::sync::mpsc::channel();
    let at_drop = AtDrop(factory.clone(), sender);
    let handler = move |_| {
        let _ = &at_drop;
        async {}
    };
    let informer = factory.informer::<ConfigMap>();
    informer.add_handler(handler).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let handle = runtime.handle().clone();
    runtime.shutdown_background();
    let starter = factory.clone();
    std::thread::spawn(move || {
        let _context = handle.enter();
        starter.start()
    });
    let statuses = dropped.recv_timeout(60 * SECONDS);
    assert_eq!(statuses, Ok(1), "the drop of a handler reads the factory");
    assert!(informer.is_started());
}
