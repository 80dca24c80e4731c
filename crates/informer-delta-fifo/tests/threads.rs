//! Many threads at once: producers, lists, resyncs, waiting consumers, and failures between.

mod common;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use common::{Calls, NaiveStore, before, key, thing};
use futures_util::FutureExt;
use informer_store::DeltaSink;
use parking_lot::Mutex;

const ROUNDS: u64 = 2000;

// INV-FIFO-1, 2: whatever is dropped or awaited, everything is applied, once or again.
#[test]
fn nothing_is_lost_between_many_threads() {
    let store = NaiveStore::holding(&[]);
    let fifo = before(&store);
    // A first list, so that consumers wait for synced.
    fifo.replaced(&[], 1);
    let batches = AtomicU64::new(0);
    // One history, whoever feeds it: the last version of each name, and of all.
    let history = Mutex::new((BTreeMap::new(), 10));
    thread::scope(|scope| {
        let producers: Vec<_> = (0..3u32)
            .map(|producer| {
                let (fifo, history) = (fifo.clone(), &history);
                scope.spawn(move || {
                    for round in 0..ROUNDS {
                        let name = format!("p{producer}-{}", round % 7);
                        {
                            let (last, version) = &mut *history.lock();
                            *version += 1;
                            fifo.updated(&thing(&name, producer, *version));
                            last.insert(key(&name), Some(*version));
                        }
                        if round % 100 == 0 {
                            fifo.resync();
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
    let versions: BTreeMap<_, _> = store
        .contents()
        .into_iter()
        .map(|(key, object)| (key, object.version))
        .collect();
    assert_eq!(versions.len(), 21);
    assert_eq!(versions, history.into_inner().0);
}
