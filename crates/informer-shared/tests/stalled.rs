//! The memory of consumers that stall while objects come and go for ever, counted by the allocator.

mod support;

use std::sync::{Arc, Weak};
use std::time::Duration;

use allocation_counter::measure;
use informer_delta_fifo::{Batch, DeltaFifo, DeltaFifoConfig};
use informer_reflector::Reflector;
use informer_shared::{
    BoxError, Event, EventHandler, FailedKeys, Process, ProcessLoop, QueuePolicy, SharedInformer,
};
use informer_store::Store;
use informer_wire::{Decoded, WatchEvent};
use k8s_openapi::api::core::v1::ConfigMap;
use parking_lot::Mutex;
use support::running::start;
use support::script::Script;
use support::{Cluster, SECONDS, config_map, settle, started, until};
use tokio::runtime::{Builder, Runtime};

/// All of an informer runs on this thread, so that all of it is counted.
fn runtime() -> Runtime {
    let mut builder = Builder::new_current_thread();
    let runtime = builder.enable_time().start_paused(true).build();
    runtime.expect("a runtime")
}

/// Creates, changes and deletes objects, each of a name of its own.
async fn come_and_go(script: &Script, version: &mut u64, count: usize) {
    for _ in 0..count {
        let name = format!("job-{version}");
        let types = [WatchEvent::Added, WatchEvent::Modified, WatchEvent::Deleted];
        for event in types {
            *version += 1;
            let object = config_map(&name, &name, *version, "x");
            script.send(event(Decoded::Object(object)));
        }
        if version.is_multiple_of(100) {
            settle().await;
        }
    }
    settle().await;
}

/// Memory that stays after many objects came and went, beyond what a few left.
fn kept(runtime: &Runtime, script: &Script) -> i64 {
    let mut version = 10;
    runtime.block_on(come_and_go(script, &mut version, 2_000));
    let measured = measure(|| runtime.block_on(come_and_go(script, &mut version, 10_000)));
    assert!(measured.count_total > 50_000, "something is not counted");
    measured.bytes_current
}

// INV-SHARED-3
#[test]
fn stalled_handlers_hold_nothing_of_deleted_objects() {
    for policy in [QueuePolicy::Coalesce, QueuePolicy::Bounded(100)] {
        let runtime = runtime();
        let script = Script::new("1", vec![config_map("0", "0", 1, "first")]);
        let builder = SharedInformer::builder(script.clone());
        let informer = builder.build().expect("no indexes");
        let stuck = |_: Event<ConfigMap>| std::future::pending::<()>();
        let early = informer.handler().queue(policy).register(stuck);
        let early = early.expect("not stopped");
        let _unpolled = informer
            .handler()
            .queue(policy)
            .stream()
            .expect("not stopped");
        runtime.block_on(started(&informer));
        // The initial objects of late handlers are no copies of the cache either.
        let late = informer.handler().queue(policy).resync_period(SECONDS);
        let late = late.register(stuck).expect("not stopped");
        let _unpolled = informer
            .handler()
            .queue(policy)
            .stream()
            .expect("not stopped");
        runtime.block_on(script.watched());
        let kept = kept(&runtime, &script);
        assert!(kept < 128 * 1024, "{policy:?}: {kept} bytes stay");
        for handler in [early, late] {
            assert!(handler.status().queue_depth <= 1, "{:?}", handler.status());
        }
    }
}

// INV-SHARED-3: a late handler that is never polled holds no objects but those that are cached.
#[test]
fn late_stream_that_is_never_polled_holds_no_replaced_objects() {
    let runtime = runtime();
    let script = Script::new("1", Vec::new());
    let informer = SharedInformer::builder(script.clone()).build();
    let informer = informer.expect("no indexes");
    let change_all = |version: &mut u64| {
        for n in 0..500 {
            *version += 1;
            let object = config_map(&n.to_string(), &n.to_string(), *version, &"x".repeat(1000));
            script.send(WatchEvent::Modified(Decoded::Object(object)));
        }
        let caught_up = informer.wait_until((*version).into()).into_future();
        runtime.block_on(caught_up).expect("it catches up");
    };
    runtime.block_on(async {
        started(&informer).await;
        script.watched().await;
    });
    let mut version = 10;
    change_all(&mut version);
    let stream = informer.events().expect("not stopped");
    runtime.block_on(settle());
    assert_eq!(stream.status().queue_depth, 500);
    let measured = measure(|| change_all(&mut version));
    let kept = measured.bytes_current;
    assert!(kept < 100 * 1024, "{kept} bytes beside a cache of 500 kB");
}

/// A process that never returns.
struct Stuck;

impl Process<ConfigMap> for Stuck {
    async fn process(&mut self, _: &Batch<ConfigMap>) -> Result<(), FailedKeys> {
        std::future::pending().await
    }
}

// INV-FIFO-13
#[test]
fn stalled_process_loop_holds_nothing_of_deleted_objects() {
    let runtime = runtime();
    let script = Script::new("1", vec![config_map("0", "0", 1, "first")]);
    let store: Store<ConfigMap> = Store::new();
    let queue = DeltaFifo::new(DeltaFifoConfig::new().known(store));
    let reflector = Reflector::new(script.clone(), Arc::new(queue.clone()));
    let process_loop = ProcessLoop::new(queue.clone(), reflector, Stuck);
    let _running = runtime.block_on(async { start(process_loop) });
    runtime.block_on(script.watched());
    let kept = kept(&runtime, &script);
    assert!(kept < 128 * 1024, "{kept} bytes stay");
    assert!(queue.stats().queued_keys <= 1, "{:?}", queue.stats());
}

/// Fails for every deletion, and remembers the objects.
#[derive(Clone, Default)]
struct Refusing {
    store: Store<ConfigMap>,
    deleted: Arc<Mutex<Vec<Weak<ConfigMap>>>>,
}

impl Refusing {
    fn refuse(&self, object: &Arc<ConfigMap>) -> BoxError {
        self.deleted.lock().push(Arc::downgrade(object));
        "an external system refuses".into()
    }

    /// How many deletions were refused, and how many of their objects are still held.
    fn counts(&self) -> (usize, usize) {
        let deleted = self.deleted.lock();
        let held = deleted.iter().filter(|object| object.strong_count() > 0);
        (deleted.len(), held.count())
    }
}

impl EventHandler<ConfigMap> for Refusing {
    async fn handle(&mut self, event: Event<ConfigMap>) -> Result<(), BoxError> {
        match event {
            Event::Deleted { object, .. } => Err(self.refuse(&object)),
            Event::Added { .. } | Event::Updated { .. } => Ok(()),
        }
    }
}

impl Process<ConfigMap> for Refusing {
    async fn process(&mut self, batch: &Batch<ConfigMap>) -> Result<(), FailedKeys> {
        let mut failed = FailedKeys::new();
        for (key, deltas) in batch.iter() {
            let newest = deltas.newest();
            match newest.object() {
                Some(object) if newest.is_deleted() => {
                    self.store.delete(key);
                    failed.push(key.clone(), self.refuse(object));
                }
                Some(object) => drop(self.store.upsert(key.clone(), Arc::clone(object))),
                None => {}
            }
        }
        failed.into_result()
    }
}

async fn create_and_delete(cluster: &Cluster, count: usize) {
    for n in 0..count {
        let name = format!("pod-{n}");
        cluster.put(&name, "1");
        tokio::time::sleep(2 * SECONDS).await;
        cluster.delete(&name);
        tokio::time::sleep(2 * SECONDS).await;
    }
    for _ in 0..10 {
        tokio::time::sleep(60 * SECONDS).await;
        cluster.bookmark();
    }
}

// INV-CTRL-2, INV-SHARED-10: deletions that fail for ever keep no objects.
#[tokio::test(start_paused = true)]
async fn failing_deletions_hold_no_objects() {
    let (cluster, handler) = (Cluster::with(1), Refusing::default());
    let informer = support::informer(&cluster);
    informer.add_handler(handler.clone()).expect("not stopped");
    started(&informer).await;
    create_and_delete(&cluster, 1000).await;
    assert_eq!(handler.counts(), (1000, 0));

    let (cluster, process) = (Cluster::with(1), Refusing::default());
    let known = DeltaFifoConfig::new().known(process.store.clone());
    let queue = DeltaFifo::new(known);
    let reflector = Reflector::new(cluster.clone(), Arc::new(queue.clone()));
    let running = start(ProcessLoop::new(queue, reflector, process.clone()));
    until("the watch", || cluster.open_watches() == 1).await;
    create_and_delete(&cluster, 100).await;
    let (refused, held) = process.counts();
    assert_eq!((refused, held), (100 * 16, 0), "each is tried 16 times");
    assert_eq!(cluster.lists(), 1, "no list has repaired it");
    running.end().await;
}

// INV-SHARED-12: what a stopped informer has not applied is dropped with it; its cache stays.
#[tokio::test(start_paused = true)]
async fn stopped_informer_holds_its_cache_alone() {
    let cluster = Cluster::with(3);
    let (object, informer) = (Arc::new(()), support::informer(&cluster));
    let held = Arc::clone(&object);
    let stuck = move |_: Event<ConfigMap>| {
        let _ = &held;
        std::future::pending::<()>()
    };
    let registration = informer.add_handler(stuck).expect("not stopped");
    started(&informer).await;
    cluster.put("0", "second");
    tokio::time::sleep(Duration::from_millis(10)).await;
    informer.stop().await.expect("it stops");
    assert_eq!(Arc::strong_count(&object), 1, "the handler is dropped");
    let status = informer.status();
    assert_eq!(
        (status.queue.queued_keys, status.handler_queue_depth()),
        (0, 0)
    );
    for object in informer.store().list() {
        assert_eq!(Arc::strong_count(&object), 2, "the cache, and this list");
    }
    assert!(registration.status().ended.is_some());
}
