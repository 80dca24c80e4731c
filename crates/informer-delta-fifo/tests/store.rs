//! The queue in front of the real store.

mod common;

use std::sync::Arc;
use std::time::Instant;

use common::{Calls, key, short, thing};
use informer_delta_fifo::{DeltaFifo, KnownObjects};
use informer_store::{DeltaSink, Known, Object, Store};

#[test]
fn the_store_is_what_the_queue_knows() {
    let store = Store::new();
    let stored = thing("a", 1, 5);
    store.upsert(key("a"), Arc::clone(&stored));
    store.upsert(key("b"), thing("b", 1, 6));
    let fifo = DeltaFifo::new(store.clone());
    assert_eq!(fifo.known(&key("a")), Some(Known::of(&*stored)));
    assert_eq!(KnownObjects::stored_key(&store, &key("a")), Some(key("a")));
    fifo.replaced(&[thing("a", 1, 5)], 9);
    let batch = fifo.try_pop_batch(1).expect("the list");
    assert_eq!(short(&batch), ["b: Deleted? 6", "a: Replaced 5"]);
    let told = batch
        .iter()
        .last()
        .and_then(|deltas| deltas.newest())
        .expect("a");
    assert!(Arc::ptr_eq(told.object().expect("an object"), &stored));
    batch.ack();
}

// INV-FIFO-15
#[test]
fn what_was_put_over_the_store_by_hand_decides_nothing() {
    let store = Store::new();
    store.upsert(key("a"), thing("a", 1, 5));
    let fifo = DeltaFifo::new(store.clone());
    store.overlay_as(key("a"), thing("a", 1, 7), Instant::now());
    store.overlay_as(key("new"), thing("new", 2, 8), Instant::now());
    assert_eq!(
        store
            .get(&key("a"))
            .and_then(|object| object.resource_version()),
        Some(7.into())
    );
    fifo.updated(&thing("a", 1, 7));
    fifo.added(&thing("new", 2, 8));
    fifo.resync();
    assert_eq!(fifo.drain(), ["a: Updated 7", "new: Added 8"]);
}
