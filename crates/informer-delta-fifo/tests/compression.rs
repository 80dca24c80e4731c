//! Long chains are compressed to what a consumer must see: the end of the life it knows, and the newest state.

mod common;

use common::{Calls, NaiveStore, Thing, key, plain, short, thing};
use informer_delta_fifo::{Config, DeltaFifo};
use informer_store::{Deletion, DeltaSink};

/// A queue that compresses from the fourth delta on, in front of `a` in life 1 at version 1, or of nothing.
fn fifo(stored: bool) -> DeltaFifo<Thing> {
    let a = thing("a", 1, 1);
    let store = NaiveStore::holding(if stored {
        std::slice::from_ref(&a)
    } else {
        &[]
    });
    DeltaFifo::with_config(&Config::new().known_objects(store).max_deltas(Some(3)))
}

fn check(stored: bool, fill: impl FnOnce(&DeltaFifo<Thing>), expected: &str) {
    let fifo = fifo(stored);
    fill(&fifo);
    assert_eq!(fifo.drain(), [expected]);
    assert!(fifo.stats().compressed > 0);
}

// INV-FIFO-13
#[test]
fn changes_in_one_life_become_one() {
    let updates = |fifo: &DeltaFifo<Thing>| {
        (2..=5).for_each(|version| fifo.updated(&thing("a", 1, version)));
    };
    check(true, updates, "a: Updated 5");
    check(false, updates, "a: Added 5");
}

// INV-FIFO-13
#[test]
fn the_end_of_the_known_life_survives() {
    let two_lives = |fifo: &DeltaFifo<Thing>| {
        fifo.updated(&thing("a", 1, 2));
        fifo.deleted(&thing("a", 1, 3));
        fifo.added(&thing("a", 2, 4));
        fifo.updated(&thing("a", 2, 5));
    };
    check(true, two_lives, "a: Deleted 3, Added 5");
    check(false, two_lives, "a: Added 5");
    let unseen_end = |fifo: &DeltaFifo<Thing>| {
        fifo.updated(&thing("a", 1, 2));
        fifo.updated(&thing("a", 2, 3));
        fifo.updated(&thing("a", 3, 4));
    };
    check(true, unseen_end, "a: Deleted? 2, Added 4");
    let both_end = |fifo: &DeltaFifo<Thing>| {
        fifo.updated(&thing("a", 1, 2));
        fifo.deleted(&thing("a", 1, 3));
        fifo.added(&thing("a", 2, 4));
        fifo.deleted(&thing("a", 2, 5));
    };
    check(true, both_end, "a: Deleted 3");
}

// INV-FIFO-13: of an object that the consumer never knew, the end stays, so that nothing older brings it back.
#[test]
fn an_end_stays_even_where_the_consumer_knew_nothing() {
    let fill = |fifo: &DeltaFifo<Thing>| {
        (2..=4).for_each(|version| fifo.updated(&thing("a", 1, version)));
        fifo.deleted(&thing("a", 1, 5));
        fifo.replaced(&[thing("a", 1, 4)], 4);
    };
    check(false, fill, "a: Deleted 5");
}

// INV-FIFO-12, 13
#[test]
fn that_the_newest_copy_was_set_aside_survives() {
    let fill = |fifo: &DeltaFifo<Thing>| {
        (2..=4).for_each(|version| fifo.updated(&thing("a", 1, version)));
        fifo.set_aside(key("a"), Some(5.into()));
    };
    check(true, fill, "a: Updated 4, SetAside 5");
    check(false, fill, "a: Added 4, SetAside 5");
    let only = |fifo: &DeltaFifo<Thing>| {
        (2..=5u64).for_each(|version| fifo.set_aside(key("a"), Some(version.into())));
    };
    check(true, only, "a: SetAside 5");
    let healed = |fifo: &DeltaFifo<Thing>| {
        (2..=4u64).for_each(|version| fifo.set_aside(key("a"), Some(version.into())));
        fifo.updated(&thing("a", 1, 5));
    };
    check(true, healed, "a: Updated 5");
}

// INV-FIFO-13: what only lists told stays a list's news.
#[test]
fn news_of_lists_alone_stays_news_of_a_list() {
    let fifo = fifo(false);
    (1..=4).for_each(|value| fifo.replaced(&[plain("a", value)], value));
    assert_eq!(fifo.drain(), ["a: Replaced 4"]);
}

// INV-FIFO-13: what is out counts as applied, and if it returns, nothing is missing.
#[test]
fn what_is_in_flight_counts_as_applied() {
    let fifo = fifo(false);
    fifo.added(&thing("a", 1, 2));
    let batch = fifo.try_pop_batch(1).expect("a");
    (3..=6).for_each(|version| fifo.updated(&thing("a", 1, version)));
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
fn without_a_limit_every_delta_is_kept() {
    let fifo = DeltaFifo::with_config(&Config::new().max_deltas(None));
    (1..=100).for_each(|version| fifo.updated(&thing("a", 1, version)));
    assert_eq!(fifo.stats().queued_deltas, 100);
    assert_eq!(fifo.stats().compressed, 0);
}

// INV-FIFO-13: the limit can be lifted later, as an informer does whose handlers must miss no step.
#[test]
fn the_limit_holds_for_what_comes_after_it_was_set() {
    let fifo = DeltaFifo::with_config(&Config::new().max_deltas(Some(3)));
    (1..=10).for_each(|version| fifo.updated(&thing("a", 1, version)));
    let before = fifo.stats().queued_deltas;
    assert!(before <= 3, "{before} deltas are queued");
    fifo.set_max_deltas(None);
    (11..=20).for_each(|version| fifo.updated(&thing("a", 1, version)));
    assert_eq!(fifo.stats().queued_deltas, before + 10);
}
