//! A value that follows a store without holding it up.

mod support;

use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::thread;
use std::time::Instant;

use informer_shared::Lazy;
use informer_store::{DeltaSink, IndexValues, Overlaid, Snapshot, Store};
use k8s_openapi::api::core::v1::ConfigMap;
use parking_lot::Mutex;
use support::config_map;

fn put(store: &Store<ConfigMap>, name: &str) {
    store
        .add(config_map(name, name, 1, ""))
        .expect("it has a name");
}

// WS4
#[test]
fn it_is_worked_out_once_for_each_change_that_someone_asks_about() {
    let store = Store::new();
    let evaluations = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&evaluations);
    let size = Lazy::new(store.clone(), move |maps: &Snapshot<ConfigMap>| {
        count.fetch_add(1, Ordering::SeqCst);
        Ok::<_, Infallible>(maps.len())
    });
    assert_eq!(evaluations.load(Ordering::SeqCst), 0, "nobody has asked");
    for round in 1..=3 {
        for name in 0..5 {
            put(&store, &format!("{round}-{name}"));
        }
        let barrier = Barrier::new(8);
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    barrier.wait();
                    assert_eq!(size.get().map(|size| *size), Ok(round * 5));
                });
            }
        });
        assert_eq!(evaluations.load(Ordering::SeqCst), round);
    }
}

// WS4
#[test]
fn a_slow_evaluation_of_an_older_state_holds_up_nobody_and_never_wins() {
    let store = Store::new();
    put(&store, "a");
    let (begun, has_begun) = mpsc::channel();
    let (go_on, gate) = mpsc::channel::<()>();
    let gate = Mutex::new(gate);
    let size = Lazy::new(store.clone(), move |maps: &Snapshot<ConfigMap>| {
        if maps.len() == 1 {
            begun.send(()).unwrap();
            gate.lock().recv().unwrap();
        }
        Ok::<_, Infallible>(maps.len())
    });
    thread::scope(|scope| {
        let slow = scope.spawn(|| size.get());
        has_begun.recv().unwrap();
        // The writer does not wait, and who asks now does not either.
        put(&store, "b");
        let newer = size.get().unwrap();
        assert_eq!(*newer, 2);
        go_on.send(()).unwrap();
        assert_eq!(slow.join().unwrap().map(|size| *size), Ok(1));
        // The same value as before, not the one that was ready last.
        assert!(Arc::ptr_eq(&newer, &size.get().unwrap()));
    });
}

// WS4
#[test]
fn what_failed_or_panicked_is_tried_again() {
    let tries = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&tries);
    let value = Lazy::new(
        Store::<ConfigMap>::new(),
        move |_: &Snapshot<ConfigMap>| match count.fetch_add(1, Ordering::SeqCst) {
            0 => Err("not yet"),
            1 => panic!("not yet either"),
            tries => Ok(tries),
        },
    );
    assert_eq!(value.get(), Err("not yet"));
    assert!(catch_unwind(AssertUnwindSafe(|| value.get())).is_err());
    assert_eq!(value.get(), Ok(Arc::new(2)));
    assert_eq!(value.get(), Ok(Arc::new(2)));
    assert_eq!(tries.load(Ordering::SeqCst), 3);
}

// INV-SHARED-21: a bookmark moves the store's version and nothing else.
#[test]
fn it_is_not_worked_out_again_when_only_the_version_moves() {
    let store = Store::new();
    put(&store, "a");
    let evaluations = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&evaluations);
    let size = Lazy::new(store.clone(), move |maps: &Snapshot<ConfigMap>| {
        count.fetch_add(1, Ordering::SeqCst);
        Ok::<_, Infallible>((maps.len(), maps.stale_count(), maps.index_names().len()))
    });
    assert_eq!(size.get(), Ok(Arc::new((1, 0, 0))));
    for version in 10..20_u64 {
        store.bookmark(version.into());
        assert_eq!(size.get(), Ok(Arc::new((1, 0, 0))));
    }
    assert_eq!(evaluations.load(Ordering::SeqCst), 1);

    // Everything else that a reader can see is a change: an index, a mark, an object laid over, a deletion.
    let change = |what: &str, expected| {
        let before = evaluations.load(Ordering::SeqCst);
        assert_eq!(size.get(), Ok(Arc::new(expected)), "{what}");
        assert_eq!(size.get(), Ok(Arc::new(expected)), "{what}");
        assert_eq!(evaluations.load(Ordering::SeqCst), before + 1, "{what}");
    };
    let index = store.add_index("none", |_: &ConfigMap, _: &mut IndexValues<'_>| {});
    index.expect("the name is free");
    change("an index", (1, 0, 1));
    let mut batch = store.begin_batch();
    assert!(batch.mark_stale("ns/a"));
    batch.commit();
    change("a mark", (1, 1, 1));
    let laid = store.overlay(config_map("b", "b", 30, ""), Instant::now());
    assert_eq!(laid, Ok(Overlaid::Visible));
    change("an object laid over", (2, 1, 1));
    store
        .add(config_map("b", "b", 30, ""))
        .expect("it has a name");
    change("the server's word on it", (2, 1, 1));
    store.delete("ns/a");
    change("a deletion", (1, 0, 1));
    store
        .replace(Vec::<ConfigMap>::new(), "40".into())
        .expect("they have names");
    change("a list", (0, 0, 1));
    store.remove_index("none").expect("it is there");
    change("an index that goes", (0, 0, 0));
}
