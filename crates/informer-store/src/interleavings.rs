//! Readers and writers under random interleavings of every lock and atomic, which the crate shuttle chooses.
//!
//! Run by `cargo xtask interleavings`. A test that fails prints a schedule, by which `shuttle::replay` repeats it
//! exactly.

#[path = "../tests/support/mod.rs"]
mod support;

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};

use crate::{
    Index, IndexValues, ObjectKey, ResourceVersion, Snapshot, Store, StoreChange, StoreChanges,
};
use shuttle::sync::atomic::{AtomicBool, Ordering};
use shuttle::thread;
use support::{Thing, poll_once};

/// Half of the schedules are random, half change threads seldom, which finds what needs few but exact switches.
fn explore(scenario: fn()) {
    shuttle::check_random(scenario, 3_000);
    shuttle::check_pct(scenario, 3_000, 3);
}

fn thing(name: &str, generation: u64) -> Thing {
    Thing::new(name)
        .version(generation)
        .words([format!("g{generation}")])
}

fn indexed() -> Store<Thing> {
    let store = Store::new();
    let words = |thing: &Thing, values: &mut IndexValues<'_>| {
        values.extend(thing.words.iter().map(String::as_str));
    };
    store.add_index("words", words).expect("new");
    store
}

/// The generations in a snapshot by its objects; its index has the same.
fn generations(snapshot: &Snapshot<Thing>) -> BTreeMap<String, String> {
    for (key, thing) in snapshot.iter() {
        let mut found = snapshot
            .visit_index("words", &thing.words[0])
            .expect("there")
            .keys();
        assert!(
            found.any(|other| other == key),
            "{key} is not under its word"
        );
    }
    let values = snapshot.list_index_values("words");
    let indexed = values
        .iter()
        .map(|value| snapshot.visit_index("words", value).expect("there").len());
    assert_eq!(indexed.sum::<usize>(), snapshot.len());
    let version = |thing: &Arc<Thing>| thing.meta.version.clone().expect("all have one");
    snapshot
        .iter()
        .map(|(key, thing)| (key.to_string(), version(thing)))
        .collect()
}

// INV-STORE-1, INV-STORE-2
#[test]
fn snapshot_has_whole_transactions_and_single_writes() {
    explore(|| {
        let store = indexed();
        let batches = thread::spawn({
            let store = store.clone();
            move || {
                for generation in 1..3 {
                    let mut transaction = store.transaction();
                    transaction.add(thing("a", generation)).expect("named");
                    transaction.add(thing("b", generation)).expect("named");
                    transaction.set_resource_version(ResourceVersion::from(generation));
                    transaction.commit();
                }
            }
        });
        let singles = thread::spawn({
            let store = store.clone();
            move || {
                for generation in 1..3 {
                    store.add(thing("c", generation)).expect("named");
                }
                store.delete("c");
            }
        });
        let mut kept = Vec::new();
        let mut newest = None;
        for _ in 0..3 {
            let snapshot = store.snapshot();
            let found = generations(&snapshot);
            assert_eq!(found.get("a"), found.get("b"));
            let version = snapshot.resource_version().map(ToString::to_string);
            assert_eq!(version.as_ref(), found.get("a"));
            assert!(newest <= Some(snapshot.revision()));
            newest = Some(snapshot.revision());
            kept.push((snapshot, found));
        }
        batches.join().expect("no panic");
        singles.join().expect("no panic");
        for (snapshot, found) in kept {
            assert_eq!(generations(&snapshot), found, "a snapshot stays");
        }
        let last = generations(&store.snapshot());
        let expected = ["a", "b"].map(|name| (name.to_owned(), "2".to_owned()));
        assert_eq!(last, BTreeMap::from(expected));
    });
}

// INV-STORE-13
#[test]
fn subscriber_gets_all_changes_or_an_error() {
    explore(|| {
        let store = indexed();
        let writer = thread::spawn({
            let store = store.clone();
            move || {
                store.add(thing("a", 1)).expect("named");
                let mut transaction = store.transaction();
                transaction.add(thing("b", 2)).expect("named");
                transaction.remove("a");
                transaction.commit();
                store.add(thing("b", 3)).expect("named");
            }
        });
        let before = store.snapshot();
        let mut changes = store.subscribe(10);
        let mut folded = entries(&changes.restart());
        follow(&mut changes, &mut folded);
        writer.join().expect("no panic");
        follow(&mut changes, &mut folded);
        assert_eq!(folded, entries(&store.snapshot()));
        // From a revision before the subscription it returns all changes, or an error.
        if let Ok(found) = changes.since(before.revision()) {
            let mut folded = entries(&before);
            fold(&mut folded, found);
            assert_eq!(folded, entries(&store.snapshot()));
        }
    });
}

// INV-STORE-13
#[test]
fn changes_of_two_writers_are_logged_in_order_of_revision() {
    explore(|| {
        let store = indexed();
        let mut changes = store.subscribe(10);
        let mut folded = BTreeMap::new();
        let writers = [1, 2].map(|generation| {
            let store = store.clone();
            thread::spawn(move || {
                store.add(thing("a", generation)).expect("named");
                store.delete("a");
            })
        });
        let mut revisions = Vec::new();
        for writer in writers {
            writer.join().expect("no panic");
            let found = changes.next_changes().expect("the log is long enough");
            revisions.extend(found.iter().map(|change| change.revision));
            fold(&mut folded, found);
        }
        assert!(revisions.is_sorted_by(|a, b| a < b), "{revisions:?}");
        assert_eq!(folded, entries(&store.snapshot()));
        assert!(folded.is_empty());
    });
}

fn follow(changes: &mut StoreChanges<Thing>, folded: &mut BTreeMap<ObjectKey, Arc<Thing>>) {
    match changes.next_changes() {
        Ok(found) => fold(folded, found),
        Err(_) => *folded = entries(&changes.restart()),
    }
}

fn fold(folded: &mut BTreeMap<ObjectKey, Arc<Thing>>, changes: Vec<StoreChange<Thing>>) {
    for change in changes {
        let old = match change.new {
            Some(new) => folded.insert(change.key, new),
            None => folded.remove(&change.key),
        };
        assert_eq!(old, change.old);
    }
}

fn entries(snapshot: &Snapshot<Thing>) -> BTreeMap<ObjectKey, Arc<Thing>> {
    snapshot
        .iter()
        .map(|(key, thing)| (key.clone(), Arc::clone(thing)))
        .collect()
}

// INV-STORE-12
#[test]
fn watch_made_at_any_time_returns_later_changes() {
    explore(|| {
        let store = indexed();
        let writer = thread::spawn({
            let store = store.clone();
            move || {
                let mut transaction = store.transaction();
                transaction.add(thing("a", 1)).expect("named");
                transaction.commit();
                store.add(thing("a", 2)).expect("named");
            }
        });
        let key = store.watch_key("a");
        let value = store.watch_index(&Index::<String>::named("words"), "g2");
        let all = store.watch();
        let seen = store.get("a");
        writer.join().expect("no panic");
        if seen != store.get("a") {
            assert!(key.has_changed() && value.has_changed() && all.has_changed());
        }
    });
}

struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

// INV-STORE-11
#[test]
fn waits_are_woken() {
    explore(|| {
        let store = indexed();
        let writer = thread::spawn({
            let store = store.clone();
            move || {
                let mut transaction = store.transaction();
                transaction.set_resource_version(ResourceVersion::from(1));
                transaction.commit();
                store.add(thing("a", 2)).expect("named");
            }
        });
        let woken = [(); 2].map(|()| Arc::new(Woken(AtomicBool::new(false))));
        let wanted = ResourceVersion::from(1);
        let mut watch = store.watch_key("a");
        let seen = store.get("a");
        let mut waits = pin!(store.wait_until(&wanted));
        let mut changed = pin!(watch.changed());
        let ready = [
            waits
                .as_mut()
                .poll(&mut Context::from_waker(&Waker::from(Arc::clone(
                    &woken[0],
                )))),
            changed
                .as_mut()
                .poll(&mut Context::from_waker(&Waker::from(Arc::clone(
                    &woken[1],
                )))),
        ];
        writer.join().expect("no panic");
        let is_revisions =
            |which: usize| ready[which].is_ready() || woken[which].0.load(Ordering::SeqCst);
        assert!(is_revisions(0));
        if ready[0].is_pending() {
            assert_eq!(poll_once(waits), Some(Ok(())));
        }
        if seen != store.get("a") {
            assert!(is_revisions(1));
            if ready[1].is_pending() {
                assert_eq!(poll_once(changed), Some(Ok(())));
            }
        }
    });
}
