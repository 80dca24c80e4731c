//! What a store costs beyond its objects, counted by the allocator.

mod support;

use std::alloc::System;
use std::sync::Arc;

use informer_store::{IndexValues, ResourceVersion, Store};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use support::Thing;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const N: usize = 100_000;

/// What the test harness may allocate beside the test.
const SLACK: isize = 4096;

/// The names, namespaces and nodes of client-go's benchmark.
fn things() -> Vec<Arc<Thing>> {
    (0..N)
        .map(|i| {
            let app = i % 200;
            let key = format!("ns-{:02}/app-{app:03}-{:010x}-{i:05}", i % 20, app * 7919);
            let thing = Thing::new(&key).words([format!("node-{:04}", i % 500)]);
            Arc::new(thing.label("app", &app.to_string()).label("tier", "web"))
        })
        .collect()
}

fn indexed() -> Store<Thing> {
    let store = Store::new();
    store.add_namespace_index().expect("new");
    store
        .add_index("node", |thing: &Thing, values: &mut IndexValues<'_>| {
            values.extend(thing.words.iter().map(String::as_str));
        })
        .expect("new");
    store
}

/// Bytes in use since the region began.
fn in_use(region: &Region<'_, System>) -> isize {
    let stats = region.change();
    stats.bytes_allocated as isize - stats.bytes_deallocated as isize
}

/// One test, as the allocator counts for the whole process.
// INV-STORE-14
#[test]
fn store_is_small_and_returns_its_memory() {
    let things = things();
    let region = Region::new(ALLOCATOR);
    let store = indexed();
    let empty = in_use(&region);

    store
        .replace(things.iter().cloned(), ResourceVersion::from(1))
        .expect("named");
    let listed = in_use(&region) as f64 / N as f64;
    println!("{listed:.1} bytes an object, from a list");
    assert!(
        listed <= 150.0,
        "{listed:.1} bytes an object beyond the object itself"
    );

    // Deletions leave no holes: 99 % gone, 99 % back.
    for thing in things
        .iter()
        .enumerate()
        .filter(|(at, _)| at % 100 != 0)
        .map(|(_, thing)| thing)
    {
        store.delete(&informer_store::ObjectKey::of(&**thing));
    }
    assert_eq!(store.len(), N / 100);
    let left = in_use(&region) as f64 / (N as f64 / 100.0);
    println!("{left:.1} bytes an object, after 99 of 100 were deleted");
    assert!(left <= 250.0, "{left:.1} bytes an object are left");

    let keys = store.keys();
    keys.iter().for_each(|key| drop(store.delete(key)));
    drop(keys);
    let emptied = in_use(&region);
    assert!(
        emptied <= empty + SLACK,
        "an emptied store holds no more than an empty one, not {emptied}"
    );

    // Added one by one, in an order of its own.
    for at in 0..N {
        store
            .add(Arc::clone(&things[at * 7919 % N]))
            .expect("named");
    }
    let added = in_use(&region) as f64 / N as f64;
    println!("{added:.1} bytes an object, added one by one");
    assert!(
        added <= 150.0,
        "{added:.1} bytes an object beyond the object itself"
    );

    let mut transaction = store.transaction();
    transaction.clear();
    transaction.commit();
    assert!(in_use(&region) <= empty + SLACK);

    // A million namespaces that come and go, ten at a time, beside one that stays. Fewer where nothing is optimised.
    let million = if cfg!(debug_assertions) {
        100_000
    } else {
        1_000_000
    };
    store
        .add(Thing::new("stays/x").words(["node"]))
        .expect("named");
    let steady = in_use(&region);
    for at in 0..million {
        store
            .add(Thing::new(&format!("passing-{at}/x")))
            .expect("named");
        if at >= 10 {
            let gone = at - 10;
            store.delete(&format!("passing-{gone}/x"));
        }
    }
    for gone in million - 10..million {
        store.delete(&format!("passing-{gone}/x"));
    }
    assert_eq!(store.list_index_values("namespace").len(), 1);
    let left = in_use(&region) - steady;
    println!("{left} bytes left of {million} namespaces");
    assert!(
        left <= 2_000,
        "{left} bytes are left of namespaces that are gone"
    );
}
