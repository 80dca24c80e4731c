//! What becomes of events and lists, by the newest object of the key: queued, in flight or stored.

mod common;

use std::sync::Arc;

use common::{Calls, NaiveStore, Thing, before, in_order, key, plain, short, thing, version};
use informer_delta_fifo::{Batch, Delta, DeltaFifo, DeltaFifoConfig, QueueOrder};
use informer_store::{Deletion, DeltaSink, ListEnd, ObjectList, ObjectVersion};

/// Where the newest object is, the queue, and what is in flight.
type Case = (&'static str, DeltaFifo<Thing>, Option<Batch<Thing>>);

/// Queues of both orders whose newest `a` has UID 1 and is at version 5: queued, in flight, stored.
fn at_five() -> Vec<Case> {
    let newest = thing("a", 1, 5);
    let mut cases = Vec::new();
    for queue in [before, in_order] {
        // The object is stored too: else no consumer would have seen it.
        let stored = NaiveStore::holding(&[thing("a", 1, 4)]);
        let queued = queue(&stored);
        queued.updated(&newest);
        let flying = queue(&stored);
        flying.updated(&newest);
        let batch = flying.try_pop_batch(1);
        let stored = queue(&NaiveStore::holding(std::slice::from_ref(&newest)));
        cases.extend([
            ("queued", queued, None),
            ("in flight", flying, batch),
            ("stored", stored, None),
        ]);
    }
    cases
}

/// What is queued beyond the object at version 5.
fn queued(fifo: &DeltaFifo<Thing>, batch: Option<Batch<Thing>>) -> String {
    if let Some(batch) = batch {
        batch.ack();
    }
    let deltas = |line: String| line.trim_start_matches("a: ").to_owned();
    let all: Vec<_> = fifo.drain().into_iter().map(deltas).collect();
    let all = all.join(", ");
    let all = all.strip_prefix("Updated 5").unwrap_or(&all);
    all.trim_start_matches(", ").to_owned()
}

fn check(what: impl Fn(&DeltaFifo<Thing>), expected: &str) {
    for (place, fifo, batch) in at_five() {
        what(&fifo);
        let all = queued(&fifo, batch);
        assert_eq!(all, expected, "the newest is {place}");
    }
}

// INV-FIFO-8
#[test]
fn same_and_outdated_objects_are_ignored() {
    check(|fifo| fifo.updated(&thing("a", 1, 4)), "");
    check(|fifo| fifo.updated(&thing("a", 1, 5)), "");
    check(|fifo| fifo.updated(&thing("a", 1, 6)), "Updated 6");
    // Without a UID nothing is compared.
    check(|fifo| fifo.updated(&plain("a", 3)), "Updated 3");
}

// INV-FIFO-18: however low the version of what is not known.
#[test]
fn unknown_objects_are_queued_whatever_their_version() {
    for queue in [before, in_order] {
        let fifo = queue(&NaiveStore::holding(&[]));
        fifo.replaced(&[], 500);
        fifo.added(&thing("a", 1, 20));
        fifo.updated(&thing("b", 2, 30));
        fifo.updated(&thing("a", 1, 31));
        fifo.updated(&thing("a", 1, 30));
        let all = fifo.drain();
        let deltas = all.iter().flat_map(|line| line.split(": ").skip(1));
        let mut deltas: Vec<_> = deltas.flat_map(|line| line.split(", ")).collect();
        deltas.sort_unstable();
        assert_eq!(deltas, ["Added 20", "Updated 30", "Updated 31"]);
        assert_eq!(fifo.stats().outdated, 1);
    }
}

// INV-FIFO-8
#[test]
fn delete_of_the_same_uid_is_queued_whatever_its_version() {
    check(|fifo| fifo.deleted(&thing("a", 1, 6)), "Deleted 6");
    check(|fifo| fifo.deleted(&thing("a", 1, 5)), "Deleted 5");
    check(|fifo| fifo.deleted(&thing("a", 1, 3)), "Deleted 3");
    check(|fifo| fifo.deleted(&plain("a", 2)), "Deleted 2");
    let of = |uid| Deletion::without_object(ObjectVersion::new(Some(common::uid(uid)), None));
    check(|fifo| fifo.delete(key("a"), of(1)), "Deleted? 5");
    let unknown = || Deletion::without_object(ObjectVersion::new(None, None));
    check(|fifo| fifo.delete(key("a"), unknown()), "Deleted? 5");
}

// INV-FIFO-8
#[test]
fn delete_of_another_uid_is_queued_only_if_newer() {
    check(|fifo| fifo.deleted(&thing("a", 7, 4)), "");
    check(|fifo| fifo.deleted(&thing("a", 7, 5)), "");
    let of = |uid| Deletion::without_object(ObjectVersion::new(Some(common::uid(uid)), None));
    check(|fifo| fifo.delete(key("a"), of(7)), "");
    // A later object under the name was missed and has been deleted, so this one has.
    check(|fifo| fifo.deleted(&thing("a", 7, 9)), "Deleted? 5");
    check(
        |fifo| fifo.delete(key("a"), Deletion::without_object(version(7, 9))),
        "Deleted? 5",
    );
}

// INV-FIFO-9
#[test]
fn another_uid_is_a_tombstone_and_an_addition() {
    check(
        |fifo| fifo.updated(&thing("a", 2, 8)),
        "Deleted? 5, Added 8",
    );
    check(|fifo| fifo.added(&thing("a", 2, 8)), "Deleted? 5, Added 8");
    check(|fifo| fifo.added(&thing("a", 2, 3)), "Deleted? 5, Added 3");
    check(
        |fifo| fifo.replaced(&[thing("a", 2, 8)], 9),
        "Deleted? 5, Replaced 8",
    );
}

// INV-FIFO-8
#[test]
fn after_a_queued_delete_any_object_is_queued() {
    let deleted = |fifo: &DeltaFifo<Thing>| fifo.deleted(&thing("a", 1, 6));
    let check = |what: &dyn Fn(&DeltaFifo<Thing>), expected: &str| {
        let both = |fifo: &DeltaFifo<Thing>| {
            deleted(fifo);
            what(fifo);
        };
        check(both, expected);
    };
    check(
        &|fifo| fifo.updated(&thing("a", 1, 7)),
        "Deleted 6, Added 7",
    );
    check(&|fifo| fifo.added(&thing("a", 1, 4)), "Deleted 6, Added 4");
    check(
        &|fifo| fifo.updated(&thing("a", 2, 7)),
        "Deleted 6, Added 7",
    );
    check(&|fifo| fifo.added(&thing("a", 2, 1)), "Deleted 6, Added 1");
    check(&|fifo| fifo.updated(&plain("a", 9)), "Deleted 6, Updated 9");
    check(&|fifo| fifo.deleted(&thing("a", 1, 8)), "Deleted 6");
    check(&|fifo| fifo.undecodable(key("a"), None), "Deleted 6");
    // D5: a list is later than the delete.
    check(
        &|fifo| fifo.replaced(&[thing("a", 1, 5)], 9),
        "Deleted 6, Replaced 5",
    );
    check(&|fifo| fifo.replaced(&[], 9), "Deleted 6");
}

// INV-FIFO-8: to a watch with a selector the object is deleted when it ceases to match, and added when it matches again. Some servers
// send objects as deleted and added that have not changed: who watches may not read them, then may again.
#[test]
fn object_that_the_watch_sends_again_is_queued_after_its_deletion() {
    let again = |fifo: &DeltaFifo<Thing>| {
        fifo.deleted(&thing("a", 1, 6));
        fifo.added(&thing("a", 1, 7));
        fifo.added(&thing("a", 1, 6));
        fifo.deleted(&thing("a", 1, 7));
        fifo.added(&thing("a", 1, 7));
    };
    check(again, "Deleted 6, Added 7, Deleted 7, Added 7");
    // The deletion is in flight.
    for queue in [before, in_order] {
        let fifo = queue(&NaiveStore::holding(&[thing("a", 1, 5)]));
        fifo.deleted(&thing("a", 1, 6));
        let batch = fifo.try_pop_batch(1).expect("a batch");
        fifo.added(&thing("a", 1, 6));
        batch.ack();
        assert_eq!(fifo.drain(), ["a: Added 6"]);
    }
}

// D3: and the deletion of another object is no better.
#[test]
fn tombstone_is_improved_by_the_delete_of_the_same_object() {
    let tombstone = || Deletion::without_object(version(1, 6));
    let check = |last: Arc<Thing>, expected: &str| {
        for queue in [before, in_order] {
            let fifo = queue(&NaiveStore::holding(&[thing("a", 1, 5)]));
            fifo.delete(key("a"), tombstone());
            fifo.deleted(&last);
            assert_eq!(fifo.drain(), [format!("a: {expected}")]);
        }
    };
    check(thing("a", 1, 7), "Deleted 7");
    check(plain("a", 8), "Deleted 8");
    check(thing("a", 2, 9), "Deleted? 5");
}

// INV-FIFO-8
#[test]
fn lists_keep_no_object_from_going_on_and_none_that_they_lack() {
    check(|fifo| fifo.replaced(&[thing("a", 1, 3)], 9), "");
    check(|fifo| fifo.replaced(&[], 4), "Deleted? 5");
    check(|fifo| fifo.replaced(&[thing("a", 1, 7)], 9), "Replaced 7");
    check(|fifo| fifo.replaced(&[plain("a", 7)], 9), "Replaced 7");
}

// INV-FIFO-10
#[test]
fn rewind_holds_whatever_the_versions() {
    check(|fifo| fifo.rewound(&[thing("a", 1, 3)], 4), "Replaced 3");
    check(|fifo| fifo.rewound(&[thing("a", 1, 5)], 4), "Replaced 5");
    check(|fifo| fifo.rewound(&[], 4), "Deleted? 5");
    check(
        |fifo| fifo.rewound(&[thing("a", 3, 2)], 4),
        "Deleted? 5, Replaced 2",
    );
}

// INV-FIFO-10: a deletion from before the rewind hides nothing after it.
#[test]
fn recreated_objects_are_queued_after_a_rewind() {
    let deleted = || {
        let fifo = DeltaFifo::default();
        fifo.replaced(&[thing("a", 1, 50)], 100);
        fifo.deleted(&thing("a", 1, 200));
        fifo
    };
    let queued = deleted();
    queued.rewound(&[], 100);
    queued.added(&thing("a", 2, 110));
    assert_eq!(queued.drain(), ["a: Replaced 50, Deleted 200, Added 110"]);

    let listed = deleted();
    listed.rewound(&[], 100);
    listed.replaced(&[thing("a", 2, 110)], 120);
    let all = ["a: Replaced 50, Deleted 200, Replaced 110"];
    assert_eq!(listed.drain(), all);

    let in_flight = deleted();
    let batch = in_flight.try_pop_batch(1).expect("the deletion");
    in_flight.rewound(&[], 100);
    in_flight.added(&thing("a", 2, 110));
    batch.ack();
    assert_eq!(in_flight.drain(), ["a: Added 110"]);
}

// INV-FIFO-11
#[test]
fn unchanged_object_of_a_list_is_the_stored_one() {
    let stored = thing("a", 1, 5);
    let fifo = before(&NaiveStore::holding(&[
        Arc::clone(&stored),
        thing("b", 1, 6),
    ]));
    fifo.replaced(&[thing("a", 1, 5), thing("b", 1, 6)], 9);
    let batch = fifo.try_pop_batch(1).expect("the list");
    assert_eq!(short(&batch), ["a: Replaced 5", "b: Replaced 6"]);
    let (_, deltas) = batch.iter().next().expect("a");
    let object = deltas.newest().object().expect("an object");
    assert!(Arc::ptr_eq(object, &stored));
    assert_eq!(fifo.stats().unchanged, 2);
    batch.ack();
}

// INV-FIFO-11: what is queued is not queued again; what is in flight may fail and is.
#[test]
fn unchanged_object_of_a_list_is_queued_once() {
    for (place, fifo, batch) in at_five() {
        fifo.replaced(&[thing("a", 1, 5)], 9);
        let all = queued(&fifo, batch);
        let expected = if place == "queued" { "" } else { "Replaced 5" };
        assert_eq!(all, expected, "the newest is {place}");
    }
}

// INV-FIFO-12
#[test]
fn undecodable_objects_count_as_present() {
    for queue in [before, in_order] {
        let fifo = queue(&NaiveStore::holding(&[thing("a", 1, 5), thing("b", 1, 6)]));
        let mut list = ObjectList::new();
        list.insert_undecodable(key("a"));
        list.insert_undecodable(key("unknown"));
        fifo.replace(list, ListEnd::new(9.into()));
        assert_eq!(fifo.drain(), ["b: Deleted? 6", "a: Undecodable -"]);

        fifo.undecodable(key("a"), Some(10.into()));
        fifo.undecodable(key("unknown"), Some(11.into()));
        let (_, newest) = fifo.newest(&key("a")).expect("the last decodable one");
        assert_eq!(newest.version, Some(5));
        fifo.updated(&thing("a", 1, 12));
        fifo.deleted(&thing("a", 1, 13));
        let all = fifo.drain().join(", ").replace(", a: ", ", ");
        assert_eq!(all, "a: Undecodable 10, Updated 12, Deleted 13");
    }
}

// INV-FIFO-12: an undecodable state changes nothing about the newest object.
#[test]
fn comparisons_look_past_undecodable_states() {
    let undecodable = |fifo: &DeltaFifo<Thing>| fifo.undecodable(key("a"), Some(6.into()));
    let check = |what: &dyn Fn(&DeltaFifo<Thing>), expected: &str| {
        let both = |fifo: &DeltaFifo<Thing>| {
            undecodable(fifo);
            what(fifo);
        };
        check(both, expected);
    };
    check(&|fifo| fifo.updated(&thing("a", 1, 4)), "Undecodable 6");
    check(
        &|fifo| fifo.updated(&thing("a", 2, 7)),
        "Undecodable 6, Deleted? 5, Added 7",
    );
    check(
        &|fifo| {
            fifo.deleted(&thing("a", 1, 7));
            fifo.deleted(&thing("a", 1, 8));
            assert_eq!(fifo.newest(&key("a")), None);
        },
        "Undecodable 6, Deleted 7",
    );
}

// INV-FIFO-10, 12: an undecodable object of a rewind is what the queue has of it only if that is no newer than the list.
#[test]
fn rewind_deletes_undecodable_objects_that_are_newer_than_it() {
    let rewound = |version: u64| {
        let fifo = before(&NaiveStore::holding(&[thing("a", 1, 50)]));
        let mut list = ObjectList::new();
        list.insert_undecodable(key("a"));
        fifo.replace(list, ListEnd::new(version.into()).rewind(true));
        fifo
    };
    let kept = rewound(100);
    assert!(kept.newest(&key("a")).is_some());
    assert_eq!(kept.drain(), ["a: Undecodable -"]);
    let undone = rewound(40);
    assert!(undone.newest(&key("a")).is_none());
    // The server has it still, in another state.
    undone.updated(&thing("a", 1, 41));
    assert_eq!(undone.drain(), ["a: Deleted? 50, Added 41"]);
    let ordinary = before(&NaiveStore::holding(&[thing("a", 1, 50)]));
    let mut list = ObjectList::new();
    list.insert_undecodable(key("a"));
    ordinary.replace(list, ListEnd::new(40.into()));
    assert_eq!(ordinary.drain(), ["a: Undecodable -"]);
}

// INV-FIFO-10, 20: a rewind that is dropped with the queue, or of which a key failed, is made up for by the next list.
#[test]
fn list_after_a_dropped_rewind_is_a_rewind() {
    for order in [QueueOrder::ByKey, QueueOrder::InOrder] {
        for has_failed in [false, true] {
            let store = NaiveStore::holding(&[thing("a", 1, 50)]);
            let config = DeltaFifoConfig::new().known(store).order(order);
            let fifo = DeltaFifo::new(config.max_queued(Some(1)));
            fifo.rewound(&[thing("a", 1, 30)], 40);
            if has_failed {
                let batch = fifo.try_pop_batch(1).expect("the rewind");
                batch.ack_except([&key("a")]);
            }
            fifo.added(&thing("b", 1, 41));
            fifo.added(&thing("c", 1, 42));
            assert!(fifo.needs_list());
            assert!(
                fifo.newest(&key("a")).is_none(),
                "nothing is to be compared"
            );
            // The version is that of the known object, which is another.
            fifo.replaced(&[thing("a", 1, 50)], 60);
            let batch = fifo.try_pop_batch(1).expect("the list");
            assert!(batch.list_end().is_some_and(|end| end.rewind));
            assert_eq!(short(&batch), ["a: Replaced 50"]);
            batch.ack();
            assert!(fifo.newest(&key("a")).is_some());
        }
    }
}

// INV-FIFO-10, 12: an undecodable object of a rewind may be the deleted one.
#[test]
fn deleted_objects_that_a_rewind_brings_back_are_queued() {
    for queue in [before, in_order] {
        for is_in_flight in [true, false] {
            let fifo = queue(&NaiveStore::holding(&[thing("a", 1, 50)]));
            fifo.deleted(&thing("a", 1, 60));
            let batch = is_in_flight.then(|| fifo.try_pop_batch(1));
            let mut list = ObjectList::new();
            list.insert_undecodable(key("a"));
            fifo.replace(list, ListEnd::new(55.into()).rewind(true));
            fifo.updated(&thing("a", 1, 56));
            if let Some(batch) = batch.flatten() {
                assert_eq!(short(&batch), ["a: Deleted 60"]);
                batch.ack();
            }
            let all = fifo.drain().join(", ");
            assert!(all.ends_with(" 56"), "{all}");
        }
    }
}

// INV-FIFO-6
#[test]
fn list_is_compared_when_it_is_complete() {
    let store = NaiveStore::holding(&[thing("a", 1, 5), thing("b", 1, 6)]);
    let fifo = before(&store);
    let mut list = ObjectList::new();
    for name in ["a", "b"] {
        let (key, newest) = fifo.newest(&key(name)).expect("it is stored");
        list.insert(key, newest);
    }
    // Changes that the consumer applies meanwhile.
    fifo.updated(&thing("a", 1, 7));
    fifo.deleted(&thing("b", 1, 8));
    let batch = fifo.try_pop_batch(10).expect("both");
    store.apply(&batch);
    batch.ack();
    fifo.replace(list, ListEnd::new(9.into()));
    let batch = fifo.try_pop_batch(1).expect("the list");
    assert_eq!(short(&batch), ["b: Replaced 6"]);
    let (_, deltas) = batch.iter().next().expect("b");
    assert!(matches!(deltas.newest(), Delta::Replaced(_)));
    batch.ack();
}
