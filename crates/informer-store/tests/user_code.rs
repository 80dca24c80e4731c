//! User code that panics, or uses the store, wherever the store calls it: functions, comparisons and drops.

mod support;

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Wake, Waker};
use std::thread;

use informer_store::{
    Deletion, DeltaSink, Index, IndexValues, LabelSelector, ListEnd, Object, ObjectKey, ObjectList,
    ObjectMetadata, OwnerReference, ResourceVersion, Store, StoreWatch, Uid,
};
use parking_lot::Mutex;
use support::{Thing, Woken, poll_once};

/// Runs what must panic, and returns the message.
fn panics<R>(call: impl FnOnce() -> R) -> String {
    let panic = catch_unwind(AssertUnwindSafe(call))
        .err()
        .expect("it panics");
    match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => panic.downcast_ref::<&str>().expect("a text").to_string(),
    }
}

/// Checks that a store is unlocked, and that its index `words` is that of its objects.
fn check(store: &Store<Bomb>) {
    let store = store.clone();
    let checked = thread::spawn(move || {
        let probe = ObjectKey::cluster_scoped("probe");
        store.upsert(probe.clone(), Arc::new(Bomb::new("probe", "probe")));
        assert!(store.delete(&probe).is_some());
        let snapshot = store.snapshot();
        let unindexed: BTreeSet<_> = snapshot.unindexed_keys("words").expect("added").collect();
        let mut indexed = 0;
        for value in snapshot.list_index_values("words") {
            for (key, bomb) in snapshot
                .visit_index("words", &value)
                .expect("added")
                .entries()
            {
                assert_eq!(bomb.word, *value, "{key}");
                assert_eq!(snapshot.get(key).map(Arc::as_ptr), Some(Arc::as_ptr(bomb)));
                indexed += 1;
            }
        }
        assert_eq!(indexed + unindexed.len(), snapshot.len());
    });
    checked.join().expect("the store is consistent");
}

/// An object whose methods and drop can panic.
struct Bomb {
    name: String,
    word: String,
    version: Option<u64>,
    /// The method that panics.
    panics_in: &'static str,
    /// Called when it is dropped.
    on_drop: Option<Arc<dyn Fn() + Send + Sync>>,
}

impl Bomb {
    fn new(name: &str, word: &str) -> Self {
        Self {
            name: name.into(),
            word: word.into(),
            version: None,
            panics_in: "",
            on_drop: None,
        }
    }

    fn version(mut self, version: u64) -> Self {
        self.version = Some(version);
        self
    }

    fn panics_in(mut self, method: &'static str) -> Self {
        self.panics_in = method;
        self
    }

    fn on_drop(mut self, call: impl Fn() + Send + Sync + 'static) -> Self {
        self.on_drop = Some(Arc::new(call));
        self
    }

    fn check(&self, method: &'static str) {
        assert!(self.panics_in != method, "{method} panics");
    }

    fn key(&self) -> ObjectKey {
        ObjectKey::cluster_scoped(&self.name)
    }
}

impl Drop for Bomb {
    fn drop(&mut self) {
        if let Some(call) = self.on_drop.take() {
            call();
        }
    }
}

impl Object for Bomb {
    type Metadata = Self;
    fn metadata(&self) -> &Self {
        self
    }
}

impl ObjectMetadata for Bomb {
    fn name(&self) -> Option<&str> {
        self.check("name");
        Some(&self.name)
    }
    fn namespace(&self) -> Option<&str> {
        self.check("namespace");
        None
    }
    fn uid(&self) -> Option<Uid> {
        self.check("uid");
        Some("u".into())
    }
    fn resource_version(&self) -> Option<ResourceVersion> {
        self.check("resource_version");
        self.version.map(ResourceVersion::from)
    }
    fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        self.check("labels");
        std::iter::empty()
    }
    fn annotations(&self) -> impl Iterator<Item = (&str, &str)> {
        std::iter::empty()
    }
    fn owner_references(&self) -> impl Iterator<Item = OwnerReference<'_>> {
        std::iter::empty()
    }

    fn generation(&self) -> Option<i64> {
        None
    }

    fn finalizers(&self) -> impl Iterator<Item = &str> {
        std::iter::empty()
    }

    fn is_being_deleted(&self) -> bool {
        false
    }
}

fn words(bomb: &Bomb, values: &mut IndexValues<'_>) {
    bomb.check("index");
    if bomb.panics_in == "index, with a payload that panics" {
        struct Payload;
        impl Drop for Payload {
            fn drop(&mut self) {
                panic!("the payload's drop panics");
            }
        }
        panic_any(Payload);
    }
    values.push(&bomb.word);
}

fn store() -> Store<Bomb> {
    let store = Store::new();
    store.add_index("words", words).expect("new");
    store.add_namespace_index().expect("new");
    for name in ["a", "b", "c"] {
        store.upsert(
            ObjectKey::cluster_scoped(name),
            Arc::new(Bomb::new(name, "x").version(5)),
        );
    }
    store
}

/// Every way to write an object.
#[derive(Debug, Clone, Copy)]
enum Write {
    Upsert,
    Transaction,
    SinkUpdate,
    SinkReplace,
}

const WRITES: [Write; 4] = [
    Write::Upsert,
    Write::Transaction,
    Write::SinkUpdate,
    Write::SinkReplace,
];

impl Write {
    fn apply(self, store: &Store<Bomb>, bomb: Bomb) {
        let (key, bomb) = (bomb.key(), Arc::new(bomb));
        match self {
            Self::Upsert => drop(store.upsert(key, bomb)),
            Self::Transaction => {
                let mut transaction = store.transaction();
                drop(transaction.upsert(key, bomb));
                transaction.commit();
            }
            Self::SinkUpdate => DeltaSink::update(store, key, bomb),
            Self::SinkReplace => {
                let mut list = ObjectList::new();
                for (other, object) in store.snapshot().iter().filter(|(k, _)| **k != key) {
                    list.insert(other.clone(), Arc::clone(object));
                }
                list.insert(key, bomb);
                DeltaSink::replace(store, list, ListEnd::new(9.into()));
            }
        }
    }
}

// INV-STORE-4
#[test]
fn panicking_index_function_leaves_its_object_out_in_every_write() {
    for method in ["index", "index, with a payload that panics", "namespace"] {
        for write in WRITES {
            // The old object is indexed, or is not.
            for name in ["a", "new"] {
                let store = store();
                let index = if method == "namespace" {
                    "namespace"
                } else {
                    "words"
                };
                write.apply(&store, Bomb::new(name, "y").version(6).panics_in(method));
                assert_eq!(store.get(name).expect("written").word, "y");
                let status = store.index_status(index).expect("added");
                assert_eq!(
                    (status.unindexed, status.failures),
                    (1, 1),
                    "{method} in {write:?}"
                );
                check(&store);
                write.apply(&store, Bomb::new(name, "z").version(7));
                assert_eq!(store.index_status(index).expect("added").unindexed, 0);
                check(&store);
            }
        }
    }
}

// INV-STORE-2, INV-STORE-5
#[test]
fn panicking_method_of_an_object_changes_nothing_and_reaches_the_writer() {
    for method in ["uid", "resource_version"] {
        for write in [Write::SinkUpdate, Write::SinkReplace] {
            let store = store();
            let before = store.snapshot();
            let bomb = Bomb::new("a", "y").version(6).panics_in(method);
            let message = panics(|| write.apply(&store, bomb));
            assert_eq!(message, format!("{method} panics"));
            let unchanged = store.snapshot().contents_revision() == before.contents_revision();
            assert!(unchanged, "{method} in {write:?}");
            check(&store);
        }
    }
    let store = store();
    let before = store.revision();
    for method in ["name", "namespace"] {
        let bomb = || Bomb::new("a", "y").panics_in(method);
        panics(|| store.add(bomb()));
        panics(|| store.replace([bomb()], 9.into()));
        panics(|| store.overlay(bomb(), std::time::Instant::now()));
        panics(|| {
            let mut transaction = store.transaction();
            transaction.remove("b");
            drop(transaction.add(bomb()));
            transaction.commit();
        });
    }
    assert_eq!(
        store.revision(),
        before,
        "a transaction that was unwound is not published"
    );
    check(&store);
    // Of a stored object: a selector that reads it reaches its reader, the sink that compares it its feeder.
    let odd = Bomb::new("odd", "x").version(5).panics_in("labels");
    store.upsert(odd.key(), Arc::new(odd));
    let selector: LabelSelector = "app=cart".parse().expect("valid");
    panics(|| store.snapshot().select(&selector).count());
    let odd = Bomb::new("odd", "x").version(5).panics_in("uid");
    store.upsert(odd.key(), Arc::new(odd));
    panics(|| {
        DeltaSink::update(
            &store,
            ObjectKey::cluster_scoped("odd"),
            Arc::new(Bomb::new("odd", "x")),
        )
    });
    let gone = Deletion::of(Arc::new(Bomb::new("odd", "x")));
    panics(|| DeltaSink::delete(&store, ObjectKey::cluster_scoped("odd"), gone.clone()));
    check(&store);
    assert!(
        store.delete("odd").is_some(),
        "it can be deleted all the same"
    );
}

/// A value whose comparison with others may panic, and whose drop may.
#[derive(Clone)]
struct Value {
    number: f64,
    drop_panics: bool,
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        self.number.to_bits() == other.number.to_bits()
    }
}
impl Eq for Value {}
impl std::hash::Hash for Value {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        assert!(self.number != -1.0, "the hash panics");
        self.number.to_bits().hash(state);
    }
}
impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Value {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let order = self.number.partial_cmp(&other.number);
        order.expect("the comparison panics")
    }
}
impl Drop for Value {
    fn drop(&mut self) {
        // One panic at a time, and not for values that a reader made.
        if self.drop_panics && !thread::panicking() && IN_STORE.with(|inside| *inside.borrow()) {
            panic!("the drop panics");
        }
    }
}

thread_local! {
    /// Whether this thread is inside a call of the store, and not of an index function.
    static IN_STORE: RefCell<bool> = const { RefCell::new(false) };
}

fn in_store<R>(call: impl FnOnce() -> R) -> R {
    IN_STORE.set(true);
    let result = call();
    IN_STORE.set(false);
    result
}

fn numbers(thing: &Thing, values: &mut IndexValues<'_, Value>) {
    let inside = IN_STORE.replace(false);
    for word in &thing.words {
        values.push(&Value {
            number: word.parse().unwrap_or(f64::NAN),
            drop_panics: word.ends_with(".5"),
        });
    }
    IN_STORE.set(inside);
}

// INV-STORE-3, INV-STORE-4
#[test]
fn panicking_comparison_or_drop_of_an_index_value_leaves_the_index_exact() {
    let store = Store::new();
    let index: Index<Value> = store.add_ordered_index("numbers", numbers).expect("new");
    let add = |name: &str, word: &str| {
        in_store(|| store.add(Thing::new(name).words([word]))).expect("named");
    };
    let value = |number| Value {
        number,
        drop_panics: false,
    };
    let range = || -> Vec<String> {
        let snapshot = store.snapshot();
        let found = snapshot.range::<_, Value, _>(&index, ..).expect("ordered");
        found.map(|(value, _)| value.number.to_string()).collect()
    };
    // Alone it is compared with nothing; then every comparison with it panics.
    add("odd", "NaN");
    add("a", "1");
    assert_eq!(store.index_status("numbers").expect("added").unindexed, 1);
    assert_eq!(store.by(&index, &value(f64::NAN)).expect("typed").len(), 1);
    // It is removed all the same, by an update, whose value is compared with it in vain, and by a deletion.
    add("odd", "2");
    assert!(range().is_empty());
    add("odd", "2");
    add("a", "1");
    assert_eq!(range(), ["1", "2"]);
    store.delete("a");
    store.delete("odd");
    add("odd", "NaN");
    store.delete("odd");
    add("a", "1");
    assert_eq!(range(), ["1"]);
    // A hash that panics is a failure of the function.
    add("b", "-1");
    assert_eq!(store.index_status("numbers").expect("added").unindexed, 1);
    // A drop that panics is ignored: of the last value, of one among others, and in a transaction.
    for word in ["3.5", "4", "5.5", "6"] {
        add("b", word);
    }
    add("c", "7.5");
    in_store(|| store.delete("c"));
    assert_eq!(range(), ["1", "6"]);
    in_store(|| {
        let mut transaction = store.transaction();
        transaction.remove("a");
        drop(transaction.add(Thing::new("b").words(["8.5"])));
        drop(transaction.add(Thing::new("b").words(["9"])));
        transaction.commit();
    });
    assert_eq!(range(), ["9"]);
    assert_eq!(store.by(&index, &value(9.0)).expect("typed").len(), 1);
}

/// A number that is compared with others in a way that the test chooses.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Moody(u64);

#[derive(Clone, Copy)]
enum Mood {
    Sane,
    /// Panics at the comparison after so many.
    PanicsAfter(u32),
    Reversed,
}

thread_local! {
    static MOOD: Cell<Mood> = const { Cell::new(Mood::Sane) };
}

impl PartialOrd for Moody {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Moody {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        match MOOD.get() {
            Mood::Sane => self.0.cmp(&other.0),
            Mood::PanicsAfter(0) => panic!("the comparison panics"),
            Mood::PanicsAfter(left) => {
                MOOD.set(Mood::PanicsAfter(left - 1));
                self.0.cmp(&other.0)
            }
            Mood::Reversed => other.0.cmp(&self.0),
        }
    }
}

// INV-STORE-3, INV-STORE-4
#[test]
fn impure_comparison_of_index_values_leaves_no_value_behind() {
    let store = Store::new();
    let function = |thing: &Thing, values: &mut IndexValues<'_, Moody>| {
        values.extend(
            thing
                .words
                .iter()
                .map(|word| Moody(word.parse().expect("a number")))
                .collect::<Vec<_>>()
                .iter(),
        );
    };
    let index: Index<Moody> = store.add_ordered_index("moody", function).expect("new");
    let add = |number: u64, mood| {
        MOOD.set(mood);
        let thing = Thing::new(&format!("n{number}")).words([number]);
        store.add(thing).expect("named");
        MOOD.set(Mood::Sane);
    };
    let delete = |number: u64, mood| {
        MOOD.set(mood);
        assert!(store.delete(&format!("n{number}")).is_some());
        MOOD.set(Mood::Sane);
    };
    let check = || {
        let snapshot = store.snapshot();
        let range = snapshot.range::<_, Moody, _>(&index, ..).expect("ordered");
        let mut count = 0;
        for (value, objects) in range {
            let words: Vec<_> = objects.map(|thing| thing.words[0].clone()).collect();
            assert_eq!(words, [value.0.to_string()]);
            count += 1;
        }
        let status = store.index_status("moody").expect("added");
        assert!(count <= status.values);
        assert_eq!(status.values + status.unindexed, snapshot.len());
        for number in 0..2_000 {
            let found = snapshot.by(&index, &Moody(number)).expect("typed").len();
            let thing = snapshot.contains(&format!("n{number}"));
            assert!(found == usize::from(thing) || status.unindexed > 0);
        }
    };
    // Enough for a tree of several levels.
    (0..1_500).for_each(|number| add(number, Mood::Sane));
    for number in 0..40 {
        let mood = match number % 3 {
            0 => Mood::Reversed,
            _ => Mood::PanicsAfter(number as u32 / 3),
        };
        delete(number * 37, mood);
        check();
        // Compared twice, before and in the change; both may panic.
        add(1_500 + number, Mood::PanicsAfter(number as u32));
        check();
    }
    for number in (0..1_600).filter(|number| store.contains(&format!("n{number}"))) {
        delete(
            number,
            if number % 2 == 0 {
                Mood::Reversed
            } else {
                Mood::Sane
            },
        );
    }
    check();
    assert!(store.is_empty());
    (0..100).for_each(|number| add(number, Mood::Sane));
    let snapshot = store.snapshot();
    let range = snapshot.range::<_, Moody, _>(&index, ..).expect("ordered");
    assert_eq!(range.count(), 100);
}

// INV-STORE-2, INV-STORE-11
#[test]
fn panicking_drop_of_an_object_comes_after_the_write_is_published() {
    let boom = |name: &str| {
        Bomb::new(name, "x")
            .version(5)
            .on_drop(|| panic!("the drop panics"))
    };
    // A transaction drops the last version of the store, and with it the object.
    for write in [Write::Transaction, Write::SinkUpdate, Write::SinkReplace] {
        let store = store();
        store.upsert(ObjectKey::cluster_scoped("a"), Arc::new(boom("a")));
        let mut watch = store.watch();
        let woken = Arc::new(Woken::default());
        let mut changed = Box::pin(watch.changed());
        let waker = Waker::from(Arc::clone(&woken));
        assert!(
            changed
                .as_mut()
                .poll(&mut Context::from_waker(&waker))
                .is_pending()
        );
        let message = panics(|| write.apply(&store, Bomb::new("a", "y").version(6)));
        assert!(woken.is_woken(), "before the drop");
        assert_eq!(message, "the drop panics");
        assert_eq!(store.get("a").expect("written").word, "y", "{write:?}");
        assert_eq!(poll_once(changed), Some(Ok(())));
        check(&store);
    }
    // A log that is full drops the changes that are kept no longer.
    let store = store();
    let mut changes = store.subscribe(2);
    store.upsert(ObjectKey::cluster_scoped("a"), Arc::new(boom("a")));
    drop(store.upsert(
        ObjectKey::cluster_scoped("a"),
        Arc::new(Bomb::new("a", "y")),
    ));
    let mut panicked = 0;
    for _ in 0..4 {
        panicked +=
            usize::from(catch_unwind(AssertUnwindSafe(|| drop(store.delete("b")))).is_err());
        let b = Arc::new(Bomb::new("b", "y"));
        panicked += usize::from(
            catch_unwind(AssertUnwindSafe(|| {
                drop(store.upsert(ObjectKey::cluster_scoped("b"), b))
            }))
            .is_err(),
        );
    }
    assert_eq!(panicked, 1, "the one drop");
    assert!(
        changes.next_changes().is_err(),
        "it knows that it missed some"
    );
    changes.restart();
    store.delete("b");
    assert_eq!(changes.next_changes().expect("one").len(), 1);
    check(&store);
}

#[test]
fn drop_of_an_object_may_use_the_store() {
    let store = store();
    let count = Arc::new(AtomicUsize::new(0));
    let uses_store = |name: &str| {
        let (handle, count) = (store.clone(), Arc::clone(&count));
        Bomb::new(name, "x").on_drop(move || {
            let number = count.fetch_add(1, Ordering::Relaxed);
            handle.upsert(
                ObjectKey::cluster_scoped("written in a drop"),
                Arc::new(Bomb::new("written in a drop", &number.to_string())),
            );
            drop(handle.subscribe(1).next_changes());
            assert!(handle.contains("written in a drop"));
        })
    };
    for write in [Write::Transaction, Write::SinkUpdate] {
        write.apply(&store, uses_store("a"));
        write.apply(&store, Bomb::new("a", "y"));
    }
    // In the change log, and with the last subscriber.
    let changes = store.subscribe(1);
    drop(store.upsert(ObjectKey::cluster_scoped("a"), Arc::new(uses_store("a"))));
    store.delete("a");
    store.delete("b");
    store.upsert(ObjectKey::cluster_scoped("c"), Arc::new(uses_store("c")));
    store.delete("c");
    drop(changes);
    // With a transaction that is not committed.
    let mut transaction = store.transaction();
    transaction.upsert(ObjectKey::cluster_scoped("d"), Arc::new(uses_store("d")));
    drop(transaction);
    assert_eq!(count.load(Ordering::Relaxed), 5);
    check(&store);
}

#[test]
fn failure_report_may_panic_and_may_use_the_store() {
    let store = store();
    let handle = store.clone();
    store.on_index_failure(move |failure| {
        handle.delete(&failure.key);
        panic!("the report panics");
    });
    let mut watch = store.watch();
    let bomb = Bomb::new("a", "y").panics_in("index");
    let message = panics(|| store.upsert(ObjectKey::cluster_scoped("a"), Arc::new(bomb)));
    assert_eq!(message, "the report panics");
    assert!(!store.contains("a"), "deleted by the report");
    assert_eq!(poll_once(watch.changed()), Some(Ok(())));
    check(&store);
}

#[test]
fn index_function_may_read_its_store_in_every_write() {
    let store: Store<Bomb> = Store::new();
    let handle = store.clone();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    store
        .add_index("words", move |bomb: &Bomb, values: &mut IndexValues<'_>| {
            let snapshot = handle.snapshot();
            assert_eq!(handle.len(), snapshot.len());
            assert_eq!(handle.contains("a"), snapshot.contains("a"));
            assert_eq!(handle.list().len(), handle.keys().len());
            assert_eq!(handle.revision(), snapshot.revision());
            drop((handle.by_index("words", "x"), handle.resource_version()));
            drop((handle.watch(), handle.watch_key("a"), handle.subscribe(1)));
            log.lock().push(handle.get("a").map(|a| a.word.clone()));
            values.push(&bomb.word);
        })
        .expect("new");
    // Beside writers that wait for their turn, and readers.
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for number in 0..200 {
                    let bomb = Bomb::new("other", &number.to_string()).version(number + 10);
                    Write::Upsert.apply(&store, bomb);
                }
            });
        }
        for (number, write) in WRITES.into_iter().cycle().take(80).enumerate() {
            let word = number.to_string();
            write.apply(&store, Bomb::new("a", &word).version(1000 + number as u64));
            assert_eq!(store.get("a").expect("written").word, word);
        }
    });
    assert!(
        seen.lock().iter().any(|word| word.as_deref() == Some("78")),
        "it reads what was published before"
    );
    check(&store);
}

#[test]
fn write_from_an_index_function_is_refused() {
    let store: Store<Bomb> = Store::new();
    let other: Store<Bomb> = Store::new();
    let (handle, elsewhere) = (store.clone(), other.clone());
    store
        .add_index("words", move |bomb: &Bomb, values: &mut IndexValues<'_>| {
            // Another store is none of this one's business.
            elsewhere.upsert(bomb.key(), Arc::new(Bomb::new(&bomb.name, "x")));
            if bomb.word == "writes" {
                handle.delete("b");
            }
            values.push(&bomb.word);
        })
        .expect("new");
    for write in WRITES {
        write.apply(&store, Bomb::new("a", "writes").version(5));
        let failure = store.index_status("words").expect("added").last_failure;
        let message = failure.expect("it failed").message;
        assert!(message.contains("from its own index function"), "{message}");
        assert!(store.contains("a") && other.contains("a"), "{write:?}");
        check(&store);
        store.delete("a");
    }
}

#[test]
fn write_beside_a_transaction_of_the_same_thread_is_refused() {
    let (store, other) = (store(), store());
    let mut transaction = store.transaction();
    let mut elsewhere = other.transaction();
    transaction.remove("a");
    elsewhere.remove("b");
    let bomb = || Arc::new(Bomb::new("z", "z"));
    let key = || ObjectKey::cluster_scoped("z");
    let refused: [&dyn Fn(); 6] = [
        &|| drop(store.upsert(key(), bomb())),
        &|| drop(store.delete("b")),
        &|| drop(store.transaction()),
        &|| store.set_overlay_capacity(1),
        &|| store.bookmark(7.into()),
        &|| drop(store.remove_index("words")),
    ];
    for write in refused {
        let message = panics(write);
        assert!(message.contains("beside a transaction"), "{message}");
    }
    assert_eq!(store.len(), 3, "it can be read");
    transaction.commit();
    assert_eq!(store.len(), 2);
    store.upsert(key(), bomb());
    panics(|| other.delete("c"));
    drop(elsewhere);
    other.delete("c");
    check(&store);
    check(&other);
}

/// A waker that uses the store at once, as no executor should.
struct Inline(Mutex<Option<StoreWatch<Bomb>>>, Store<Bomb>);

impl Wake for Inline {
    fn wake(self: Arc<Self>) {
        drop(self.0.lock().take());
        drop(self.1.watch_key("b"));
        assert!(self.1.contains("b"));
    }
}

#[test]
fn waker_may_use_the_store() {
    let store = store();
    let mut watch = store.watch_key("a");
    let inline = Arc::new(Inline(
        Mutex::new(Some(store.watch_key("a"))),
        store.clone(),
    ));
    let waker = Waker::from(Arc::clone(&inline));
    let mut changed = Box::pin(watch.changed());
    assert!(
        changed
            .as_mut()
            .poll(&mut Context::from_waker(&waker))
            .is_pending()
    );
    store.delete("a");
    assert!(inline.0.lock().is_none(), "it was woken");
}
