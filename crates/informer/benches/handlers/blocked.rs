//! One handler hangs while everything changes, again and again.

use std::sync::Arc;
use std::time::Instant;

use informer::Event;
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use crate::feed::{Feed, Thing};
use crate::measure::{Line, Process, heap};
use crate::runtime;

const OBJECTS: u64 = 1000;
/// Enough for every buffer to have its size.
const WARM_UP: u64 = 10_000;

pub(crate) fn run(wants: &dyn Fn(&str) -> bool) {
    for (name, updates) in [
        ("blocked_handler_100k", 100_000),
        ("blocked_handler_1m", 1_000_000),
        ("blocked_handler_10m", 10_000_000),
    ] {
        if wants(name) {
            runtime().block_on(measure(name, updates));
        }
    }
}

async fn measure(name: &str, updates: u64) {
    let feed = Feed::of(OBJECTS);
    let informer = feed.informer().await;
    let gate = Arc::new(Semaphore::new(0));
    let seen = Arc::new(Mutex::new(vec![0; OBJECTS as usize]));
    let (pass, told) = (Arc::clone(&gate), Arc::clone(&seen));
    let blocked = informer.add_handler(move |event: Event<Thing>| {
        let (pass, told) = (Arc::clone(&pass), Arc::clone(&told));
        async move {
            // Closed once it is to go on.
            let _ = pass.acquire().await;
            let thing = event.object();
            told.lock()[thing.number()] = thing.version();
        }
    });
    let blocked = blocked.expect("it has not stopped");
    let reached = informer.wait_until(feed.send(WARM_UP).into());
    reached.await.expect("it catches up");

    let before = heap();
    let start = Instant::now();
    let last = feed.send(updates);
    let reached = informer.wait_until(last.into());
    reached.await.expect("it catches up");
    let took = start.elapsed();
    let (after, peak) = (heap(), feed.peak());
    let waiting = blocked.status();

    gate.close();
    while blocked.status().queue_depth > 0 {
        tokio::task::yield_now().await;
    }
    // Waits for the call that runs.
    blocked
        .remove()
        .await
        .expect("it is called outside of handlers");
    let is_right = seen.lock().iter().enumerate().all(|(number, version)| {
        let newest = last - (OBJECTS - 1 - number as u64);
        *version == newest
    });
    assert!(is_right, "the handler did not end at the newest state");
    informer.stop().await.expect("nothing failed");
    Line::new(name)
        .about("ns_per_op", took.as_nanos() as f64 / updates as f64)
        .with("bytes_more", after - before)
        .with("peak_bytes", peak)
        .with("rss_bytes", Process::now().rss_bytes)
        .with("queued", waiting.queue_depth)
        .with("joined", waiting.coalesced)
        .about("seconds", took.as_secs_f64())
        .print();
}
