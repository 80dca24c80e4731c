//! Waiting for one's own writes and deletions.

mod support;

use std::sync::Arc;
use std::time::Instant;

use informer_store::{Expectation, ResourceVersion, Store, WaitError};
use proptest::prelude::*;
use support::{Thing, block_on, poll_once};

fn thing(uid: &str, version: impl ToString) -> Thing {
    Thing::new("ns/a").uid(uid).version(version)
}

fn is_met(store: &Store<Thing>, expected: &Expectation) -> bool {
    match poll_once(store.wait_for(expected)) {
        None => false,
        Some(answer) => {
            answer.expect("comparable");
            true
        }
    }
}

// INV-STORE-11
#[test]
fn written_is_met_by_its_version_a_newer_one_or_its_deletion() {
    let expected = Expectation::written(&thing("one", 7)).expect("named");
    let store = Store::new();
    assert!(!is_met(&store, &expected));
    store.add(thing("one", 6)).expect("named");
    assert!(!is_met(&store, &expected));
    for version in [7, 8] {
        store.add(thing("one", version)).expect("named");
        assert!(is_met(&store, &expected), "{version}");
    }
    // A later UID is newer, an earlier one is not.
    store.add(thing("two", 9)).expect("named");
    assert!(is_met(&store, &expected));
    store.add(thing("zero", 5)).expect("named");
    assert!(!is_met(&store, &expected));
    // Deleted, before the write or after it.
    store.delete("ns/a");
    store.set_resource_version(ResourceVersion::from(6));
    assert!(!is_met(&store, &expected));
    store.set_resource_version(ResourceVersion::from(8));
    assert!(is_met(&store, &expected));
}

// INV-STORE-11, INV-STORE-9: the version has passed, whatever became of the object.
#[test]
fn written_is_met_by_the_version_of_the_store() {
    let expected = Expectation::written(&thing("one", 7)).expect("named");
    let store = Store::new();
    store.add(thing("one", 6)).expect("named");
    store.set_resource_version(ResourceVersion::from(9));
    assert!(is_met(&store, &expected));
}

// INV-STORE-10, INV-STORE-11
#[test]
fn overlay_does_not_meet_an_expectation() {
    let expected = Expectation::written(&thing("one", 7)).expect("named");
    let store = Store::new();
    store.add(thing("one", 6)).expect("named");
    store
        .overlay(thing("one", 7), Instant::now())
        .expect("named");
    assert_eq!(store.get("ns/a"), Some(Arc::new(thing("one", 7))));
    assert!(!is_met(&store, &expected));
    store.add(thing("one", 7)).expect("named");
    assert!(is_met(&store, &expected));
}

// INV-STORE-11
#[test]
fn deleted_is_met_once_the_uid_is_deleted() {
    let expected = Expectation::deleted(&thing("one", 7)).expect("named");
    let store = Store::new();
    // The cache is behind: the object is still to come.
    store.set_resource_version(ResourceVersion::from(4));
    assert!(!is_met(&store, &expected));
    // Finalizers change it, but it exists.
    store.add(thing("one", 8)).expect("named");
    store.set_resource_version(ResourceVersion::from(8));
    assert!(!is_met(&store, &expected));
    store.delete("ns/a");
    store.set_resource_version(ResourceVersion::from(9));
    assert!(is_met(&store, &expected));
    store.add(thing("two", 10)).expect("named");
    assert!(is_met(&store, &expected));
}

// INV-STORE-11: a collection that several histories meet in, with a version far above the object's.
#[test]
fn own_version_only_ignores_the_version_of_the_store() {
    let written = Expectation::written(&thing("one", 20)).expect("named");
    let deleted = Expectation::deleted(&thing("one", 21)).expect("named");
    let store = Store::new();
    store.set_resource_version(ResourceVersion::from(500));
    assert!(is_met(&store, &written), "the store has passed it");
    let (written, deleted) = (written.own_version_only(), deleted.own_version_only());
    assert!(!is_met(&store, &written));
    for (object, is_written, is_deleted) in [
        (thing("one", 19), false, false),
        (thing("one", 20), true, false),
        (thing("one", 22), true, false),
        (thing("two", 30), true, true),
        (thing("zero", 10), false, false),
    ] {
        store.add(object.clone()).expect("named");
        assert_eq!(is_met(&store, &written), is_written, "{object:?}");
        assert_eq!(is_met(&store, &deleted), is_deleted, "{object:?}");
    }
    store.delete("ns/a");
    assert!(!is_met(&store, &written), "it may not have been received");
    assert!(is_met(&store, &deleted));
    // Equal opaque versions are one object; others are of one UID, and cannot be compared.
    let opaque = Expectation::written(&thing("one", "x")).expect("named");
    let opaque = opaque.own_version_only();
    assert!(!is_met(&store, &opaque));
    store.add(thing("one", "x")).expect("named");
    assert!(is_met(&store, &opaque));
    store.add(thing("one", "y")).expect("named");
    assert!(matches!(
        poll_once(store.wait_for(&opaque)),
        Some(Err(WaitError::NotComparable { .. }))
    ));
    // A version of the collection is nothing else.
    let version = Expectation::version(500.into());
    assert_eq!(version.clone().own_version_only(), version);
}

// INV-STORE-11
#[test]
fn wait_for_fails_at_once_if_versions_cannot_be_compared() {
    let store: Store<Thing> = Store::new();
    let refused = |store: &Store<Thing>, expected: &Expectation| {
        let answer = poll_once(store.wait_for(expected));
        assert!(
            matches!(answer, Some(Err(WaitError::NotComparable { .. }))),
            "{expected}: {answer:?}"
        );
    };
    for version in ["", "0", "abc", "-5"] {
        let object = thing("one", version);
        refused(&store, &Expectation::written(&object).expect("named"));
        refused(&store, &Expectation::deleted(&object).expect("named"));
    }
    refused(
        &store,
        &Expectation::written(&Thing::new("b")).expect("named"),
    );
    let expected = Expectation::written(&thing("one", 7)).expect("named");
    store.add(thing("one", "opaque")).expect("named");
    refused(&store, &expected);
    // Equal is equal, opaque or not.
    let opaque = Expectation::written(&thing("one", "opaque")).expect("named");
    assert!(is_met(&store, &opaque));
    assert!(Expectation::written(&Thing::new("")).is_err());
}

// INV-STORE-11
#[test]
fn wait_for_is_woken_by_the_object_and_by_close() {
    let store: Store<Thing> = Store::new();
    let expected = Expectation::written(&thing("one", 7)).expect("named");
    let wait = || {
        let (store, expected) = (store.clone(), expected.clone());
        std::thread::spawn(move || block_on(store.wait_for(&expected)))
    };
    let waiter = wait();
    store.add(thing("one", 7)).expect("named");
    assert_eq!(waiter.join().expect("no panic"), Ok(()));
    store.delete("ns/a");
    let waiter = wait();
    store.close();
    assert_eq!(waiter.join().expect("no panic"), Err(WaitError::Closed));
}

proptest! {
    /// A store that follows a history meets an expectation as soon as it has applied the write, for ever, and never
    /// before.
    // INV-STORE-11
    #[test]
    fn expectation_is_met_from_its_event_on(deletes in prop::collection::vec(any::<bool>(), 1..30), which in any::<prop::sample::Index>()) {
        let mut uids = 0;
        let mut alive = false;
        // Each step writes the object or deletes it, and a deletion has a version of its own.
        let history: Vec<(Thing, bool)> = deletes
            .iter()
            .enumerate()
            .map(|(at, &delete)| {
                let delete = delete && alive;
                uids += usize::from(!alive);
                alive = !delete;
                (thing(&uids.to_string(), at + 1), delete)
            })
            .collect();
        let at = which.index(history.len());
        let (object, is_delete) = &history[at];
        let expected = if *is_delete {
            Expectation::deleted(object)
        } else {
            Expectation::written(object)
        }.expect("named");
        let store = Store::new();
        for (step, (object, delete)) in history.iter().enumerate() {
            prop_assert_eq!(is_met(&store, &expected), step > at, "before step {}", step);
            let mut transaction = store.transaction();
            if *delete {
                transaction.remove("ns/a");
            } else {
                transaction.add(object.clone()).expect("named");
            }
            transaction.set_resource_version(ResourceVersion::from(step as u64 + 1));
            transaction.commit();
        }
        prop_assert!(is_met(&store, &expected));
    }
}
