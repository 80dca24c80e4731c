//! What client-go's own tests ask of its stores, by the ids of our reference of them (ST1–ST17). Where ours differs on
//! purpose, the test asserts ours and has a comment.

mod support;

use std::sync::Arc;
use std::time::Instant;

use informer_store::{
    IndexValues, KeyError, LabelSelector, Lister, ObjectKey, Overlaid, ResourceVersion, Store,
};
use support::Thing;

fn words(thing: &Thing, values: &mut IndexValues<'_>) {
    values.extend(thing.words.iter().map(String::as_str));
}

fn indexed() -> Store<Thing> {
    let store = Store::new();
    store.add_index("words", words).expect("new");
    store
}

fn names(things: &[Arc<Thing>]) -> Vec<&str> {
    let mut names: Vec<_> = things
        .iter()
        .map(|thing| thing.meta.name.as_str())
        .collect();
    names.sort_unstable();
    names
}

// ST1
#[test]
fn store_adds_gets_updates_deletes_lists_and_replaces() {
    let store = Store::new();
    store.add(Thing::new("foo").words(["bar"])).expect("named");
    assert_eq!(store.get("foo").expect("added").words, ["bar"]);
    store
        .update(Thing::new("foo").words(["baz"]))
        .expect("named");
    assert_eq!(store.get("foo").expect("updated").words, ["baz"]);
    store.delete("foo");
    assert!(store.get("foo").is_none());

    let abc = ["a", "b", "c"].map(Thing::new);
    for thing in abc.clone() {
        store.add(thing).expect("named");
    }
    assert_eq!(names(&store.list()), ["a", "b", "c"]);
    store
        .replace(["foo", "bar"].map(Thing::new), ResourceVersion::from(7))
        .expect("named");
    assert_eq!(names(&store.list()), ["bar", "foo"]);
    assert!(store.get("a").is_none());
}

// ST1: of a key listed twice the last is taken.
#[test]
fn replace_takes_the_last_object_of_a_key() {
    let store = Store::new();
    let twice = [
        Thing::new("a").words(["old"]),
        Thing::new("b"),
        Thing::new("a").words(["new"]),
    ];
    store
        .replace(twice, ResourceVersion::from(1))
        .expect("named");
    assert_eq!(store.len(), 2);
    assert_eq!(store.get("a").expect("listed").words, ["new"]);
}

// ST2
#[test]
fn index_finds_objects_by_value() {
    let store = indexed();
    store.add(Thing::new("a").words(["x", "y"])).expect("named");
    store.add(Thing::new("b").words(["y"])).expect("named");
    assert_eq!(
        names(&store.by_index("words", "y").expect("there")),
        ["a", "b"]
    );
    assert_eq!(names(&store.by_index("words", "x").expect("there")), ["a"]);
    // Found through another object: the union of its values, each object once.
    let like = store
        .index("words", &Thing::new("other").words(["x", "y"]))
        .expect("there");
    assert_eq!(names(&like), ["a", "b"]);
    let mut values: Vec<String> = store
        .list_index_values("words")
        .iter()
        .map(|value| value.to_string())
        .collect();
    values.sort();
    assert_eq!(values, ["x", "y"]);
    // S7: an unknown index is an error, but for the list of its values; an unknown value is not.
    assert!(store.by_index("none", "x").is_err());
    assert!(store.index("none", &Thing::new("a")).is_err());
    assert!(store.index_keys("none", "x").is_err());
    assert!(store.list_index_values("none").is_empty());
    assert!(store.by_index("words", "z").expect("there").is_empty());

    store.update(Thing::new("a").words(["z"])).expect("named");
    assert_eq!(names(&store.by_index("words", "y").expect("there")), ["b"]);
    assert_eq!(names(&store.by_index("words", "z").expect("there")), ["a"]);
    store.delete("b");
    assert!(store.by_index("words", "y").expect("there").is_empty());
}

// S7
#[test]
fn index_keys_are_sorted() {
    let store = indexed();
    for name in ["c", "a", "d", "b"] {
        store.add(Thing::new(name).words(["x"])).expect("named");
    }
    let keys = store.index_keys("words", "x").expect("there");
    assert_eq!(keys, ["a", "b", "c", "d"].map(ObjectKey::cluster_scoped));
}

// ST3
#[test]
fn index_value_exists_while_an_object_has_it() {
    let store = indexed();
    store.add(Thing::new("a").words(["x"])).expect("named");
    store.add(Thing::new("b").words(["x"])).expect("named");
    store.delete("a");
    assert_eq!(store.list_index_values("words").len(), 1);
    store.delete("b");
    assert!(store.list_index_values("words").is_empty());
}

// ST4; peers 51: the old value {a} stays when the new ones are {a, b}.
#[test]
fn index_of_many_values_is_exact_after_updates() {
    let store = indexed();
    for words in [
        &["a"][..],
        &["a", "b"],
        &["b"],
        &["b", "a", "b"],
        &[],
        &["a", "c"],
    ] {
        store
            .update(Thing::new("x").words(words.iter()))
            .expect("named");
        for value in ["a", "b", "c"] {
            let found = store.by_index("words", value).expect("there").len();
            assert_eq!(
                found,
                usize::from(words.contains(&value)),
                "{words:?}, {value}"
            );
        }
    }
}

// ST5: client-go's transaction continues after an object without a key and returns which ones were written.
#[test]
fn transaction_continues_after_an_object_without_name() {
    let store = Store::new();
    let mut transaction = store.transaction();
    let results = ["a", "", "b"].map(|name| transaction.add(Thing::new(name)));
    transaction.commit();
    assert!(matches!(
        &results,
        [Ok(None), Err(KeyError { .. }), Ok(None)]
    ));
    assert_eq!(names(&store.list()), ["a", "b"]);
}

// ST6
#[test]
fn key_error_names_the_namespace() {
    let store = Store::new();
    let error = store.add(Thing::new("shop/")).expect_err("no name");
    assert_eq!(error.namespace(), Some("shop"));
    assert!(store.is_empty());
    let listed = [Thing::new("a"), Thing::new("")];
    assert!(store.replace(listed, ResourceVersion::from(1)).is_err());
    assert!(
        store.is_empty(),
        "a list with such an object changes nothing"
    );
}

// ST7. Ours differs on purpose: a single write does not move the store's version, as other objects may be behind; the
// feeder sets it. A sink is fed by a server, and moves (see tests/sink.rs).
#[test]
fn resource_version_is_what_was_set() {
    let store = Store::new();
    assert_eq!(store.resource_version(), None);
    store.add(Thing::new("a").version(5)).expect("named");
    assert_eq!(store.resource_version(), None);
    store
        .replace([Thing::new("a").version(5)], ResourceVersion::from(9))
        .expect("named");
    assert_eq!(store.resource_version(), Some(ResourceVersion::from(9)));
    let mut transaction = store.transaction();
    transaction.remove("a");
    transaction.set_resource_version(ResourceVersion::from(12));
    transaction.commit();
    assert_eq!(store.resource_version(), Some(ResourceVersion::from(12)));
}

// ST10, ST11
#[test]
fn lister_lists_by_selector_and_namespace() {
    for with_index in [true, false] {
        let store = Store::new();
        if with_index {
            store.add_namespace_index().expect("new");
        }
        for (key, app) in [
            ("a/1", "web"),
            ("a/2", "db"),
            ("b/1", "web"),
            ("cluster", "web"),
        ] {
            store.add(Thing::new(key).label("app", app)).expect("named");
        }
        let lister = Lister::new(store, "things");
        let web: LabelSelector = "app=web".parse().expect("valid");
        let everything = LabelSelector::everything();
        assert_eq!(lister.list(&everything).len(), 4);
        assert_eq!(lister.list(&web).len(), 3);
        assert!(lister.list(&LabelSelector::nothing()).is_empty());
        assert_eq!(names(&lister.namespaced("a").list(&everything)), ["1", "2"]);
        assert_eq!(names(&lister.namespaced("a").list(&web)), ["1"]);
        assert!(
            lister
                .namespaced("a")
                .list(&LabelSelector::nothing())
                .is_empty()
        );
        assert!(lister.namespaced("c").list(&everything).is_empty());
        // S12: the empty namespace stands for all.
        assert_eq!(lister.namespaced("").list(&web).len(), 3);

        assert!(lister.namespaced("a").get("1").is_ok());
        assert!(lister.get("cluster").is_ok());
        assert!(lister.namespaced("").get("cluster").is_ok());
        let error = lister.namespaced("b").get("2").expect_err("not there");
        let parts = (error.resource(), error.namespace(), error.name());
        assert_eq!(parts, ("things", Some("b"), "2"));
        let error = lister.get("west//a/3").expect_err("not there");
        assert_eq!((error.namespace(), error.name()), (Some("a"), "3"));
        let error = lister.get("no/key/this").expect_err("not there");
        assert_eq!((error.namespace(), error.name()), (None, "no/key/this"));
    }
}

// ST12: there is no mutation detector, as what is shared cannot be changed; and no key is wanted of it.
#[test]
fn stored_object_is_shared_with_readers() {
    let store = Store::new();
    let thing = Arc::new(Thing::new("a"));
    store.add(Arc::clone(&thing)).expect("named");
    assert!(Arc::ptr_eq(&store.get("a").expect("there"), &thing));
}

// ST13
#[test]
fn overlay_ends_with_an_equal_or_newer_object() {
    let now = Instant::now();
    for (server, shown) in [(4, "mine"), (5, "theirs"), (6, "theirs")] {
        let store = Store::new();
        store
            .add(Thing::new("a").uid("1").version(3))
            .expect("named");
        let mine = Thing::new("a").uid("1").version(5).words(["mine"]);
        assert_eq!(store.overlay(mine, now), Ok(Overlaid::Visible));
        store
            .update(Thing::new("a").uid("1").version(server).words(["theirs"]))
            .expect("named");
        assert_eq!(
            store.get("a").expect("there").words,
            [shown],
            "server at {server}"
        );
    }
}

// ST14
#[test]
fn deletion_ends_an_overlay_unless_of_an_older_uid() {
    use informer_store::Deletion;
    let now = Instant::now();
    let mine = || Thing::new("a").uid("1").version(5);
    for (uid, version, stays) in [
        ("1", 4, false),
        ("1", 7, false),
        ("2", 7, false),
        ("2", 4, true),
    ] {
        let store = Store::new();
        store.overlay(mine(), now).expect("named");
        let deletion = Deletion::of(Arc::new(Thing::new("a").uid(uid).version(version)));
        let mut transaction = store.transaction();
        transaction.delete(&ObjectKey::cluster_scoped("a"), &deletion);
        transaction.commit();
        assert_eq!(store.contains("a"), stays, "deleted: {uid} at {version}");
    }
}

// ST15: client-go remembers deletions for this; here the store's resource version decides.
#[test]
fn late_overlay_is_outdated() {
    let now = Instant::now();
    let store = indexed();
    store
        .replace(
            [Thing::new("a").uid("1").version(3)],
            ResourceVersion::from(3),
        )
        .expect("named");
    let mut transaction = store.transaction();
    transaction.remove("a");
    transaction.set_resource_version(ResourceVersion::from(7));
    transaction.commit();
    // Our own write at 5 was followed by its deletion before we overlay it.
    let late = Thing::new("a").uid("1").version(5).words(["x"]);
    assert_eq!(store.overlay(late, now), Ok(Overlaid::Outdated));
    assert!(store.is_empty());

    // Created again by somebody else at 9; ours at 8 loses.
    let mut transaction = store.transaction();
    transaction
        .add(Thing::new("a").uid("2").version(9))
        .expect("named");
    transaction.commit();
    let ours = Thing::new("a").uid("1").version(8).words(["x"]);
    assert_eq!(store.overlay(ours, now), Ok(Overlaid::Outdated));

    // Indexes show what is overlaid, and no longer once it is deleted.
    let newer = Thing::new("a").uid("2").version(10).words(["x"]);
    assert_eq!(store.overlay(newer, now), Ok(Overlaid::Visible));
    assert_eq!(store.by_index("words", "x").expect("there").len(), 1);
    store.delete("a");
    assert!(store.by_index("words", "x").expect("there").is_empty());
    assert!(store.is_empty());
}

// ST17 (the part on keys; see src/key for the rest)
#[test]
fn key_text_survives_parsing() {
    for text in ["name", "ns/name", "cluster//ns/name", "cluster//name"] {
        let key: ObjectKey = text.parse().expect("valid");
        assert_eq!(key.to_string(), text);
        let built = ObjectKey::namespaced(key.namespace().unwrap_or_default(), key.name());
        let built = key
            .cluster()
            .map_or_else(|| built.clone(), |cluster| built.in_cluster(cluster));
        assert_eq!(built, key);
    }
    for text in ["", "/", "a/", "/a", "a/b/c", "//a", "c//"] {
        assert!(text.parse::<ObjectKey>().is_err(), "{text}");
    }
}

/// The names that a selector chooses from a snapshot.
fn chosen(snapshot: &informer_store::Snapshot<Thing>, selector: &str) -> Vec<String> {
    let selector: LabelSelector = selector.parse().expect("valid");
    snapshot
        .select(&selector)
        .map(|thing| thing.meta.name.clone())
        .collect()
}

// INV-STORE-1: the labels that a reader of a snapshot reads are not those of later versions of the object.
#[test]
fn selector_reads_labels_of_its_own_snapshot() {
    let store = Store::new();
    let write = |name, app| {
        store
            .add(Thing::new(name).label("app", app))
            .expect("named");
    };
    let chosen_now = |selector| chosen(&store.snapshot(), selector);
    write("a", "web");
    write("b", "db");
    assert_eq!(chosen_now("app=web"), ["a"]);
    // No snapshot is out: changed in place.
    write("a", "db");
    write("b", "web");
    assert_eq!(chosen_now("app=web"), ["b"]);
    // Beside a snapshot, of which one object's labels were read and the other's are read later.
    let before = store.snapshot();
    write("b", "db");
    write("a", "web");
    for _ in 0..2 {
        assert_eq!(chosen_now("app=web"), ["a"]);
        assert_eq!(chosen(&before, "app=web"), ["b"]);
        assert_eq!(chosen_now("app!=web"), ["b"]);
        assert_eq!(chosen(&before, "app notin (web)"), ["a"]);
    }
}
