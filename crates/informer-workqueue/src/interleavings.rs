//! Producers and workers under random interleavings of every use of the lock, which the crate shuttle chooses.
//!
//! Run by `cargo xtask interleavings`. A test that fails prints a schedule, by which `shuttle::replay` repeats it
//! exactly.

use std::future::{Future, Ready, ready};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use shuttle::future::block_on;
use shuttle::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use shuttle::thread;

use crate::{WorkQueue, WorkResult};

/// Half of the schedules are random, half change threads seldom, which finds what needs few but exact switches.
fn explore(scenario: fn()) {
    shuttle::check_random(scenario, 3_000);
    shuttle::check_pct(scenario, 3_000, 3);
}

/// No time passes; who waits for time waits for ever.
fn never(_: Duration) -> std::future::Pending<()> {
    std::future::pending()
}

// WQ1, INV-QUEUE-1, INV-QUEUE-2, INV-QUEUE-7
#[test]
fn each_item_is_worked_on_after_it_was_added_and_by_one_worker_at_a_time() {
    explore(|| {
        let queue = WorkQueue::<usize>::new();
        // For each item: whether someone works on it, what was written, what was seen.
        let cells = Arc::new([(); 2].map(|()| {
            (
                AtomicBool::new(false),
                AtomicUsize::new(0),
                AtomicUsize::new(0),
            )
        }));
        let workers = [(); 2].map(|()| {
            let (queue, cells) = (queue.clone(), Arc::clone(&cells));
            thread::spawn(move || {
                block_on(
                    queue.run_worker_with(never, |item: usize| -> Ready<WorkResult> {
                        let (busy, written, seen) = &cells[item];
                        assert!(!busy.swap(true, Ordering::SeqCst), "two work on one item");
                        seen.store(written.load(Ordering::SeqCst), Ordering::SeqCst);
                        busy.store(false, Ordering::SeqCst);
                        ready(WorkResult::Success)
                    }),
                );
            })
        });
        let producers = [0, 1].map(|item| {
            let (queue, cells) = (queue.clone(), Arc::clone(&cells));
            thread::spawn(move || {
                for _ in 0..2 {
                    cells[item].1.fetch_add(1, Ordering::SeqCst);
                    queue.add(item);
                }
            })
        });
        for producer in producers {
            producer.join().expect("no panic");
        }
        queue.shut_down();
        for worker in workers {
            worker.join().expect("no panic");
        }
        for (_, written, seen) in &*cells {
            assert_eq!(written.load(Ordering::SeqCst), seen.load(Ordering::SeqCst));
        }
        assert_eq!(queue.stats().known, 0);
    });
}

// WQ4, INV-QUEUE-5
#[test]
fn a_drain_ends_after_the_last_item_and_not_before() {
    explore(|| {
        let queue = WorkQueue::<u8>::new();
        let finished = Arc::new(AtomicUsize::new(0));
        queue.add(1);
        queue.add(2);
        let workers = [(); 2].map(|()| {
            let (queue, finished) = (queue.clone(), Arc::clone(&finished));
            thread::spawn(move || {
                while let Some(work) = block_on(queue.get_with(never)) {
                    finished.fetch_add(1, Ordering::SeqCst);
                    work.success();
                }
            })
        });
        block_on(queue.shut_down_with_drain()).expect("not cancelled");
        assert_eq!(finished.load(Ordering::SeqCst), 2);
        for worker in workers {
            worker.join().expect("no panic");
        }
    });
}

// INV-QUEUE-2: a waiting worker that goes away passes on what it was woken for.
#[test]
fn a_worker_that_gives_up_waiting_takes_no_wake_up_with_it() {
    explore(|| {
        let queue = WorkQueue::<&str>::new();
        let patient = thread::spawn({
            let queue = queue.clone();
            move || block_on(queue.get_with(never)).map(|work| work.success())
        });
        let impatient = thread::spawn({
            let queue = queue.clone();
            move || {
                let mut wait = pin!(queue.get_with(never));
                let polled = wait.as_mut().poll(&mut Context::from_waker(Waker::noop()));
                match polled {
                    Poll::Ready(Some(work)) => {
                        work.success();
                        true
                    }
                    _ => false,
                }
            }
        });
        queue.add("item");
        // If this one did not take it, the other must, with nothing else to wake it.
        let is_taken = impatient.join().expect("no panic");
        if is_taken {
            queue.shut_down();
        }
        assert_eq!(patient.join().expect("no panic").is_some(), !is_taken);
    });
}

// INV-QUEUE-8
#[test]
fn an_item_that_is_removed_while_it_is_worked_on_does_not_stay() {
    explore(|| {
        let queue = WorkQueue::<&str>::new();
        queue.add("item");
        let worker = thread::spawn({
            let queue = queue.clone();
            move || {
                if let Some(work) = queue.try_get() {
                    work.retry();
                }
            }
        });
        queue.remove(&"item");
        worker.join().expect("no panic");
        // Removed before, during, or after the work: what a retry left behind came later than nothing.
        let stats = queue.stats();
        assert_eq!((stats.depth, stats.processing), (0, 0));
        assert!(stats.known <= 1 && stats.known == stats.delayed);
        queue.remove(&"item");
        assert_eq!(queue.stats().known, 0);
    });
}
