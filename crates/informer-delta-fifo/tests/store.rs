//! The queue in front of the real store.

mod common;

use std::sync::Arc;
use std::time::Instant;

use common::{Calls, key, short, thing};
use informer_delta_fifo::{DeltaFifo, DeltaFifoConfig, KnownObjects};
use informer_store::{DeltaSink, Store};

#[test]
fn store_is_what_the_queue_knows() {
    let store = Store::new();
    let stored = thing("a", 1, 5);
    store.upsert(key("a"), Arc::clone(&stored));
    store.upsert(key("b"), thing("b", 1, 6));
    let fifo = DeltaFifo::new(DeltaFifoConfig::new().known(store.clone()));
    let (_, newest) = fifo.newest(&key("a")).expect("it is stored");
    assert!(Arc::ptr_eq(&newest, &stored));
    assert_eq!(KnownObjects::known_key(&store, &key("a")), Some(key("a")));
    fifo.replaced(&[thing("a", 1, 5)], 9);
    let batch = fifo.try_pop_batch(1).expect("the list");
    assert_eq!(short(&batch), ["b: Deleted? 6", "a: Replaced 5"]);
    let (_, deltas) = batch.iter().last().expect("a");
    let object = deltas.newest().object().expect("an object");
    assert!(Arc::ptr_eq(object, &stored));
    batch.ack();
}

// INV-FIFO-15
#[test]
fn objects_written_locally_decide_nothing() {
    let store = Store::new();
    store.upsert(key("a"), thing("a", 1, 5));
    let fifo = DeltaFifo::new(DeltaFifoConfig::new().known(store.clone()));
    store.overlay_as(key("a"), thing("a", 1, 7), Instant::now());
    store.overlay_as(key("new"), thing("new", 2, 8), Instant::now());
    let overlaid = store.get(&key("a")).and_then(|object| object.version);
    assert_eq!(overlaid, Some(7));
    fifo.updated(&thing("a", 1, 7));
    fifo.added(&thing("new", 2, 8));
    fifo.resync();
    assert_eq!(fifo.drain(), ["a: Updated 7", "new: Added 8"]);
}
