//! What client-go's tests of its newer queue, RealFIFO, assert of batches, by the ids QF2–QF9, where it applies to a
//! queue of per-key deltas.

mod common;

use common::{Calls, Thing, plain, short, thing};
use informer_delta_fifo::DeltaFifo;
use informer_store::{DeltaSink, ResourceVersion};

fn fifo() -> DeltaFifo<Thing> {
    DeltaFifo::default()
}

fn things(count: u64) -> Vec<std::sync::Arc<Thing>> {
    (1..=count)
        .map(|number| thing(&format!("{number:04}"), 1, number))
        .collect()
}

// QF2, QF3
#[test]
fn batch_holds_all_initial_items_and_no_later_one() {
    let fifo = fifo();
    fifo.replaced(&things(3000), 5000);
    fifo.added(&thing("later", 1, 5001));
    let initial = fifo.try_pop_batch(10).expect("the list");
    assert_eq!((initial.len(), initial.is_initial()), (3000, true));
    initial.ack();
    let later = fifo.try_pop_batch(10).expect("later");
    assert_eq!(
        (short(&later), later.is_initial()),
        (vec!["later: Added 5001".into()], false)
    );
    later.ack();
}

// QF4; ours: a key is never in a batch twice, its deltas are together.
#[test]
fn key_is_in_a_batch_once() {
    let fifo = fifo();
    for name in ["a", "b", "a", "c", "b"] {
        fifo.updated(&plain(name, 1));
    }
    let batch = fifo.try_pop_batch(10).expect("all");
    assert_eq!(
        short(&batch),
        [
            "a: Updated 1, Updated 1",
            "b: Updated 1, Updated 1",
            "c: Updated 1"
        ]
    );
    batch.ack();
}

// QF5; ours: a list is always whole.
#[test]
fn size_of_a_batch_is_limited() {
    let fifo = fifo();
    for object in things(2500) {
        fifo.added(&object);
    }
    let mut sizes = Vec::new();
    while let Some(batch) = fifo.try_pop_batch(1000) {
        sizes.push(batch.len());
        batch.ack();
    }
    assert_eq!(sizes, [1000, 1000, 500]);
    fifo.added(&plain("one", 1));
    assert_eq!(fifo.try_pop_batch(0).expect("at least one").len(), 1);
}

// QF7, QF9; ours: by key, queued lists become one, at the last one's version.
#[test]
fn queued_lists_become_one_batch() {
    let fifo = fifo();
    fifo.added(&plain("early", 1));
    fifo.bookmark(2.into());
    fifo.replaced(&[plain("a", 1), plain("b", 1)], 10);
    fifo.replaced(&[plain("b", 2), plain("c", 2)], 20);
    let batch = fifo.try_pop_batch(1).expect("both");
    assert_eq!(
        short(&batch),
        [
            "early: Added 1, Deleted? 1",
            "a: Replaced 1, Deleted? 1",
            "b: Replaced 1, Replaced 2",
            "c: Replaced 2"
        ]
    );
    let end = batch.list_end().expect("a list");
    assert_eq!(end.resource_version, ResourceVersion::from(20));
    assert_eq!(batch.applied_up_to(), Some(&ResourceVersion::from(20)));
    batch.ack();
    assert!(fifo.try_pop_batch(1).is_none());
}
