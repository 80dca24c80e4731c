//! Stores with a time to live, and stores that pass their whole state on: what client-go's own tests ask of them, by the
//! ids of our reference of those (ST8, ST9), and more.

#[path = "support/thing.rs"]
mod thing;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use informer_store::{
    Deletion, DeltaSink, IndexValues, ListEnd, ObjectKey, ObjectList, ResourceVersion, Snapshot,
};
use informer_tools::{TtlStore, UndeltaStore};
use parking_lot::Mutex;
use proptest::prelude::*;
use thing::Thing;

fn names(things: &[Arc<Thing>]) -> Vec<&str> {
    let mut names: Vec<_> = things
        .iter()
        .map(|thing| thing.meta.name.as_str())
        .collect();
    names.sort_unstable();
    names
}

// As in a store, a write from within an index function is refused, also one that a look-up makes: of an expired object.
#[test]
fn index_function_that_meets_an_expired_object_is_refused() {
    let ttl = Duration::from_secs(10);
    let store = Arc::new(TtlStore::<Thing>::new(ttl));
    let start = Instant::now();
    store.add(Thing::new("old"), start).expect("named");
    let weak = Arc::downgrade(&store);
    let late = start + 2 * ttl;
    let index = move |_: &Thing, _: &mut IndexValues<'_>| {
        drop(weak.upgrade().map(|store| store.get("old", late)));
    };
    let added = store.store().add_index("meets", index);
    added.expect("it is the only one");
    let writer = Arc::clone(&store);
    let (done, is_done) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        writer.add(Thing::new("new"), start).expect("named");
        done.send(()).expect("it is waited for");
    });
    let waited = is_done.recv_timeout(Duration::from_secs(30));
    waited.expect("the write does not wait for itself");
    assert_eq!(names(&store.list(start)), ["new", "old"]);
}

// ST8
#[test]
fn object_expires_once_older_than_its_ttl() {
    let ttl = Duration::from_secs(10);
    let store = TtlStore::new(ttl);
    let start = Instant::now();
    store.add(Thing::new("a"), start).expect("named");
    assert!(
        store.get("a", start + ttl).is_some(),
        "as old as its time to live"
    );
    let late = start + ttl + Duration::from_nanos(1);
    assert!(store.get("a", late).is_none());
    assert!(store.store().is_empty(), "deleted when it was met");
    store.add(Thing::new("a"), late).expect("named");
    assert!(
        store.get("a", late).is_some(),
        "written again, its age is zero"
    );
    // An update resets the age, too.
    store.update(Thing::new("a"), late + ttl).expect("named");
    assert!(store.get("a", late + ttl * 2).is_some());
    // A list deletes the expired ones.
    store.add(Thing::new("b"), late + ttl * 2).expect("named");
    assert_eq!(names(&store.list(late + ttl * 3)), ["b"]);
    assert_eq!(store.store().len(), 1);
    let deleted = store.delete("b", late + ttl * 5);
    assert!(deleted.is_none(), "an expired object is not returned");
    let replaced = store.add(Thing::new("b"), start).expect("named");
    assert!(replaced.is_none());
    let replaced = store.add(Thing::new("b"), start + ttl * 2).expect("named");
    assert!(replaced.is_none(), "nor as a replaced one");
}

// ST8
#[test]
fn replace_resets_ages_and_deletes_what_is_absent() {
    let ttl = Duration::from_secs(10);
    let store = TtlStore::new(ttl);
    let start = Instant::now();
    store.add(Thing::new("a").version(7), start).expect("named");
    store.add(Thing::new("b").version(7), start).expect("named");
    // Also with an older version: the caller decides.
    let things = [Thing::new("b").version(3), Thing::new("c").version(3)];
    store
        .replace(things, ResourceVersion::from(4), start + ttl)
        .expect("named");
    assert_eq!(store.store().resource_version(), Some(4.into()));
    let late = start + ttl * 2;
    assert_eq!(names(&store.list(late)), ["b", "c"]);
    assert_eq!(
        store.get("b", late).expect("there").meta.version.as_deref(),
        Some("3")
    );
    assert!(store.replace([Thing::new("")], 5.into(), late).is_err());
    assert_eq!(store.keys(late).len(), 2, "nothing is changed");
    assert_eq!(names(&store.purge(late + ttl)), ["b", "c"]);
    assert!(store.purge(late + ttl).is_empty());
}

// ST8
#[test]
fn zero_ttl_never_expires_and_objects_can_have_their_own() {
    let store = TtlStore::with_ttl_of(|thing: &Thing| Duration::from_secs(thing.size));
    let start = Instant::now();
    for (name, size) in [("ever", 0), ("one", 1), ("two", 2)] {
        store
            .add(Thing::new(name).size(size), start)
            .expect("named");
    }
    let listed = store.list(start + Duration::from_millis(1500));
    assert_eq!(names(&listed), ["ever", "two"]);
    let listed = store.list(start + Duration::from_secs(1_000_000));
    assert_eq!(names(&listed), ["ever"]);
}

#[test]
fn panic_of_ttl_function_writes_nothing() {
    let store = TtlStore::with_ttl_of(|thing: &Thing| match thing.size {
        0 => Duration::from_secs(10),
        _ => panic!("a function panicked on purpose"),
    });
    let now = Instant::now();
    let add = |size| store.add(Thing::new("a").size(size), now);
    assert!(catch_unwind(AssertUnwindSafe(|| add(1))).is_err());
    assert!(store.get("a", now).is_none());
    add(0).expect("named");
    let replace = || store.replace([Thing::new("b").size(1)], 1.into(), now);
    assert!(catch_unwind(AssertUnwindSafe(replace)).is_err());
    assert_eq!(names(&store.list(now)), ["a"]);
}

proptest! {
    #[test]
    fn any_ttl_and_any_time_are_accepted(ttl: Duration, written: u32, read: u64) {
        let start = Instant::now();
        let store = TtlStore::new(ttl);
        let written = start + Duration::from_secs(written.into());
        // Some clocks end sooner.
        let read = start.checked_add(Duration::from_nanos(read)).unwrap_or(start);
        store.add(Thing::new("a"), written).expect("named");
        let is_kept = ttl.is_zero() || read.saturating_duration_since(written) <= ttl;
        prop_assert_eq!(store.get("a", read).is_some(), is_kept);
    }
}

type Passed = Arc<Mutex<Vec<Vec<String>>>>;

fn undelta() -> (UndeltaStore<Thing>, Passed) {
    let passed = Passed::default();
    let seen = Arc::clone(&passed);
    let store = UndeltaStore::new(move |all: Snapshot<Thing>| {
        seen.lock()
            .push(all.keys().map(ToString::to_string).collect());
    });
    (store, passed)
}

// ST9. Writes of two threads may pass one state together; an older one never follows a newer one.
#[test]
fn undelta_store_passes_its_state_after_each_write() {
    let (store, passed) = undelta();
    store.add(Thing::new("a")).expect("named");
    store.add(Thing::new("b")).expect("named");
    store.update(Thing::new("a")).expect("named");
    store.delete("a");
    store
        .replace([Thing::new("c")], ResourceVersion::from(1))
        .expect("named");
    let _ = (
        store.store().list(),
        store.store().get("c"),
        store.store().keys(),
    );
    assert!(store.add(Thing::new("")).is_err());
    let expected: [&[&str]; 5] = [&["a"], &["a", "b"], &["a", "b"], &["b"], &["c"]];
    assert_eq!(*passed.lock(), expected);
}

#[test]
fn undelta_store_is_a_sink_that_passes_each_change() {
    let (store, passed) = undelta();
    let key = ObjectKey::cluster_scoped("a");
    let thing = || Arc::new(Thing::new("a").version(1));
    DeltaSink::add(&store, key.clone(), thing());
    assert!(
        store
            .newest(&key)
            .is_some_and(|(_, newest)| newest == thing())
    );
    DeltaSink::update(&store, key.clone(), Arc::new(Thing::new("a").version(2)));
    store.undecodable(key.clone(), Some(3.into()));
    assert!(store.store().snapshot().is_stale("a"));
    store.bookmark(4.into());
    assert_eq!(passed.lock().len(), 3, "a bookmark changes no object");
    store.resync();
    DeltaSink::delete(&store, key, Deletion::of(thing()));
    let list: ObjectList<Thing> = [(ObjectKey::cluster_scoped("b"), Arc::new(Thing::new("b")))]
        .into_iter()
        .collect();
    DeltaSink::replace(&store, list, ListEnd::new(9.into()));
    assert_eq!(store.store().resource_version(), Some(9.into()));
    assert!(!store.needs_list());
    let expected: [&[&str]; 6] = [&["a"], &["a"], &["a"], &["a"], &[], &["b"]];
    assert_eq!(*passed.lock(), expected);
}

#[test]
fn undelta_function_can_write_to_its_store() {
    let sizes = Arc::new(Mutex::new(Vec::new()));
    let (seen, handle) = (
        Arc::clone(&sizes),
        Arc::new(Mutex::new(None::<UndeltaStore<Thing>>)),
    );
    let own = Arc::clone(&handle);
    let store = UndeltaStore::new(move |all: Snapshot<Thing>| {
        seen.lock().push(all.len());
        let store = own.lock().clone();
        if let Some(store) = store.filter(|_| all.len() < 3) {
            let more = Thing::new(&format!("more-{}", all.len()));
            store.add(more).expect("named");
        }
    });
    *handle.lock() = Some(store.clone());
    store.add(Thing::new("first")).expect("named");
    assert_eq!(*sizes.lock(), [1, 2, 3]);
    *handle.lock() = None;
}

#[test]
fn undelta_function_that_panicked_receives_the_state_with_the_next_write() {
    let sizes = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&sizes);
    let store = UndeltaStore::new(move |all: Snapshot<Thing>| {
        assert!(all.len() != 1, "a function panicked on purpose");
        seen.lock().push(all.len());
    });
    let add = |name| store.add(Thing::new(name)).expect("named");
    assert!(catch_unwind(AssertUnwindSafe(|| add("a"))).is_err());
    assert_eq!(store.store().len(), 1, "the write holds");
    add("b");
    assert_eq!(*sizes.lock(), [2]);
}

/// Compiles only if handles can be shared and sent.
#[test]
fn handles_are_send_and_sync() {
    fn shared<T: Send + Sync + 'static>() {}
    shared::<TtlStore<Thing>>();
    shared::<UndeltaStore<Thing>>();
    shared::<informer_tools::Lazy<Thing, u32, ()>>();
}
