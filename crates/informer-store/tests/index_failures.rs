//! Index functions that fail, panic, or answer differently each time.

mod support;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use informer_store::{IndexError, IndexValues, Indexers, ObjectKey, Store};
use parking_lot::Mutex;
use support::Thing;

fn words(thing: &Thing, values: &mut IndexValues<'_>) -> Result<(), String> {
    for word in &thing.words {
        match word.as_str() {
            "fail" => return Err("cannot read it".into()),
            "panic" => std::panic::panic_any(format!("no way: {}", thing.meta.name)),
            word => values.push(word),
        }
    }
    Ok(())
}

fn plain(thing: &Thing, values: &mut IndexValues<'_>) {
    values.extend(thing.words.iter().map(String::as_str));
}

// INV-STORE-4; peers 53 (client-go panics here with its lock held, half done).
#[test]
fn failing_index_function_leaves_its_object_out_of_that_index_only() {
    let store = Store::new();
    store.add_index("words", words).expect("new");
    store.add_index("plain", plain).expect("new");
    let reported = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&reported);
    let handle = store.clone();
    store.on_index_failure(move |failure| {
        // The store can be used from here, and shows the write.
        assert!(handle.contains(&failure.key));
        seen.lock().push(failure.to_string());
    });
    store.add(Thing::new("a").words(["x"])).expect("named");
    // Fails after it gave a value: that value does not count.
    store
        .add(Thing::new("a").words(["y", "fail"]))
        .expect("named");
    store
        .add(Thing::new("b").words(["x", "panic"]))
        .expect("named");
    store.add(Thing::new("c").words(["x"])).expect("named");

    let snapshot = store.snapshot();
    assert_eq!(snapshot.len(), 3);
    assert_eq!(
        store.index_keys("words", "x").expect("there"),
        [ObjectKey::cluster_scoped("c")]
    );
    assert!(store.by_index("words", "y").expect("there").is_empty());
    assert_eq!(store.by_index("plain", "x").expect("there").len(), 2);
    let unindexed: BTreeSet<String> = snapshot
        .unindexed_keys("words")
        .expect("there")
        .map(ToString::to_string)
        .collect();
    assert_eq!(unindexed, BTreeSet::from(["a".to_owned(), "b".to_owned()]));
    let status = store.index_status("words").expect("there");
    assert_eq!(
        (status.unindexed, status.failures, status.values),
        (2, 2, 1)
    );
    let last = status.last_failure.expect("there was one");
    assert!(last.panicked);
    assert_eq!((last.key.as_str(), &*last.message), ("b", "no way: b"));
    assert_eq!(
        *reported.lock(),
        [
            "the function of index \"words\" failed on a: cannot read it",
            "the function of index \"words\" panicked on b: no way: b",
        ]
    );

    // A later copy that is fine is back; a deletion takes the mark along.
    store.add(Thing::new("a").words(["x"])).expect("named");
    store.delete("b");
    let status = store.index_status("words").expect("there");
    assert_eq!((status.unindexed, status.failures), (0, 2));
    assert_eq!(store.by_index("words", "x").expect("there").len(), 2);
}

// INV-STORE-4
#[test]
fn late_index_leaves_out_failing_objects() {
    let store = Store::new();
    store.add(Thing::new("a").words(["x"])).expect("named");
    store.add(Thing::new("b").words(["panic"])).expect("named");
    let failures = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&failures);
    store.on_index_failure(move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
    });
    store.add_index("words", words).expect("new");
    assert_eq!(failures.load(Ordering::Relaxed), 1);
    assert_eq!(store.by_index("words", "x").expect("there").len(), 1);
    assert_eq!(store.index_status("words").expect("there").unindexed, 1);
}

// INV-STORE-4: the values that the function gave when the object was written are removed, whatever it would give now.
#[test]
fn impure_index_function_leaves_no_values_behind() {
    let store = Store::new();
    let calls = AtomicUsize::new(0);
    store
        .add_index("calls", move |_: &Thing, values: &mut IndexValues<'_>| {
            values.push(&calls.fetch_add(1, Ordering::Relaxed).to_string());
        })
        .expect("new");
    for round in 0..50 {
        store
            .add(Thing::new(&format!("n{}", round % 7)))
            .expect("named");
    }
    assert_eq!(store.list_index_values("calls").len(), 7);
    for name in 0..7 {
        store.delete(&format!("n{name}"));
    }
    assert!(store.list_index_values("calls").is_empty());
}

// INV-STORE-3; S6: client-go once refused indexes after the start, and never removes one.
#[test]
fn indexes_are_added_all_or_none_and_removed_at_any_time() {
    let store = Store::new();
    store.add(Thing::new("a/x").words(["w"])).expect("named");
    store.add_index("words", plain).expect("new");
    let before = store.snapshot();
    let clash = Indexers::new().namespace().index("words", plain);
    let exists = IndexError::Exists {
        name: "words".into(),
    };
    assert_eq!(store.add_indexers(&clash), Err(exists.clone()));
    let twice = Indexers::new().index("new", plain).index("new", plain);
    assert!(matches!(
        store.add_indexers(&twice),
        Err(IndexError::Exists { .. })
    ));
    assert_eq!(store.index_names(), ["words"], "none of them was added");
    assert_eq!(store.add_index("words", plain).map(drop), Err(exists));

    store.add_namespace_index().expect("new");
    store.add_namespace_index().expect("there already");
    assert_eq!(store.by_index("namespace", "a").expect("there").len(), 1);
    store.remove_index("words").expect("there");
    assert!(matches!(
        store.remove_index("words"),
        Err(IndexError::NotFound { .. })
    ));
    assert!(store.by_index("words", "w").is_err());
    assert_eq!(
        before
            .by_index("words", "w")
            .expect("a snapshot keeps it")
            .len(),
        1
    );
    assert!(before.by_index("namespace", "a").is_err());
    // S8: one set of definitions can serve many stores.
    let shared = Indexers::new().index("words", plain);
    let (one, two) = (Store::new(), Store::new());
    one.add_indexers(&shared).expect("new");
    two.add_indexers(&shared).expect("new");
    one.add(Thing::new("a").words(["w"])).expect("named");
    assert!(two.list_index_values("words").is_empty());
}

#[test]
fn index_errors_name_the_reason() {
    let store = Store::new();
    let typed = store
        .add_typed_index(
            "count",
            |thing: &Thing, values: &mut IndexValues<'_, usize>| {
                values.push(&thing.words.len());
            },
        )
        .expect("new");
    store.add(Thing::new("a").words(["x", "y"])).expect("named");
    assert_eq!(store.by(&typed, &2).expect("there").len(), 1);
    assert!(matches!(
        store.by_index("count", "2"),
        Err(IndexError::WrongType { .. })
    ));
    let snapshot = store.snapshot();
    let range = snapshot.range(&typed, 1..3).map(drop);
    assert_eq!(
        range,
        Err(IndexError::NotOrdered {
            name: "count".into()
        })
    );
}
