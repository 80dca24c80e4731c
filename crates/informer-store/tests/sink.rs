//! A store that a reflector feeds directly: the `DeltaSink` side.

mod support;

use std::sync::Arc;

use informer_store::{
    Deletion, DeltaSink, Known, ObjectKey, Replace, ReplaceEnd, ResourceVersion, Store,
};
use proptest::prelude::*;
use support::Thing;

fn key(text: &str) -> ObjectKey {
    text.parse().expect("valid")
}

fn version(number: u64) -> ResourceVersion {
    ResourceVersion::from(number)
}

/// The `uid` life of `a` at this version.
fn a(uid: &str, version: u64) -> Arc<Thing> {
    Arc::new(Thing::new("a").uid(uid).version(version))
}

fn holds(store: &Store<Thing>) -> Option<(String, String)> {
    let thing = store.get("a")?;
    Some((thing.meta.uid.clone()?, thing.meta.version.clone()?))
}

/// A store that was fed a list with this copy of `a`.
fn fed(uid: &str, at: u64) -> Store<Thing> {
    let store = Store::new();
    let mut list = store.begin_replace();
    list.insert(key("a"), a(uid, at));
    list.finish(ReplaceEnd::new(version(at)));
    store
}

// INV-STORE-8
#[test]
fn an_older_copy_never_replaces_a_newer_one() {
    for (uid, at, expected) in [
        ("1", 4, ("1", "5")),
        ("2", 4, ("1", "5")),
        ("1", 6, ("1", "6")),
        ("2", 6, ("2", "6")),
    ] {
        let store = fed("1", 5);
        DeltaSink::update(&store, key("a"), a(uid, at));
        let expected = (expected.0.to_owned(), expected.1.to_owned());
        assert_eq!(holds(&store), Some(expected), "after {uid} at {at}");
        assert_eq!(store.resource_version(), Some(version(at.max(5))));
    }
}

// INV-STORE-8
#[test]
fn a_late_deletion_of_an_earlier_life_leaves_the_present_one() {
    for (uid, at, stays) in [
        (Some("1"), Some(9), false),
        (Some("1"), None, false),
        (Some("0"), Some(4), true),
        (Some("0"), None, true),
        // Somebody deleted a later life: this one is gone as well.
        (Some("2"), Some(9), false),
        (None, Some(9), false),
        (None, Some(4), true),
        (None, None, false),
    ] {
        let store = fed("1", 5);
        let deletion = Deletion::without_object(uid.map(Into::into), at.map(version));
        DeltaSink::delete(&store, key("a"), deletion);
        assert_eq!(store.contains("a"), stays, "deleted: {uid:?} at {at:?}");
    }
}

#[test]
fn opaque_versions_are_taken_as_they_come() {
    let store = Store::new();
    for at in ["x", "b", "7"] {
        DeltaSink::update(
            &store,
            key("a"),
            Arc::new(Thing::new("a").uid("1").version(at)),
        );
        assert_eq!(holds(&store), Some(("1".to_owned(), at.to_owned())));
        assert_eq!(store.resource_version(), Some(ResourceVersion::new(at)));
    }
}

// INV-STORE-9
#[test]
fn what_cannot_be_decoded_leaves_the_last_good_copy_marked() {
    let store = fed("1", 5);
    store.set_aside(key("a"), Some(version(7)));
    assert_eq!(holds(&store), Some(("1".into(), "5".into())));
    assert!(store.snapshot().is_stale("a"));
    assert_eq!(store.snapshot().stale_count(), 1);
    assert_eq!(store.resource_version(), Some(version(7)));
    // One that was never here leaves nothing but the version.
    store.set_aside(key("b"), Some(version(8)));
    assert_eq!(store.len(), 1);
    assert_eq!(store.resource_version(), Some(version(8)));
    // The next good copy clears the mark; so does a deletion with it.
    DeltaSink::update(&store, key("a"), a("1", 9));
    assert!(!store.snapshot().is_stale("a"));
    store.set_aside(key("a"), Some(version(10)));
    DeltaSink::delete(
        &store,
        key("a"),
        Deletion::without_object(None, Some(version(11))),
    );
    assert_eq!(store.snapshot().stale_count(), 0);
    assert!(store.is_empty());
}

// INV-STORE-9: a list that holds the stored copy says that it is the newest after all.
#[test]
fn a_list_marks_and_clears_what_is_out_of_date() {
    let store = fed("1", 5);
    let mut list = store.begin_replace();
    list.set_aside(key("a"));
    list.set_aside(key("b"));
    list.finish(ReplaceEnd::new(version(7)));
    assert!(store.snapshot().is_stale("a"));
    assert_eq!(store.len(), 1);
    let mut list = store.begin_replace();
    list.keep(key("a"));
    list.finish(ReplaceEnd::new(version(8)));
    assert!(!store.snapshot().is_stale("a"));
}

// INV-STORE-9: the same for a feeder with a queue.
#[test]
fn a_batch_marks_and_clears_what_is_out_of_date() {
    let store = fed("1", 5);
    let mut batch = store.begin_batch();
    assert!(batch.mark_stale("a") && !batch.mark_stale("b"));
    batch.commit();
    assert!(store.snapshot().is_stale("a"));
    let revision = store.revision();
    let mut batch = store.begin_batch();
    assert!(batch.confirm("a") && !batch.confirm("b"));
    batch.commit();
    assert!(!store.snapshot().is_stale("a"));
    assert_eq!(store.revision(), revision + 1);
    let mut batch = store.begin_batch();
    assert!(batch.confirm("a"), "it is here");
    batch.commit();
    assert_eq!(store.revision(), revision + 1, "nothing was changed");
}

// INV-STORE-8: a watch that starts at no version first tells of everything, in the order of keys or in none.
#[test]
fn what_a_watch_from_no_version_tells_of_is_kept_in_any_order() {
    for unset in ["", "0"] {
        let store = Store::new();
        store
            .begin_replace()
            .finish(ReplaceEnd::new(ResourceVersion::new(unset)));
        for (name, at) in [("a", 50), ("b", 30), ("c", 40), ("b", 20)] {
            DeltaSink::add(&store, key(name), Arc::new(Thing::new(name).version(at)));
            let known = store.resource_version();
            assert_eq!(known, Some(unset.into()), "more may be on its way");
        }
        assert_eq!(store.len(), 3);
        let b = store.get("b").expect("there");
        assert_eq!(
            b.meta.version.as_deref(),
            Some("30"),
            "older copies are late"
        );
        // A change is told of in its turn, after all that.
        DeltaSink::update(&store, key("a"), a("1", 60));
        assert_eq!(store.resource_version(), Some(version(60)));
        DeltaSink::add(&store, key("d"), Arc::new(Thing::new("d").version(55)));
        assert!(!store.contains("d"), "what is older is gone again");
        DeltaSink::add(&store, key("d"), Arc::new(Thing::new("d").version(61)));
        assert_eq!(store.resource_version(), Some(version(61)));
    }
}

#[test]
fn bookmarks_move_the_version_forward_only() {
    let store: Store<Thing> = Store::new();
    for (bookmark, expected) in [(5, 5), (3, 5), (9, 9)] {
        store.bookmark(version(bookmark));
        assert_eq!(store.resource_version(), Some(version(expected)));
    }
}

// INV-STORE-7
#[test]
fn a_list_is_seen_whole_or_not_at_all_and_equal_objects_keep_their_arc() {
    let store = fed("1", 5);
    let kept = store.get("a").expect("there");
    DeltaSink::add(&store, key("gone"), Arc::new(Thing::new("gone").version(6)));
    let mut list = store.begin_replace();
    list.insert(key("a"), a("1", 5));
    list.insert(key("b"), Arc::new(Thing::new("b").version(7)));
    list.insert(key("c"), Arc::new(Thing::new("c").version(7)));
    list.remove(&key("c"));
    assert_eq!(store.len(), 2, "nothing of it is seen yet");
    let before = store.snapshot();
    list.finish(ReplaceEnd::new(version(8)));
    assert_eq!(store.keys(), [key("a"), key("b")]);
    assert!(Arc::ptr_eq(&store.get("a").expect("there"), &kept));
    assert_eq!(before.len(), 2);
    assert_eq!(store.resource_version(), Some(version(8)));

    let mut dropped = store.begin_replace();
    dropped.insert(key("z"), Arc::new(Thing::new("z")));
    drop(dropped);
    assert_eq!(store.len(), 2);
}

// INV-STORE-8
#[test]
fn an_older_list_changes_nothing_but_a_rewind_holds() {
    let store = fed("1", 50);
    let list = |rewind| {
        let mut list = store.begin_replace();
        list.insert(key("a"), a("1", 30));
        list.insert(key("b"), Arc::new(Thing::new("b").version(20)));
        list.finish(ReplaceEnd::new(version(40)).rewind(rewind));
    };
    list(false);
    assert_eq!(holds(&store), Some(("1".into(), "50".into())));
    assert_eq!(
        (store.len(), store.resource_version()),
        (1, Some(version(50)))
    );
    list(true);
    assert_eq!(holds(&store), Some(("1".into(), "30".into())));
    assert_eq!(
        (store.len(), store.resource_version()),
        (2, Some(version(40)))
    );
}

// INV-STORE-8: what a server wrote after it went back can have a UID and version that were seen before.
#[test]
fn a_rewind_replaces_even_a_copy_of_the_same_version() {
    let store = fed("1", 50);
    let stored = store.get("a").expect("it was added");
    let list = |rewind| {
        let mut list = store.begin_replace();
        list.insert(key("a"), a("1", 50));
        list.finish(ReplaceEnd::new(version(50)).rewind(rewind));
        store.get("a").expect("it is listed")
    };
    assert!(Arc::ptr_eq(&stored, &list(false)));
    assert!(!Arc::ptr_eq(&stored, &list(true)));
}

#[test]
fn a_sink_says_which_copy_it_knows() {
    let store = fed("1", 5);
    let known = DeltaSink::known(&store, &key("a")).expect("it is here");
    assert!(known.is_same_copy(&Known::of(&*a("1", 5))));
    assert!(!known.is_same_copy(&Known::of(&*a("1", 6))));
    assert_eq!(DeltaSink::known(&store, &key("b")), None);
}

proptest! {
    // INV-STORE-8; 3.3.2 of the protocol: per key the store follows the server's order.
    #[test]
    fn events_in_any_order_and_any_number_leave_the_newest_state(
        history in prop::collection::vec(prop::bool::weighted(0.7), 1..20),
        deliveries in prop::collection::vec(any::<prop::sample::Index>(), 0..40),
    ) {
        // The server's history of one key: lives that are written and end.
        let mut lives = 0;
        let mut is_alive = false;
        let mut events = Vec::new();
        for (at, writes) in (1u64..).zip(history) {
            let writes = writes || !is_alive;
            if !is_alive {
                lives += 1;
            }
            is_alive = writes;
            events.push((at, writes, lives.to_string()));
        }
        let store = Store::new();
        let mut newest = 0;
        let mut expected = None;
        for delivery in deliveries {
            let (at, writes, uid) = delivery.get(&events);
            if *writes {
                DeltaSink::update(&store, key("a"), a(uid, *at));
            } else {
                DeltaSink::delete(&store, key("a"), Deletion::of(a(uid, *at)));
            }
            if *at >= newest {
                newest = *at;
                expected = writes.then(|| (uid.clone(), at.to_string()));
            }
            prop_assert_eq!(holds(&store), expected.clone());
            prop_assert_eq!(store.resource_version(), Some(version(newest)));
        }
    }
}

// INV-STORE-8: a list whose own version says nothing is looked at object by object.
#[test]
fn an_older_object_in_a_list_of_unknown_age_does_not_replace_a_newer_one() {
    let store = fed("1", 50);
    let mut list = store.begin_replace();
    list.insert(key("a"), a("1", 30));
    list.insert(key("b"), Arc::new(Thing::new("b").version(20)));
    list.finish(ReplaceEnd::new(ResourceVersion::new("opaque")));
    assert_eq!(holds(&store), Some(("1".into(), "50".into())));
    assert_eq!(store.len(), 2);
}
