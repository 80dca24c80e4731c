//! Informers of one factory: shared by type and resource, started and stopped together.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use informer_reflector::{BoxListerWatcher, ListerWatcherSource};
use informer_shared::{InformerFactory, QueuePolicy, RunError};
use informer_store::{IndexValues, Indexers, LabelSelector};
use informer_wire::{Resource, Scope, StaticResource};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use parking_lot::Mutex;
use support::{
    Cluster, SECONDS, Seen, change_two, settle, soon, started, told_in_each_order, until, value_of,
};

/// Config maps of one cluster, under whatever resource; remembers what it was asked for.
#[derive(Clone, Default)]
struct Source {
    cluster: Cluster,
    asked: Arc<Mutex<Vec<String>>>,
}

impl ListerWatcherSource<ConfigMap> for Source {
    fn lister_watcher(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
    ) -> BoxListerWatcher<ConfigMap> {
        self.asked
            .lock()
            .push(format!("{resource} in {namespace:?}"));
        BoxListerWatcher::new(self.cluster.clone())
    }
}

fn widgets() -> Resource {
    Resource::new("shop", "v1", "Widget", "widgets", Scope::Namespaced)
}

// INV-SHARED-15, FA1
#[tokio::test(start_paused = true)]
async fn informers_and_listers_of_one_resource_share_one_watch() {
    let source = Source {
        cluster: Cluster::with(2),
        ..Source::default()
    };
    let factory = InformerFactory::new(source.clone());
    let lister = factory.lister::<ConfigMap>();
    assert_eq!(
        factory.status().len(),
        1,
        "asking for the lister makes the informer"
    );
    let first = factory.informer::<ConfigMap>();
    let second = factory.clone().informer::<ConfigMap>();
    factory.start().unwrap();
    factory
        .wait_for_cache_sync()
        .deadline(10 * SECONDS)
        .await
        .unwrap();
    assert!(first.has_synced() && second.has_synced());
    assert_eq!(
        lister
            .namespaced("ns")
            .list(&LabelSelector::everything())
            .len(),
        2
    );
    assert_eq!(source.cluster.lists(), 1);
    assert_eq!(*source.asked.lock(), ["v1/configmaps in None"]);
    assert_eq!(first.name(), "v1/configmaps");
    let missing = lister.namespaced("ns").get("9").unwrap_err();
    assert!(missing.to_string().contains("configmaps"), "{missing}");
}

// INV-SHARED-15
#[tokio::test(start_paused = true)]
async fn what_is_asked_for_later_is_started_by_the_next_start() {
    let source = Source::default();
    let factory = InformerFactory::new(source.clone());
    factory
        .wait_for_cache_sync()
        .await
        .expect("there is nothing to wait for");
    let early = factory.informer::<ConfigMap>();
    factory.start().unwrap();
    let late = factory.informer_for::<ConfigMap>(widgets());
    factory
        .wait_for_cache_sync()
        .deadline(10 * SECONDS)
        .await
        .unwrap();
    assert!(early.has_synced() && !late.is_started());
    factory.start().unwrap();
    factory
        .wait_for_cache_sync()
        .deadline(10 * SECONDS)
        .await
        .unwrap();
    assert!(late.has_synced());
    assert_eq!(late.name(), "shop/v1/widgets");

    soon(factory.shutdown()).await.unwrap();
    soon(factory.shutdown()).await.unwrap();
    assert!(early.is_stopped() && late.is_stopped());
    assert!(matches!(factory.start(), Err(RunError::Stopped)));
    assert_eq!(source.cluster.open_watches(), 0);
}

// FA1
#[tokio::test(start_paused = true)]
async fn namespace_tweak_transform_and_resync_reach_the_informers() {
    let source = Source {
        cluster: Cluster::with(1),
        ..Source::default()
    };
    let factory = InformerFactory::builder(source.clone())
        .namespace("shop")
        .tweak_list_options(|options| options.label_selector = Some("app=cart".into()))
        .tweak_list_options(|options| options.field_selector = Some("a=b".into()))
        .resync_period(1000 * SECONDS)
        .resync_period_of::<ConfigMap>(SECONDS)
        .transform(|object: &mut ConfigMap| {
            object.data = Some([("value".to_owned(), "changed".to_owned())].into());
            Ok::<(), std::convert::Infallible>(())
        })
        .transform(|_: &mut Secret| Err("no secret passes"))
        .build();
    let informer = factory.informer::<ConfigMap>();
    let seen = Seen::new();
    let _kept = informer.add_handler(seen.clone()).unwrap();
    factory.start().unwrap();
    factory
        .wait_for_cache_sync()
        .deadline(10 * SECONDS)
        .await
        .unwrap();
    assert_eq!(*source.asked.lock(), ["v1/configmaps in Some(\"shop\")"]);
    let options = source.cluster.last_options().unwrap();
    assert_eq!(options.label_selector.as_deref(), Some("app=cart"));
    assert_eq!(options.field_selector.as_deref(), Some("a=b"));
    tokio::time::sleep(SECONDS * 3 / 2).await;
    settle().await;
    assert_eq!(seen.lines(), ["+0=changed initial", "=0 resync"]);
}

// InformerFor with a constructor of one's own
#[tokio::test(start_paused = true)]
async fn an_informer_can_be_set_up_beyond_what_the_factory_says() {
    let source = Source {
        cluster: Cluster::with(2),
        ..Source::default()
    };
    let factory = InformerFactory::new(source);
    let by_value = Indexers::new().index("value", |o: &ConfigMap, v: &mut IndexValues<'_>| {
        v.extend([value_of(o).as_str()]);
    });
    let calls = AtomicUsize::new(0);
    let resource = ConfigMap::resource();
    let make = || {
        factory.informer_with::<ConfigMap, _>(resource.clone(), |builder| {
            calls.fetch_add(1, Ordering::Relaxed);
            builder.name("mine").indexers(by_value.clone())
        })
    };
    let informer = make().unwrap();
    make().unwrap();
    assert_eq!(
        calls.load(Ordering::Relaxed),
        1,
        "the second time it is there"
    );
    assert_eq!(factory.informer::<ConfigMap>().name(), "mine");
    factory.start().unwrap();
    factory
        .wait_for_cache_sync()
        .deadline(10 * SECONDS)
        .await
        .unwrap();
    assert_eq!(
        informer.store().by_index("value", "first").unwrap().len(),
        2
    );
}

// INV-SHARED-13, WS2
#[tokio::test(start_paused = true)]
async fn waiting_for_all_says_which_is_late_and_why() {
    let source = Source::default();
    source.cluster.fail_lists(Some(403));
    let heard = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&heard);
    let factory = InformerFactory::builder(source.clone())
        .watch_error_handler(move |resource, report| {
            assert!(resource.to_string().starts_with("v1/") && report.to_string().contains("403"));
            count.fetch_add(1, Ordering::Relaxed);
        })
        .build();
    let late = factory.informer::<ConfigMap>();
    factory.start().unwrap();
    let error = factory
        .wait_for_cache_sync()
        .deadline(10 * SECONDS)
        .await
        .unwrap_err();
    assert_eq!((error.started, error.failed.len()), (1, 1));
    let text = error.to_string();
    assert!(text.starts_with("1 of 1 informers did not sync"), "{text}");
    assert!(
        text.contains("v1/configmaps") && text.contains("refused with 403"),
        "{text}"
    );
    assert!(heard.load(Ordering::Relaxed) > 0);
    let wait = tokio::spawn(factory.wait_for_cache_sync().into_future());
    settle().await;
    soon(late.stop()).await.unwrap();
    let error = soon(wait).await.unwrap().unwrap_err();
    assert!(error.to_string().contains("stopped before"), "{error}");
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
    assert_eq!((error.started, error.failed.len()), (2, 1));
    let text = error.to_string();
    assert!(text.contains("shop/v1/widgets stopped before"), "{text}");
    assert!(!hung.is_stopped());
}

// INV-SHARED-12
#[tokio::test(start_paused = true)]
async fn informers_live_while_the_factory_or_a_handle_does() {
    let source = Source {
        cluster: Cluster::with(1),
        ..Source::default()
    };
    let factory = InformerFactory::new(source.clone());
    let informer = factory.informer::<ConfigMap>();
    factory.start().unwrap();
    factory
        .wait_for_cache_sync()
        .deadline(10 * SECONDS)
        .await
        .unwrap();
    drop(factory);
    settle().await;
    assert!(!informer.is_stopped(), "the user's handle keeps it");
    drop(informer);
    until("the end", || source.cluster.open_watches() == 0).await;

    let factory = InformerFactory::new(source.clone());
    let _lister = factory.lister::<ConfigMap>();
    factory.start().unwrap();
    until("the watch", || source.cluster.open_watches() == 1).await;
    drop(factory);
    until("the end", || source.cluster.open_watches() == 0).await;
}

// INV-CTRL-5
#[tokio::test(start_paused = true)]
async fn informers_of_a_factory_tell_changes_in_the_order_that_was_chosen() {
    for (order, expected) in told_in_each_order() {
        let source = Source::default();
        let builder = InformerFactory::builder(source.clone());
        let factory = builder.queue_order(order).build();
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
