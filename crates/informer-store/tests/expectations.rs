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
            answer.expect("it can be told");
            true
        }
    }
}

// INV-STORE-11
#[test]
fn a_write_is_there_in_its_version_a_newer_one_or_as_its_deletion() {
    let expected = Expectation::written(&thing("one", 7)).expect("named");
    let store = Store::new();
    assert!(!is_met(&store, &expected));
    store.add(thing("one", 6)).expect("named");
    assert!(!is_met(&store, &expected));
    for version in [7, 8] {
        store.add(thing("one", version)).expect("named");
        assert!(is_met(&store, &expected), "{version}");
    }
    // A later life is newer, an earlier one is not.
    store.add(thing("two", 9)).expect("named");
    assert!(is_met(&store, &expected));
    store.add(thing("zero", 5)).expect("named");
    assert!(!is_met(&store, &expected));
    // Gone, but nobody says whether that was before the write or after it.
    store.delete("ns/a");
    store.set_resource_version(ResourceVersion::from(6));
    assert!(!is_met(&store, &expected));
    store.set_resource_version(ResourceVersion::from(8));
    assert!(is_met(&store, &expected));
}

// INV-STORE-11, INV-STORE-9: the version has passed, whatever became of the object.
#[test]
fn a_store_that_has_passed_the_version_meets_it_with_an_older_copy() {
    let expected = Expectation::written(&thing("one", 7)).expect("named");
    let store = Store::new();
    store.add(thing("one", 6)).expect("named");
    store.set_resource_version(ResourceVersion::from(9));
    assert!(is_met(&store, &expected));
}

// INV-STORE-10, INV-STORE-11
#[test]
fn ones_own_copy_is_no_word_of_the_server() {
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
fn a_deletion_is_seen_when_this_life_is_over() {
    let expected = Expectation::deleted(&thing("one", 7)).expect("named");
    let store = Store::new();
    // The cache is behind: the object is still to come.
    store.set_resource_version(ResourceVersion::from(4));
    assert!(!is_met(&store, &expected));
    // Finalizers change it, but it lives.
    store.add(thing("one", 8)).expect("named");
    store.set_resource_version(ResourceVersion::from(8));
    assert!(!is_met(&store, &expected));
    store.delete("ns/a");
    store.set_resource_version(ResourceVersion::from(9));
    assert!(is_met(&store, &expected));
    store.add(thing("two", 10)).expect("named");
    assert!(is_met(&store, &expected));
}

// INV-STORE-11
#[test]
fn what_cannot_be_compared_is_an_error_at_once() {
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
    // Equal is equal, whatever it says.
    let opaque = Expectation::written(&thing("one", "opaque")).expect("named");
    assert!(is_met(&store, &opaque));
    assert!(Expectation::written(&Thing::new("")).is_err());
}

// INV-STORE-11
#[test]
fn a_wait_for_an_object_wakes_up_when_it_comes_and_when_the_store_closes() {
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
    fn a_write_is_met_from_its_event_on(deletes in prop::collection::vec(any::<bool>(), 1..30), which in any::<prop::sample::Index>()) {
        let mut lives = 0;
        let mut alive = false;
        // Each step writes the object or deletes it, and a deletion has a version of its own.
        let history: Vec<(Thing, bool)> = deletes
            .iter()
            .enumerate()
            .map(|(at, &delete)| {
                let delete = delete && alive;
                lives += usize::from(!alive);
                alive = !delete;
                (thing(&lives.to_string(), at + 1), delete)
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
            let mut batch = store.begin_batch();
            if *delete {
                batch.remove("ns/a");
            } else {
                batch.add(object.clone()).expect("named");
            }
            batch.set_resource_version(ResourceVersion::from(step as u64 + 1));
            batch.commit();
        }
        prop_assert!(is_met(&store, &expected));
    }
}
