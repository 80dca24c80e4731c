//! Batches: popped, acknowledged, requeued, one at a time; and whoever waits for them.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use common::{Calls, NaiveStore, Thing, before, in_order, key, list, plain, short, thing};
use futures_util::FutureExt;
use informer_delta_fifo::{Closed, DeltaFifo, DeltaFifoConfig};
use informer_store::{DeltaSink, ListEnd, ResourceVersion};

fn fifo() -> DeltaFifo<Thing> {
    DeltaFifo::default()
}

// INV-FIFO-1
#[test]
fn dropped_batch_returns_to_the_front_before_newer_deltas_of_its_keys() {
    let fifo = fifo();
    for name in ["a", "b", "c"] {
        fifo.added(&plain(name, 1));
    }
    let batch = fifo.try_pop_batch(2).expect("a and b");
    fifo.updated(&plain("b", 2));
    fifo.updated(&plain("d", 1));
    drop(batch);
    assert_eq!(fifo.stats().requeued_batches, 1);
    let all = [
        "a: Added 1",
        "b: Added 1, Updated 2",
        "c: Added 1",
        "d: Updated 1",
    ];
    assert_eq!(fifo.drain(), all);
}

// INV-FIFO-1: whichever is longer, the batch or the queue.
#[test]
fn long_batch_returns_to_the_front_of_a_short_queue() {
    let fifo = fifo();
    (0..5).for_each(|n| fifo.added(&plain(&format!("k{n}"), 1)));
    let batch = fifo.try_pop_batch(5).expect("all");
    fifo.updated(&plain("k3", 2));
    fifo.updated(&plain("new", 2));
    drop(batch);
    let all = [
        "k0: Added 1",
        "k1: Added 1",
        "k2: Added 1",
        "k3: Added 1, Updated 2",
        "k4: Added 1",
        "new: Updated 2",
    ];
    assert_eq!(fifo.stats().queued_deltas, 7);
    assert_eq!(fifo.drain(), all);
}

// INV-FIFO-1
#[test]
fn consumer_that_panics_loses_nothing() {
    let fifo = fifo();
    fifo.added(&plain("a", 1));
    let consumer = AssertUnwindSafe(|| {
        let _batch = fifo.try_pop_batch(1).expect("a");
        panic!("applying failed");
    });
    catch_unwind(consumer).expect_err("the panic");
    assert_eq!(fifo.drain(), ["a: Added 1"]);
}

// INV-FIFO-1, 13: a batch that is requeued again and again stays short.
#[test]
fn requeued_deltas_are_coalesced() {
    let fifo = fifo();
    fifo.added(&thing("a", 1, 1));
    for version in 2..100 {
        let batch = fifo.try_pop_batch(1).expect("a");
        fifo.updated(&thing("a", 1, version));
        drop(batch);
        assert!(fifo.stats().queued_deltas <= 8);
    }
    assert_eq!(fifo.stats().queued_keys, 1);
}

// INV-FIFO-2
#[test]
fn one_batch_is_in_flight_at_a_time() {
    let fifo = fifo();
    fifo.added(&plain("a", 1));
    fifo.added(&plain("b", 1));
    let first = fifo.try_pop_batch(1).expect("a");
    assert!(fifo.try_pop_batch(1).is_none());
    let mut waiting = pin!(fifo.pop_batch(1));
    let mut context = Context::from_waker(Waker::noop());
    assert!(waiting.as_mut().poll(&mut context).is_pending());
    first.ack();
    let Poll::Ready(Ok(second)) = waiting.as_mut().poll(&mut context) else {
        panic!("the second batch is free");
    };
    assert_eq!(short(&second), ["b: Added 1"]);
}

#[test]
fn cancelled_wait_pops_nothing_and_wakes_the_next() {
    let fifo = fifo();
    let mut context = Context::from_waker(Waker::noop());
    let mut first = Box::pin(fifo.pop_batch(1));
    let mut second = Box::pin(fifo.pop_batch(1));
    assert!(first.as_mut().poll(&mut context).is_pending());
    assert!(second.as_mut().poll(&mut context).is_pending());
    fifo.added(&plain("a", 1));
    drop(first);
    let Poll::Ready(Ok(batch)) = second.as_mut().poll(&mut context) else {
        panic!("the notification was dropped with the first future");
    };
    assert_eq!(short(&batch), ["a: Added 1"]);
}

// INV-FIFO-3: D4 and D6 while a batch is in flight.
#[test]
fn keys_in_flight_count_as_queued_and_known() {
    let store = NaiveStore::holding(&[plain("stored", 1)]);
    let fifo = before(&store);
    fifo.updated(&plain("stored", 2));
    fifo.added(&thing("new", 1, 5));
    let batch = fifo.try_pop_batch(10).expect("both");
    fifo.resync();
    assert_eq!(fifo.depth(), 0, "both are in flight");
    let (_, newest) = fifo.newest(&key("new")).expect("it is in flight");
    assert_eq!(newest.version, Some(5));
    fifo.deleted(&thing("new", 1, 6));
    assert_eq!(fifo.depth(), 1, "the key is known though not stored");
    store.apply(&batch);
    batch.ack();
    let resync = fifo.try_pop_batch(10).expect("the resync");
    assert!(resync.is_resync() && resync.is_empty());
    resync.ack();
    let batch = fifo.try_pop_batch(10).expect("the delete");
    assert_eq!(short(&batch), ["new: Deleted 6"]);
    fifo.deleted(&thing("new", 1, 6));
    assert_eq!(fifo.depth(), 0, "its deletion is in flight");
    batch.ack();
}

// INV-FIFO-4, R5
#[test]
fn list_is_one_batch_with_all_that_was_queued_before() {
    let fifo = before(&NaiveStore::holding(&[thing("gone", 1, 1)]));
    fifo.added(&thing("a", 2, 2));
    fifo.replaced(&[thing("b", 3, 3), thing("a", 2, 4)], 10);
    fifo.added(&thing("late", 4, 11));
    fifo.updated(&thing("b", 3, 12));
    let batch = fifo.try_pop_batch(1).expect("the list");
    let all = [
        "a: Added 2, Replaced 4",
        "gone: Deleted? 1",
        "b: Replaced 3, Updated 12",
    ];
    assert_eq!(short(&batch), all);
    assert_eq!(batch.len(), 3);
    let end = batch.list_end().expect("a list");
    assert_eq!(end.resource_version, ResourceVersion::from(10));
    batch.ack();
    let rest = fifo.try_pop_batch(1).expect("late");
    assert_eq!(short(&rest), ["late: Added 11"]);
    assert_eq!(rest.list_end(), None);
    rest.ack();
}

// INV-FIFO-4
#[test]
fn requeued_list_stays_whole() {
    let fifo = fifo();
    fifo.replaced(&[thing("a", 1, 1), thing("b", 1, 2), thing("c", 1, 3)], 5);
    let batch = fifo.try_pop_batch(1).expect("the list");
    fifo.updated(&thing("b", 1, 6));
    fifo.added(&thing("late", 1, 7));
    drop(batch);
    assert!(!fifo.has_synced());
    let batch = fifo.try_pop_batch(1).expect("the list again");
    let all = ["a: Replaced 1", "b: Replaced 2, Updated 6", "c: Replaced 3"];
    assert_eq!(short(&batch), all);
    assert!(batch.list_end().is_some() && batch.is_initial() && batch.completes_sync());
    batch.ack();
    assert!(fifo.has_synced());
    assert_eq!(fifo.drain(), ["late: Added 7"]);
}

// INV-FIFO-4
#[test]
fn list_requeued_before_another_makes_one_batch_of_both() {
    let fifo = fifo();
    fifo.replaced(&[thing("a", 1, 1), thing("b", 1, 2), thing("c", 1, 3)], 5);
    let batch = fifo.try_pop_batch(1).expect("the list");
    fifo.replaced(&[thing("c", 1, 3), thing("b", 1, 8), thing("d", 1, 9)], 10);
    drop(batch);
    let batch = fifo.try_pop_batch(1).expect("both");
    let all = [
        "a: Replaced 1, Deleted? 1",
        "b: Replaced 2, Replaced 8",
        "c: Replaced 3, Replaced 3",
        "d: Replaced 9",
    ];
    assert_eq!(short(&batch), all);
    assert_eq!(batch.applied_up_to(), Some(&10.into()));
    assert!(!fifo.has_synced());
    batch.ack();
    assert!(fifo.has_synced());
    assert!(fifo.try_pop_batch(1).is_none());
}

// INV-FIFO-4, 16: a rewind that is requeued stays one, also as part of a later list.
#[test]
fn requeued_rewind_stays_a_rewind() {
    let fifo = fifo();
    fifo.replaced(&[thing("a", 1, 9)], 9);
    fifo.rewound(&[thing("a", 1, 3)], 4);
    let batch = fifo.try_pop_batch(1).expect("both lists");
    fifo.replaced(&[thing("a", 1, 5)], 5);
    drop(batch);
    let batch = fifo.try_pop_batch(1).expect("all lists");
    let end = batch.list_end().expect("a list");
    assert_eq!((end.resource_version.as_u64(), end.rewind), (Some(5), true));
    batch.ack();
}

// D6
#[test]
fn resync_is_one_batch_and_says_so() {
    for queue in [before, in_order] {
        let store = NaiveStore::holding(&[thing("a", 1, 1), thing("b", 1, 2)]);
        let fifo = queue(&store);
        fifo.added(&thing("c", 1, 3));
        fifo.try_pop_batch(1).expect("c").ack();
        fifo.resync();
        fifo.updated(&thing("c", 1, 4));
        let batch = fifo.try_pop_batch(1).expect("the resync");
        assert_eq!(short(&batch), ["a: Sync 1", "b: Sync 2"]);
        assert!(batch.is_resync() && batch.list_end().is_none());
        drop(batch);
        let batch = fifo.try_pop_batch(1).expect("the resync again");
        assert!(batch.is_resync());
        batch.ack();
        let batch = fifo.try_pop_batch(1).expect("c");
        assert!(!batch.is_resync());
        batch.ack();
    }
}

#[test]
fn closing_ends_asynchronous_waits() {
    let fifo = fifo();
    let mut context = Context::from_waker(Waker::noop());
    let mut pop = Box::pin(fifo.pop_batch(1));
    let mut synced = Box::pin(fifo.synced());
    assert!(pop.as_mut().poll(&mut context).is_pending());
    assert!(synced.as_mut().poll(&mut context).is_pending());
    fifo.close();
    let Poll::Ready(Err(Closed)) = pop.as_mut().poll(&mut context) else {
        panic!("nothing more is queued");
    };
    assert_eq!(synced.as_mut().poll(&mut context), Poll::Ready(Err(Closed)));
}

// INV-FIFO-7
#[test]
fn waiting_for_synced_ends_with_the_batch_in_flight_once_closed() {
    for is_applied in [true, false] {
        let fifo = fifo();
        let mut context = Context::from_waker(Waker::noop());
        fifo.replaced(&[plain("a", 1)], 1);
        let mut synced = Box::pin(fifo.synced());
        assert!(synced.as_mut().poll(&mut context).is_pending());
        let batch = fifo.try_pop_batch(1).expect("the list");
        fifo.close();
        assert!(
            synced.as_mut().poll(&mut context).is_pending(),
            "it is being applied"
        );
        if is_applied {
            batch.ack();
            assert_eq!(synced.as_mut().poll(&mut context), Poll::Ready(Ok(())));
        } else {
            drop(batch);
            assert_eq!(synced.as_mut().poll(&mut context), Poll::Ready(Err(Closed)));
            assert_eq!(fifo.synced().now_or_never(), Some(Err(Closed)));
            // Whoever drains the queue gets there nevertheless.
            assert_eq!(fifo.drain(), ["a: Replaced 1"]);
            assert_eq!(fifo.synced().now_or_never(), Some(Ok(())));
        }
    }
}

// INV-FIFO-7
#[test]
fn waiting_for_synced_ends_when_closed_with_a_list_queued() {
    let fifo = fifo();
    fifo.replaced(&[plain("a", 1)], 1);
    let mut synced = Box::pin(fifo.synced());
    let mut context = Context::from_waker(Waker::noop());
    assert!(synced.as_mut().poll(&mut context).is_pending());
    fifo.close();
    assert_eq!(synced.as_mut().poll(&mut context), Poll::Ready(Err(Closed)));
}

// INV-FIFO-7: the first list's batch may be dropped, or its list with the queue: the next one completes the sync.
#[test]
fn any_applied_list_completes_the_sync() {
    let fifo = DeltaFifo::new(DeltaFifoConfig::new().max_queued(Some(1)));
    fifo.replaced(&[thing("a", 1, 1)], 1);
    fifo.added(&thing("b", 1, 2));
    fifo.added(&thing("c", 1, 3));
    assert!(fifo.needs_list(), "the list was dropped with the rest");
    assert_eq!(fifo.depth(), 0);
    assert!(!fifo.has_synced());
    fifo.replaced(&[thing("b", 1, 2)], 3);
    let batch = fifo.try_pop_batch(1).expect("the second list");
    assert!(batch.completes_sync());
    batch.ack();
    assert!(fifo.has_synced());
}

#[test]
fn depth_and_lag_are_readable() {
    let start = Instant::now();
    let seconds = Arc::new(AtomicU64::new(0));
    let clock = {
        let seconds = Arc::clone(&seconds);
        move || start + Duration::from_secs(seconds.load(Ordering::Relaxed))
    };
    let at = |second| seconds.store(second, Ordering::Relaxed);
    let lag = |fifo: &DeltaFifo<Thing>| fifo.lag().map(|lag| lag.as_secs());
    let fifo = DeltaFifo::new(DeltaFifoConfig::new().clock(clock));
    assert_eq!(lag(&fifo), None);
    fifo.added(&plain("a", 1));
    at(3);
    fifo.updated(&plain("a", 2));
    fifo.added(&plain("b", 1));
    assert_eq!(lag(&fifo), Some(3));
    let stats = fifo.stats();
    assert_eq!(
        (stats.queued_keys, stats.queued_deltas, stats.in_flight_keys),
        (2, 3, 0)
    );
    at(4);
    let a = fifo.try_pop_batch(1).expect("a");
    assert_eq!(lag(&fifo), Some(4), "a is not applied");
    assert_eq!((fifo.stats().in_flight_keys, fifo.depth()), (1, 1));
    a.ack();
    assert_eq!(lag(&fifo), Some(4), "b may be as old");
    at(5);
    fifo.added(&plain("c", 1));
    fifo.try_pop_batch(1).expect("b").ack();
    assert_eq!(lag(&fifo), Some(1), "c was queued after the first pop");
    fifo.try_pop_batch(1).expect("c").ack();
    assert_eq!(lag(&fifo), None);
}

#[test]
fn handles_batches_and_waits_are_send() {
    fn is_send<T: Send>(_: &T) {}
    let fifo = fifo();
    is_send(&fifo.pop_batch(1));
    is_send(&fifo.synced());
    fifo.added(&plain("a", 1));
    is_send(&fifo.try_pop_batch(1));
    is_send(&fifo);
}

// INV-FIFO-17
#[test]
fn failed_keys_return_alone_before_newer_deltas_of_theirs() {
    let fifo = fifo();
    fifo.replaced(&[thing("a", 1, 1), thing("b", 1, 2), thing("c", 1, 3)], 5);
    let batch = fifo.try_pop_batch(1).expect("the list");
    fifo.updated(&thing("b", 1, 7));
    batch.ack_except([&key("b")]);
    assert!(fifo.has_synced(), "the rest was applied");
    let again = fifo.try_pop_batch(10).expect("b again");
    assert_eq!(short(&again), ["b: Replaced 2, Updated 7"]);
    assert_eq!(again.list_end(), None);
    assert_eq!(again.applied_up_to(), Some(&7.into()));
    fifo.updated(&thing("a", 1, 8));
    again.ack_except([&key("b"), &key("not in it")]);
    let once_more = fifo.try_pop_batch(1).expect("b, before a");
    assert_eq!(short(&once_more), ["b: Replaced 2, Updated 7"]);
    once_more.ack_except([]);
    assert_eq!(fifo.stats().requeued_keys, 2);
    assert_eq!(fifo.drain(), ["a: Updated 8"]);
}

// INV-FIFO-6, 17: a key that fails while a list is under way is not lost.
#[test]
fn key_that_fails_while_a_list_is_received_is_not_lost() {
    for queue in [before, in_order] {
        for comes_back in [true, false] {
            let fifo = queue(&NaiveStore::holding(&[]));
            fifo.added(&thing("a", 1, 2));
            let batch = fifo.try_pop_batch(1).expect("a");
            // The decoder finds the object unchanged: it is in flight.
            let (stored, newest) = fifo.newest(&key("a")).expect("it is in flight");
            let mut items = list(&[]);
            items.insert(stored, newest);
            if comes_back {
                batch.ack_except([&key("a")]);
            } else {
                batch.ack();
            }
            fifo.replace(items, ListEnd::new(10.into()));
            let all = fifo.drain();
            let delta = if comes_back {
                "a: Added 2"
            } else {
                "a: Replaced 2"
            };
            assert_eq!(all, [delta]);
        }
    }
}

// INV-FIFO-6, 17: nor one that fails after the list, whether it is requeued or not.
#[test]
fn key_that_fails_after_a_list_is_not_lost() {
    for queue in [before, in_order] {
        for comes_back in [true, false] {
            let fifo = queue(&NaiveStore::holding(&[]));
            fifo.added(&thing("a", 1, 2));
            let batch = fifo.try_pop_batch(1).expect("a");
            fifo.replaced(&[thing("a", 1, 2)], 10);
            if comes_back {
                batch.ack_except([&key("a")]);
            } else {
                batch.ack();
            }
            let all = fifo.drain().join(", ");
            assert!(all.ends_with("Replaced 2"), "{all}");
            assert_eq!(all.contains("Added 2"), comes_back);
        }
    }
}
