//! What client-go's tests of its DeltaFIFO assert, by the ids DF1–DF14 and by the numbers D1–D9 of its behaviour.

mod common;

use std::sync::Arc;
use std::thread;

use common::{Calls, NaiveStore, Thing, key, like_client_go, plain, short, thing};
use informer_delta_fifo::{Closed, DeltaFifo, DeltaFifoConfig};
use informer_store::{Deletion, DeltaSink, ObjectVersion};

/// A queue without known objects.
fn fifo() -> DeltaFifo<Thing> {
    DeltaFifo::new(DeltaFifoConfig::new().max_deltas(None))
}

fn before(stored: &[Arc<Thing>]) -> DeltaFifo<Thing> {
    like_client_go(&NaiveStore::holding(stored))
}

// DF1
#[test]
fn order_of_each_producer_is_kept() {
    let fifo = fifo();
    thread::scope(|scope| {
        for name in ["a", "b"] {
            let fifo = fifo.clone();
            scope.spawn(move || {
                for value in 0..1000 {
                    fifo.added(&plain(name, value));
                }
            });
        }
        let mut seen = [0; 2];
        while seen != [1000, 1000] {
            let batch = fifo.pop_batch_blocking(1).expect("the queue is open");
            for (key, deltas) in batch.iter() {
                let counter = &mut seen[usize::from(key.as_str() == "b")];
                for delta in deltas {
                    assert_eq!(delta.object().expect("an object").value, *counter);
                    *counter += 1;
                }
            }
            batch.ack();
        }
    });
}

// DF2
#[test]
fn replace_after_queued_delete_keeps_both_deltas() {
    let fifo = before(&[plain("foo", 10)]);
    fifo.deleted(&plain("foo", 10));
    fifo.replaced(&[plain("foo", 10)], 0);
    assert_eq!(fifo.drain(), ["foo: Deleted 10, Replaced 10"]);
}

// DF3: each way to be queued, then a list without it.
#[test]
fn queued_object_gets_one_tombstone_from_list_without_it() {
    type Setup = fn(&DeltaFifo<Thing>);
    let cases: [(Setup, &str); 5] = [
        (|f| f.added(&plain("foo", 1)), "foo: Added 1, Deleted? 1"),
        (
            |f| f.replaced(&[plain("foo", 1)], 0),
            "foo: Replaced 1, Deleted? 1",
        ),
        (
            |f| {
                f.added(&plain("foo", 1));
                f.deleted(&plain("foo", 1));
            },
            "foo: Added 1, Deleted 1",
        ),
        (
            |f| {
                f.added(&plain("foo", 1));
                f.deleted(&plain("foo", 1));
                f.added(&plain("foo", 2));
            },
            "foo: Added 1, Deleted 1, Added 2, Deleted? 2",
        ),
        (
            |f| {
                f.replaced(&[plain("foo", 1)], 0);
                f.replaced(&[plain("foo", 2)], 0);
            },
            "foo: Replaced 1, Replaced 2, Deleted? 2",
        ),
    ];
    for (setup, expected) in cases {
        let without = fifo();
        setup(&without);
        without.replaced(&[], 0);
        assert_eq!(without.drain(), [expected]);

        let with = before(&[]);
        setup(&with);
        with.replaced(&[], 0);
        with.replaced(&[], 0);
        assert_eq!(with.drain(), [expected]);
    }
    // Resynced twice: a known object.
    let fifo = before(&[plain("foo", 5)]);
    fifo.resync();
    fifo.resync();
    fifo.replaced(&[], 0);
    assert_eq!(fifo.drain(), ["foo: Sync 5, Deleted? 5"]);
}

// DF4, D5
#[test]
fn tombstone_carries_newest_queued_object_else_known_one() {
    let fifo = before(&[plain("foo", 5), plain("bar", 6), plain("baz", 7)]);
    fifo.deleted(&plain("baz", 10));
    fifo.replaced(&[plain("foo", 5)], 0);
    assert_eq!(
        fifo.drain(),
        ["baz: Deleted 10", "bar: Deleted? 6", "foo: Replaced 5"]
    );

    fifo.updated(&plain("bar", 9));
    fifo.replaced(&[plain("foo", 5), plain("baz", 7)], 0);
    assert_eq!(
        fifo.drain(),
        [
            "bar: Updated 9, Deleted? 9",
            "foo: Replaced 5",
            "baz: Replaced 7"
        ]
    );
}

// DF5
#[test]
fn all_deltas_of_a_key_are_popped_together() {
    let fifo = fifo();
    fifo.added(&plain("foo", 10));
    fifo.updated(&plain("foo", 12));
    fifo.deleted(&plain("foo", 15));
    assert_eq!(fifo.drain(), ["foo: Added 10, Updated 12, Deleted 15"]);
    assert_eq!(fifo.depth(), 0);
    assert!(fifo.try_pop_batch(1).is_none());
}

// DF6, D4
#[test]
fn delete_of_unknown_key_is_ignored() {
    let fifo = before(&[plain("known", 1)]);
    fifo.deleted(&plain("unknown", 1));
    assert_eq!(fifo.depth(), 0);
    assert_eq!(fifo.stats().unknown_deletions, 1);
    fifo.deleted(&plain("known", 1));
    fifo.added(&plain("queued", 2));
    fifo.deleted(&plain("queued", 2));
    assert_eq!(
        fifo.drain(),
        ["known: Deleted 1", "queued: Added 2, Deleted 2"]
    );
}

// D3
#[test]
fn older_of_two_deletes_stays_unless_it_is_a_tombstone() {
    let fifo = before(&[plain("foo", 1), plain("bar", 2)]);
    fifo.deleted(&plain("foo", 3));
    fifo.deleted(&plain("foo", 4));
    fifo.delete(
        key("bar"),
        Deletion::without_object(ObjectVersion::new(None, None)),
    );
    fifo.deleted(&plain("bar", 5));
    assert_eq!(fifo.drain(), ["foo: Deleted 3", "bar: Deleted 5"]);
}

// DF7, D6
#[test]
fn resync_queues_sync_for_keys_without_queued_deltas_only() {
    let fifo = before(&[plain("a", 1), plain("b", 2), plain("c", 3)]);
    fifo.updated(&plain("a", 9));
    fifo.deleted(&plain("b", 2));
    fifo.resync();
    fifo.resync();
    assert_eq!(fifo.drain(), ["a: Updated 9", "b: Deleted 2", "c: Sync 3"]);
    let nothing_known = self::fifo();
    nothing_known.resync();
    assert!(nothing_known.try_pop_batch(1).is_none());
}

// DF8
#[test]
fn listed_objects_are_replaced_and_resynced_ones_sync() {
    let fifo = before(&[plain("foo", 5)]);
    fifo.resync();
    assert_eq!(fifo.drain(), ["foo: Sync 5"]);
    fifo.replaced(&[plain("foo", 5)], 0);
    assert_eq!(fifo.drain(), ["foo: Replaced 5"]);
}

// DF10, D7; ours: synced once acknowledged, not once popped.
#[test]
fn synced_follows_the_truth_table() {
    assert!(!fifo().has_synced());

    let added_first = fifo();
    added_first.added(&plain("a", 1));
    assert!(added_first.has_synced());

    let deleted_first = fifo();
    deleted_first.deleted(&plain("a", 1));
    assert!(deleted_first.has_synced());

    let empty = fifo();
    empty.replaced(&[], 1);
    assert!(empty.has_synced());

    let bookmark_only = fifo();
    bookmark_only.bookmark(7.into());
    assert!(!bookmark_only.has_synced());

    let list = fifo();
    list.replaced(&[plain("a", 1), plain("b", 2), plain("a", 3)], 1);
    assert!(!list.has_synced());
    let batch = list.try_pop_batch(1).expect("the list");
    assert_eq!(short(&batch), ["a: Replaced 3", "b: Replaced 2"]);
    assert!(batch.is_initial());
    assert!(!list.has_synced(), "popped is not applied");
    batch.ack();
    assert!(list.has_synced());
    list.replaced(&[plain("c", 1)], 2);
    assert!(list.has_synced(), "for ever");
    let later = list.try_pop_batch(1).expect("the second list");
    assert!(!later.is_initial());
}

// DF11
#[test]
fn deletions_of_first_list_are_initial_and_complete_sync() {
    let fifo = before(&[plain("gone", 1)]);
    fifo.replaced(&[], 1);
    assert!(!fifo.has_synced());
    let batch = fifo.try_pop_batch(1).expect("a deletion");
    assert_eq!(short(&batch), ["gone: Deleted? 1"]);
    assert!(batch.is_initial());
    batch.ack();
    assert!(fifo.has_synced());
}

// DF12, D2
#[test]
fn key_keeps_its_place_and_readded_key_goes_to_the_end() {
    let fifo = fifo();
    for name in ["foo", "bar", "baz"] {
        fifo.added(&plain(name, 1));
    }
    fifo.updated(&plain("foo", 2));
    let batch = fifo.try_pop_batch(1).expect("foo");
    assert_eq!(short(&batch), ["foo: Added 1, Updated 2"]);
    batch.ack();
    fifo.added(&plain("foo", 3));
    assert_eq!(
        fifo.drain(),
        ["bar: Added 1", "baz: Added 1", "foo: Added 3"]
    );
}

// DF13, D9: the newest of a key's deltas, tombstones included.
#[test]
fn newest_delta_has_the_object() {
    let fifo = before(&[thing("foo", 1, 5)]);
    fifo.updated(&thing("foo", 1, 6));
    fifo.replaced(&[], 9);
    let batch = fifo.try_pop_batch(1).expect("foo");
    let (_, deltas) = batch.iter().next().expect("foo");
    assert!(deltas.newest().is_deleted());
    assert_eq!(deltas.newest().object().expect("an object").value, 6);
    assert_eq!(deltas.oldest().type_name(), "Updated");
}

// DF14, D8
#[test]
fn closing_wakes_all_consumers_and_lets_them_drain() {
    let fifo = Arc::new(fifo());
    thread::scope(|scope| {
        let waiting: Vec<_> = (0..10)
            .map(|_| {
                let fifo = Arc::clone(&fifo);
                scope.spawn(move || fifo.pop_batch_blocking(1).map(|batch| batch.ack()))
            })
            .collect();
        fifo.close();
        for consumer in waiting {
            assert_eq!(consumer.join().expect("no panic"), Err(Closed));
        }
    });
    fifo.added(&plain("late", 1));
    assert!(fifo.is_closed());
    fifo.pop_batch_blocking(1)
        .expect("what is in it comes out")
        .ack();
    assert_eq!(
        fifo.pop_batch_blocking(1).map(|batch| batch.ack()),
        Err(Closed)
    );
}
