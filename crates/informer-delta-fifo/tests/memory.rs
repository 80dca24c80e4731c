//! What the queue allocates, measured by a counting allocator.

mod common;

use std::sync::Arc;

use allocation_counter::measure;
use common::{Calls, NaiveStore, Thing, key, plain, thing};
use informer_delta_fifo::{Config, Delta, DeltaFifo, Order};
use informer_store::{DeltaSink, ObjectKey, Replace, ReplaceEnd};

const OBJECTS: u64 = 100_000;

fn full_store(count: u64) -> (Arc<NaiveStore>, Vec<(ObjectKey, Arc<Thing>)>) {
    let objects: Vec<_> = (1..=count)
        .map(|version| thing(&format!("object-{version}"), 1, version))
        .collect();
    let store = NaiveStore::holding(&objects);
    let contents = store.contents().into_iter().collect();
    (store, contents)
}

/// The peak of bytes, and how many allocations there were, until the list is acknowledged.
fn replace_and_drain(
    fifo: &DeltaFifo<Thing>,
    fill: impl FnOnce(&mut <DeltaFifo<Thing> as DeltaSink<Thing>>::Replace),
) -> (u64, u64) {
    let mut told = 0;
    let info = measure(|| {
        let mut replace = fifo.begin_replace();
        fill(&mut replace);
        replace.finish(ReplaceEnd::new((OBJECTS + 1).into()));
        let batch = fifo.try_pop_batch(1).expect("the list");
        told = batch.iter().map(|deltas| deltas.deltas().len()).sum();
        batch.ack();
    });
    assert_eq!(told as u64, OBJECTS);
    (info.bytes_max, info.count_total)
}

fn in_each_order(store: &Arc<NaiveStore>) -> [DeltaFifo<Thing>; 2] {
    [Order::ByKey, Order::InOrder].map(|order| {
        let config = Config::new().known_objects(Arc::clone(store));
        DeltaFifo::with_config(&config.order(order))
    })
}

// INV-FIFO-14
#[test]
fn a_list_of_unchanged_objects_allocates_no_objects_and_little_else() {
    let (store, contents) = full_store(OBJECTS);
    for fifo in in_each_order(&store) {
        let (peak, allocations) = replace_and_drain(&fifo, |replace| {
            for (key, object) in &contents {
                replace.insert(key.clone(), Arc::clone(object));
            }
        });
        assert!(peak < 40 * OBJECTS, "{peak} bytes");
        assert!(allocations < OBJECTS / 100, "{allocations} allocations");
    }
}

// INV-FIFO-14: nor does the caller's copy of each key stay.
#[test]
fn a_list_of_kept_objects_holds_the_stored_keys() {
    let (store, contents) = full_store(OBJECTS);
    for fifo in in_each_order(&store) {
        let (peak, _) = replace_and_drain(&fifo, |replace| {
            for (_, object) in &contents {
                replace.keep(key(&object.name));
            }
        });
        assert!(peak < 40 * OBJECTS, "{peak} bytes");
    }
}

// INV-FIFO-11: the copies that came with the list are let go.
#[test]
fn a_list_of_unchanged_objects_tells_the_stored_ones() {
    let (store, contents) = full_store(1000);
    for fifo in in_each_order(&store) {
        let copies: Vec<_> = contents
            .iter()
            .map(|(_, object)| Arc::new(Thing::clone(object)))
            .collect();
        fifo.replaced(&copies, 1001);
        assert!(copies.iter().all(|copy| Arc::strong_count(copy) == 1));
        let batch = fifo.try_pop_batch(1).expect("the list");
        assert_eq!(batch.len(), contents.len());
        for (deltas, (_, stored)) in batch.iter().zip(&contents) {
            let told = deltas.newest().and_then(Delta::into_object);
            assert!(told.is_some_and(|told| Arc::ptr_eq(&told, stored)));
        }
        batch.ack();
    }
}

// INV-FIFO-13: with a stopped consumer, memory is bounded by the number of keys.
#[test]
fn endless_updates_of_a_few_keys_take_bounded_memory() {
    let fifo = DeltaFifo::<Thing>::with_config(&Config::new());
    let update = |round: u64| {
        for name in ["a", "b", "c"] {
            fifo.update(key(name), thing(name, 1 + (round / 100) as u32, round));
        }
    };
    (1..1000).for_each(update);
    let info = measure(|| (1000..50_000).for_each(update));
    assert!(info.bytes_max < 20_000, "{} bytes", info.bytes_max);
    let stats = fifo.stats();
    assert_eq!(stats.queued_keys, 3);
    assert!(stats.queued_deltas <= 3 * 8);
    assert!(stats.compressed > 100_000);
}

// INV-FIFO-19
#[test]
fn an_empty_queue_holds_little_whatever_it_held() {
    let objects: Vec<_> = (1..=20_000)
        .map(|number| plain(&format!("object-{number}"), number))
        .collect();
    for fifo in in_each_order(&NaiveStore::holding(&[])) {
        let fill_and_drain = |count: usize, max: usize| {
            for object in &objects[..count] {
                fifo.updated(object);
            }
            let mut told = 0;
            while let Some(batch) = fifo.try_pop_batch(max) {
                told += batch.len();
                batch.ack();
            }
            assert_eq!(told, count);
        };
        let held = measure(|| {
            fill_and_drain(20_000, 500);
            fill_and_drain(20_000, 20_000);
            fill_and_drain(1000, 1000);
            fill_and_drain(1000, 1);
        });
        assert!(held.bytes_max > 2_000_000, "{} at most", held.bytes_max);
        assert!(held.bytes_current < 300_000, "{} held", held.bytes_current);
        // Rounds like the last cost nothing but their keys.
        let round = measure(|| (0..10).for_each(|_| fill_and_drain(1000, 1000)));
        assert!(
            round.bytes_current < 120_000,
            "{} grown",
            round.bytes_current
        );
        assert!(
            round.count_total < 10_050,
            "{} allocations",
            round.count_total
        );
    }
}
