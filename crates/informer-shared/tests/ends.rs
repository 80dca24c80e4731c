//! How informers, handlers and streams end: by their own handlers, by their last handle, by a panic while they drain.

mod support;

use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use futures_core::Stream;
use futures_util::stream::BoxStream;
use futures_util::{FutureExt, StreamExt};
use informer_reflector::{ListEvent, ListRequest, ListWatch, ListWatchError, ListerWatcher};
use informer_shared::{
    Event, EventStream, FailurePolicy, OnStop, QueuePolicy, RunError, SharedInformer,
};
use informer_store::object;
use informer_wire::{Decoded, ListMeta, ListOptions, WatchEvent};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use parking_lot::Mutex;
use support::{Cluster, SECONDS, informer, settle, soon, started, until};
use tokio::sync::mpsc;

// INV-SHARED-12: what follows the stop within the handler still runs.
#[tokio::test(start_paused = true)]
async fn handler_that_stops_its_informer_runs_to_its_end() {
    let drain = OnStop::Drain {
        timeout: 300 * SECONDS,
    };
    for (on_stop, work) in [(OnStop::Drop, 400), (drain, 200_000)] {
        let builder = SharedInformer::builder(Cluster::with(1)).on_stop(on_stop);
        let informer = builder.build().unwrap();
        let ends = Arc::new(AtomicUsize::new(0));
        let (weak, count) = (informer.downgrade(), Arc::clone(&ends));
        informer
            .add_handler(move |_: Event<ConfigMap>| {
                let (weak, count) = (weak.clone(), Arc::clone(&count));
                async move {
                    let informer = weak.upgrade().expect("a handle is kept");
                    let _ = informer.stop().await;
                    tokio::time::sleep(Duration::from_millis(work)).await;
                    count.fetch_add(1, Ordering::Relaxed);
                }
            })
            .unwrap();
        let begun = tokio::time::Instant::now();
        informer.start().unwrap();
        let outcome = tokio::time::timeout(400 * SECONDS, informer.stopped()).await;
        outcome.expect("it stops").unwrap();
        assert!(begun.elapsed() < Duration::from_millis(work) + SECONDS);
        assert_eq!(ends.load(Ordering::Relaxed), 1, "{on_stop:?}");
    }
}

/// Counts those that exist.
struct Alive(Arc<AtomicUsize>);

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

// INV-SHARED-12: a handler may hold its own informer weakly, started or not.
#[tokio::test(start_paused = true)]
async fn weak_handle_keeps_no_informer() {
    for starts in [false, true] {
        let (alive, cluster) = (Arc::new(AtomicUsize::new(1)), Cluster::with(1));
        let informer = informer(&cluster);
        let (weak, mark) = (informer.downgrade(), Alive(Arc::clone(&alive)));
        let outside = weak.clone();
        let upgraded = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&upgraded);
        informer
            .add_handler(move |_: Event<ConfigMap>| {
                let _ = &mark;
                seen.store(weak.upgrade().is_some(), Ordering::Relaxed);
                std::future::ready(())
            })
            .unwrap();
        assert!(outside.upgrade().is_some());
        if starts {
            started(&informer).await;
            until("the call", || upgraded.load(Ordering::Relaxed)).await;
        }
        drop(informer);
        until("the end", || alive.load(Ordering::Relaxed) == 0).await;
        assert!(outside.upgrade().is_none());
        assert_eq!(cluster.open_watches(), 0);
    }
}

// The thread of a blocking handler is in the context of the informer's runtime.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn blocking_handler_can_spawn_tasks() {
    let informer = informer(&Cluster::with(1));
    let spawned = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&spawned);
    let handler = move |_: Event<ConfigMap>| {
        let count = Arc::clone(&count);
        tokio::spawn(async move { count.fetch_add(1, Ordering::Relaxed) });
    };
    // A name that no thread can have.
    let builder = informer.handler().name("zero \0 byte");
    builder.register_blocking(handler).unwrap();
    started(&informer).await;
    until("the task", || spawned.load(Ordering::Relaxed) == 1).await;
    soon(informer.stop()).await.unwrap();
}

/// How many events a stream yields, and whether it was exhausted, while its task is polled once.
async fn events_at_once(mut stream: EventStream<ConfigMap>) -> usize {
    tokio::task::yield_now().await;
    std::future::poll_fn(|cx| {
        let mut count = 0;
        while let Poll::Ready(Some(_)) = Pin::new(&mut stream).poll_next(cx) {
            count += 1;
        }
        Poll::Ready(count)
    })
    .await
}

// A stream takes part in the cooperative budget of its task, also where a filter drops events.
#[tokio::test(start_paused = true)]
async fn stream_lets_other_tasks_run() {
    let informer = informer(&Cluster::with(10_000));
    let dropped = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&dropped);
    let all = informer.events().unwrap();
    let builder = informer.handler().filter(move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        false
    });
    let none = builder.stream().unwrap();
    started(&informer).await;
    settle().await;
    let events = tokio::spawn(events_at_once(all)).await.unwrap();
    assert!((1..1000).contains(&events), "{events} events at once");
    assert_eq!(tokio::spawn(events_at_once(none)).await.unwrap(), 0);
    let dropped = dropped.load(Ordering::Relaxed);
    assert!((1..1000).contains(&dropped), "{dropped} dropped at once");
}

/// Panics when it is dropped, once that is armed.
struct Bomb {
    metadata: ObjectMeta,
    armed: Option<Arc<AtomicBool>>,
}

object!(Bomb);

impl Drop for Bomb {
    fn drop(&mut self) {
        if self
            .armed
            .as_ref()
            .is_some_and(|armed| armed.swap(false, Ordering::Relaxed))
        {
            panic!("the bomb");
        }
    }
}

/// A server with one bomb, which it changes when asked to.
struct Bombs {
    armed: Arc<AtomicBool>,
    changes: Mutex<Option<mpsc::UnboundedReceiver<u64>>>,
}

fn bomb(version: u64, armed: Option<Arc<AtomicBool>>) -> Bomb {
    let metadata = ObjectMeta {
        name: Some("bomb".into()),
        uid: Some("uid".into()),
        resource_version: Some(version.to_string()),
        ..ObjectMeta::default()
    };
    Bomb { metadata, armed }
}

impl ListerWatcher for Bombs {
    type Object = Bomb;
    type List = BoxStream<'static, Result<ListEvent<Bomb>, ListWatchError>>;
    type Watch = BoxStream<'static, Result<WatchEvent<Bomb>, ListWatchError>>;

    async fn list(&self, _: ListRequest<Bomb>) -> Result<Self::List, ListWatchError> {
        let item = ListEvent::Item(Decoded::Object(bomb(1, Some(Arc::clone(&self.armed)))));
        let page = [item, ListEvent::End(ListMeta::at(1.into()))];
        Ok(futures_util::stream::iter(page.map(Ok)).boxed())
    }

    async fn watch(&self, _: ListOptions) -> Result<Self::Watch, ListWatchError> {
        let mut changes = self.changes.lock().take().expect("one watch");
        let changes = futures_util::stream::poll_fn(move |cx| changes.poll_recv(cx));
        Ok(changes
            .map(|version| Ok(WatchEvent::Modified(Decoded::Object(bomb(version, None)))))
            .boxed())
    }

    fn supports_watch_list(&self) -> bool {
        false
    }
}

// INV-SHARED-12: what panics while the informer drains is an error, too.
#[tokio::test(start_paused = true)]
async fn panic_while_draining_is_an_error() {
    let armed = Arc::new(AtomicBool::new(false));
    let (change, changes) = mpsc::unbounded_channel();
    let source = Bombs {
        armed: Arc::clone(&armed),
        changes: Mutex::new(Some(changes)),
    };
    let on_stop = OnStop::Drain {
        timeout: 60 * SECONDS,
    };
    let builder = SharedInformer::builder(source).on_stop(on_stop);
    let informer = builder.build().unwrap();
    let mut stream = informer.events().unwrap();
    informer.start().unwrap();
    assert!(soon(stream.next()).await.is_some());
    drop(stream);
    settle().await;
    // The reflector receives the change before the process loop looks again, and finds that it is to stop.
    armed.store(true, Ordering::Relaxed);
    change.send(2).unwrap();
    let error = soon(informer.stop()).await.unwrap_err();
    assert!(!armed.load(Ordering::Relaxed), "it went off");
    let RunError::Panicked { part, message } = &error else {
        panic!("{error}")
    };
    assert_eq!((*part, &**message), ("process loop", "the bomb"));
    assert!(informer.is_stopped());
    assert!(soon(informer.stopped()).await.is_err());
}

// INV-SHARED-12: so is one that unwinds through the run.
#[tokio::test(start_paused = true)]
async fn panic_of_a_dropped_object_stops_the_informer_with_an_error() {
    let armed = Arc::new(AtomicBool::new(false));
    let (change, changes) = mpsc::unbounded_channel();
    let source = Bombs {
        armed: Arc::clone(&armed),
        changes: Mutex::new(Some(changes)),
    };
    let informer = SharedInformer::builder(source).build().unwrap();
    let builder = informer.handler().queue(QueuePolicy::Unbounded);
    let registration = builder.register(|_: Event<Bomb>| async {}).unwrap();
    let run = informer.run(tokio_util::sync::CancellationToken::new());
    let explode = async {
        soon(registration.synced()).await.unwrap();
        settle().await;
        drop(soon(registration.remove()).await);
        armed.store(true, Ordering::Relaxed);
        change.send(2).unwrap();
    };
    let (outcome, ()) = tokio::join!(AssertUnwindSafe(run).catch_unwind(), explode);
    let error = outcome.expect("caught").unwrap_err();
    assert!(error.to_string().contains("the bomb"), "{error}");
    assert_eq!(informer.store().len(), 1);
}

// INV-SHARED-12: so is a failure of a handler whose policy is to stop the informer.
#[tokio::test(start_paused = true)]
async fn failure_while_draining_is_an_error() {
    let drain = OnStop::Drain {
        timeout: 300 * SECONDS,
    };
    let builder = SharedInformer::builder(Cluster::with(1)).on_stop(drain);
    let informer = builder.build().unwrap();
    let handler = move |_: Event<ConfigMap>| async {
        tokio::time::sleep(10 * SECONDS).await;
        Err("it has not worked")
    };
    let failing = informer.handler().name("failing");
    failing
        .on_error(FailurePolicy::StopInformer)
        .register(handler)
        .unwrap();
    informer.start().unwrap();
    soon(informer.synced()).await.unwrap();
    // The call runs, and fails after the stop.
    let stopped = soon(informer.stop()).await;
    let is_failure = |outcome: &Result<(), RunError>| matches!(outcome, Err(RunError::Handler { handler, .. }) if **handler == *"failing");
    assert!(is_failure(&stopped), "{stopped:?}");
    assert!(is_failure(&informer.stopped().await));
}

// INV-SHARED-12: so is a panic of the source when it is dropped.
#[tokio::test(start_paused = true)]
async fn panic_of_a_dropped_source_is_an_error() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("the source");
        }
    }
    let bomb = Bomb;
    let list = move |_: ListOptions| {
        let _ = &bomb;
        let page = (Vec::<ConfigMap>::new(), ListMeta::at(7.into()));
        async { Ok::<_, ListWatchError>(page) }
    };
    let watch = |_: ListOptions| async {
        let events =
            futures_util::stream::pending::<Result<WatchEvent<ConfigMap>, ListWatchError>>();
        Ok::<_, ListWatchError>(events)
    };
    let builder = SharedInformer::builder(ListWatch::new(list, watch));
    let informer = builder.build().unwrap();
    started(&informer).await;
    let error = soon(informer.stop()).await.unwrap_err();
    assert!(error.to_string().contains("the source"), "{error}");
}
