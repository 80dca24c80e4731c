//! Times the queue on the work that client-go's is timed on. Prints one JSON line for each measure; `ns_per_op` is the
//! median of several runs.
//!
//! `cargo bench -p informer-workqueue --bench micro [-- FILTER]`

use std::alloc::System;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use informer_workqueue::WorkQueue;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const N: usize = 100_000;
const MILLION: usize = 1_000_000;

/// How many operations a run has, and how many runs there are.
const OPERATIONS: usize = 1_000_000;
const RUNS: usize = 9;

fn main() {
    let filter = std::env::args()
        .skip(1)
        .find(|argument| !argument.starts_with("--"));
    let is_wanted = |name: &str| {
        filter
            .as_ref()
            .is_none_or(|filter| name.contains(&**filter))
    };
    if is_wanted("workqueue_add_get_done") {
        add_get_done();
    }
    if is_wanted("workqueue_1m_delayed") {
        delayed();
    }
}

/// Adds, takes and settles one item at a time, of 100,000 keys. Keys are shared texts, as object keys are.
fn add_get_done() {
    let keys: Vec<Arc<str>> = (0..N).map(|i| format!("ns/{i}").into()).collect();
    let queue = WorkQueue::new();
    let mut runs: Vec<f64> = (0..RUNS)
        .map(|_| {
            let began = Instant::now();
            for i in 0..OPERATIONS {
                queue.add(Arc::clone(&keys[i % N]));
                let work = queue.try_get();
                if let Some(work) = black_box(work) {
                    work.success();
                }
            }
            began.elapsed().as_nanos() as f64 / OPERATIONS as f64
        })
        .collect();
    runs.sort_by(f64::total_cmp);
    let median = runs[RUNS / 2];
    println!(r#"{{"name":"workqueue_add_get_done","ns_per_op":{median:.1}}}"#);
}

/// Delays a million keys for an hour, in no order.
fn delayed() {
    let region = Region::new(ALLOCATOR);
    let queue = WorkQueue::new();
    let began = Instant::now();
    for i in 0..MILLION {
        let delay = Duration::from_secs(3600) + Duration::from_micros((i * 7919 % MILLION) as u64);
        queue.add_after(format!("ns-{:02}/app-{i:010}", i % 20), delay);
    }
    let per_op = began.elapsed().as_nanos() as f64 / MILLION as f64;
    let stats = region.change();
    let bytes = stats.bytes_allocated - stats.bytes_deallocated;
    println!(r#"{{"name":"workqueue_1m_delayed","ns_per_op":{per_op:.1},"bytes":{bytes}}}"#);
    black_box(queue.stats());
}
