//! Readers and writers on several threads.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use informer_store::{IndexValues, ResourceVersion, Snapshot, Store};
use support::Thing;

const KEYS: u64 = 200;

/// Things of one generation: every write of a transaction carries its number.
fn thing(key: u64, generation: u64) -> Thing {
    let word = format!("g{}", generation % 5);
    Thing::new(&format!("ns-{}/n{key}", key % 3))
        .version(generation)
        .words([word])
}

fn words(thing: &Thing, values: &mut IndexValues<'_>) {
    values.extend(thing.words.iter().map(String::as_str));
}

/// Checks that all objects and indexes are of one generation. Returns it.
fn generation_of(snapshot: &Snapshot<Thing>) -> u64 {
    let version = snapshot
        .resource_version()
        .and_then(ResourceVersion::as_u64);
    let generation = version.expect("set with each transaction");
    let text = generation.to_string();
    assert_eq!(snapshot.len() as u64, KEYS);
    assert!(
        snapshot
            .objects()
            .all(|thing| thing.meta.version.as_deref() == Some(&*text))
    );
    let word = format!("g{}", generation % 5);
    assert_eq!(snapshot.list_index_values("words").len(), 1);
    assert_eq!(
        snapshot.visit_index("words", &word).expect("there").len() as u64,
        KEYS
    );
    generation
}

// INV-STORE-1, INV-STORE-2; S1.
#[test]
fn snapshot_has_one_transaction_beside_writers() {
    let store = Store::new();
    store.add_index("words", words).expect("new");
    let write = |generation: u64| {
        let mut transaction = store.transaction();
        for key in 0..KEYS {
            transaction.add(thing(key, generation)).expect("named");
        }
        transaction.set_resource_version(ResourceVersion::from(generation));
        transaction.commit();
    };
    write(1);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut newest = 0;
                let mut kept: Vec<(u64, Snapshot<Thing>)> = Vec::new();
                while !done.load(Ordering::Relaxed) {
                    let snapshot = store.snapshot();
                    let generation = generation_of(&snapshot);
                    assert!(generation >= newest, "a store does not go back");
                    newest = generation;
                    if kept.len() < 20 {
                        kept.push((generation, snapshot));
                    }
                }
                for (generation, snapshot) in kept {
                    assert_eq!(generation_of(&snapshot), generation, "a snapshot stays");
                }
            });
        }
        (2..150).for_each(write);
        done.store(true, Ordering::Relaxed);
    });
}

// INV-STORE-5: single writes in place and beside snapshots, from two threads, lose nothing.
#[test]
fn concurrent_writes_are_not_lost() {
    let store = Store::new();
    store.add_index("words", words).expect("new");
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let writers: Vec<_> = (0..2u64)
            .map(|writer| {
                let store = &store;
                scope.spawn(move || {
                    for round in 0..3000u64 {
                        let key = (round % 100) * 2 + writer;
                        match round % 10 {
                            9 => drop(store.delete(&format!("ns-{}/n{key}", key % 3))),
                            _ => drop(store.add(thing(key, round + 1)).expect("named")),
                        }
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let snapshot = store.snapshot();
                let indexed: usize = (0..5)
                    .map(|word| {
                        snapshot
                            .visit_index("words", &format!("g{word}"))
                            .expect("there")
                            .len()
                    })
                    .sum();
                assert_eq!(indexed, snapshot.len(), "each object has one word");
            }
        });
        writers
            .into_iter()
            .for_each(|writer| writer.join().expect("no panic"));
        done.store(true, Ordering::Relaxed);
    });
    for key in 0..KEYS {
        // The last round that touched the key either wrote or deleted it.
        let last = 2900 + key / 2;
        let expected = (last % 10 != 9).then(|| (last + 1).to_string());
        let found = store.get(&format!("ns-{}/n{key}", key % 3));
        assert_eq!(
            found.and_then(|thing| thing.meta.version.clone()),
            expected,
            "{key}"
        );
    }
}

// INV-STORE-6; peers 55: readers that list without end do not keep a writer from writing.
#[test]
fn writer_proceeds_beside_readers_that_list_in_a_loop() {
    let store: Store<Thing> = Store::new();
    for key in 0..20_000 {
        store.add(thing(key, 1)).expect("named");
    }
    let written = Arc::new(AtomicU64::new(0));
    let lists = AtomicU64::new(0);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    assert_eq!(store.list().len(), 20_000);
                    lists.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        // Ends only if both make headway.
        while written.load(Ordering::Relaxed) < 500 || lists.load(Ordering::Relaxed) < 20 {
            let round = written.fetch_add(1, Ordering::Relaxed);
            store.add(thing(round % 20_000, round + 2)).expect("named");
        }
        done.store(true, Ordering::Relaxed);
    });
}

/// Compiles only if handles are `Send` and `Sync` as documented.
#[test]
fn handles_are_send_and_sync() {
    fn shared<T: Send + Sync + 'static>() {}
    shared::<Store<Thing>>();
    shared::<informer_store::StoreReader<Thing>>();
    shared::<informer_store::ObjectList<Thing>>();
    shared::<Snapshot<Thing>>();
    shared::<informer_store::Lister<Thing>>();
    shared::<informer_store::StoreChanges<Thing>>();
    shared::<informer_store::StoreWatch<Thing>>();
    shared::<informer_store::Indexers<Thing>>();
    shared::<informer_store::ObjectKey>();
}
