//! Long deltas are coalesced to what a consumer needs: the end of the object that it has, and the newest state.

mod common;

use common::{Calls, NaiveStore, Thing, key, list, plain, short, thing};
use informer_delta_fifo::{DeltaFifo, DeltaFifoConfig};
use informer_store::{Deletion, DeltaSink, ListEnd};

/// A queue that coalesces from the fourth delta on, in front of `a` with UID 1 at version 1, or of nothing.
fn fifo(stored: bool) -> DeltaFifo<Thing> {
    let a = thing("a", 1, 1);
    let stored = if stored {
        std::slice::from_ref(&a)
    } else {
        &[]
    };
    let config = DeltaFifoConfig::new().known(NaiveStore::holding(stored));
    DeltaFifo::new(config.max_deltas(Some(3)))
}

/// A queue that does so and does not know what is stored.
fn unknowing() -> DeltaFifo<Thing> {
    DeltaFifo::new(DeltaFifoConfig::new().max_deltas(Some(3)))
}

fn check_queue(fifo: &DeltaFifo<Thing>, fill: impl FnOnce(&DeltaFifo<Thing>), expected: &str) {
    fill(fifo);
    assert_eq!(fifo.drain(), [expected]);
    assert!(fifo.stats().coalesced > 0);
}

fn check(stored: bool, fill: impl FnOnce(&DeltaFifo<Thing>), expected: &str) {
    check_queue(&fifo(stored), fill, expected);
}

fn updates(fifo: &DeltaFifo<Thing>, versions: std::ops::RangeInclusive<u64>) {
    versions.for_each(|version| fifo.updated(&thing("a", 1, version)));
}

// INV-FIFO-13
#[test]
fn changes_of_one_object_become_one() {
    check(true, |fifo| updates(fifo, 2..=5), "a: Updated 5");
    check(false, |fifo| updates(fifo, 2..=5), "a: Added 5");
    check_queue(&unknowing(), |fifo| updates(fifo, 2..=5), "a: Updated 5");
    let added_first = |fifo: &DeltaFifo<Thing>| {
        fifo.added(&thing("a", 1, 2));
        updates(fifo, 3..=5);
    };
    check_queue(&unknowing(), added_first, "a: Added 5");
}

fn recreated(fifo: &DeltaFifo<Thing>) {
    fifo.updated(&thing("a", 1, 2));
    fifo.deleted(&thing("a", 1, 3));
    fifo.added(&thing("a", 2, 4));
    fifo.updated(&thing("a", 2, 5));
}

fn recreated_twice(fifo: &DeltaFifo<Thing>) {
    fifo.updated(&thing("a", 1, 2));
    fifo.updated(&thing("a", 2, 3));
    fifo.updated(&thing("a", 3, 4));
}

fn deleted_twice(fifo: &DeltaFifo<Thing>) {
    fifo.updated(&thing("a", 1, 2));
    fifo.deleted(&thing("a", 1, 3));
    fifo.added(&thing("a", 2, 4));
    fifo.deleted(&thing("a", 2, 5));
}

// INV-FIFO-9, 13
#[test]
fn end_of_the_known_object_stays() {
    check(true, recreated, "a: Deleted 3, Added 5");
    check(true, recreated_twice, "a: Deleted? 2, Added 4");
    check(true, deleted_twice, "a: Deleted 3");
}

// INV-FIFO-13
#[test]
fn objects_that_no_consumer_saw_leave_nothing() {
    check(false, recreated, "a: Added 4, Updated 5");
    check(false, recreated_twice, "a: Added 4");
    let fifo = fifo(false);
    deleted_twice(&fifo);
    assert_eq!(fifo.drain(), [""; 0]);
    assert_eq!(fifo.stats().coalesced, 2);
}

// INV-FIFO-13: a consumer that failed at an object may have applied a part of it, and one that was dropped too.
#[test]
fn deletion_of_what_a_consumer_gave_back_is_queued() {
    for fails in [true, false] {
        let give_back = |fifo: &DeltaFifo<Thing>| {
            let batch = fifo.try_pop_batch(1).expect("a");
            if fails {
                batch.ack_except(&[key("a")]);
            } else {
                drop(batch);
            }
        };
        let fifo = fifo(false);
        fifo.added(&thing("a", 1, 2));
        give_back(&fifo);
        fifo.deleted(&thing("a", 1, 3));
        give_back(&fifo);
        assert_eq!(fifo.drain(), ["a: Added 2, Deleted 3"]);
        // A list that lacks it, and one more object under its name.
        fifo.added(&thing("a", 2, 4));
        give_back(&fifo);
        fifo.replace(list(&[]), ListEnd::new(5.into()));
        updates(&fifo, 6..=8);
        assert_eq!(fifo.drain(), ["a: Deleted? 4, Added 7, Updated 8"]);
        // It was popped since.
        fifo.added(&thing("a", 3, 9));
        fifo.deleted(&thing("a", 3, 10));
        assert_eq!(fifo.drain(), [""; 0]);
    }
}

// INV-FIFO-13: without known objects the consumer may have what was deleted first.
#[test]
fn first_deletion_stays_without_known_objects() {
    check_queue(&unknowing(), recreated, "a: Deleted 3, Added 5");
    check_queue(&unknowing(), recreated_twice, "a: Deleted? 2, Added 4");
    check_queue(&unknowing(), deleted_twice, "a: Deleted 3");
}

// INV-FIFO-12, 13
#[test]
fn undecodable_newest_state_stays() {
    let fill = |fifo: &DeltaFifo<Thing>| {
        updates(fifo, 2..=4);
        fifo.undecodable(key("a"), Some(5.into()));
    };
    check(true, fill, "a: Updated 4, Undecodable 5");
    check(false, fill, "a: Added 4, Undecodable 5");
    let only = |fifo: &DeltaFifo<Thing>| {
        (2..=5u64).for_each(|version| fifo.undecodable(key("a"), Some(version.into())));
    };
    check(true, only, "a: Undecodable 5");
    let decodable_again = |fifo: &DeltaFifo<Thing>| {
        (2..=4u64).for_each(|version| fifo.undecodable(key("a"), Some(version.into())));
        fifo.updated(&thing("a", 1, 5));
    };
    check(true, decodable_again, "a: Updated 5");
    let recreated_and_undecodable = |fifo: &DeltaFifo<Thing>| {
        recreated(fifo);
        fifo.undecodable(key("a"), Some(6.into()));
    };
    let expected = "a: Deleted 3, Added 5, Undecodable 6";
    check(true, recreated_and_undecodable, expected);
}

// INV-FIFO-13
#[test]
fn states_of_lists_and_resyncs_keep_their_type() {
    let config = DeltaFifoConfig::new().known(NaiveStore::holding(&[plain("a", 0)]));
    let fifo = DeltaFifo::new(config.max_deltas(Some(3)));
    fifo.resync();
    (1..=3).for_each(|value| fifo.replaced(&[plain("a", value)], value));
    assert_eq!(fifo.drain(), ["a: Replaced 3"]);
}

// INV-FIFO-13: what is in flight counts as applied, and if it is requeued, nothing is missing.
#[test]
fn deltas_are_coalesced_against_what_is_in_flight() {
    let fifo = fifo(false);
    fifo.added(&thing("a", 1, 2));
    let batch = fifo.try_pop_batch(1).expect("a");
    updates(&fifo, 3..=6);
    assert_eq!(fifo.stats().queued_deltas, 1);
    drop(batch);
    let batch = fifo.try_pop_batch(1).expect("a");
    assert_eq!(short(&batch), ["a: Added 2, Updated 6"]);
    fifo.deleted(&thing("a", 1, 7));
    fifo.added(&thing("a", 2, 8));
    fifo.delete(key("a"), Deletion::of(thing("a", 2, 9)));
    fifo.added(&thing("a", 3, 10));
    batch.ack();
    assert_eq!(fifo.drain(), ["a: Deleted 7, Added 10"]);
}

// INV-FIFO-13: as an option, everything is kept.
#[test]
fn every_delta_is_kept_without_a_limit() {
    let fifo = DeltaFifo::new(DeltaFifoConfig::new().max_deltas(None));
    updates(&fifo, 1..=100);
    assert_eq!(fifo.stats().queued_deltas, 100);
    assert_eq!(fifo.stats().coalesced, 0);
}
