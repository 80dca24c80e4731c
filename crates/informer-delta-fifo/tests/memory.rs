//! What the queue allocates, measured by a counting allocator.

mod common;

use std::sync::Arc;

use allocation_counter::measure;
use common::{Calls, NaiveStore, Thing, before, in_order, key, list, plain, thing};
use informer_delta_fifo::{DeltaFifo, DeltaFifoConfig, QueueOrder};
use informer_store::{DeltaSink, ListEnd, ObjectKey, ObjectList};

const OBJECTS: u64 = 100_000;

fn full_store(count: u64) -> (Arc<NaiveStore>, Vec<(ObjectKey, Arc<Thing>)>) {
    let objects: Vec<_> = (1..=count)
        .map(|version| thing(&format!("object-{version}"), 1, version))
        .collect();
    let store = NaiveStore::holding(&objects);
    let contents = store.contents().into_iter().collect();
    (store, contents)
}

// INV-FIFO-14
#[test]
fn list_of_unchanged_objects_allocates_no_objects_and_little_else() {
    let (store, contents) = full_store(OBJECTS);
    for fifo in [before(&store), in_order(&store)] {
        let mut deltas = 0;
        let info = measure(|| {
            let mut list = ObjectList::new();
            for (key, _) in &contents {
                // As a decoder does with what is unchanged.
                let (key, object) = fifo.newest(key).expect("it is stored");
                list.insert(key, object);
            }
            fifo.replace(list, ListEnd::new((OBJECTS + 1).into()));
            let batch = fifo.try_pop_batch(1).expect("the list");
            deltas = batch.iter().map(|(_, deltas)| deltas.len() as u64).sum();
            batch.ack();
        });
        assert_eq!(deltas, OBJECTS);
        assert!(info.bytes_max < 40 * OBJECTS, "{} bytes", info.bytes_max);
        let allocations = info.count_total;
        assert!(allocations < OBJECTS / 100, "{allocations} allocations");
    }
}

// INV-FIFO-11: the objects that were received with the list are let go.
#[test]
fn list_of_unchanged_objects_holds_the_stored_ones() {
    let (store, contents) = full_store(1000);
    for fifo in [before(&store), in_order(&store)] {
        let received: Vec<_> = contents
            .iter()
            .map(|(_, object)| Arc::new(Thing::clone(object)))
            .collect();
        fifo.replaced(&received, 1001);
        assert!(received.iter().all(|object| Arc::strong_count(object) == 1));
        let batch = fifo.try_pop_batch(1).expect("the list");
        assert_eq!(batch.len(), contents.len());
        for ((_, deltas), (_, stored)) in batch.iter().zip(&contents) {
            let object = deltas.newest().object().expect("an object");
            assert!(Arc::ptr_eq(object, stored));
        }
        batch.ack();
    }
}

// INV-FIFO-13
#[test]
fn endless_updates_of_a_few_keys_take_bounded_memory() {
    let fifo = DeltaFifo::<Thing>::default();
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
    assert!(stats.coalesced > 100_000);
}

/// Jobs that are added, changed and deleted under new names, for ever.
fn churn(fifo: &DeltaFifo<Thing>, jobs: std::ops::Range<u32>) {
    for job in jobs {
        let (name, at) = (format!("job-{job}"), u64::from(job) * 3 + 10);
        fifo.added(&thing(&name, job + 10, at));
        fifo.updated(&thing(&name, job + 10, at + 1));
        fifo.deleted(&thing(&name, job + 10, at + 2));
    }
}

// INV-FIFO-13: by key and with known objects, a stalled consumer costs the objects that exist, that it has and that are in flight.
#[test]
fn objects_that_come_and_go_while_the_consumer_stalls_take_no_memory() {
    let store = NaiveStore::holding(&[]);
    let fifo = before(&store);
    let objects: Vec<_> = (1..=100)
        .map(|number| thing(&format!("object-{number}"), 1, number))
        .collect();
    fifo.replaced(&objects, 100);
    // A batch is in flight, and nobody acknowledges it.
    let in_flight = fifo.try_pop_batch(1).expect("the list");
    fifo.updated(&thing("object-1", 1, 101));
    churn(&fifo, 100..2000);
    let info = measure(|| churn(&fifo, 2000..50_000));
    assert!(info.bytes_current < 10_000, "{} held", info.bytes_current);
    assert!(info.bytes_max < 20_000, "{} at most", info.bytes_max);
    assert_eq!((fifo.depth(), fifo.stats().queued_deltas), (1, 1));
    drop(in_flight);
    churn(&fifo, 50_000..60_000);
    assert_eq!(fifo.depth(), 100, "the requeued list");
    let batch = fifo.try_pop_batch(1).expect("the list");
    store.apply(&batch);
    batch.ack();
    // Nothing is queued, and the version is still reached.
    churn(&fifo, 60_000..60_010);
    let batch = fifo.try_pop_batch(1).expect("the version");
    assert!(batch.is_empty());
    assert_eq!(batch.applied_up_to(), Some(&(60_009 * 3 + 12).into()));
    batch.ack();
}

// INV-FIFO-20: where nothing can be coalesced, a limit bounds the memory.
#[test]
fn limit_bounds_the_memory_of_a_stalled_consumer() {
    let known = NaiveStore::holding(&[]);
    let ordered = DeltaFifoConfig::new().order(QueueOrder::InOrder);
    let configs = [
        DeltaFifoConfig::new(),
        ordered.clone(),
        ordered.known(Arc::clone(&known)),
    ];
    for config in configs {
        let unlimited = DeltaFifo::new(config.clone());
        let limited = DeltaFifo::new(config.max_queued(Some(1000)));
        churn(&unlimited, 0..5000);
        assert!(unlimited.depth() >= 5000, "every deletion is kept");
        assert!(!unlimited.needs_list());

        let mut lists = 0;
        let info = measure(|| {
            for job in 0..50_000 {
                churn(&limited, job..job + 1);
                if limited.needs_list() {
                    // What a reflector does about it.
                    lists += 1;
                    limited.replaced(&[], u64::from(job) * 3 + 12);
                }
            }
        });
        assert!(lists > 10, "{lists} lists");
        assert!(info.bytes_max < 1_500_000, "{} at most", info.bytes_max);
        let stats = limited.stats();
        assert!(stats.queued_deltas <= 1000, "{stats:?}");
        assert!(stats.dropped > 40_000, "{stats:?}");
    }
}

// INV-FIFO-20
#[test]
fn what_a_list_holds_does_not_count() {
    for order in [QueueOrder::ByKey, QueueOrder::InOrder] {
        let config = DeltaFifoConfig::new().order(order).max_queued(Some(10));
        let fifo = DeltaFifo::new(config);
        let objects: Vec<_> = (1..=1000)
            .map(|number| thing(&format!("object-{number}"), 1, number))
            .collect();
        fifo.replace(list(&objects), ListEnd::new(1000.into()));
        let update = |fifo: &DeltaFifo<Thing>, from: u64| {
            (0..10).for_each(|n| fifo.updated(&thing(&format!("object-{n}"), 1, from + n)));
        };
        update(&fifo, 2000);
        assert!(!fifo.needs_list());
        // Neither before nor after it was in flight.
        drop(fifo.try_pop_batch(1).expect("the list"));
        assert!(!fifo.needs_list());
        fifo.updated(&thing("object-1", 1, 3000));
        assert!(fifo.needs_list(), "the eleventh");
        assert_eq!((fifo.depth(), fifo.stats().dropped), (0, 1011));
        assert!(
            fifo.try_pop_batch(1).is_none(),
            "no version is reached either"
        );
        // Until the list, events are ignored.
        fifo.updated(&thing("object-1", 1, 3001));
        fifo.deleted(&thing("object-1", 1, 3002));
        fifo.bookmark(3003.into());
        fifo.resync();
        assert_eq!((fifo.depth(), fifo.stats().dropped), (0, 1013));
        fifo.replace(list(&objects), ListEnd::new(4000.into()));
        assert!(!fifo.needs_list());
        let batch = fifo.try_pop_batch(1).expect("the list");
        assert_eq!(
            (batch.len(), batch.applied_up_to()),
            (1000, Some(&4000.into()))
        );
        batch.ack();
    }
}

// INV-FIFO-20: what lists held and was coalesced makes no room for events.
#[test]
fn coalesced_lists_do_not_raise_the_limit() {
    let fifo = DeltaFifo::new(DeltaFifoConfig::new().max_queued(Some(10)));
    let objects = |version: u64| -> Vec<_> {
        let names = (0..50).map(|number| format!("object-{number}"));
        names.map(|name| thing(&name, 1, version)).collect()
    };
    for version in 1..=40 {
        fifo.replace(list(&objects(version)), ListEnd::new(version.into()));
    }
    assert!(fifo.stats().coalesced > 1000, "{:?}", fifo.stats());
    let events = (0..1000).map(|n| fifo.updated(&thing(&format!("new-{n}"), 1, 100 + n)));
    let queued = events.take_while(|()| !fifo.needs_list()).count();
    assert!(queued < 100, "{queued} events");
    fifo.replace(list(&objects(2000)), ListEnd::new(2000.into()));
    let batch = fifo.try_pop_batch(1).expect("the list");
    assert_eq!(batch.len(), 50);
    drop(batch);
    fifo.try_pop_batch(1).expect("the list").ack();
    assert_eq!(fifo.stats().queued_deltas, 0);
}

// INV-FIFO-19
#[test]
fn empty_queue_holds_little_whatever_it_held() {
    let objects: Vec<_> = (1..=20_000)
        .map(|number| plain(&format!("object-{number}"), number))
        .collect();
    let store = NaiveStore::holding(&[]);
    for fifo in [before(&store), in_order(&store)] {
        let fill_and_drain = |count: usize, max: usize| {
            for object in &objects[..count] {
                fifo.updated(object);
            }
            let mut keys = 0;
            while let Some(batch) = fifo.try_pop_batch(max) {
                keys += batch.len();
                batch.ack();
            }
            assert_eq!(keys, count);
        };
        let held = measure(|| {
            fill_and_drain(20_000, 500);
            fill_and_drain(20_000, 20_000);
            fill_and_drain(1000, 1000);
            fill_and_drain(1000, 1);
        });
        assert!(held.bytes_max > 1_000_000, "{} at most", held.bytes_max);
        assert!(held.bytes_current < 120_000, "{} held", held.bytes_current);
        // Rounds cost little but their keys.
        let round = measure(|| (0..10).for_each(|_| fill_and_drain(1000, 1000)));
        assert!(
            round.bytes_current < 50_000,
            "{} grown",
            round.bytes_current
        );
        let allocations = round.count_total;
        assert!(allocations < 10_500, "{allocations} allocations");
    }
}
