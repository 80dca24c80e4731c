//! Scenarios that hurt users of other informers, by the numbers of the public reports.

mod common;

use std::collections::HashMap;
use std::sync::Arc;
use std::thread;

use common::{Calls, NaiveStore, before, plain, thing};
use informer_delta_fifo::{DeltaFifo, DeltaFifoConfig};
use informer_store::DeltaSink;

/// Applies everything; returns what a handler gets.
fn apply_all(fifo: &DeltaFifo<common::Thing>, store: &NaiveStore) -> Vec<String> {
    let mut events = Vec::new();
    while let Some(batch) = fifo.try_pop_batch(1) {
        events.extend(store.apply(&batch));
        batch.ack();
    }
    events
}

// kubernetes/kubernetes 115658 and 115620
#[test]
fn object_added_and_deleted_around_a_relist_does_not_stay() {
    let store = NaiveStore::holding(&[]);
    let fifo = before(&store);
    fifo.replaced(&[], 1);
    fifo.added(&thing("o", 1, 2));
    // The watch ended, the deletion was missed, the list is without it; the add is still queued.
    fifo.replaced(&[], 5);
    assert_eq!(apply_all(&fifo, &store), [""; 0]);
    assert!(store.contents().is_empty());

    // The same while the add is in flight.
    fifo.added(&thing("p", 2, 6));
    let batch = fifo.try_pop_batch(1).expect("p");
    fifo.replaced(&[], 9);
    store.apply(&batch);
    batch.ack();
    assert_eq!(apply_all(&fifo, &store), ["delete p 6"]);
    assert!(store.contents().is_empty());
}

// kubernetes/kubernetes 83810 and 86015
#[test]
fn change_found_by_a_relist_differs_from_a_resync() {
    let store = NaiveStore::holding(&[thing("changed", 1, 1), thing("same", 1, 2)]);
    let fifo = before(&store);
    fifo.replaced(&[thing("changed", 1, 7), thing("same", 1, 2)], 9);
    assert_eq!(
        apply_all(&fifo, &store),
        ["update changed 1->7", "update same 2->2"]
    );
    fifo.resync();
    assert_eq!(fifo.drain(), ["changed: Sync 7", "same: Sync 2"]);
}

// kubernetes/kubernetes 27004 and 27341
#[test]
fn adding_and_deleting_one_key_many_times_ends_empty_and_balanced() {
    for max_deltas in [None, Some(8)] {
        let store = NaiveStore::holding(&[]);
        let config = DeltaFifoConfig::new().known(Arc::clone(&store));
        let fifo = DeltaFifo::new(config.max_deltas(max_deltas));
        let mut balance: HashMap<String, i64> = HashMap::new();
        thread::scope(|scope| {
            let producer = fifo.clone();
            scope.spawn(move || {
                for round in 0..10_000 {
                    producer.added(&plain("k", round));
                    producer.deleted(&plain("k", round));
                }
                producer.close();
            });
            let mut round = 0u32;
            while let Ok(batch) = fifo.pop_batch_blocking(1) {
                round += 1;
                if round.is_multiple_of(3) {
                    continue;
                }
                for line in store.apply(&batch) {
                    let event = line.split(' ').next().unwrap_or_default();
                    *balance.entry(event.to_owned()).or_default() += 1;
                }
                batch.ack();
            }
        });
        assert!(store.contents().is_empty());
        assert_eq!(balance.get("add"), balance.get("delete"));
        assert_eq!(balance.get("update"), None);
    }
}

// kubernetes/kubernetes 26082 and 26167
#[test]
fn resync_does_not_bring_back_what_is_queued_to_be_deleted() {
    let store = NaiveStore::holding(&[thing("k", 1, 1)]);
    let fifo = before(&store);
    fifo.deleted(&thing("k", 1, 2));
    fifo.resync();
    let batch = fifo.try_pop_batch(1).expect("the deletion");
    fifo.resync();
    assert_eq!(store.apply(&batch), ["delete k 2"]);
    fifo.resync();
    batch.ack();
    fifo.resync();
    assert_eq!(apply_all(&fifo, &store), [""; 0]);
    assert!(store.contents().is_empty());
}
