//! What the key queue costs, counted by the allocator.

use std::alloc::System;
use std::sync::Arc;

use informer_store::{KeyQueue, ObjectKey, ObjectList};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const N: usize = 100_000;

/// What the test harness may allocate beside the test.
const SLACK: isize = 4096;

/// As the deltas of one key: one inline, more boxed.
#[allow(dead_code, reason = "only their size counts")]
enum Deltas {
    Added(Arc<u8>),
    More(Box<[u8; 64]>),
}

/// Bytes in use since the region began.
fn in_use(region: &Region<'_, System>) -> isize {
    let stats = region.change();
    stats.bytes_allocated as isize - stats.bytes_deallocated as isize
}

/// One test, as the allocator counts for the whole process.
#[test]
fn key_queue_is_small_and_returns_its_memory() {
    let key = |number: usize| ObjectKey::namespaced("shop", &format!("cart-{number}"));
    let keys: Vec<_> = (0..N).map(key).collect();
    let object = Arc::new(1u8);
    let deltas = || Deltas::Added(Arc::clone(&object));
    let region = Region::new(ALLOCATOR);

    let mut queue: KeyQueue<Deltas, Box<u64>> = KeyQueue::new();
    for key in &keys {
        queue.push_back(key.clone(), deltas());
    }
    let each = in_use(&region) as f64 / N as f64;
    println!("{each:.1} bytes an entry");
    assert!(each <= 40.0, "{each:.1} bytes an entry");

    // Popping frees memory on the way, not only at the end.
    (0..N - N / 10).for_each(|_| drop(queue.pop_front()));
    let left = in_use(&region);
    println!("{left} bytes of a tenth");
    assert!(left <= 80 * N as isize / 10, "{left} bytes of a tenth");
    while queue.pop_front().is_some() {}
    let emptied = in_use(&region);
    assert!(emptied <= 4_000, "{emptied} bytes of an empty queue");

    // Keys that come and go behind one that stays.
    queue.push_back(keys[0].clone(), deltas());
    queue.push_back(keys[1].clone(), deltas());
    for pair in keys[1..].windows(2) {
        queue.push_back(pair[1].clone(), deltas());
        assert!(queue.remove(&pair[0]).is_some());
    }
    let churned = in_use(&region);
    println!("{churned} bytes after {N} keys came and went");
    assert!(
        churned <= 100_000,
        "{churned} bytes of {} entries",
        queue.len()
    );
    drop(queue);
    assert!(in_use(&region) <= SLACK, "all is returned");

    // A list costs a key and a pointer for each object, and its place in the index.
    let mut list = ObjectList::new();
    for key in &keys {
        list.insert(key.clone(), Arc::clone(&object));
    }
    let each = in_use(&region) as f64 / N as f64;
    println!("{each:.1} bytes an item of a list");
    assert!(each <= 32.0, "{each:.1} bytes an item");
    drop(list);
    assert!(in_use(&region) <= SLACK, "all is returned");
}
