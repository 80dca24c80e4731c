//! The strict order over keys: what client-go's tests of its newer queue, RealFIFO, assert (R1–R10, QF1–QF9), for a
//! queue with `QueueOrder::InOrder`.

mod common;

use common::{Calls, NaiveStore, Thing, in_order, plain, short, thing};
use informer_delta_fifo::{Batch, DeltaFifo};
use informer_store::{Deletion, DeltaSink, ObjectVersion, ResourceVersion};

fn fifo() -> DeltaFifo<Thing> {
    in_order(&NaiveStore::holding(&[]))
}

fn next(fifo: &DeltaFifo<Thing>) -> Batch<Thing> {
    fifo.try_pop_batch(1000).expect("something is queued")
}

// R1, QF1, INV-FIFO-16: one delta for each call, however many of one key. Ours: a delete of what is unknown is ignored.
#[test]
fn changes_are_popped_in_the_order_of_receipt() {
    let fifo = fifo();
    fifo.deleted(&plain("unknown", 1));
    fifo.added(&plain("a", 1));
    fifo.added(&plain("b", 1));
    fifo.updated(&plain("a", 2));
    (3..20).for_each(|value| fifo.updated(&plain("b", value)));
    fifo.deleted(&plain("a", 3));
    fifo.added(&plain("a", 4));
    let mut expected = vec![
        "a: Added 1".to_owned(),
        "b: Added 1".into(),
        "a: Updated 2".into(),
    ];
    expected.extend((3..20).map(|value| format!("b: Updated {value}")));
    expected.extend(["a: Deleted 3".into(), "a: Added 4".into()]);
    assert_eq!(fifo.stats().queued_deltas, expected.len());
    assert_eq!(fifo.drain(), expected, "nothing is coalesced");
    assert_eq!(fifo.stats().unknown_deletions, 1);
}

// QF4, R9: a batch ends before the second change of a key: at the start, in the middle, at the end.
#[test]
fn second_change_of_a_key_begins_the_next_batch() {
    let check = |names: &[&str], expected: &[usize]| {
        let fifo = fifo();
        names.iter().for_each(|name| fifo.updated(&plain(name, 1)));
        let mut sizes = Vec::new();
        while let Some(batch) = fifo.try_pop_batch(1000) {
            sizes.push(batch.len());
            batch.ack();
        }
        assert_eq!(sizes, expected, "{names:?}");
    };
    check(&["a", "a", "b", "c"], &[1, 3]);
    check(&["a", "b", "b", "c"], &[2, 2]);
    check(&["a", "b", "c", "c"], &[3, 1]);
    check(&["a", "b", "c"], &[3]);
}

// QF2, QF3, QF5, R9: a list is one batch, whatever its size, and nothing else is in it.
#[test]
fn list_is_a_batch_of_its_own_and_the_size_of_others_is_limited() {
    let fifo = fifo();
    let things: Vec<_> = (1..=2500)
        .map(|number| thing(&format!("{number:04}"), 1, number))
        .collect();
    fifo.replaced(&things, 5000);
    for object in &things {
        fifo.updated(&thing(&object.name, 1, 6000 + object.value));
    }
    let mut batches = Vec::new();
    while let Some(batch) = fifo.try_pop_batch(1000) {
        batches.push((batch.len(), batch.is_initial(), batch.list_end().is_some()));
        batch.ack();
    }
    let later = |len| (len, false, false);
    assert_eq!(
        batches,
        [(2500, true, true), later(1000), later(1000), later(500)]
    );
}

// QF7, R5, R7: several lists stay apart, in their places, deletions before objects.
#[test]
fn lists_keep_their_place_between_changes() {
    let fifo = in_order(&NaiveStore::holding(&[thing("stored", 1, 1)]));
    fifo.added(&thing("early", 1, 2));
    fifo.replaced(&[thing("a", 1, 3), thing("b", 1, 4)], 10);
    fifo.updated(&thing("a", 1, 11));
    fifo.replaced(&[thing("b", 1, 15), thing("c", 1, 16)], 20);
    let all = fifo.drain();
    let expected = [
        "early: Added 2",
        "early: Deleted? 2",
        "stored: Deleted? 1",
        "a: Replaced 3",
        "b: Replaced 4",
        "a: Updated 11",
        "a: Deleted? 11",
        "b: Replaced 15",
        "c: Replaced 16",
    ];
    assert_eq!(all, expected);
}

// QF9, R8: it is reached when all before it is applied, and not by later changes.
#[test]
fn bookmark_keeps_its_place_before_a_list() {
    let fifo = fifo();
    let reached = |batch: &Batch<Thing>| batch.applied_up_to().and_then(ResourceVersion::as_u64);
    fifo.replaced(&[], 1);
    fifo.added(&thing("a", 1, 5));
    fifo.bookmark(7.into());
    fifo.replaced(&[thing("a", 1, 9)], 10);
    fifo.updated(&thing("a", 1, 12));
    fifo.bookmark(15.into());
    let mut versions = Vec::new();
    while let Some(batch) = fifo.try_pop_batch(1000) {
        versions.push((short(&batch).join(""), reached(&batch)));
        batch.ack();
    }
    let expected = [
        ("", 1),
        ("a: Added 5", 7),
        ("a: Replaced 9", 10),
        ("a: Updated 12", 15),
    ];
    assert_eq!(
        versions,
        expected.map(|(text, version)| (text.to_owned(), Some(version)))
    );
}

// R6, QF8, D6: a key with anything queued or in flight has no `Sync`.
#[test]
fn resync_is_queued_after_what_is_queued() {
    let stored = [thing("a", 1, 1), thing("b", 1, 1), thing("c", 1, 1)];
    let fifo = in_order(&NaiveStore::holding(&stored));
    fifo.updated(&thing("a", 1, 2));
    let out = next(&fifo);
    fifo.updated(&thing("b", 1, 3));
    fifo.resync();
    out.ack();
    assert_eq!(fifo.drain(), ["b: Updated 3", "c: Sync 1"]);
}

// R3, DF10
#[test]
fn queue_is_synced_once_its_first_list_is_acknowledged() {
    let fifo = fifo();
    fifo.replaced(&[thing("a", 1, 1)], 2);
    fifo.added(&thing("later", 1, 3));
    let list = next(&fifo);
    assert!(list.is_initial() && list.completes_sync() && list.list_end().is_some());
    assert!(!fifo.has_synced());
    list.ack();
    assert!(fifo.has_synced());
    let later = next(&fifo);
    assert!(!later.is_initial());
    later.ack();

    let empty = self::fifo();
    empty.replaced(&[], 1);
    assert!(empty.has_synced());
    let change_first = self::fifo();
    change_first.added(&plain("a", 1));
    assert!(change_first.has_synced());
}

// INV-FIFO-1, 16: apart from newer changes of its keys.
#[test]
fn requeued_batch_stands_at_the_front_as_it_was() {
    let fifo = fifo();
    fifo.added(&thing("a", 1, 1));
    fifo.added(&thing("b", 1, 2));
    let out = next(&fifo);
    fifo.updated(&thing("a", 1, 3));
    drop(out);
    assert_eq!(fifo.drain(), ["a: Added 1", "b: Added 2", "a: Updated 3"]);

    fifo.replaced(&[thing("a", 1, 4)], 5);
    let out = next(&fifo);
    fifo.updated(&thing("a", 1, 6));
    fifo.replaced(&[thing("a", 1, 6)], 7);
    drop(out);
    let list = next(&fifo);
    assert_eq!(short(&list), ["a: Replaced 4"]);
    assert_eq!(
        list.list_end()
            .and_then(|end| end.resource_version.as_u64()),
        Some(5)
    );
    list.ack();
    assert_eq!(fifo.drain(), ["a: Updated 6"]);
}

// INV-FIFO-8, 16: behind a list or before it.
#[test]
fn comparisons_look_at_the_newest_in_the_queue() {
    let fifo = in_order(&NaiveStore::holding(&[thing("a", 1, 1)]));
    fifo.updated(&thing("a", 1, 5));
    fifo.undecodable(common::key("a"), Some(6.into()));
    fifo.updated(&thing("a", 1, 4));
    fifo.replaced(&[thing("a", 1, 3)], 3);
    assert_eq!(fifo.stats().outdated, 2, "those at 4 and at 3");
    fifo.replaced(&[thing("a", 1, 8)], 8);
    fifo.updated(&thing("a", 1, 7));
    fifo.updated(&thing("a", 1, 9));
    let all = [
        "a: Updated 5",
        "a: Undecodable 6",
        "a: Replaced 8",
        "a: Updated 9",
    ];
    assert_eq!(fifo.drain(), all);
}

// D3, INV-FIFO-9
#[test]
fn tombstone_is_improved_and_recreation_is_one_change() {
    let fifo = in_order(&NaiveStore::holding(&[thing("a", 1, 1), thing("b", 1, 1)]));
    fifo.delete(
        common::key("a"),
        Deletion::without_object(ObjectVersion::new(None, Some(4.into()))),
    );
    fifo.deleted(&thing("a", 1, 4));
    fifo.updated(&thing("b", 2, 5));
    let batch = next(&fifo);
    assert_eq!(short(&batch), ["a: Deleted 4", "b: Deleted? 1, Added 5"]);
    batch.ack();
    // Also one that a list brought, which stands in the list.
    let fifo = in_order(&NaiveStore::holding(&[thing("a", 1, 1)]));
    fifo.replaced(&[], 3);
    fifo.deleted(&thing("a", 1, 2));
    assert_eq!(fifo.drain(), ["a: Deleted 2"]);
}
