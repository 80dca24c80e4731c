//! What a queue holds on to, counted by the allocator.

use std::alloc::System;
use std::sync::Arc;
use std::time::Duration;

use informer_workqueue::{WorkQueue, WorkQueueConfig};
use parking_lot::Mutex;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The allocator counts for the whole process: one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// Few enough for a build without optimisations. The bench `workqueue_1m_delayed` counts a million.
const MANY: usize = 100_000;

/// What the test harness may allocate beside the test.
const SLACK: isize = 4096;

fn key(i: usize) -> String {
    format!("ns-{:02}/app-{i:010}", i % 20)
}

fn in_use(region: &Region<'_, System>) -> isize {
    let stats = region.change();
    stats.bytes_allocated as isize - stats.bytes_deallocated as isize
}

// peers 71, INV-QUEUE-6
#[test]
fn keys_delayed_an_hour_take_less_than_150_bytes_each_and_are_given_back() {
    let _alone = ALONE.lock();
    let region = Region::new(ALLOCATOR);
    let queue = WorkQueue::new();
    for i in 0..MANY {
        queue.add_after(key(i), Duration::from_secs(3600));
    }
    // Delays that pile up for one key are one delay.
    for i in 0..MANY {
        queue.add_after(key(i), Duration::from_secs(7200));
    }
    let bytes = in_use(&region);
    assert!(bytes < 150 * MANY as isize, "{bytes} bytes");
    assert_eq!(queue.stats().delayed, MANY);
    assert_eq!(queue.clear(), MANY);
    let bytes = in_use(&region);
    assert!(bytes < 10_000 + SLACK, "{bytes} bytes are left");
}

// peers 71, INV-QUEUE-6
#[test]
fn keys_that_failed_and_are_never_forgotten_take_bounded_memory() {
    let _alone = ALONE.lock();
    let region = Region::new(ALLOCATOR);
    let queue = WorkQueue::with_config(WorkQueueConfig::new().max_remembered(1000));
    for i in 0..MANY {
        queue.add(key(i));
        let work = queue.try_get().expect("added");
        work.finish(informer_workqueue::WorkResult::RetryAfter(Duration::ZERO));
        let again = queue.try_get().expect("at once");
        again.finish(informer_workqueue::WorkResult::Done);
    }
    assert_eq!(queue.stats().remembered, 1000);
    assert_eq!(queue.failures(&key(MANY - 1)), 1);
    assert_eq!(queue.failures(&key(0)), 0);
    let bytes = in_use(&region);
    assert!(bytes < 400_000, "{bytes} bytes");
}

// INV-QUEUE-6
#[test]
fn an_item_in_the_place_of_a_forgotten_one_has_not_failed() {
    let _alone = ALONE.lock();
    let queue = WorkQueue::with_config(WorkQueueConfig::new().max_remembered(0));
    queue.add("forgotten");
    let work = queue.try_get().expect("added");
    work.finish(informer_workqueue::WorkResult::RetryAfter(Duration::ZERO));
    let again = queue.try_get().expect("at once");
    assert_eq!(again.failures(), 1);
    again.finish(informer_workqueue::WorkResult::Done);
    queue.add("other");
    let work = queue.try_get().expect("added");
    assert_eq!((*work.item(), work.failures()), ("other", 0));
}

// INV-QUEUE-6
#[test]
fn beyond_the_limit_the_first_delay_ends_early_and_nothing_is_lost() {
    let _alone = ALONE.lock();
    let queue = WorkQueue::with_config(WorkQueueConfig::new().max_delayed(10));
    for i in 0..100_usize {
        queue.add_after(i, Duration::from_secs(3600 + i as u64));
    }
    assert_eq!((queue.stats().delayed, queue.len()), (10, 90));
    for i in 0..90 {
        let work = queue.try_get().expect("queued early");
        assert_eq!(*work, i);
        work.success();
    }
}

// WQ5
#[test]
fn an_item_that_is_done_is_not_kept() {
    let _alone = ALONE.lock();
    let queue = WorkQueue::new();
    let item = Arc::new("item");
    queue.add(Arc::clone(&item));
    queue.add(Arc::clone(&item));
    let work = queue.try_get().expect("added");
    work.success();
    assert_eq!(Arc::strong_count(&item), 1);
}

// k/k 104991: nor does the memory of a burst stay.
#[test]
fn a_burst_gives_its_memory_back() {
    let _alone = ALONE.lock();
    let queue = WorkQueue::new();
    let region = Region::new(ALLOCATOR);
    for item in 0..MANY {
        queue.add(item);
    }
    while let Some(work) = queue.try_get() {
        work.success();
    }
    let bytes = in_use(&region);
    assert!(bytes < 10_000 + SLACK, "{bytes} bytes are left");
}
