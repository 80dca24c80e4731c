//! Many threads at once: producers, lists, resyncs, waiting consumers, and failures between.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use common::{Calls, NaiveStore, key, thing};
use futures_util::FutureExt;
use informer_delta_fifo::DeltaFifo;
use informer_store::DeltaSink;

const ROUNDS: u64 = 2000;

// INV-FIFO-1, 2: whatever is dropped or awaited, everything is applied, once or again.
#[test]
fn nothing_is_lost_between_many_threads() {
    let store = NaiveStore::holding(&[]);
    let fifo = DeltaFifo::new(Arc::clone(&store));
    // A first list, so that consumers wait for synced as in real life.
    fifo.replaced(&[], 1);
    let batches = AtomicU64::new(0);
    thread::scope(|scope| {
        let producers: Vec<_> = (0..3u32)
            .map(|producer| {
                let fifo = fifo.clone();
                scope.spawn(move || {
                    for round in 0..ROUNDS {
                        let name = format!("p{producer}-{}", round % 7);
                        let version = 10 + round * 4 + u64::from(producer);
                        fifo.updated(&thing(&name, producer, version));
                        if round % 100 == 0 {
                            fifo.resync();
                            drop(fifo.begin_replace());
                        }
                    }
                })
            })
            .collect();
        for _ in 0..2 {
            scope.spawn(|| {
                while let Ok(batch) = fifo.pop_batch_blocking(3) {
                    if batches.fetch_add(1, Ordering::Relaxed).is_multiple_of(5) {
                        drop(batch);
                        continue;
                    }
                    store.apply(&batch);
                    batch.ack();
                }
            });
        }
        for producer in producers {
            producer.join().expect("no panic");
        }
        fifo.close();
    });
    assert!(
        fifo.synced()
            .now_or_never()
            .is_some_and(|synced| synced.is_ok())
    );
    assert_eq!(fifo.depth(), 0);
    let contents = store.contents();
    assert_eq!(contents.len(), 21);
    for producer in 0..3u64 {
        for slot in 0..7u64 {
            let last = (0..ROUNDS)
                .rev()
                .find(|round| round % 7 == slot)
                .expect("a round");
            let object = &contents[&key(&format!("p{producer}-{slot}"))];
            assert_eq!(object.version, Some(10 + last * 4 + producer));
        }
    }
}
