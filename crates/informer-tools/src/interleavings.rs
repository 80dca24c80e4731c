//! Stores under random interleavings of every lock and atomic of this crate, which the crate shuttle chooses.
//!
//! Run by `cargo xtask interleavings`. A test that fails prints a schedule, by which `shuttle::replay` repeats it
//! exactly. The locks of `informer-store` are not shuttle's here: none may be held where shuttle can change threads and
//! another thread would wait for it.

#[path = "../tests/support/thing.rs"]
mod thing;

use std::sync::Arc;
use std::time::{Duration, Instant};

use informer_store::Snapshot;
use shuttle::sync::Mutex;
use shuttle::thread;

use self::thing::Thing;
use crate::{TtlStore, UndeltaStore};

/// Half of the schedules are random, half change threads seldom, which finds what needs few but exact switches.
fn explore(scenario: fn()) {
    shuttle::check_random(scenario, 3_000);
    shuttle::check_pct(scenario, 3_000, 3);
}

#[test]
fn undelta_store_passes_its_last_state_last() {
    explore(|| {
        let passed = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&passed);
        let store = UndeltaStore::new(move |all: Snapshot<Thing>| {
            let mut seen = seen.lock().expect("no panic");
            seen.push((all.revision(), all.len()));
        });
        let writers = ["a", "b"].map(|name| {
            let store = store.clone();
            thread::spawn(move || drop(store.add(Thing::new(name)).expect("named")))
        });
        for writer in writers {
            writer.join().expect("no panic");
        }
        let passed = passed.lock().expect("no panic");
        assert!(passed.is_sorted(), "never back in time: {passed:?}");
        assert_eq!(passed.last(), Some(&(2, 2)));
    });
}

#[test]
fn object_written_again_is_not_purged() {
    explore(|| {
        let start = Instant::now();
        let late = start + Duration::from_secs(20);
        let store = Arc::new(TtlStore::new(Duration::from_secs(10)));
        store.add(Thing::new("a").version(1), start).expect("named");
        let purger = thread::spawn({
            let store = Arc::clone(&store);
            move || drop(store.purge(late))
        });
        let reader = thread::spawn({
            let store = Arc::clone(&store);
            move || store.get("a", late)
        });
        store.add(Thing::new("a").version(2), late).expect("named");
        purger.join().expect("no panic");
        let read = reader.join().expect("no panic");
        let is_new = |thing: Arc<Thing>| thing.meta.version.as_deref() == Some("2");
        assert!(read.is_none_or(is_new), "the expired object was read");
        assert!(store.get("a", late).is_some_and(is_new));
    });
}
