//! A value that follows a store without holding up its writers.

use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, OnceLock, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use informer_store::{DeltaSink, IndexValues, Overlaid, Snapshot, Store};
use informer_tools::Lazy;
use k8s_openapi::api::core::v1::ConfigMap;
use parking_lot::Mutex;

fn config_map(name: &str, version: u64) -> ConfigMap {
    let mut map = ConfigMap::default();
    map.metadata.name = Some(name.to_owned());
    map.metadata.namespace = Some("ns".to_owned());
    map.metadata.uid = Some(name.to_owned());
    map.metadata.resource_version = Some(version.to_string());
    map
}

fn put(store: &Store<ConfigMap>, name: &str) {
    store.add(config_map(name, 1)).expect("it has a name");
}

// WS4
#[test]
fn value_is_computed_once_for_each_change_that_is_read() {
    let store = Store::new();
    let evaluations = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&evaluations);
    let size = Lazy::new(store.clone(), move |maps: &Snapshot<ConfigMap>| {
        count.fetch_add(1, Ordering::SeqCst);
        Ok::<_, Infallible>(maps.len())
    });
    assert_eq!(evaluations.load(Ordering::SeqCst), 0, "nobody has read it");
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
fn slow_evaluation_of_older_state_blocks_nobody_and_is_not_kept() {
    let store = Store::new();
    put(&store, "a");
    let (begun, has_begun) = mpsc::channel();
    let (go_on, gate) = mpsc::channel::<()>();
    let gate = Mutex::new(gate);
    let size = Lazy::new(store.clone(), move |maps: &Snapshot<ConfigMap>| {
        if maps.len() == 1 {
            begun.send(()).unwrap();
            // Until the other end is dropped.
            let _ = gate.lock().recv();
        }
        Ok::<_, Infallible>(maps.len())
    });
    thread::scope(|scope| {
        let slow = scope.spawn(|| size.get());
        has_begun.recv().unwrap();
        // The writer does not wait, and a reader does not either.
        put(&store, "b");
        let (read, is_read) = mpsc::channel();
        let size = &size;
        scope.spawn(move || read.send(size.get()));
        let newer = is_read.recv_timeout(Duration::from_secs(60));
        drop(go_on);
        let newer = newer.expect("the reader does not wait").unwrap();
        assert_eq!(*newer, 2);
        assert_eq!(slow.join().unwrap().map(|size| *size), Ok(1));
        // The same value as before, not the one that was computed last.
        assert!(Arc::ptr_eq(&newer, &size.get().unwrap()));
    });
}

// WS4
#[test]
fn evaluation_that_failed_or_panicked_is_repeated() {
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

#[test]
fn value_that_reads_itself_panics_instead_of_waiting() {
    type Size = Lazy<ConfigMap, usize, Infallible>;
    let own = Arc::new(OnceLock::<Size>::new());
    let inner = Arc::clone(&own);
    let store = Store::<ConfigMap>::new();
    let size = own.get_or_init(|| {
        Lazy::new(store.clone(), move |maps: &Snapshot<ConfigMap>| {
            let own = inner.get().filter(|_| maps.is_empty());
            own.map_or(Ok(maps.len()), |own| own.get().map(|size| *size))
        })
    });
    assert!(catch_unwind(AssertUnwindSafe(|| size.get())).is_err());
    put(&store, "a");
    assert_eq!(size.get(), Ok(Arc::new(1)));
}

// INV-SHARED-21: a bookmark moves the store's version and nothing else.
#[test]
fn value_is_kept_when_only_the_resource_version_moves() {
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

    // Everything else that a reader can see is a change: an index, a mark, an overlay, a deletion.
    let change = |what: &str, expected| {
        let before = evaluations.load(Ordering::SeqCst);
        assert_eq!(size.get(), Ok(Arc::new(expected)), "{what}");
        assert_eq!(size.get(), Ok(Arc::new(expected)), "{what}");
        assert_eq!(evaluations.load(Ordering::SeqCst), before + 1, "{what}");
    };
    let index = store.add_index("none", |_: &ConfigMap, _: &mut IndexValues<'_>| {});
    index.expect("the name is free");
    change("an index", (1, 0, 1));
    let mut transaction = store.transaction();
    assert!(transaction.mark_stale("ns/a"));
    transaction.commit();
    change("a stale object", (1, 1, 1));
    let overlaid = store.overlay(config_map("b", 30), Instant::now());
    assert_eq!(overlaid, Ok(Overlaid::Visible));
    change("an overlay", (2, 1, 1));
    store.add(config_map("b", 30)).expect("it has a name");
    change("the observed object", (2, 1, 1));
    store.delete("ns/a");
    change("a deletion", (1, 0, 1));
    store
        .replace(Vec::<ConfigMap>::new(), "40".into())
        .expect("they have names");
    change("a list", (0, 0, 1));
    store.remove_index("none").expect("it is there");
    change("an index that is removed", (0, 0, 0));
}
