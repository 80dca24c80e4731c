//! A store that is fed directly, as a `DeltaSink`.

mod support;

use std::sync::Arc;

use informer_store::proptest::{
    SinkModel, SinkStep, SinkUnderTest, check_steps, check_table, sink_steps, versions,
};
use informer_store::{
    Deletion, DeltaSink, ListEnd, ObjectKey, ObjectList, ObjectVersion, ResourceVersion, Store,
};
use proptest::prelude::*;
use support::Thing;

fn key(text: &str) -> ObjectKey {
    text.parse().expect("valid")
}

fn version(number: u64) -> ResourceVersion {
    ResourceVersion::from(number)
}

/// The object `a` with this UID at this version.
fn a(uid: &str, version: u64) -> Arc<Thing> {
    Arc::new(Thing::new("a").uid(uid).version(version))
}

fn stored(store: &Store<Thing>) -> Option<(String, String)> {
    let thing = store.get("a")?;
    Some((thing.meta.uid.clone()?, thing.meta.version.clone()?))
}

/// Feeds a list of these objects.
fn replace<const N: usize>(store: &Store<Thing>, objects: [Arc<Thing>; N], end: ListEnd) {
    let list = objects
        .into_iter()
        .map(|object| (ObjectKey::of(&*object), object))
        .collect();
    DeltaSink::replace(store, list, end);
}

/// A store that was fed a list with this version of `a`.
fn fed(uid: &str, at: u64) -> Store<Thing> {
    let store = Store::new();
    replace(&store, [a(uid, at)], ListEnd::new(version(at)));
    store
}

fn thing((key, version): (ObjectKey, ObjectVersion)) -> Thing {
    let mut thing = Thing::new(key.as_str());
    thing.meta.uid = version.uid.map(|uid| uid.to_string());
    thing.meta.version = version.resource_version.map(|version| version.to_string());
    thing
}

// INV-STORE-7, INV-STORE-8, INV-STORE-9
#[test]
fn store_follows_the_table_of_sinks() {
    check_table(Store::<Thing>::new, thing);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    // INV-STORE-7, INV-STORE-8, INV-STORE-9
    #[test]
    fn store_matches_sink_model(steps in sink_steps(versions().prop_map(thing), 0..25)) {
        check_steps(&mut Store::<Thing>::new(), &steps)?;
    }

    // INV-STORE-8
    #[test]
    fn sink_never_goes_back_within_one_uid(
        steps in sink_steps(versions().prop_map(thing), 0..25),
    ) {
        let mut store = Store::<Thing>::new();
        let mut model = SinkModel::default();
        for (_, step) in &steps {
            if !model.apply(step) {
                continue;
            }
            let before = store.snapshot();
            step.feed(&store);
            let is_rewind = matches!(step, SinkStep::Replace(_, end) if end.rewind);
            for (key, after) in store.snapshot().iter().filter(|_| !is_rewind) {
                let Some(before) = before.get(key) else { continue };
                let same_uid = before.meta.uid.is_some() && before.meta.uid == after.meta.uid;
                let number = |thing: &Thing| {
                    let version = thing.meta.version.as_ref()?.parse::<u64>().ok()?;
                    // The API's "any version" is none.
                    Some(version).filter(|version| *version > 0)
                };
                if let (true, Some(old), Some(new)) = (same_uid, number(before), number(after)) {
                    prop_assert!(old <= new, "{} went from {} to {}", key, old, new);
                }
            }
            prop_assert_eq!(&store.applied(), model.applied());
        }
    }

    // INV-STORE-8; 3.3.2 of the protocol: per key the store follows the server's order.
    #[test]
    fn repeated_and_late_events_of_one_uid_leave_the_newest_state(
        deliveries in prop::collection::vec(1u64..20, 0..40),
    ) {
        let store = fed("1", 1);
        let mut newest = 1;
        for at in deliveries {
            DeltaSink::update(&store, key("a"), a("1", at));
            newest = newest.max(at);
            prop_assert_eq!(stored(&store), Some(("1".to_owned(), newest.to_string())));
            prop_assert_eq!(store.resource_version(), Some(version(newest)));
        }
    }
}

#[test]
fn opaque_versions_are_stored_in_the_order_of_events() {
    let store = Store::new();
    for at in ["x", "b", "7"] {
        DeltaSink::update(
            &store,
            key("a"),
            Arc::new(Thing::new("a").uid("1").version(at)),
        );
        assert_eq!(stored(&store), Some(("1".to_owned(), at.to_owned())));
        assert_eq!(store.resource_version(), Some(ResourceVersion::new(at)));
    }
}

// INV-STORE-8: a collection that several histories meet in.
#[test]
fn object_of_a_lower_version_than_the_list_is_stored_and_updated() {
    let store = fed("1", 500);
    let b = |version: u64| Arc::new(Thing::new("b").uid("2").version(version));
    DeltaSink::add(&store, key("b"), b(20));
    assert_eq!(store.get("b"), Some(b(20)));
    DeltaSink::update(&store, key("b"), b(21));
    assert_eq!(store.get("b"), Some(b(21)));
    assert_eq!(
        store.resource_version(),
        Some(version(500)),
        "it never goes back"
    );
    // A deletion that carries the version of the last change, or an older one.
    DeltaSink::delete(&store, key("b"), Deletion::of(b(20)));
    assert!(!store.contains("b"));
}

// INV-STORE-9
#[test]
fn undecodable_object_keeps_the_last_decodable_one_as_stale() {
    let store = fed("1", 5);
    store.undecodable(key("a"), Some(version(7)));
    assert_eq!(stored(&store), Some(("1".into(), "5".into())));
    assert!(store.snapshot().is_stale("a"));
    assert_eq!(store.snapshot().stale_count(), 1);
    assert_eq!(store.resource_version(), Some(version(7)));
    // An unknown one leaves nothing but the version.
    store.undecodable(key("b"), Some(version(8)));
    assert_eq!(store.len(), 1);
    assert_eq!(store.resource_version(), Some(version(8)));
    // The next decodable one clears the mark; so does a deletion.
    DeltaSink::update(&store, key("a"), a("1", 9));
    assert!(!store.snapshot().is_stale("a"));
    store.undecodable(key("a"), Some(version(10)));
    let deletion = ObjectVersion::new(None, Some(version(11)));
    DeltaSink::delete(&store, key("a"), Deletion::without_object(deletion));
    assert_eq!(store.snapshot().stale_count(), 0);
    assert!(store.is_empty());
}

// INV-STORE-9: a list that has the stored version shows that it is the newest.
#[test]
fn list_marks_and_clears_stale_objects() {
    let store = fed("1", 5);
    let mut list = ObjectList::new();
    list.insert_undecodable(key("a"));
    list.insert_undecodable(key("b"));
    DeltaSink::replace(&store, list, ListEnd::new(version(7)));
    assert!(store.snapshot().is_stale("a"));
    assert_eq!(store.len(), 1);
    replace(&store, [a("1", 5)], ListEnd::new(version(8)));
    assert!(!store.snapshot().is_stale("a"));
    // The stored allocation itself, as decoders give it.
    store.undecodable(key("a"), None);
    let stored = store.get("a").expect("it is listed");
    replace(&store, [stored], ListEnd::new(version(9)));
    assert!(!store.snapshot().is_stale("a"));
}

// INV-STORE-9: the same for a feeder with a queue.
#[test]
fn transaction_marks_and_clears_stale_objects() {
    let store = fed("1", 5);
    let mut transaction = store.transaction();
    assert!(transaction.mark_stale("a") && !transaction.mark_stale("b"));
    transaction.commit();
    assert!(store.snapshot().is_stale("a"));
    let revision = store.revision();
    let mut transaction = store.transaction();
    assert!(transaction.mark_stale("a"), "it exists");
    transaction.commit();
    assert_eq!(store.revision(), revision, "nothing was changed");
    let mut transaction = store.transaction();
    assert!(transaction.clear_stale("a") && !transaction.clear_stale("b"));
    transaction.commit();
    assert!(!store.snapshot().is_stale("a"));
    assert_eq!(store.revision(), revision + 1);
    let mut transaction = store.transaction();
    assert!(transaction.clear_stale("a"), "it exists");
    transaction.commit();
    assert_eq!(store.revision(), revision + 1, "nothing was changed");
}

// INV-STORE-8: a watch without a resource version first sends all objects, in the order of keys or in none.
#[test]
fn initial_objects_of_a_watch_without_version_do_not_move_the_version() {
    for unset in ["", "0"] {
        let store = Store::new();
        replace(&store, [], ListEnd::new(ResourceVersion::new(unset)));
        for (name, at) in [("a", 50), ("b", 30), ("c", 40), ("b", 20)] {
            let object = Thing::new(name).uid(name).version(at);
            DeltaSink::add(&store, key(name), Arc::new(object));
            assert_eq!(
                store.resource_version(),
                Some(unset.into()),
                "more may follow"
            );
        }
        assert_eq!(store.len(), 3);
        let b = store.get("b").expect("it was added");
        assert_eq!(b.meta.version.as_deref(), Some("30"));
        // A change is sent in its turn, after all that.
        DeltaSink::update(
            &store,
            key("a"),
            Arc::new(Thing::new("a").uid("a").version(60)),
        );
        assert_eq!(store.resource_version(), Some(version(60)));
        DeltaSink::add(&store, key("d"), Arc::new(Thing::new("d").version(61)));
        assert_eq!(store.resource_version(), Some(version(61)));
    }
}

#[test]
fn bookmark_moves_the_version_forward_only() {
    let store: Store<Thing> = Store::new();
    for (bookmark, expected) in [("5", "5"), ("3", "5"), ("9", "9"), ("0", "9"), ("", "9")] {
        store.bookmark(bookmark.into());
        assert_eq!(store.resource_version(), Some(expected.into()));
    }
}

// INV-STORE-7
#[test]
fn list_is_visible_whole_or_not_at_all_and_equal_objects_keep_their_arc() {
    let store = fed("1", 5);
    let kept = store.get("a").expect("it was listed");
    DeltaSink::add(&store, key("gone"), Arc::new(Thing::new("gone").version(6)));
    let mut list = ObjectList::new();
    list.insert(key("a"), a("1", 5));
    list.insert(key("b"), Arc::new(Thing::new("b").version(7)));
    list.insert(key("c"), Arc::new(Thing::new("c").version(7)));
    list.remove(&key("c"));
    let before = store.snapshot();
    DeltaSink::replace(&store, list, ListEnd::new(version(8)));
    assert_eq!(store.keys(), [key("a"), key("b")]);
    assert_eq!(store.revision(), before.revision() + 1, "one step");
    assert!(Arc::ptr_eq(&store.get("a").expect("it is listed"), &kept));
    assert_eq!(before.len(), 2);
    assert_eq!(store.resource_version(), Some(version(8)));

    let mut transaction = store.transaction();
    transaction.replace(ObjectList::new(), &ListEnd::new(version(9)));
    assert!(transaction.is_empty());
    drop(transaction);
    assert_eq!(store.len(), 2);
}

// INV-STORE-8: a server whose versions went back can reuse a UID and version.
#[test]
fn rewind_replaces_even_an_object_of_the_same_version() {
    let store = fed("1", 50);
    let stored = store.get("a").expect("it was listed");
    let list = |rewind| {
        let end = ListEnd::new(version(50)).rewind(rewind);
        replace(&store, [a("1", 50)], end);
        store.get("a").expect("it is listed")
    };
    assert!(Arc::ptr_eq(&stored, &list(false)));
    assert!(!Arc::ptr_eq(&stored, &list(true)));
}

// INV-STORE-8
#[test]
fn rewind_moves_objects_and_version_back() {
    let store = fed("1", 50);
    let b = Arc::new(Thing::new("b").version(20));
    replace(
        &store,
        [a("1", 30), b],
        ListEnd::new(version(40)).rewind(true),
    );
    assert_eq!(stored(&store), Some(("1".into(), "30".into())));
    assert_eq!(
        (store.len(), store.resource_version()),
        (2, Some(version(40)))
    );
}

#[test]
fn newest_returns_the_stored_key_and_object() {
    let store = fed("1", 5);
    let asked = key("a");
    let (stored, object) = DeltaSink::newest(&store, &asked).expect("it is stored");
    assert!(Arc::ptr_eq(&object, &store.get("a").expect("it is stored")));
    assert!(
        !std::ptr::eq(stored.as_str(), asked.as_str()),
        "the stored key"
    );
    assert_eq!(DeltaSink::newest(&store, &key("b")), None);
}
