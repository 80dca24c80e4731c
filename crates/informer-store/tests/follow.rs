//! Waiting for a store and following its changes.

mod support;

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::thread;

use informer_store::{Index, IndexValues, Lagged, ObjectKey, ResourceVersion, Store, WaitError};
use proptest::prelude::*;
use support::{Thing, Woken, block_on, poll_once};

fn version(number: u64) -> ResourceVersion {
    ResourceVersion::from(number)
}

fn names(changes: &[informer_store::StoreChange<Thing>]) -> Vec<String> {
    changes
        .iter()
        .map(|change| change.key.to_string())
        .collect()
}

// INV-STORE-11
#[test]
fn wait_until_ends_once_the_store_has_the_version() {
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
    // The objects of the transaction are there when its version is.
    let mut transaction = store.transaction();
    transaction.add(Thing::new("a")).expect("named");
    transaction.set_resource_version(version(8));
    transaction.commit();
    assert_eq!(waiter.join().expect("no panic"), 1);
    assert_eq!(poll_once(store.wait_until(&seven)), Some(Ok(())));
}

// INV-STORE-11, INV-STORE-12
#[test]
fn write_wakes_waits_and_watches() {
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
        let mut transaction = store.transaction();
        transaction.add(Thing::new("a")).expect("named");
        transaction.set_resource_version(version(7));
        transaction.commit();
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
fn wait_until_fails_at_once_if_versions_cannot_be_compared() {
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
fn close_ends_all_waits() {
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
fn watch_is_woken_by_its_key_or_value_only() {
    let store = Store::new();
    let by_word: Index = store
        .add_index("words", |thing: &Thing, values: &mut IndexValues<'_>| {
            values.extend(thing.words.iter().map(String::as_str));
        })
        .expect("new");
    let mut all = store.watch();
    let mut a = store.watch_key("a");
    let mut x = store.watch_index(&by_word, "x");
    let mut check = |what: &str, expected: [bool; 3]| {
        let mut found = [false; 3];
        for (found, watch) in found.iter_mut().zip([&mut all, &mut a, &mut x]) {
            *found = poll_once(watch.changed()).is_some();
        }
        assert_eq!(found, expected, "{what}");
    };
    check("no change", [false, false, false]);
    store.add(Thing::new("a").words(["y"])).expect("named");
    check("a is added", [true, true, false]);
    store.add(Thing::new("b").words(["x"])).expect("named");
    check("b is added, with x", [true, false, true]);
    store.add(Thing::new("b").words(["x", "y"])).expect("named");
    check("b is written and keeps x", [true, false, true]);
    store.add(Thing::new("b").words(["y"])).expect("named");
    check("b loses x", [true, false, true]);
    store.add(Thing::new("b").words(["z"])).expect("named");
    check("b changes elsewhere", [true, false, false]);
    store.delete("c");
    check("nothing to delete", [false, false, false]);
    let mut transaction = store.transaction();
    transaction
        .add(Thing::new("a").words(["x"]))
        .expect("named");
    transaction.add(Thing::new("c")).expect("named");
    check("an open transaction", [false, false, false]);
    transaction.commit();
    check("its commit", [true, true, true]);
    let mut transaction = store.transaction();
    transaction.clear();
    transaction.commit();
    check("all removed", [true, true, true]);
    store.set_resource_version(version(5));
    check("a bookmark", [true, false, false]);
}

#[test]
fn watch_made_during_a_transaction_is_woken_by_its_commit() {
    let store = Store::new();
    let mut transaction = store.transaction();
    transaction.add(Thing::new("a")).expect("named");
    let mut watch = store.watch_key("a");
    assert_eq!(poll_once(watch.changed()), None);
    transaction.commit();
    assert_eq!(poll_once(watch.changed()), Some(Ok(())));
}

#[test]
fn watch_wakes_its_task() {
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
fn changes_are_returned_in_order_with_the_old_object() {
    let store = Store::new();
    store.add(Thing::new("early")).expect("named");
    let mut changes = store.subscribe(100);
    store.add(Thing::new("a").words(["1"])).expect("named");
    let mut transaction = store.transaction();
    transaction
        .add(Thing::new("a").words(["2"]))
        .expect("named");
    transaction.remove("early");
    transaction.commit();
    drop({
        let mut dropped = store.transaction();
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
        "a transaction has one revision"
    );
    assert!(found[0].revision < found[1].revision);
    assert!(changes.next_changes().expect("nothing new").is_empty());
    // From a revision the same changes are returned again.
    assert_eq!(
        names(&changes.since(found[0].revision).expect("kept")),
        ["a", "early"]
    );
}

// INV-STORE-13
#[test]
fn lagging_subscriber_gets_an_error_and_restarts_from_a_snapshot() {
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

// INV-STORE-13: a transaction is in the log as a whole or not at all.
#[test]
fn transaction_larger_than_the_log_is_dropped_whole() {
    let store = Store::new();
    let mut changes = store.subscribe(2);
    let mut transaction = store.transaction();
    for name in ["a", "b", "c"] {
        transaction.add(Thing::new(name)).expect("named");
    }
    transaction.commit();
    assert!(changes.next_changes().is_err());
    changes.restart();
    store.delete("a");
    assert_eq!(names(&changes.next_changes().expect("up to date")), ["a"]);
}

#[test]
fn subscription_made_during_a_transaction_gets_an_error_for_it() {
    let store = Store::new();
    let mut transaction = store.transaction();
    transaction.add(Thing::new("a")).expect("named");
    let mut changes = store.subscribe(10);
    transaction.commit();
    assert!(changes.next_changes().is_err());
    assert_eq!(changes.restart().len(), 1);
    store.delete("a");
    assert_eq!(names(&changes.next_changes().expect("up to date")), ["a"]);
}

#[test]
fn log_is_empty_without_subscribers() {
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

proptest! {
    // INV-STORE-13
    #[test]
    fn any_capacity_of_a_subscription_returns_all_changes_or_an_error(
        capacity in prop_oneof![0usize..6, Just(usize::MAX), any::<usize>()],
        writes in prop::collection::vec(1usize..5, 0..12),
    ) {
        let store = Store::new();
        let mut changes = store.subscribe(capacity);
        let mut expected = 0;
        for count in &writes {
            let mut transaction = store.transaction();
            for name in 0..*count {
                transaction.add(Thing::new(&name.to_string())).expect("named");
            }
            transaction.commit();
            expected += count;
        }
        match changes.next_changes() {
            Ok(found) => {
                prop_assert_eq!(found.len(), expected);
                prop_assert!(expected <= capacity);
            }
            Err(Lagged { .. }) => prop_assert!(expected > capacity),
        }
    }
}

// INV-STORE-13: consumers on other threads see each change once.
#[test]
fn polled_changes_add_up_to_the_store_beside_a_writer() {
    let store: Store<Thing> = Store::new();
    let mut changes = store.subscribe(100_000);
    let writer = thread::spawn({
        let store = store.clone();
        move || {
            for round in 0..2000u64 {
                let mut transaction = store.transaction();
                transaction
                    .add(Thing::new(&format!("n{}", round % 37)).version(round))
                    .expect("named");
                transaction.remove(&format!("n{}", round % 11));
                transaction.commit();
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
