//! Batches: acknowledged or returned, one at a time, and what they tell of resource versions.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use common::{Calls, NaiveStore, Thing, key, plain, short, thing};
use futures_util::FutureExt;
use informer_delta_fifo::{Closed, Config, DeltaFifo};
use informer_store::{DeltaSink, Replace, ReplaceEnd, ResourceVersion};

fn fifo() -> DeltaFifo<Thing> {
    DeltaFifo::with_config(&Config::new())
}

fn version(number: u64) -> ResourceVersion {
    number.into()
}

// INV-FIFO-1
#[test]
fn a_dropped_batch_returns_to_the_front_before_newer_deltas_of_its_keys() {
    let fifo = fifo();
    for name in ["a", "b", "c"] {
        fifo.added(&plain(name, 1));
    }
    let batch = fifo.try_pop_batch(2).expect("a and b");
    fifo.updated(&plain("b", 2));
    fifo.updated(&plain("d", 1));
    drop(batch);
    assert_eq!(fifo.stats().returned_batches, 1);
    assert_eq!(
        fifo.drain(),
        [
            "a: Added 1",
            "b: Added 1, Updated 2",
            "c: Added 1",
            "d: Updated 1"
        ]
    );
}

// INV-FIFO-1: a panic while applying loses nothing.
#[test]
fn a_panicking_consumer_loses_nothing() {
    let fifo = fifo();
    fifo.added(&plain("a", 1));
    let consumer = AssertUnwindSafe(|| {
        let _batch = fifo.try_pop_batch(1).expect("a");
        panic!("applying went wrong");
    });
    catch_unwind(consumer).expect_err("the panic");
    assert_eq!(fifo.drain(), ["a: Added 1"]);
}

// INV-FIFO-2
#[test]
fn one_batch_is_out_at_a_time() {
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
fn a_cancelled_wait_takes_nothing_and_wakes_the_next() {
    let fifo = fifo();
    let mut context = Context::from_waker(Waker::noop());
    let mut first = Box::pin(fifo.pop_batch(1));
    let mut second = Box::pin(fifo.pop_batch(1));
    assert!(first.as_mut().poll(&mut context).is_pending());
    assert!(second.as_mut().poll(&mut context).is_pending());
    fifo.added(&plain("a", 1));
    drop(first);
    let Poll::Ready(Ok(batch)) = second.as_mut().poll(&mut context) else {
        panic!("the notification went with the dropped future");
    };
    assert_eq!(short(&batch), ["a: Added 1"]);
}

// INV-FIFO-3: D4 and D6 while a batch is out.
#[test]
fn keys_in_flight_count_as_queued_and_known() {
    let store = NaiveStore::holding(&[plain("stored", 1)]);
    let fifo = DeltaFifo::new(Arc::clone(&store));
    fifo.updated(&plain("stored", 2));
    fifo.added(&thing("new", 1, 5));
    let batch = fifo.try_pop_batch(10).expect("both");
    fifo.resync();
    assert_eq!(fifo.depth(), 0, "both are in flight");
    assert_eq!(
        fifo.known(&key("new")).and_then(|k| k.resource_version),
        Some(version(5))
    );
    fifo.deleted(&thing("new", 1, 6));
    assert_eq!(fifo.depth(), 1, "the key is known though not stored");
    store.apply(&batch);
    batch.ack();
    let batch = fifo.try_pop_batch(10).expect("the delete");
    assert_eq!(short(&batch), ["new: Deleted 6"]);
    fifo.deleted(&thing("new", 1, 6));
    assert_eq!(fifo.depth(), 0, "its deletion is in flight");
    batch.ack();
}

// INV-FIFO-4, R5: one replace is one batch.
#[test]
fn a_whole_replace_is_one_batch_with_all_that_was_queued_before() {
    let fifo = DeltaFifo::new(NaiveStore::holding(&[thing("gone", 1, 1)]));
    fifo.added(&thing("a", 2, 2));
    fifo.replaced(&[thing("b", 3, 3), thing("a", 2, 4)], 10);
    fifo.added(&thing("late", 4, 11));
    fifo.updated(&thing("b", 3, 12));
    let batch = fifo.try_pop_batch(1).expect("the replace");
    assert_eq!(
        short(&batch),
        [
            "a: Added 2, Replaced 4",
            "gone: Deleted? 1",
            "b: Replaced 3, Updated 12"
        ]
    );
    assert_eq!(batch.len(), 3);
    assert_eq!(
        batch.replace().map(|end| end.resource_version.clone()),
        Some(version(10))
    );
    assert_eq!(
        batch.applied_up_to(),
        Some(&version(10)),
        "late is at 11 and still queued"
    );
    batch.ack();
    let rest = fifo.try_pop_batch(1).expect("late");
    assert_eq!(short(&rest), ["late: Added 11"]);
    assert_eq!(rest.replace(), None);
    assert_eq!(rest.applied_up_to(), Some(&version(12)));
    rest.ack();
}

// INV-FIFO-4
#[test]
fn a_returned_replace_stays_whole() {
    let fifo = fifo();
    fifo.replaced(&[thing("a", 1, 1), thing("b", 1, 2), thing("c", 1, 3)], 5);
    let batch = fifo.try_pop_batch(1).expect("the replace");
    fifo.updated(&thing("b", 1, 6));
    fifo.added(&thing("late", 1, 7));
    drop(batch);
    assert!(!fifo.has_synced());
    let batch = fifo.try_pop_batch(1).expect("the replace again");
    assert_eq!(
        short(&batch),
        ["a: Replaced 1", "b: Replaced 2, Updated 6", "c: Replaced 3"]
    );
    assert!(batch.replace().is_some() && batch.is_initial());
    batch.ack();
    assert!(fifo.has_synced());
    assert_eq!(fifo.drain(), ["late: Added 7"]);
}

// INV-FIFO-4
#[test]
fn a_replace_returned_before_another_makes_one_replace_of_both() {
    let fifo = fifo();
    fifo.replaced(&[thing("a", 1, 1), thing("b", 1, 2), thing("c", 1, 3)], 5);
    let batch = fifo.try_pop_batch(1).expect("the replace");
    fifo.replaced(&[thing("c", 1, 3), thing("b", 1, 8), thing("d", 1, 9)], 10);
    drop(batch);
    let batch = fifo.try_pop_batch(1).expect("both");
    assert_eq!(
        short(&batch),
        [
            "a: Replaced 1, Deleted? 1",
            "b: Replaced 2, Replaced 8",
            "c: Replaced 3",
            "d: Replaced 9"
        ]
    );
    assert_eq!(batch.applied_up_to(), Some(&version(10)));
    assert!(!fifo.has_synced());
    batch.ack();
    assert!(fifo.has_synced());
    assert!(fifo.try_pop_batch(1).is_none());
}

// INV-FIFO-5
#[test]
fn applied_up_to_never_passes_what_is_still_queued() {
    let fifo = fifo();
    fifo.replaced(&[], 10);
    fifo.added(&thing("a", 1, 11));
    fifo.added(&thing("b", 1, 12));
    fifo.updated(&thing("a", 1, 13));
    fifo.bookmark(version(20));
    let mut told = Vec::new();
    while let Some(batch) = fifo.try_pop_batch(1) {
        told.push((
            batch.len(),
            batch.applied_up_to().and_then(ResourceVersion::as_u64),
        ));
        batch.ack();
    }
    // The empty replace; a with its update, but b is older than that; b, and with it everything.
    assert_eq!(told, [(0, Some(10)), (1, Some(11)), (1, Some(20))]);
}

// INV-FIFO-5, R8: a bookmark goes through the queue, and waits for what is before it.
#[test]
fn a_bookmark_comes_out_alone_when_nothing_else_waits() {
    let fifo = fifo();
    fifo.replaced(&[thing("a", 1, 3)], 5);
    let batch = fifo.try_pop_batch(1).expect("the list");
    fifo.bookmark(version(9));
    assert_eq!(batch.applied_up_to(), Some(&version(5)));
    batch.ack();
    let batch = fifo.try_pop_batch(1).expect("the bookmark");
    assert!(batch.is_empty());
    assert_eq!(batch.applied_up_to(), Some(&version(9)));
    drop(batch);
    let batch = fifo.try_pop_batch(1).expect("the bookmark again");
    assert_eq!(batch.applied_up_to(), Some(&version(9)));
    batch.ack();
    fifo.bookmark(version(9));
    fifo.bookmark(version(8));
    assert!(fifo.try_pop_batch(1).is_none(), "nothing new");
}

// INV-FIFO-6
#[test]
fn a_replace_dropped_before_its_end_leaves_nothing() {
    let fifo = DeltaFifo::new(NaiveStore::holding(&[thing("old", 1, 1)]));
    let mut replace = fifo.begin_replace();
    replace.insert(key("a"), thing("a", 1, 2));
    replace.keep(key("old"));
    drop(replace);
    assert!(fifo.try_pop_batch(1).is_none());
    assert!(!fifo.has_synced());
}

// INV-FIFO-6: what arrives while a list is under way is later than it.
#[test]
fn changes_that_arrive_during_a_list_are_not_undone_by_it() {
    let fifo = DeltaFifo::new(NaiveStore::holding(&[
        plain("kept", 1),
        plain("dropped", 1),
    ]));
    let mut replace = fifo.begin_replace();
    replace.insert(key("dropped"), plain("dropped", 2));
    replace.insert(key("kept"), plain("kept", 2));
    fifo.added(&plain("new", 1));
    fifo.deleted(&plain("dropped", 1));
    assert!(!fifo.has_synced(), "the list is still to come");
    replace.finish(ReplaceEnd::new(version(5)));
    assert_eq!(
        fifo.drain(),
        ["new: Added 1", "dropped: Deleted 1", "kept: Replaced 2"]
    );
    assert!(fifo.has_synced());
}

// INV-FIFO-5: and until the list is complete, they do not tell how far everything has arrived.
#[test]
fn no_version_is_told_past_a_list_under_way() {
    let fifo = fifo();
    let mut replace = fifo.begin_replace();
    fifo.added(&thing("a", 1, 20));
    let batch = fifo.try_pop_batch(1).expect("a");
    assert_eq!(batch.applied_up_to(), None);
    batch.ack();
    replace.insert(key("b"), thing("b", 1, 2));
    replace.finish(ReplaceEnd::new(version(10)));
    let batch = fifo.try_pop_batch(1).expect("the list");
    assert_eq!(short(&batch), ["b: Replaced 2"]);
    assert_eq!(batch.applied_up_to(), Some(&version(20)));
    batch.ack();
}

// INV-FIFO-6: a streaming list takes changes before its end.
#[test]
fn a_list_takes_later_calls_and_removals() {
    let fifo = fifo();
    let mut replace = fifo.begin_replace();
    replace.insert(key("a"), thing("a", 1, 1));
    replace.insert(key("b"), thing("b", 1, 2));
    replace.insert(key("a"), thing("a", 1, 3));
    replace.remove(&key("b"));
    replace.remove(&key("never"));
    replace.insert(key("c"), thing("c", 1, 4));
    replace.insert(key("b"), thing("b", 1, 5));
    replace.remove(&key("c"));
    replace.finish(ReplaceEnd::new(version(9)));
    assert_eq!(fifo.drain(), ["a: Replaced 3", "b: Replaced 5"]);
}

#[test]
fn closing_wakes_asynchronous_consumers_and_those_who_wait_for_synced() {
    let fifo = fifo();
    let mut context = Context::from_waker(Waker::noop());
    let mut pop = Box::pin(fifo.pop_batch(1));
    let mut synced = Box::pin(fifo.synced());
    assert!(pop.as_mut().poll(&mut context).is_pending());
    assert!(synced.as_mut().poll(&mut context).is_pending());
    fifo.close();
    assert!(matches!(
        pop.as_mut().poll(&mut context),
        Poll::Ready(Err(Closed))
    ));
    assert!(matches!(
        synced.as_mut().poll(&mut context),
        Poll::Ready(Err(Closed))
    ));
}

// INV-FIFO-7
#[test]
fn synced_is_told_on_acknowledgement_even_after_closing() {
    let fifo = fifo();
    let mut context = Context::from_waker(Waker::noop());
    fifo.replaced(&[plain("a", 1)], 1);
    fifo.close();
    let mut synced = Box::pin(fifo.synced());
    assert!(
        synced.as_mut().poll(&mut context).is_pending(),
        "the list is still to be applied"
    );
    let batch = fifo
        .pop_batch(1)
        .now_or_never()
        .expect("ready")
        .expect("the list");
    assert!(synced.as_mut().poll(&mut context).is_pending());
    batch.ack();
    assert!(matches!(
        synced.as_mut().poll(&mut context),
        Poll::Ready(Ok(()))
    ));
}

#[test]
fn depth_and_age_are_readable() {
    let start = Instant::now();
    let seconds = Arc::new(AtomicU64::new(0));
    let clock = {
        let seconds = Arc::clone(&seconds);
        move || start + Duration::from_secs(seconds.load(Ordering::Relaxed))
    };
    let fifo = DeltaFifo::with_config(&Config::new().clock(clock));
    assert_eq!(fifo.oldest_age(), None);
    fifo.added(&plain("a", 1));
    seconds.store(3, Ordering::Relaxed);
    fifo.updated(&plain("a", 2));
    fifo.added(&plain("b", 1));
    assert_eq!(fifo.oldest_age(), Some(Duration::from_secs(3)));
    let stats = fifo.stats();
    assert_eq!(
        (stats.queued_keys, stats.queued_deltas, stats.in_flight_keys),
        (2, 3, 0)
    );
    let batch = fifo.try_pop_batch(1).expect("a");
    assert_eq!(
        fifo.oldest_age(),
        Some(Duration::from_secs(3)),
        "not yet applied"
    );
    assert_eq!(fifo.stats().in_flight_keys, 1);
    batch.ack();
    assert_eq!(fifo.oldest_age(), Some(Duration::ZERO));
    assert_eq!(fifo.depth(), 1);
}

#[test]
fn handles_batches_and_waits_may_cross_threads() {
    fn may_cross<T: Send>(_: &T) {}
    let fifo = fifo();
    may_cross(&fifo.pop_batch(1));
    may_cross(&fifo.synced());
    may_cross(&fifo.begin_replace());
    fifo.added(&plain("a", 1));
    may_cross(&fifo.try_pop_batch(1));
    may_cross(&fifo);
}

// INV-FIFO-17: what could not be applied comes back alone, before newer deltas of its key, and holds back the version.
#[test]
fn keys_that_could_not_be_applied_come_back_alone() {
    let fifo = fifo();
    fifo.replaced(&[thing("a", 1, 1), thing("b", 1, 2), thing("c", 1, 3)], 5);
    let list = fifo.try_pop_batch(1).expect("the list");
    fifo.updated(&thing("b", 1, 7));
    list.ack_except([&key("b")]);
    assert!(fifo.has_synced(), "the rest was applied");
    let again = fifo.try_pop_batch(10).expect("b again");
    assert_eq!(short(&again), ["b: Replaced 2, Updated 7"]);
    assert_eq!(again.applied_up_to(), Some(&version(7)));
    fifo.updated(&thing("a", 1, 8));
    again.ack_except([&key("b"), &key("not in it")]);
    let once_more = fifo.try_pop_batch(1).expect("b, before a");
    assert_eq!(short(&once_more), ["b: Replaced 2, Updated 7"]);
    once_more.ack();
    assert_eq!(fifo.stats().returned_keys, 2);

    // Behind it there is more, but nothing is told beyond what was applied before it failed.
    let out = fifo.try_pop_batch(10).expect("a");
    out.ack_except([&key("a")]);
    fifo.updated(&thing("c", 1, 9));
    let again = fifo.try_pop_batch(1).expect("a again");
    assert_eq!(again.applied_up_to(), Some(&version(8)));
    again.ack_except([&key("a")]);
    drop(fifo.try_pop_batch(1).expect("a once more"));
    assert_eq!(fifo.stats().returned_batches, 1);
}

// INV-FIFO-5: a watch that starts at no version first tells of what is there, in no order; this tells nothing of how far
// all has arrived, after a list without a version neither.
#[test]
fn additions_in_no_order_tell_no_version() {
    let fifo = fifo();
    fifo.replaced(&[thing("a", 1, 9)], 0);
    fifo.added(&thing("b", 1, 30));
    fifo.added(&thing("c", 1, 20));
    let batch = fifo.try_pop_batch(10).expect("the list");
    assert_eq!(batch.applied_up_to(), None);
    batch.ack();
    let batch = fifo.try_pop_batch(10).expect("both");
    assert_eq!(short(&batch), ["b: Added 30", "c: Added 20"]);
    assert_eq!(batch.applied_up_to(), None);
    batch.ack();
    fifo.updated(&thing("c", 1, 31));
    fifo.added(&thing("d", 1, 32));
    let batch = fifo.try_pop_batch(10).expect("both");
    assert_eq!(batch.applied_up_to(), Some(&version(32)));
    batch.ack();
    // And a later list without a version takes back what was known.
    fifo.replaced(&[], 0);
    fifo.added(&thing("e", 1, 5));
    while let Some(batch) = fifo.try_pop_batch(10) {
        assert_eq!(batch.applied_up_to(), None);
        batch.ack();
    }
}
