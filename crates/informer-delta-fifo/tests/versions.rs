//! Which resource version a store reaches by applying a batch.

mod common;

use common::{Calls, NaiveStore, Thing, before, in_order, key, short, thing};
use informer_delta_fifo::{Batch, DeltaFifo};
use informer_store::{DeltaSink, ResourceVersion};

fn fifo() -> DeltaFifo<Thing> {
    DeltaFifo::default()
}

fn number(batch: &Batch<Thing>) -> Option<u64> {
    batch.applied_up_to().and_then(ResourceVersion::as_u64)
}

/// Pops and acknowledges all, one key at a time: how many keys, and up to where.
fn steps(fifo: &DeltaFifo<Thing>) -> Vec<(usize, Option<u64>)> {
    let mut steps = Vec::new();
    while let Some(batch) = fifo.try_pop_batch(1) {
        steps.push((batch.len(), number(&batch)));
        batch.ack();
    }
    steps
}

// INV-FIFO-5
#[test]
fn applied_up_to_never_passes_what_is_still_queued() {
    let fifo = fifo();
    fifo.replaced(&[], 10);
    fifo.added(&thing("a", 1, 11));
    fifo.added(&thing("b", 1, 12));
    fifo.updated(&thing("a", 1, 13));
    fifo.bookmark(20.into());
    // The empty list; a with its update, but b is older than that; b, and with it everything.
    assert_eq!(steps(&fifo), [(0, Some(10)), (1, None), (1, Some(20))]);
}

// INV-FIFO-5: a queue that is never empty reaches what was received when a pass through it began.
#[test]
fn version_lags_one_pass_at_most() {
    for queue in [before, in_order] {
        let fifo = queue(&NaiveStore::holding(&[]));
        fifo.replaced(&[], 1);
        fifo.try_pop_batch(1).expect("the list").ack();
        let mut received = 1;
        let mut push = |fifo: &DeltaFifo<Thing>| {
            received += 1;
            fifo.updated(&thing(&format!("k{}", received % 7), 1, received));
            received
        };
        for _ in 0..5 {
            push(&fifo);
        }
        let mut behind = Vec::new();
        let mut reached = 1;
        for _ in 0..200 {
            let now = push(&fifo);
            behind.push(now);
            let batch = fifo.try_pop_batch(1).expect("something is queued");
            if let Some(version) = number(&batch) {
                assert!(version >= reached);
                reached = version;
                behind.retain(|received| *received > version);
            }
            batch.ack();
            assert!(behind.len() <= 2 * 7, "{} behind {now}", behind.len());
        }
        assert!(reached > 150, "{reached}");
    }
}

// INV-FIFO-5
#[test]
fn list_reaches_its_version_and_not_that_of_later_events() {
    for queue in [before, in_order] {
        let fifo = queue(&NaiveStore::holding(&[]));
        fifo.replaced(&[thing("a", 1, 3), thing("b", 1, 4)], 10);
        fifo.added(&thing("late", 1, 11));
        fifo.updated(&thing("b", 1, 12));
        let batch = fifo.try_pop_batch(1).expect("the list");
        assert_eq!(number(&batch), Some(10), "late is at 11 and still queued");
        batch.ack();
        let rest = steps(&fifo);
        assert_eq!(rest.last(), Some(&(1, Some(12))));
    }
}

// INV-FIFO-5, R8: a bookmark waits for what was received before it.
#[test]
fn bookmark_is_a_batch_without_keys_if_nothing_else_is_queued() {
    let fifo = fifo();
    fifo.replaced(&[thing("a", 1, 3)], 5);
    let batch = fifo.try_pop_batch(1).expect("the list");
    fifo.bookmark(9.into());
    assert_eq!(number(&batch), Some(5));
    batch.ack();
    let batch = fifo.try_pop_batch(1).expect("the bookmark");
    assert!(batch.is_empty() && batch.list_end().is_none());
    assert_eq!(number(&batch), Some(9));
    drop(batch);
    let batch = fifo.try_pop_batch(1).expect("the bookmark again");
    assert_eq!(number(&batch), Some(9));
    batch.ack();
    fifo.bookmark(9.into());
    fifo.bookmark(8.into());
    assert!(fifo.try_pop_batch(1).is_none(), "nothing is new");
}

// INV-FIFO-5: a watch without a resource version first sends all objects as added, in no order: that tells no version, nor does
// a list without one.
#[test]
fn additions_in_no_order_tell_no_version() {
    let fifo = fifo();
    fifo.replaced(&[thing("a", 1, 9)], 0);
    fifo.added(&thing("b", 1, 30));
    fifo.added(&thing("c", 1, 20));
    let batch = fifo.try_pop_batch(10).expect("the list");
    assert_eq!(number(&batch), None);
    batch.ack();
    let batch = fifo.try_pop_batch(10).expect("both");
    assert_eq!(short(&batch), ["b: Added 30", "c: Added 20"]);
    assert_eq!(number(&batch), None);
    batch.ack();
    fifo.updated(&thing("c", 1, 31));
    fifo.added(&thing("d", 1, 32));
    let batch = fifo.try_pop_batch(10).expect("both");
    assert_eq!(number(&batch), Some(32));
    batch.ack();
    fifo.replaced(&[], 0);
    fifo.added(&thing("e", 1, 5));
    while let Some(batch) = fifo.try_pop_batch(10) {
        assert_eq!(number(&batch), None);
        batch.ack();
    }
}

// INV-FIFO-17: nothing is reached beyond a key that fails before it is applied.
#[test]
fn failed_key_holds_the_version_back() {
    for queue in [before, in_order] {
        let fifo = queue(&NaiveStore::holding(&[]));
        fifo.replaced(&[], 1);
        fifo.try_pop_batch(1).expect("the list").ack();
        fifo.updated(&thing("a", 1, 8));
        let batch = fifo.try_pop_batch(10).expect("a");
        batch.ack_except([&key("a")]);
        fifo.updated(&thing("c", 1, 9));
        let again = fifo.try_pop_batch(1).expect("a again");
        assert_eq!(
            (short(&again).join(""), number(&again)),
            ("a: Updated 8".into(), None)
        );
        again.ack_except([&key("a")]);
        let again = fifo.try_pop_batch(1).expect("a once more");
        assert_eq!(number(&again), None);
        again.ack();
        assert_eq!(steps(&fifo), [(1, Some(9))]);
    }
}

// INV-FIFO-5, 10: after a rewind the version goes back with its list, and not with what was popped before.
#[test]
fn rewind_takes_the_version_back() {
    for queue in [before, in_order] {
        let fifo = queue(&NaiveStore::holding(&[]));
        fifo.replaced(&[thing("a", 1, 50)], 100);
        let batch = fifo.try_pop_batch(1).expect("the first list");
        fifo.rewound(&[thing("a", 1, 3)], 4);
        assert_eq!(number(&batch), Some(100));
        batch.ack();
        let batch = fifo.try_pop_batch(1).expect("the rewind");
        assert!(batch.list_end().is_some_and(|end| end.rewind));
        assert_eq!(number(&batch), Some(4));
        batch.ack();
        fifo.updated(&thing("b", 1, 6));
        assert_eq!(steps(&fifo), [(1, Some(6))]);
        assert!(fifo.try_pop_batch(1).is_none());
    }
}

// INV-FIFO-18: an object's own low version takes nothing back.
#[test]
fn low_versions_of_events_leave_the_version_where_it_is() {
    let fifo = fifo();
    fifo.replaced(&[], 500);
    fifo.added(&thing("a", 1, 20));
    assert_eq!(steps(&fifo), [(0, Some(500)), (1, Some(500))]);
}
