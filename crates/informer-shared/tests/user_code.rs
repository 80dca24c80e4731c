//! User code that fails or panics, wherever it is called: the rows of the table in docs/invariants.md, one after another.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use futures_util::{FutureExt, StreamExt};
use informer_delta_fifo::{Batch, DeltaFifo};
use informer_reflector::{
    BoxListerWatcher, ListEvent, ListRequest, ListWatch, ListWatchError, ListerWatcher,
    ListerWatcherSource, Reflector, Report,
};
use informer_shared::{
    EndReason, Event, FailedKeys, FailurePolicy, HandlerError, InformerFactory, Process,
    ProcessLoop, RunError, SharedInformer,
};
use informer_store::{
    IndexValues, Indexers, Object, ObjectMetadata, OwnerReference, ResourceVersion, Selector, Uid,
    object,
};
use informer_wire::{ListMeta, ListOptions, Resource, WatchEvent};
use k8s_openapi::api::core::v1::ConfigMap;
use support::running::start;
use support::{Cluster, SECONDS, Seen, informer, key, settle, soon, started, until, value_of};
use tokio_util::sync::CancellationToken;

/// The informer still follows the cluster, and sends changes to its handlers.
async fn assert_works(informer: &SharedInformer<ConfigMap>, cluster: &Cluster) {
    let seen = Seen::new();
    let registration = informer.add_handler(seen.clone()).unwrap();
    let last = cluster.put("probe", "1");
    soon(informer.wait_until(last.into())).await.unwrap();
    until("the probe", || seen.contents().contains_key("probe")).await;
    soon(registration.remove()).await.unwrap();
    let last = cluster.delete("probe");
    soon(informer.wait_until(last.into())).await.unwrap();
}

// INV-REFL-8
#[tokio::test(start_paused = true)]
async fn transform_that_fails_or_panics_makes_the_object_undecodable() {
    let cluster = Cluster::with(2);
    let transform = |object: &mut ConfigMap| match &*value_of(object) {
        "error" => Err("refused"),
        "panic" => panic!("in the transform"),
        _ => Ok(()),
    };
    let builder = SharedInformer::builder(cluster.clone()).transform(transform);
    let informer = builder.build().unwrap();
    started(&informer).await;
    for (name, value) in [("0", "error"), ("1", "panic")] {
        let last = cluster.put(name, value);
        soon(informer.wait_until(last.into())).await.unwrap();
        let snapshot = informer.store().snapshot();
        assert!(snapshot.is_stale(&key(name)));
        assert_eq!(value_of(snapshot.get(&key(name)).unwrap()), "first");
    }
    assert_eq!(informer.status().reflector.undecodable, 2);
    assert_works(&informer, &cluster).await;
}

// INV-REFL-9
#[tokio::test(start_paused = true)]
async fn tweak_that_panics_changes_nothing() {
    let cluster = Cluster::with(1);
    let builder = SharedInformer::builder(cluster.clone())
        .tweak_list_options(|_| panic!("in the tweak"))
        .tweak_list_options(|options| options.label_selector = Some("a=b".into()));
    let informer = builder.build().unwrap();
    started(&informer).await;
    let options = cluster.last_options().unwrap();
    assert_eq!(options.label_selector.as_deref(), Some("a=b"));
    assert_works(&informer, &cluster).await;
}

// INV-REFL-9
#[tokio::test(start_paused = true)]
async fn error_handler_that_panics_keeps_no_report_from_others() {
    let cluster = Cluster::with(1);
    cluster.fail_lists(Some(500));
    let reports = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&reports);
    let builder = SharedInformer::builder(cluster.clone())
        .watch_error_handler(|_: &Report| panic!("in the handler"))
        .watch_error_handler(move |_: &Report| {
            count.fetch_add(1, Ordering::Relaxed);
        });
    let informer = builder.build().unwrap();
    informer.start().unwrap();
    until("a report", || reports.load(Ordering::Relaxed) > 0).await;
    cluster.fail_lists(None);
    soon(informer.synced()).await.unwrap();
    assert_works(&informer, &cluster).await;
}

// INV-REFL-9
#[tokio::test(start_paused = true)]
async fn lister_watcher_that_panics_is_called_again() {
    let calls = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&calls);
    let source = ListWatch::new(
        move |_: ListOptions| {
            assert!(count.fetch_add(1, Ordering::Relaxed) > 1, "in the list");
            async { Ok::<_, ListWatchError>((Vec::<ConfigMap>::new(), ListMeta::at(1.into()))) }
        },
        |_: ListOptions| async {
            let none = futures_util::stream::pending::<Result<WatchEvent<ConfigMap>, _>>();
            Ok::<_, ListWatchError>(none.map(|item: Result<_, ListWatchError>| item))
        },
    );
    let informer = SharedInformer::builder(source).build().unwrap();
    informer.start().unwrap();
    soon(informer.synced()).await.unwrap();
    let last = informer.status().reflector.last_error;
    assert!(last.unwrap().contains("in the list"));
}

// INV-STORE-4
#[tokio::test(start_paused = true)]
async fn index_function_and_report_that_panic_leave_the_object_out_of_that_index() {
    let cluster = Cluster::with(2);
    let informer = informer(&cluster);
    let failing = |object: &ConfigMap, values: &mut IndexValues<'_>| {
        assert!(object.name() != "0", "in the index function");
        values.push("value");
    };
    informer.on_index_failure(|_| panic!("in the report"));
    informer
        .add_indexers(&Indexers::new().index("failing", failing))
        .unwrap();
    started(&informer).await;
    let store = informer.store();
    assert_eq!(
        (
            store.len(),
            store.by_index("failing", "value").unwrap().len()
        ),
        (2, 1)
    );
    assert_eq!(store.index_status("failing").unwrap().unindexed, 1);
    assert_works(&informer, &cluster).await;
}

/// An object whose metadata panics.
struct Touchy {
    metadata: Metadata,
}

struct Metadata;

object!(Touchy, metadata: Metadata);

impl ObjectMetadata for Metadata {
    fn name(&self) -> Option<&str> {
        panic!("in the metadata")
    }

    fn namespace(&self) -> Option<&str> {
        None
    }

    fn uid(&self) -> Option<Uid> {
        None
    }

    fn resource_version(&self) -> Option<ResourceVersion> {
        None
    }

    fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        std::iter::empty()
    }

    fn annotations(&self) -> impl Iterator<Item = (&str, &str)> {
        std::iter::empty()
    }

    fn owner_references(&self) -> impl Iterator<Item = OwnerReference<'_>> {
        std::iter::empty()
    }

    fn generation(&self) -> Option<i64> {
        None
    }

    fn finalizers(&self) -> impl Iterator<Item = &str> {
        std::iter::empty()
    }

    fn is_being_deleted(&self) -> bool {
        false
    }
}

// INV-SHARED-12
#[tokio::test(start_paused = true)]
async fn metadata_that_panics_stops_the_informer_with_an_error() {
    let source = ListWatch::new(
        |_: ListOptions| async {
            Ok::<_, ListWatchError>((vec![Touchy { metadata: Metadata }], ListMeta::at(1.into())))
        },
        |_: ListOptions| async {
            let none =
                futures_util::stream::pending::<Result<WatchEvent<Touchy>, ListWatchError>>();
            Ok::<_, ListWatchError>(none)
        },
    );
    let informer = SharedInformer::builder(source).build().unwrap();
    let registration = informer.add_handler(|_: Event<Touchy>| async {}).unwrap();
    informer.start().unwrap();
    let error = soon(informer.stopped()).await.unwrap_err();
    assert!(
        matches!(
            error,
            RunError::Panicked {
                part: "reflector",
                ..
            }
        ),
        "{error}"
    );
    assert!(error.to_string().contains("in the metadata"), "{error}");
    assert!(soon(informer.synced()).await.is_err());
    assert!(soon(registration.ended()).await.is_ok());
}

// INV-SHARED-10
#[tokio::test(start_paused = true)]
async fn filter_that_panics_counts_as_its_handler_and_unwinds_from_a_stream() {
    let cluster = Cluster::with(2);
    let informer = informer(&cluster);
    let filter = |object: &ConfigMap| {
        assert!(object.name() != "0", "in the filter");
        true
    };
    let builder = informer.handler().on_panic(FailurePolicy::Skip);
    let skipping = builder.filter(filter).register(Seen::new()).unwrap();
    let stopped = informer
        .handler()
        .filter(filter)
        .register(Seen::new())
        .unwrap();
    let mut stream = informer.handler().filter(filter).stream().unwrap();
    started(&informer).await;
    soon(skipping.synced()).await.unwrap();
    assert_eq!(
        (skipping.status().panics, skipping.status().delivered),
        (1, 2)
    );
    assert!(matches!(
        soon(stopped.ended()).await,
        Ok(EndReason::Failed(HandlerError::Panicked { .. }))
    ));
    assert!(
        AssertUnwindSafe(stream.next())
            .catch_unwind()
            .await
            .is_err()
    );
    let next = soon(stream.next()).await.unwrap();
    assert_eq!(
        next.object().name(),
        "1",
        "the stream goes on after the event"
    );
    assert_works(&informer, &cluster).await;
}

/// A handler that panics when it is called, or dropped.
struct Bad {
    in_call: bool,
    in_drop: bool,
}

impl Drop for Bad {
    fn drop(&mut self) {
        assert!(!self.in_drop || std::thread::panicking(), "in the drop");
    }
}

impl informer_shared::EventHandler<ConfigMap> for Bad {
    async fn handle(&mut self, _: Event<ConfigMap>) -> Result<(), informer_shared::BoxError> {
        assert!(!self.in_call, "in the call");
        Err("an error".into())
    }
}

impl informer_shared::BlockingEventHandler<ConfigMap> for Bad {
    fn handle(&mut self, _: Event<ConfigMap>) -> Result<(), informer_shared::BoxError> {
        assert!(!self.in_call, "in the call");
        Err("an error".into())
    }
}

// INV-SHARED-10
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn handler_that_fails_or_panics_in_a_call_or_its_drop_affects_no_other() {
    for (in_call, in_drop) in [(false, false), (true, false), (false, true), (true, true)] {
        let cluster = Cluster::with(3);
        let informer = informer(&cluster);
        let bad = || Bad { in_call, in_drop };
        let registrations = [
            informer.add_handler(bad()).unwrap(),
            informer.add_blocking_handler(bad()).unwrap(),
        ];
        started(&informer).await;
        for registration in registrations {
            if in_call {
                let end = soon(registration.ended()).await;
                assert!(matches!(end, Ok(EndReason::Failed(_))), "{end:?}");
                assert_eq!(registration.status().panics, 1);
            } else {
                soon(registration.synced()).await.unwrap();
                assert_eq!(registration.status().errors, 3);
                let end = soon(registration.remove()).await;
                assert!(matches!(end, Ok(EndReason::Removed)), "{end:?}");
            }
        }
        assert_works(&informer, &cluster).await;
        soon(informer.stop()).await.unwrap();
    }
}

/// A process that fails, panics, or ends its loop.
struct BadProcess(&'static str);

impl Process<ConfigMap> for BadProcess {
    async fn process(&mut self, batch: &Batch<ConfigMap>) -> Result<(), FailedKeys> {
        assert!(self.0 != "panic", "in the process");
        let mut failed = FailedKeys::new();
        for (key, _) in batch.iter().take(1) {
            failed.push(key.clone(), "an error");
        }
        failed.into_result()
    }

    async fn between(&mut self) -> Result<(), RunError> {
        match self.0 {
            "end" => Err(RunError::NoRuntime),
            "panic between" => panic!("between"),
            _ => std::future::pending().await,
        }
    }

    fn synced(&mut self) {
        assert!(self.0 != "panic when synced", "when synced");
    }
}

// INV-CTRL-1, INV-CTRL-2
#[tokio::test(start_paused = true)]
async fn process_that_fails_is_retried_and_one_that_panics_reaches_the_caller_of_run() {
    for how in [
        "error",
        "panic",
        "panic between",
        "panic when synced",
        "end",
    ] {
        let cluster = Cluster::with(2);
        let queue = DeltaFifo::default();
        let reflector = Reflector::new(cluster.clone(), Arc::new(queue.clone()));
        let process_loop = ProcessLoop::new(queue.clone(), reflector, BadProcess(how))
            .on_error(|_, _| panic!("in the hook"));
        let is_synced = process_loop.synced();
        if how == "error" {
            let running = start(process_loop);
            tokio::time::sleep(30 * SECONDS).await;
            let status = running.status();
            assert_eq!(
                (status.failures, status.given_up, status.failing),
                (16, 1, 0)
            );
            running.end().await;
            continue;
        }
        let run = process_loop.run(CancellationToken::new());
        let outcome = soon(AssertUnwindSafe(run).catch_unwind()).await;
        match how {
            "end" => assert!(matches!(outcome, Ok(Err(RunError::NoRuntime)))),
            _ => assert!(outcome.is_err(), "{how}"),
        }
        let is_requeued = queue.stats().requeued_batches == 1;
        assert_eq!(is_requeued, how == "panic");
        assert!(queue.is_closed());
        assert_eq!(soon(is_synced).await.is_ok(), how == "panic when synced");
        settle().await;
        assert_eq!(cluster.open_watches(), 0, "{how}");
    }
}

/// A source that panics at first.
struct BadSource(Cluster, AtomicBool);

impl ListerWatcherSource<ConfigMap> for BadSource {
    fn lister_watcher(&self, _: &Resource, _: Option<&str>) -> BoxListerWatcher<ConfigMap> {
        assert!(self.1.swap(true, Ordering::Relaxed), "in the source");
        BoxListerWatcher::new(self.0.clone())
    }
}

#[tokio::test(start_paused = true)]
async fn source_and_settings_that_panic_reach_the_caller_and_leave_the_factory_as_it_was() {
    let panics = Arc::new(AtomicBool::new(true));
    let once = Arc::clone(&panics);
    let cluster = Cluster::with(1);
    let builder = InformerFactory::builder(BadSource(cluster.clone(), AtomicBool::new(false)))
        .configure::<ConfigMap>(move |_, informer| {
            assert!(!once.swap(false, Ordering::Relaxed), "in the settings");
            informer
        })
        .transform_all(|_, _| -> Result<(), &str> { panic!("in the transform") });
    let factory = builder.build().unwrap();
    for part in ["in the source", "in the settings"] {
        let informer = catch_unwind(AssertUnwindSafe(|| factory.informer::<ConfigMap>()));
        let panic = informer.unwrap_err();
        assert!(
            panic
                .downcast_ref::<&str>()
                .is_some_and(|text| text.contains(part)),
            "{part}"
        );
    }
    assert!(factory.status().is_empty());
    let informer = factory.informer::<ConfigMap>();
    factory.start().unwrap();
    soon(factory.wait_for_cache_sync()).await.unwrap();
    assert_eq!(
        (
            informer.store().len(),
            informer.status().reflector.undecodable
        ),
        (0, 1)
    );
    soon(factory.shutdown()).await.unwrap();
}

/// A selector that panics.
struct BadSelector;

impl Selector for BadSelector {
    fn matches<M: ObjectMetadata>(&self, _: &M) -> bool {
        panic!("in the selector")
    }

    fn is_everything(&self) -> bool {
        false
    }

    fn is_nothing(&self) -> bool {
        false
    }
}

#[tokio::test(start_paused = true)]
async fn selector_that_panics_reaches_the_reader() {
    let cluster = Cluster::with(1);
    let informer = informer(&cluster);
    started(&informer).await;
    let lister = informer.lister();
    assert!(catch_unwind(AssertUnwindSafe(|| lister.list(&BadSelector))).is_err());
    assert_works(&informer, &cluster).await;
}

/// A lister-watcher whose streams panic.
struct BadStreams(AtomicUsize);

impl ListerWatcher for BadStreams {
    type Object = ConfigMap;
    type List =
        futures_util::stream::BoxStream<'static, Result<ListEvent<ConfigMap>, ListWatchError>>;
    type Watch = futures_util::stream::BoxStream<'static, support::Item>;

    async fn list(&self, _: ListRequest<ConfigMap>) -> Result<Self::List, ListWatchError> {
        let first = self.0.fetch_add(1, Ordering::Relaxed) == 0;
        let end = futures_util::stream::once(async move {
            assert!(!first, "in the list's stream");
            Ok(ListEvent::End(ListMeta::at(1.into())))
        });
        Ok(end.boxed())
    }

    async fn watch(&self, _: ListOptions) -> Result<Self::Watch, ListWatchError> {
        let first = self.0.fetch_add(1, Ordering::Relaxed) < 4;
        Ok(futures_util::stream::once(async move {
            assert!(!first, "in the watch's stream");
            std::future::pending().await
        })
        .boxed())
    }

    fn supports_watch_list(&self) -> bool {
        false
    }
}

// INV-REFL-9
#[tokio::test(start_paused = true)]
async fn streams_that_panic_are_requested_again() {
    let informer = SharedInformer::builder(BadStreams(AtomicUsize::new(0)))
        .build()
        .unwrap();
    informer.start().unwrap();
    soon(informer.synced()).await.unwrap();
    until("a watch", || informer.status().watching).await;
    tokio::time::sleep(60 * SECONDS).await;
    assert!(informer.status().watching && !informer.is_stopped());
}
