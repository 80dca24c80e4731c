//! The memory of informers and handlers, counted by the allocator.

mod support;

use std::collections::BTreeMap;
use std::sync::Arc;

use allocation_counter::measure;
use futures_util::StreamExt as _;
use informer_reflector::{ListWatch, ListWatchError};
use informer_shared::{Event, Registration, SharedInformer};
use informer_wire::{Decoded, ListMeta, ListOptions, WatchEvent};
use k8s_openapi::api::core::v1::ConfigMap;
use parking_lot::Mutex;
use support::{Cluster, Item, config_map, informer, settle, started, until, value_of};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Semaphore, mpsc};

/// All of an informer runs on this thread, so that all of it is counted.
fn runtime() -> Runtime {
    let mut builder = Builder::new_current_thread();
    let runtime = builder.enable_time().start_paused(true).build();
    runtime.expect("a runtime")
}

// INV-SHARED-19
#[test]
fn idle_informer_is_small() {
    let runtime = runtime();
    let mut informers: Vec<SharedInformer<ConfigMap>> = Vec::with_capacity(200);
    let held = measure(|| {
        runtime.block_on(async {
            for _ in 0..200 {
                let informer = informer(&Cluster::new());
                started(&informer).await;
                informers.push(informer);
            }
            settle().await;
        });
    });
    let each = held.bytes_current / 200;
    assert!(each < 256 * 1024, "{each} bytes each");
    assert!(each > 0, "nothing was counted");
}

// INV-SHARED-19
#[test]
fn removed_handlers_give_their_memory_back() {
    let runtime = runtime();
    let informer = runtime.block_on(async {
        let informer = informer(&Cluster::with(10));
        started(&informer).await;
        informer
    });
    let come_and_go = || {
        runtime.block_on(async {
            let add = || informer.add_handler(|_: Event<ConfigMap>| async {});
            let handlers: Vec<Registration> = (0..1000)
                .map(|_| add().expect("the informer runs"))
                .collect();
            settle().await;
            assert!(handlers.iter().all(Registration::has_synced));
            let scoped: Vec<_> = handlers.into_iter().map(Registration::scoped).collect();
            drop(scoped);
            settle().await;
            assert!(informer.status().handlers.is_empty());
        });
    };
    // The first round makes room that is kept for the next.
    come_and_go();
    let held = measure(|| (0..5).for_each(|_| come_and_go()));
    assert!(held.bytes_total > 5_000_000, "{} counted", held.bytes_total);
    assert!(
        held.bytes_current < 16 * 1024,
        "{} kept",
        held.bytes_current
    );
}

// INV-SHARED-19
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn removed_handlers_of_every_kind_leave_nothing_behind() {
    let informer = informer(&Cluster::with(10));
    started(&informer).await;
    let metrics = tokio::runtime::Handle::current().metrics();
    let before = metrics.num_alive_tasks();
    // Each handler holds it, and so does each task or thread that has one left.
    let token = Arc::new(());
    let held = || Arc::clone(&token);
    let added = "the informer runs";
    for _ in 0..100 {
        let token = held();
        let asynchronous = informer.add_handler(move |_: Event<ConfigMap>| {
            let _ = &token;
            async {}
        });
        let token = held();
        let blocking = informer.add_blocking_handler(move |_: Event<ConfigMap>| {
            let _ = &token;
        });
        let token = held();
        let filtered = informer
            .handler()
            .filter(move |_| Arc::strong_count(&token) > 0);
        let mut stream = filtered.stream().expect(added);
        for handler in [asynchronous.expect(added), blocking.expect(added)] {
            handler.synced().await.expect("it goes on");
            handler.remove().await.expect("it has ended");
        }
        assert!(stream.next().await.is_some());
    }
    until("all has ended", || {
        Arc::strong_count(&token) == 1 && metrics.num_alive_tasks() <= before
    })
    .await;
    assert!(informer.status().handlers.is_empty());
}

/// An empty list, then a watch of whatever is sent.
fn fed() -> (mpsc::UnboundedSender<Item>, SharedInformer<ConfigMap>) {
    let (sender, receiver) = mpsc::unbounded_channel::<Item>();
    let receiver = Mutex::new(Some(receiver));
    let source = ListWatch::new(
        |_: ListOptions| async {
            let nothing = Vec::<ConfigMap>::new();
            Ok::<_, ListWatchError>((nothing, ListMeta::at(1.into())))
        },
        move |_: ListOptions| {
            let receiver = receiver.lock().take();
            async move {
                let mut receiver = receiver.expect("the watch does not end");
                let events = futures_util::stream::poll_fn(move |cx| receiver.poll_recv(cx));
                Ok::<_, ListWatchError>(events)
            }
        },
    );
    let informer = SharedInformer::builder(source).build();
    (sender, informer.expect("no indexes clash"))
}

// INV-SHARED-3
#[test]
fn stuck_handler_costs_the_same_however_much_changes() {
    let runtime = runtime();
    let (sender, informer) = fed();
    let gate = Arc::new(Semaphore::new(0));
    let seen = Arc::new(Mutex::new(BTreeMap::new()));
    let (pass, received) = (Arc::clone(&gate), Arc::clone(&seen));
    let blocked = informer.add_handler(move |event: Event<ConfigMap>| {
        let (pass, received) = (Arc::clone(&pass), Arc::clone(&received));
        async move {
            let _open = pass.acquire().await;
            let object = event.object();
            received.lock().insert(event.key(), value_of(object));
        }
    });
    let blocked = blocked.expect("it has not stopped");
    runtime.block_on(started(&informer));
    let mut version = 1;
    let mut change_all = || {
        let value = format!("{version:010}");
        for name in 0..1000 {
            version += 1;
            let name = format!("{name:04}");
            let object = Decoded::Object(config_map(&name, &name, version, &value));
            sender
                .send(Ok(WatchEvent::Modified(object)))
                .expect("it is watched");
        }
        let caught_up = informer.wait_until(version.into());
        runtime
            .block_on(caught_up.into_future())
            .expect("it catches up");
        value
    };
    for _ in 0..3 {
        change_all();
    }
    let kept = measure(|| {
        for _ in 0..30 {
            change_all();
        }
    });
    assert!(kept.count_total > 100_000, "{} counted", kept.count_total);
    assert!(
        kept.bytes_current < 64 * 1024,
        "{} kept",
        kept.bytes_current
    );
    let last = change_all();
    assert!(blocked.status().queue_depth >= 999);
    gate.close();
    runtime.block_on(settle());
    let seen = seen.lock();
    assert_eq!(seen.len(), 1000);
    assert!(seen.values().all(|value| *value == last));
}
