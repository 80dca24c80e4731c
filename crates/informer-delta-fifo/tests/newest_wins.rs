//! What is older than the newest that is known, wherever that lies, has no effect.

mod common;

use std::sync::Arc;

use common::{Calls, NaiveStore, Thing, key, plain, short, thing, uid};
use informer_delta_fifo::{Batch, Config, DeltaFifo};
use informer_store::{Deletion, DeltaSink, Known, Replace, ReplaceEnd};

/// Where the newest copy lies, the queue, and what is out of it.
type Case = (&'static str, DeltaFifo<Thing>, Option<Batch<Thing>>);

/// Queues whose newest copy of `a` is life 1 at version 5: queued, in flight, stored.
fn at_five() -> [Case; 3] {
    let newest = thing("a", 1, 5);
    let queued = DeltaFifo::with_config(&Config::new());
    queued.added(&newest);
    let flying = DeltaFifo::with_config(&Config::new());
    flying.added(&newest);
    let batch = flying.try_pop_batch(1);
    let stored = DeltaFifo::new(NaiveStore::holding(&[newest]));
    [
        ("queued", queued, None),
        ("in flight", flying, batch),
        ("stored", stored, None),
    ]
}

/// What is queued beyond the copy at version 5.
fn news(fifo: &DeltaFifo<Thing>, batch: Option<Batch<Thing>>) -> String {
    if let Some(batch) = batch {
        batch.ack();
    }
    let all = fifo.drain().join("; ");
    let all = all.strip_prefix("a: Added 5").unwrap_or(&all);
    all.trim_start_matches(", ")
        .trim_start_matches("a: ")
        .to_owned()
}

fn check(what: impl Fn(&DeltaFifo<Thing>), expected: &str) {
    for (place, fifo, batch) in at_five() {
        what(&fifo);
        assert_eq!(news(&fifo, batch), expected, "newest is {place}");
    }
}

// INV-FIFO-8
#[test]
fn an_older_or_equal_copy_is_dropped_wherever_the_newest_lies() {
    check(|fifo| fifo.updated(&thing("a", 1, 4)), "");
    check(|fifo| fifo.updated(&thing("a", 1, 5)), "");
    check(|fifo| fifo.added(&thing("a", 7, 4)), "");
    check(|fifo| fifo.updated(&thing("a", 1, 6)), "Updated 6");
    check(|fifo| fifo.updated(&plain("a", 3)), "Updated 3");
}

// INV-FIFO-8
#[test]
fn a_late_delete_of_an_older_life_is_dropped() {
    check(|fifo| fifo.deleted(&thing("a", 7, 4)), "");
    check(|fifo| fifo.deleted(&thing("a", 1, 4)), "");
    check(
        |fifo| fifo.delete(key("a"), Deletion::without_object(Some(uid(7)), None)),
        "",
    );
    check(|fifo| fifo.deleted(&thing("a", 1, 6)), "Deleted 6");
    check(
        |fifo| fifo.delete(key("a"), Deletion::without_object(Some(uid(1)), None)),
        "Deleted? 5",
    );
    // A later life that was never seen has ended, so this one has.
    check(|fifo| fifo.deleted(&thing("a", 7, 9)), "Deleted? 5");
}

// INV-FIFO-9
#[test]
fn a_new_uid_is_the_end_of_the_old_life_and_an_addition() {
    check(
        |fifo| fifo.updated(&thing("a", 2, 8)),
        "Deleted? 5, Added 8",
    );
    check(|fifo| fifo.added(&thing("a", 2, 8)), "Deleted? 5, Added 8");
    check(
        |fifo| fifo.replaced(&[thing("a", 2, 8)], 9),
        "Deleted? 5, Replaced 8",
    );
}

// INV-FIFO-8: peers 43's other half, a stale relist never beats a queued newer event.
#[test]
fn a_stale_list_does_not_undo_newer_events() {
    check(|fifo| fifo.replaced(&[thing("a", 1, 3)], 4), "");
    check(|fifo| fifo.replaced(&[], 4), "");
    check(|fifo| fifo.replaced(&[], 5), "Deleted? 5");
    check(|fifo| fifo.replaced(&[thing("a", 1, 7)], 9), "Replaced 7");
    check(
        |fifo| {
            fifo.deleted(&thing("a", 1, 8));
            fifo.replaced(&[thing("a", 1, 5)], 6);
        },
        "Deleted 8",
    );
    check(
        |fifo| {
            fifo.replaced(&[], 9);
            fifo.replaced(&[thing("a", 1, 5)], 7);
        },
        "Deleted? 5",
    );
}

// INV-FIFO-10
#[test]
fn a_rewind_holds_even_where_it_is_older() {
    check(|fifo| fifo.rewound(&[thing("a", 1, 3)], 4), "Replaced 3");
    check(|fifo| fifo.rewound(&[], 4), "Deleted? 5");
    check(
        |fifo| fifo.rewound(&[thing("a", 3, 2)], 4),
        "Deleted? 5, Replaced 2",
    );
    let fifo = DeltaFifo::with_config(&Config::new());
    fifo.replaced(&[thing("a", 1, 50)], 100);
    fifo.rewound(&[thing("a", 1, 3)], 4);
    let batch = fifo.try_pop_batch(1).expect("the rewind");
    assert!(batch.replace().is_some_and(|end| end.rewind));
    assert_eq!(batch.applied_up_to(), Some(&4.into()));
    batch.ack();
    fifo.updated(&thing("b", 1, 6));
    let batch = fifo.try_pop_batch(1).expect("b");
    assert_eq!(batch.applied_up_to(), Some(&6.into()));
    batch.ack();
}

// INV-FIFO-10: a deletion that waits since before the rewind must not hide what comes after it.
#[test]
fn after_a_rewind_an_object_may_come_back_at_a_version_before_its_deletion() {
    let deleted = || {
        let fifo = DeltaFifo::with_config(&Config::new());
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
    assert_eq!(
        listed.drain(),
        ["a: Replaced 50, Deleted 200, Replaced 110"]
    );

    let in_flight = deleted();
    let batch = in_flight.try_pop_batch(1).expect("the deletion");
    in_flight.rewound(&[], 100);
    in_flight.added(&thing("a", 2, 110));
    batch.ack();
    assert_eq!(in_flight.drain(), ["a: Added 110"]);
}

// INV-FIFO-11
#[test]
fn an_unchanged_object_of_a_list_keeps_the_stored_arc_and_is_still_told() {
    let stored = thing("a", 1, 5);
    let fifo = DeltaFifo::new(NaiveStore::holding(&[
        Arc::clone(&stored),
        thing("b", 1, 6),
    ]));
    let mut replace = fifo.begin_replace();
    replace.insert(key("a"), thing("a", 1, 5));
    replace.keep(key("b"));
    replace.finish(ReplaceEnd::new(9.into()));
    let batch = fifo.try_pop_batch(1).expect("the list");
    assert_eq!(short(&batch), ["a: Replaced 5", "b: Replaced 6"]);
    let told = batch
        .iter()
        .next()
        .and_then(|deltas| deltas.newest())
        .expect("a");
    assert!(Arc::ptr_eq(told.object().expect("an object"), &stored));
    assert_eq!(fifo.stats().unchanged, 2);
    batch.ack();
}

// INV-FIFO-11: what is on its way already is not told twice.
#[test]
fn an_unchanged_object_that_is_queued_or_in_flight_is_told_once() {
    check(|fifo| fifo.replaced(&[thing("a", 1, 4)], 9), "");
    let queued = DeltaFifo::with_config(&Config::new());
    queued.added(&thing("a", 1, 5));
    queued.replaced(&[thing("a", 1, 5)], 9);
    assert_eq!(queued.drain(), ["a: Added 5"]);
}

// INV-FIFO-12
#[test]
fn what_is_set_aside_counts_as_present() {
    let fifo = DeltaFifo::new(NaiveStore::holding(&[thing("a", 1, 5), thing("b", 1, 6)]));
    let mut replace = fifo.begin_replace();
    replace.set_aside(key("a"));
    replace.set_aside(key("unknown"));
    replace.finish(ReplaceEnd::new(9.into()));
    assert_eq!(fifo.drain(), ["b: Deleted? 6", "a: SetAside -"]);

    fifo.set_aside(key("a"), Some(10.into()));
    fifo.set_aside(key("unknown"), Some(11.into()));
    assert_eq!(
        fifo.known(&key("a")),
        Some(Known::of(&*thing("a", 1, 5))),
        "the last good copy"
    );
    fifo.updated(&thing("a", 1, 12));
    fifo.deleted(&thing("a", 1, 13));
    let batch = fifo.try_pop_batch(1).expect("a");
    assert_eq!(short(&batch), ["a: SetAside 10, Updated 12, Deleted 13"]);
    assert_eq!(batch.applied_up_to(), Some(&13.into()));
    batch.ack();
}

// INV-FIFO-12: set aside only, the object is what it was before.
#[test]
fn a_key_that_is_only_set_aside_is_as_known_as_before() {
    let fifo = DeltaFifo::new(NaiveStore::holding(&[thing("a", 1, 5)]));
    fifo.set_aside(key("a"), Some(6.into()));
    fifo.updated(&thing("a", 1, 4));
    fifo.deleted(&thing("a", 1, 7));
    fifo.deleted(&thing("a", 1, 7));
    assert_eq!(fifo.known(&key("a")), None);
    assert_eq!(fifo.drain(), ["a: SetAside 6, Deleted 7"]);
}

// INV-FIFO-8, INV-FIFO-18: what is older than all that has arrived has been deleted since, as the store as a sink says too.
#[test]
fn an_old_event_does_not_bring_a_deleted_object_back() {
    let fifo = DeltaFifo::new(NaiveStore::holding(&[]));
    fifo.replaced(&[thing("a", 1, 5)], 10);
    fifo.deleted(&thing("a", 1, 12));
    assert_eq!(fifo.drain(), ["a: Replaced 5, Deleted 12"]);
    fifo.added(&thing("a", 1, 5));
    fifo.updated(&thing("a", 1, 11));
    assert_eq!(fifo.drain(), Vec::<String>::new());
    assert_eq!(fifo.stats().stale, 2);
    fifo.added(&thing("a", 2, 13));
    assert_eq!(fifo.drain(), ["a: Added 13"]);
}

// INV-FIFO-10: a copy of a time that the server went back from stays where the rewind's list has it unreadable, but its
// version hides nothing: neither a good copy, nor a deletion, nor a list without it.
#[test]
fn after_a_rewind_an_unreadable_copy_of_before_hides_nothing() {
    let rewound = || {
        let fifo = DeltaFifo::new(NaiveStore::holding(&[thing("a", 1, 200)]));
        fifo.replaced(&[thing("a", 1, 200)], 210);
        drop(fifo.drain());
        let mut list = fifo.begin_replace();
        list.set_aside(key("a"));
        list.finish(ReplaceEnd::new(100.into()).rewind(true));
        fifo
    };
    let check = |what: &dyn Fn(&DeltaFifo<Thing>), expected: &str| {
        let queued = rewound();
        what(&queued);
        assert_eq!(queued.drain(), [format!("a: SetAside -, {expected}")]);
        let stored = rewound();
        assert_eq!(stored.drain(), ["a: SetAside -"]);
        what(&stored);
        assert_eq!(stored.drain(), [format!("a: {expected}")]);
    };
    check(&|fifo| fifo.updated(&thing("a", 1, 110)), "Updated 110");
    check(
        &|fifo| fifo.updated(&thing("a", 2, 110)),
        "Deleted? 200, Added 110",
    );
    check(&|fifo| fifo.deleted(&thing("a", 1, 110)), "Deleted 110");
    check(&|fifo| fifo.deleted(&thing("a", 2, 110)), "Deleted? 200");
    check(&|fifo| fifo.replaced(&[], 110), "Deleted? 200");
    check(
        &|fifo| fifo.replaced(&[thing("a", 1, 90)], 110),
        "Replaced 90",
    );
    assert_eq!(rewound().known(&key("a")), None, "it must be decoded again");
}
