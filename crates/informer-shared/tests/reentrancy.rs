//! Every public method, called within each kind of handler and hook of the same informer: it ends, or is refused.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt};
use informer_reflector::{BoxListerWatcher, ListerWatcherSource, Report};
use informer_shared::{Event, InformerFactory, OnStop, Registration, SharedInformer, WeakInformer};
use informer_store::{Expectation, IndexValues, Indexers};
use informer_wire::{Resource, StaticResource};
use k8s_openapi::api::core::v1::ConfigMap;
use parking_lot::Mutex;
use support::{Cluster, SECONDS, Seen, config_map, settle, soon, started, until};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

#[derive(Clone)]
struct Source(Cluster);

impl ListerWatcherSource<ConfigMap> for Source {
    fn lister_watcher(&self, _: &Resource, _: Option<&str>) -> BoxListerWatcher<ConfigMap> {
        BoxListerWatcher::new(self.0.clone())
    }
}

/// What the code within a handler or hook gets hold of.
#[derive(Clone)]
struct Inside {
    factory: InformerFactory<Source>,
    informer: WeakInformer<ConfigMap>,
    own: Arc<Mutex<Option<Registration>>>,
    other: Arc<Mutex<Option<Registration>>>,
}

impl Inside {
    fn informer(&self) -> SharedInformer<ConfigMap> {
        self.informer.upgrade().expect("a handle is kept")
    }
}

type AsyncCall = fn(Inside) -> BoxFuture<'static, String>;

/// Methods that wait. Each returns what came of it.
fn async_calls() -> Vec<(&'static str, AsyncCall)> {
    fn of<T: std::fmt::Debug>(result: T) -> String {
        format!("{result:?}")
    }
    fn handler(slot: &Mutex<Option<Registration>>) -> Registration {
        slot.lock().take().expect("it was registered")
    }
    vec![
        ("run", |i| {
            let run = async move { of(i.informer().run(CancellationToken::new()).await) };
            run.boxed()
        }),
        ("stop", |i| {
            async move { of(i.informer().stop().await) }.boxed()
        }),
        ("stopped", |i| {
            async move { of(i.informer().stopped().await) }.boxed()
        }),
        ("synced", |i| {
            async move { of(i.informer().synced().await) }.boxed()
        }),
        ("wait_until", |i| {
            let wait = i.informer().wait_until(99.into()).deadline(SECONDS);
            async move { of(wait.await) }.boxed()
        }),
        ("wait_for", |i| {
            let expected = Expectation::written(&config_map("0", "uid-1", 1, "")).unwrap();
            let wait = i.informer().wait_for(expected);
            async move { of(wait.await) }.boxed()
        }),
        ("events", |i| {
            async move { of(i.informer().events().unwrap().next().await.is_some()) }.boxed()
        }),
        ("stream synced", |i| {
            let stream = i.informer().events().unwrap();
            async move { of(stream.synced().deadline(SECONDS).await) }.boxed()
        }),
        ("late handler synced", |i| {
            let late = i.informer().add_handler(Seen::new()).unwrap();
            async move { of(late.synced().await) }.boxed()
        }),
        ("own synced", |i| {
            async move { of(handler(&i.own).synced().await) }.boxed()
        }),
        ("own ended", |i| {
            async move { of(handler(&i.own).ended().await) }.boxed()
        }),
        ("own remove", |i| {
            async move { of(handler(&i.own).remove().await) }.boxed()
        }),
        ("other synced", |i| {
            async move { of(handler(&i.other).synced().await) }.boxed()
        }),
        ("other ended", |i| {
            async move { of(handler(&i.other).ended().await) }.boxed()
        }),
        ("other remove", |i| {
            async move { of(handler(&i.other).remove().await) }.boxed()
        }),
        ("wait_for_cache_sync", |i| {
            async move { of(i.factory.wait_for_cache_sync().await) }.boxed()
        }),
        ("shutdown", |i| {
            async move { of(i.factory.shutdown().await) }.boxed()
        }),
    ]
}

/// All methods that do not wait, of everything that can be had within.
fn sync_calls(inside: &Inside) {
    let informer = inside.informer();
    let _ = informer.start();
    let _ = (
        informer.name().len(),
        informer.is_started(),
        informer.is_stopped(),
    );
    let _ = (
        informer.has_synced(),
        informer.not_synced(),
        informer.last_sync_resource_version(),
    );
    let _ = (
        format!("{informer:?}"),
        informer.status(),
        informer.downgrade().upgrade(),
    );
    let _ = informer.add_handler(Seen::new()).map(Registration::scoped);
    let _ = informer
        .add_blocking_handler(Seen::new())
        .map(Registration::remove);
    drop(informer.events());
    let reader = informer.store();
    let _ = (
        reader.list(),
        reader.get("ns/0"),
        reader.snapshot(),
        informer.lister(),
    );
    drop((
        informer.stopped(),
        informer.synced(),
        informer.wait_until(1.into()),
    ));
    for registration in [&inside.own, &inside.other] {
        if let Some(registration) = &*registration.lock() {
            let _ = (registration.has_synced(), registration.status());
            drop((registration.synced(), registration.ended()));
        }
    }
    let factory = &inside.factory;
    let _ = (
        factory.lister::<ConfigMap>(),
        factory.informer::<ConfigMap>(),
    );
    let _ = factory.informer_with::<ConfigMap, _>(ConfigMap::resource(), |builder| builder);
    let other = Resource::new(
        "",
        "v1",
        "ConfigMap",
        "others",
        informer_wire::Scope::Namespaced,
    );
    let _ = factory.informer_for::<ConfigMap>(other);
    let _ = (factory.status(), format!("{factory:?}"), factory.start());
    drop(factory.wait_for_cache_sync());
}

/// Methods that write to the cache.
fn writes(informer: &SharedInformer<ConfigMap>) {
    let by_name = Indexers::new().index("name", |map: &ConfigMap, values: &mut IndexValues<'_>| {
        values.extend(map.metadata.name.as_ref());
    });
    let _ = informer.add_indexers(&by_name);
    let _ = informer.remove_index("name");
    informer.on_index_failure(|_| {});
    informer.set_overlay_capacity(10);
    let _ = informer.overlay(config_map("overlaid", "uid-9", 900, "mine"));
    informer.expire_overlay(Instant::now());
}

/// An informer of a factory, not started, with a stuck handler beside.
fn inside(on_stop: OnStop) -> (Inside, SharedInformer<ConfigMap>) {
    let builder = InformerFactory::builder(Source(Cluster::with(2))).on_stop(on_stop);
    let factory = builder.build().unwrap();
    let informer = factory.informer::<ConfigMap>();
    let other = informer
        .handler()
        .name("other")
        .register(|_: Event<ConfigMap>| std::future::pending::<()>())
        .unwrap();
    let inside = Inside {
        factory,
        informer: informer.downgrade(),
        own: Arc::default(),
        other: Arc::new(Mutex::new(Some(other))),
    };
    (inside, informer)
}

/// Starts an informer whose handler calls this once, from the first event. Returns what came of it: `dropped` if the
/// handler was dropped within the call.
async fn called(call: AsyncCall, spawned: bool, on_stop: OnStop) -> String {
    let (inside, informer) = inside(on_stop);
    let result = Arc::new(Mutex::new(None));
    let (slot, given) = (Arc::clone(&result), inside.clone());
    let registration = informer
        .add_handler(move |_: Event<ConfigMap>| {
            let (slot, given) = (Arc::clone(&slot), given.clone());
            async move {
                if slot.lock().is_some() {
                    return;
                }
                *slot.lock() = Some(String::from("dropped"));
                let call = call(given);
                let outcome = match spawned {
                    true => tokio::spawn(call).await.expect("no panic"),
                    false => call.await,
                };
                *slot.lock() = Some(outcome);
            }
        })
        .unwrap();
    *inside.own.lock() = Some(registration);
    started(&informer).await;
    tokio::time::sleep(60 * SECONDS).await;
    let outcome = tokio::time::timeout(400 * SECONDS, informer.stop()).await;
    outcome.expect("it stops").expect("nothing failed");
    settle().await;
    let outcome = result.lock().clone();
    outcome.expect("it was called")
}

// INV-SHARED-11, INV-SHARED-12: within an async handler nothing waits for the handler itself.
#[tokio::test(start_paused = true)]
async fn methods_end_or_are_refused_within_an_async_handler() {
    let drain = OnStop::Drain {
        timeout: 300 * SECONDS,
    };
    for on_stop in [OnStop::Drop, drain] {
        for (name, call) in async_calls() {
            let outcome = called(call, false, on_stop).await;
            let refused = match name {
                "run" => "Err(AlreadyStarted)",
                "stopped" => "Err(WithinHandler)",
                "own synced" | "own ended" | "other remove" => "Err(WithinHandler {",
                // They last until the informer is stopped, by somebody else.
                "other synced" | "other ended" => "dropped",
                "own remove" => "Ok(Removed)",
                "wait_until" | "stream synced" => "Err(Deadline {",
                "events" => "true",
                _ => "Ok(())",
            };
            assert!(
                outcome.starts_with(refused),
                "{on_stop:?} {name}: {outcome}"
            );
        }
    }
}

// INV-SHARED-11, INV-SHARED-12: a task that the handler spawned is not known to be the handler's.
#[tokio::test(start_paused = true)]
async fn methods_end_or_are_refused_in_a_task_that_a_handler_awaits() {
    for (name, call) in async_calls() {
        let outcome = called(call, true, OnStop::Drop).await;
        let expected = match name {
            "run" => "Err(AlreadyStarted)",
            // The handler is dropped when the time for its call is over.
            "stop" | "shutdown" => "dropped",
            // They last until the informer is stopped, by somebody else.
            "stopped" | "own synced" | "own ended" | "other synced" | "other ended" => "dropped",
            "own remove" | "other remove" => "Err(NotEnded {",
            "wait_until" | "stream synced" => "Err(Deadline {",
            "events" => "true",
            _ => "Ok(())",
        };
        assert!(outcome.starts_with(expected), "{name}: {outcome}");
    }
}

// INV-SHARED-11, INV-SHARED-12: a blocking handler may block on any of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn methods_end_or_are_refused_within_a_blocking_handler() {
    for (name, call) in async_calls() {
        let (inside, informer) = inside(OnStop::Drop);
        let result = Arc::new(Mutex::new(None));
        let (slot, given) = (Arc::clone(&result), inside.clone());
        let registration = informer
            .add_blocking_handler(move |_: Event<ConfigMap>| {
                if slot.lock().is_none() {
                    *slot.lock() = Some(String::from("begun"));
                    sync_calls(&given);
                    writes(&given.informer());
                    let outcome = Handle::current().block_on(call(given.clone()));
                    *slot.lock() = Some(outcome);
                }
            })
            .unwrap();
        *inside.own.lock() = Some(registration);
        informer.start().unwrap();
        let has_ended = || result.lock().as_deref().is_some_and(|text| text != "begun");
        // Two last until the informer is stopped, by somebody else.
        match name {
            "other synced" | "other ended" => until(name, || result.lock().is_some()).await,
            _ => until(name, has_ended).await,
        }
        soon(informer.stop()).await.unwrap();
        until(name, has_ended).await;
        let outcome = result.lock().clone().unwrap();
        assert!(!outcome.contains("NotEnded"), "{name}: {outcome}");
    }
}

// INV-SHARED-10: nothing of the informer is locked while hooks and filters run.
#[tokio::test(start_paused = true)]
async fn methods_return_within_filters_and_hooks() {
    let calls = Arc::new(AtomicUsize::new(0));
    let cluster = Cluster::with(2);
    let place: Arc<Mutex<Option<Inside>>> = Arc::default();
    let call = {
        let (calls, place) = (Arc::clone(&calls), Arc::clone(&place));
        move || {
            let inside = place.lock().clone();
            if let Some(inside) = inside {
                sync_calls(&inside);
                writes(&inside.informer());
                calls.fetch_add(1, Ordering::Relaxed);
            }
        }
    };
    let (in_transform, in_report, in_tweak) = (call.clone(), call.clone(), call.clone());
    let factory = InformerFactory::builder(Source(cluster.clone()))
        .transform_all(move |_, _| {
            in_transform();
            Ok::<(), std::convert::Infallible>(())
        })
        .watch_error_handler(move |_, _: &Report| in_report())
        .tweak_list_options(move |_| in_tweak())
        .build()
        .unwrap();
    let informer = factory.informer::<ConfigMap>();
    let in_filter = call.clone();
    let mut stream = informer
        .handler()
        .filter(move |_| {
            in_filter();
            true
        })
        .stream()
        .unwrap();
    *place.lock() = Some(Inside {
        factory,
        informer: informer.downgrade(),
        own: Arc::default(),
        other: Arc::default(),
    });
    cluster.fail_lists(Some(500));
    informer.start().unwrap();
    until("tweak and report", || calls.load(Ordering::Relaxed) >= 2).await;
    cluster.fail_lists(None);
    soon(informer.synced()).await.unwrap();
    let before = calls.load(Ordering::Relaxed);
    assert!(soon(stream.next()).await.is_some());
    assert!(calls.load(Ordering::Relaxed) > before);
    soon(informer.stop()).await.unwrap();
}

// INV-STORE-4, INV-SHARED-10: an index function runs while the cache is written: it may read, and a write is refused.
#[tokio::test(start_paused = true)]
async fn methods_return_or_are_refused_within_an_index_function() {
    let (inside, informer) = inside(OnStop::Drop);
    let (reads, written) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (count, after, given) = (Arc::clone(&reads), Arc::clone(&written), inside.clone());
    let calling =
        Indexers::new().index("calling", move |_: &ConfigMap, _: &mut IndexValues<'_>| {
            sync_calls(&given);
            count.fetch_add(1, Ordering::Relaxed);
            writes(&given.informer());
            after.fetch_add(1, Ordering::Relaxed);
        });
    informer.add_indexers(&calling).unwrap();
    started(&informer).await;
    assert_eq!(informer.store().len(), 2);
    assert!(reads.load(Ordering::Relaxed) >= 2);
    assert_eq!(written.load(Ordering::Relaxed), 0, "the write panics");
    let status = informer.store().index_status("calling").unwrap();
    assert_eq!(
        status.unindexed, 2,
        "both objects are left out of this index"
    );
    soon(informer.stop()).await.unwrap();
}
