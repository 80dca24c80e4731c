//! Waiting for a store and following its changes.

mod support;

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::thread;

use informer_store::{Index, IndexValues, Lagged, ObjectKey, ResourceVersion, Store, WaitError};
use support::{Thing, Woken, block_on, poll_once};

fn version(number: u64) -> ResourceVersion {
    ResourceVersion::from(number)
}

fn names(changes: &[informer_store::Change<Thing>]) -> Vec<String> {
    changes
        .iter()
        .map(|change| change.key.to_string())
        .collect()
}

// INV-STORE-11
#[test]
fn a_wait_for_a_version_ends_once_the_store_has_it() {
    let store: Store<Thing> = Store::new();
    let seven = version(7);
    assert_eq!(poll_once(store.wait_until(&seven)), None);
    store.set_resource_version(version(6));
    assert_eq!(poll_once(store.wait_until(&seven)), None);
    let waiter = thread::spawn({
        let (store, seven) = (store.clone(), seven.clone());
        move || {
            block_on(store.wait_until(&seven)).expect("it comes");
            store.len()
        }
    });
    // The objects of the batch are there when its version is.
    let mut batch = store.begin_batch();
    batch.add(Thing::new("a")).expect("named");
    batch.set_resource_version(version(8));
    batch.commit();
    assert_eq!(waiter.join().expect("no panic"), 1);
    assert_eq!(poll_once(store.wait_until(&seven)), Some(Ok(())));
}

// INV-STORE-11, INV-STORE-12
#[test]
fn the_write_itself_wakes_who_waits() {
    fn wakes(store: &Store<Thing>, future: impl Future<Output = Result<(), WaitError>>) {
        let woken = Arc::new(Woken::default());
        let mut future = pin!(future);
        let waker = Waker::from(Arc::clone(&woken));
        assert!(
            future
                .as_mut()
                .poll(&mut Context::from_waker(&waker))
                .is_pending()
        );
        assert!(!woken.is_woken());
        let mut batch = store.begin_batch();
        batch.add(Thing::new("a")).expect("named");
        batch.set_resource_version(version(7));
        batch.commit();
        assert!(woken.is_woken());
        assert_eq!(poll_once(future), Some(Ok(())));
    }
    let seven = version(7);
    let store = Store::new();
    wakes(&store, store.wait_until(&seven));
    let store = Store::new();
    wakes(&store, store.watch().changed());
    let store = Store::new();
    wakes(&store, store.watch_key("a").changed());
}

#[test]
fn a_wait_that_cannot_be_decided_fails_at_once() {
    let store: Store<Thing> = Store::new();
    for wanted in ["", "0", "abc", "-5", "007"] {
        let wanted = ResourceVersion::new(wanted);
        let answer = poll_once(store.wait_until(&wanted));
        assert!(
            matches!(answer, Some(Err(WaitError::NotComparable { .. }))),
            "{wanted}"
        );
    }
    store.set_resource_version(ResourceVersion::new("opaque"));
    let answer = poll_once(store.wait_until(&version(5)));
    let Some(Err(error @ WaitError::NotComparable { .. })) = answer else {
        panic!("{answer:?}")
    };
    assert!(error.to_string().contains("opaque"), "{error}");
}

#[test]
fn closing_a_store_ends_every_wait() {
    let store: Store<Thing> = Store::new();
    store.add(Thing::new("a")).expect("named");
    let waiters: Vec<_> = (0..3)
        .map(|which| {
            let store = store.clone();
            thread::spawn(move || match which {
                0 => block_on(store.wait_until(&version(7))),
                1 => block_on(store.watch().changed()),
                _ => block_on(store.watch_key("a").changed()),
            })
        })
        .collect();
    store.close();
    for waiter in waiters {
        assert_eq!(waiter.join().expect("no panic"), Err(WaitError::Closed));
    }
    assert!(store.contains("a"), "it can still be read");
    // A change that came before the end is still reported.
    let mut watch = store.watch();
    store.delete("a");
    assert_eq!(poll_once(watch.changed()), Some(Ok(())));
    assert_eq!(poll_once(watch.changed()), Some(Err(WaitError::Closed)));
}

// INV-STORE-12
#[test]
fn a_watch_tells_of_its_own_key_and_value_only() {
    let store = Store::new();
    let by_word: Index = store
        .add_index("words", |thing: &Thing, values: &mut IndexValues<'_>| {
            values.extend(thing.words.iter().map(String::as_str));
        })
        .expect("new");
    let mut all = store.watch();
    let mut a = store.watch_key("a");
    let mut x = store.watch_index(&by_word, "x");
    let mut told = |what: &str, expected: [bool; 3]| {
        let mut found = [false; 3];
        for (found, watch) in found.iter_mut().zip([&mut all, &mut a, &mut x]) {
            *found = poll_once(watch.changed()).is_some();
        }
        assert_eq!(found, expected, "{what}");
    };
    told("nothing yet", [false, false, false]);
    store.add(Thing::new("a").words(["y"])).expect("named");
    told("a comes", [true, true, false]);
    store.add(Thing::new("b").words(["x"])).expect("named");
    told("b comes, with x", [true, false, true]);
    store.add(Thing::new("b").words(["x", "y"])).expect("named");
    told("b is written and keeps x", [true, false, true]);
    store.add(Thing::new("b").words(["y"])).expect("named");
    told("b loses x", [true, false, true]);
    store.add(Thing::new("b").words(["z"])).expect("named");
    told("b changes elsewhere", [true, false, false]);
    store.delete("c");
    told("nothing to delete", [false, false, false]);
    let mut batch = store.begin_batch();
    batch.add(Thing::new("a").words(["x"])).expect("named");
    batch.add(Thing::new("c")).expect("named");
    told("a batch at work", [false, false, false]);
    batch.commit();
    told("a batch at its end", [true, true, true]);
    let mut batch = store.begin_batch();
    batch.clear();
    batch.commit();
    told("all gone", [true, true, true]);
    store.set_resource_version(version(5));
    told("a bookmark", [true, false, false]);
}

#[test]
fn a_watch_made_while_a_batch_is_at_work_hears_of_it() {
    let store = Store::new();
    let mut batch = store.begin_batch();
    batch.add(Thing::new("a")).expect("named");
    let mut watch = store.watch_key("a");
    assert_eq!(poll_once(watch.changed()), None);
    batch.commit();
    assert_eq!(poll_once(watch.changed()), Some(Ok(())));
}

#[test]
fn a_watch_wakes_a_task_that_waits() {
    let store = Store::new();
    let mut watch = store.watch_key("a");
    let waiter = thread::spawn(move || {
        block_on(watch.changed()).expect("it comes");
        watch
    });
    store.add(Thing::new("a")).expect("named");
    let watch = waiter.join().expect("no panic");
    assert!(!watch.has_changed());
}

// INV-STORE-13
#[test]
fn changes_are_handed_out_in_order_with_what_was_before() {
    let store = Store::new();
    store.add(Thing::new("early")).expect("named");
    let mut changes = store.subscribe(100);
    store.add(Thing::new("a").words(["1"])).expect("named");
    let mut batch = store.begin_batch();
    batch.add(Thing::new("a").words(["2"])).expect("named");
    batch.remove("early");
    batch.commit();
    drop({
        let mut dropped = store.begin_batch();
        dropped.add(Thing::new("never")).expect("named");
        dropped
    });
    let found = changes.next_changes().expect("all there");
    assert_eq!(names(&found), ["a", "a", "early"]);
    let words = |thing: &Option<Arc<Thing>>| thing.as_ref().map(|thing| thing.words.clone());
    assert_eq!(
        (words(&found[0].old), words(&found[0].new)),
        (None, Some(vec!["1".into()]))
    );
    assert_eq!(words(&found[1].old), Some(vec!["1".into()]));
    assert!(found[2].new.is_none() && found[2].old.is_some());
    assert_eq!(
        found[1].revision, found[2].revision,
        "a batch has one revision"
    );
    assert!(found[0].revision < found[1].revision);
    assert!(changes.next_changes().expect("nothing new").is_empty());
    // Asked again from a revision, the same is said again.
    assert_eq!(
        names(&changes.since(found[0].revision).expect("kept")),
        ["a", "early"]
    );
}

// INV-STORE-13
#[test]
fn who_falls_behind_is_told_and_goes_on_from_a_snapshot() {
    let store = Store::new();
    let mut changes = store.subscribe(3);
    for name in ["a", "b", "c"] {
        store.add(Thing::new(name)).expect("named");
    }
    assert_eq!(changes.next_changes().expect("three fit").len(), 3);
    for name in ["d", "e", "f", "g"] {
        store.add(Thing::new(name)).expect("named");
    }
    let error = changes.next_changes().expect_err("one was lost");
    assert!(
        matches!(
            error,
            Lagged {
                since: 3,
                complete_since: 4
            }
        ),
        "{error:?}"
    );
    let snapshot = changes.restart();
    assert_eq!(snapshot.len(), 7);
    store.delete("a");
    assert_eq!(names(&changes.next_changes().expect("up to date")), ["a"]);
}

// INV-STORE-13: a batch is in the log as a whole or not at all.
#[test]
fn a_batch_greater_than_the_log_is_not_in_it() {
    let store = Store::new();
    let mut changes = store.subscribe(2);
    let mut batch = store.begin_batch();
    for name in ["a", "b", "c"] {
        batch.add(Thing::new(name)).expect("named");
    }
    batch.commit();
    assert!(changes.next_changes().is_err());
    changes.restart();
    store.delete("a");
    assert_eq!(names(&changes.next_changes().expect("up to date")), ["a"]);
}

#[test]
fn a_subscription_made_while_a_batch_is_at_work_knows_that_it_missed_it() {
    let store = Store::new();
    let mut batch = store.begin_batch();
    batch.add(Thing::new("a")).expect("named");
    let mut changes = store.subscribe(10);
    batch.commit();
    assert!(changes.next_changes().is_err());
    assert_eq!(changes.restart().len(), 1);
    store.delete("a");
    assert_eq!(names(&changes.next_changes().expect("up to date")), ["a"]);
}

#[test]
fn nothing_is_kept_once_nobody_follows() {
    let store: Store<Thing> = Store::new();
    let thing = Arc::new(Thing::new("a"));
    let changes = store.subscribe(10);
    let other = store.subscribe(10);
    store.add(Arc::clone(&thing)).expect("named");
    store.delete("a");
    drop(changes);
    assert!(Arc::strong_count(&thing) > 1, "the other still follows");
    drop(other);
    assert_eq!(Arc::strong_count(&thing), 1);
    store.add(Arc::clone(&thing)).expect("named");
    store.delete("a");
    assert_eq!(Arc::strong_count(&thing), 1);
    // A new one starts from now.
    assert!(
        store
            .subscribe(10)
            .next_changes()
            .expect("from now")
            .is_empty()
    );
}

// INV-STORE-13: consumers on other threads see each change once.
#[test]
fn a_consumer_that_polls_beside_a_writer_ends_with_what_the_store_holds() {
    let store: Store<Thing> = Store::new();
    let mut changes = store.subscribe(100_000);
    let writer = thread::spawn({
        let store = store.clone();
        move || {
            for round in 0..2000u64 {
                let mut batch = store.begin_batch();
                batch
                    .add(Thing::new(&format!("n{}", round % 37)).version(round))
                    .expect("named");
                batch.remove(&format!("n{}", round % 11));
                batch.commit();
            }
        }
    });
    let mut folded: BTreeMap<ObjectKey, Arc<Thing>> = BTreeMap::new();
    loop {
        let done = writer.is_finished();
        for change in changes.next_changes().expect("the log is long enough") {
            let old = match change.new {
                Some(new) => folded.insert(change.key, new),
                None => folded.remove(&change.key),
            };
            assert_eq!(old, change.old);
        }
        if done {
            break;
        }
    }
    writer.join().expect("no panic");
    let snapshot = store.snapshot();
    assert_eq!(folded.len(), snapshot.len());
    assert!(
        folded
            .iter()
            .all(|(key, thing)| snapshot.get(key) == Some(thing))
    );
}
