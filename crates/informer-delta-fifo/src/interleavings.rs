//! Feeders and consumers under random interleavings of every use of the lock, which the crate shuttle chooses.
//!
//! Run by `cargo xtask interleavings`. A test that fails prints a schedule, by which `shuttle::replay` repeats it exactly.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use informer_store::{
    Closed, DeltaSink, ListEnd, Object, ObjectKey, ObjectList, ObjectMetadata, OwnerReference,
    ResourceVersion, Uid,
};
use shuttle::future::block_on;
use shuttle::sync::Mutex;
use shuttle::sync::atomic::{AtomicUsize, Ordering};
use shuttle::thread;

use crate::{DeltaFifo, DeltaFifoConfig, QueueOrder};

struct Thing(u64);

impl ObjectMetadata for Thing {
    fn name(&self) -> Option<&str> {
        Some("thing")
    }
    fn namespace(&self) -> Option<&str> {
        None
    }
    fn uid(&self) -> Option<Uid> {
        Some("uid".into())
    }
    fn resource_version(&self) -> Option<ResourceVersion> {
        Some(self.0.into())
    }
    fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        std::iter::empty()
    }
    fn annotations(&self) -> impl Iterator<Item = (&str, &str)> {
        std::iter::empty()
    }
    fn owner_references(&self) -> impl Iterator<Item = OwnerReference<'_>> {
        std::iter::empty()
    }

    fn generation(&self) -> Option<i64> {
        None
    }

    fn finalizers(&self) -> impl Iterator<Item = &str> {
        std::iter::empty()
    }

    fn is_being_deleted(&self) -> bool {
        false
    }
}

impl Object for Thing {
    type Metadata = Self;
    fn metadata(&self) -> &Self {
        self
    }
}

/// Half of the schedules are random, half change threads seldom, which finds what needs few but exact switches.
fn explore(scenario: fn()) {
    shuttle::check_random(scenario, 3_000);
    shuttle::check_pct(scenario, 3_000, 3);
}

fn add(fifo: &DeltaFifo<Thing>, name: &str, version: u64) {
    fifo.add(ObjectKey::cluster_scoped(name), Arc::new(Thing(version)));
}

fn list(fifo: &DeltaFifo<Thing>, version: u64) {
    let key = ObjectKey::cluster_scoped("listed");
    let list = ObjectList::from_iter([(key, Arc::new(Thing(version)))]);
    fifo.replace(list, ListEnd::new(version.into()));
}

// INV-FIFO-1, 2: each delta is applied once, by whichever consumer, and every wait ends.
#[test]
fn each_delta_is_applied_once_and_every_consumer_ends() {
    explore(|| {
        let config = DeltaFifoConfig::new().order(QueueOrder::InOrder);
        let fifo = DeltaFifo::<Thing>::new(config);
        let applied = Arc::new(Mutex::new(Vec::new()));
        let pops = Arc::new(AtomicUsize::new(0));
        let consumers = [(); 2].map(|()| {
            let (fifo, applied, pops) = (fifo.clone(), Arc::clone(&applied), Arc::clone(&pops));
            thread::spawn(move || {
                block_on(async {
                    while let Ok(batch) = fifo.pop_batch(1).await {
                        // The first batch is dropped.
                        if pops.fetch_add(1, Ordering::SeqCst) == 0 {
                            continue;
                        }
                        let keys = batch.iter().map(|(key, _)| key.to_string());
                        applied.lock().expect("no panic").extend(keys);
                        batch.ack();
                    }
                });
            })
        });
        for name in ["a", "b", "c"] {
            add(&fifo, name, 1);
        }
        fifo.close();
        for consumer in consumers {
            consumer.join().expect("no panic");
        }
        assert_eq!(*applied.lock().expect("no panic"), ["a", "b", "c"]);
        assert_eq!(fifo.depth(), 0);
    });
}

// A wait that is cancelled after it was notified leaves the notification to the next.
#[test]
fn cancelled_wait_loses_no_notification() {
    explore(|| {
        let fifo = DeltaFifo::<Thing>::default();
        let feeder = {
            let fifo = fifo.clone();
            thread::spawn(move || add(&fifo, "a", 1))
        };
        let waiting = {
            let fifo = fifo.clone();
            thread::spawn(move || block_on(fifo.pop_batch(1)).map(|batch| batch.len()))
        };
        let popped = {
            let mut wait = pin!(fifo.pop_batch(1));
            match wait.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(Ok(batch)) => {
                    batch.ack();
                    true
                }
                _ => false,
            }
        };
        if popped {
            // The other one waits for more.
            add(&fifo, "b", 2);
        }
        feeder.join().expect("no panic");
        assert_eq!(waiting.join().expect("no panic"), Ok(1));
    });
}

// INV-FIFO-7: whatever comes first, the close, the acknowledgement or the drop of the first list.
#[test]
fn waiting_for_synced_always_ends() {
    explore(|| {
        let fifo = DeltaFifo::<Thing>::default();
        let waiting = {
            let fifo = fifo.clone();
            thread::spawn(move || block_on(fifo.synced()))
        };
        let consumer = {
            let fifo = fifo.clone();
            thread::spawn(move || {
                if let Some(batch) = fifo.try_pop_batch(1) {
                    drop(batch);
                }
                let batch = fifo.try_pop_batch(1);
                batch.map(|batch| batch.ack()).is_some()
            })
        };
        list(&fifo, 1);
        fifo.close();
        let is_applied = consumer.join().expect("no panic");
        let result = waiting.join().expect("no panic");
        assert!(result == Err(Closed) || is_applied, "{result:?}");
        assert_eq!(fifo.has_synced(), is_applied);
    });
}
