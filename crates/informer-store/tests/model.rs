//! The store against maps that are rebuilt from scratch, over random sequences of everything one can do to it.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use informer_store::{
    Index, IndexError, IndexValues, LabelSelector, ObjectKey, ResourceVersion, Snapshot, Store,
    StoreChanges, StoreWatch, Transaction,
};
use proptest::prelude::*;
use support::Thing;

/// What index functions do with an object: its words are the values; some words make them fail.
fn words(thing: &Thing, values: &mut IndexValues<'_>) -> Result<(), String> {
    for word in &thing.words {
        match word.as_str() {
            "fail" => return Err("as asked".into()),
            "panic" => std::panic::panic_any("as asked"),
            word => values.push(word),
        }
    }
    Ok(())
}

/// The lengths of the words, as numbers; fails on nothing.
fn lengths(thing: &Thing, values: &mut IndexValues<'_, usize>) {
    for word in &thing.words {
        values.push(&word.len());
    }
}

#[derive(Debug, Clone)]
enum Write {
    Upsert(Thing),
    Remove(String),
    MarkStale(String),
    SetVersion(u64),
    Clear,
}

#[derive(Debug, Clone)]
enum Step {
    Single(Write),
    Transaction { writes: Vec<Write>, commit: bool },
    Replace(Vec<Thing>, u64),
    AddIndex(usize),
    RemoveIndex(usize),
    AddNamespaceIndex,
    Snapshot,
    DropSnapshots,
}

const WORD_INDEXES: [&str; 2] = ["words", "more-words"];

/// An index of words that is ordered.
const SORTED: &str = "sorted-words";

fn key() -> impl Strategy<Value = String> {
    prop_oneof!["[ab]/[a-d]", "[a-h]", "[ab]/[a-z]{2}"]
}

fn thing() -> impl Strategy<Value = Thing> {
    let word = prop_oneof![
        12 => "[a-c]{1,2}".prop_map(|word| word),
        1 => Just("fail".to_owned()),
        1 => Just("panic".to_owned()),
    ];
    (key(), prop::collection::vec(word, 0..4)).prop_map(|(key, words)| {
        let thing = match words.first() {
            Some(word) => Thing::new(&key).label("first", word),
            None => Thing::new(&key),
        };
        thing.words(words)
    })
}

fn write() -> impl Strategy<Value = Write> {
    prop_oneof![
        10 => thing().prop_map(Write::Upsert),
        4 => key().prop_map(Write::Remove),
        2 => key().prop_map(Write::MarkStale),
        1 => (1u64..100).prop_map(Write::SetVersion),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let batched = prop_oneof![12 => write(), 1 => Just(Write::Clear)];
    prop_oneof![
        10 => write().prop_map(Step::Single),
        4 => (prop::collection::vec(batched, 0..8), prop::bool::weighted(0.7))
            .prop_map(|(writes, commit)| Step::Transaction { writes, commit }),
        1 => (prop::collection::vec(thing(), 0..12), 1u64..100)
            .prop_map(|(things, version)| Step::Replace(things, version)),
        1 => (0usize..4).prop_map(Step::AddIndex),
        1 => (0usize..4).prop_map(Step::RemoveIndex),
        1 => Just(Step::AddNamespaceIndex),
        2 => Just(Step::Snapshot),
        1 => Just(Step::DropSnapshots),
    ]
}

/// The naive store: maps, and nothing derived.
#[derive(Debug, Clone, Default)]
struct Model {
    objects: BTreeMap<String, Arc<Thing>>,
    stale: BTreeSet<String>,
    version: Option<u64>,
    indexes: Vec<&'static str>,
}

impl Model {
    fn write(&mut self, write: &Write) -> Option<Arc<Thing>> {
        match write {
            Write::Upsert(thing) => {
                let key = ObjectKey::of(thing).to_string();
                self.stale.remove(&key);
                self.objects.insert(key, Arc::new(thing.clone()))
            }
            Write::Remove(key) => {
                self.stale.remove(key);
                self.objects.remove(key)
            }
            Write::MarkStale(key) => {
                if self.objects.contains_key(key) {
                    self.stale.insert(key.clone());
                }
                None
            }
            Write::SetVersion(version) => {
                self.version = Some(*version);
                None
            }
            Write::Clear => {
                self.objects.clear();
                self.stale.clear();
                None
            }
        }
    }

    /// The values of each key in an index, and the unindexed keys, from scratch.
    fn index(&self, name: &str) -> (BTreeMap<String, BTreeSet<String>>, BTreeSet<String>) {
        let mut values: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut unindexed = BTreeSet::new();
        for (key, thing) in &self.objects {
            let bad = thing
                .words
                .iter()
                .any(|word| word == "fail" || word == "panic");
            let found: Vec<String> = match name {
                "namespace" => Some(thing.meta.namespace.clone())
                    .into_iter()
                    .filter(|n| !n.is_empty())
                    .collect(),
                "lengths" => thing
                    .words
                    .iter()
                    .map(|word| word.len().to_string())
                    .collect(),
                _ if bad => {
                    unindexed.insert(key.clone());
                    Vec::new()
                }
                _ => thing.words.clone(),
            };
            for value in found {
                values.entry(value).or_default().insert(key.clone());
            }
        }
        (values, unindexed)
    }
}

fn old_texts(object: Option<Arc<Thing>>) -> Option<Thing> {
    object.map(|object| (*object).clone())
}

fn apply_to_batch(transaction: &mut Transaction<'_, Thing>, write: &Write) -> Option<Arc<Thing>> {
    match write {
        Write::Upsert(thing) => transaction.upsert(ObjectKey::of(thing), Arc::new(thing.clone())),
        Write::Remove(key) => transaction.remove(key),
        Write::MarkStale(key) => {
            transaction.mark_stale(key);
            None
        }
        Write::SetVersion(version) => {
            transaction.set_resource_version(ResourceVersion::from(*version));
            None
        }
        Write::Clear => {
            transaction.clear();
            None
        }
    }
}

fn apply_single(store: &Store<Thing>, write: &Write) -> Option<Arc<Thing>> {
    match write {
        Write::Upsert(thing) => store.add(thing.clone()).expect("it has a name"),
        Write::Remove(key) => store.delete(key),
        Write::SetVersion(version) => {
            store.set_resource_version(ResourceVersion::from(*version));
            None
        }
        Write::MarkStale(_) | Write::Clear => {
            let mut transaction = store.transaction();
            apply_to_batch(&mut transaction, write);
            transaction.commit();
            None
        }
    }
}

fn same(snapshot: &Snapshot<Thing>, model: &Model) -> Result<(), TestCaseError> {
    let objects: BTreeMap<String, Thing> = snapshot
        .iter()
        .map(|(key, object)| (key.to_string(), (**object).clone()))
        .collect();
    let expected: BTreeMap<String, Thing> = model
        .objects
        .iter()
        .map(|(key, object)| (key.clone(), (**object).clone()))
        .collect();
    prop_assert_eq!(objects, expected);
    prop_assert_eq!(snapshot.len(), model.objects.len());
    for (key, object) in &model.objects {
        prop_assert_eq!(snapshot.get(key).map(|found| &**found), Some(&**object));
        prop_assert_eq!(snapshot.is_stale(key), model.stale.contains(key));
    }
    let stale: BTreeSet<String> = snapshot.stale_keys().map(ToString::to_string).collect();
    prop_assert_eq!(&stale, &model.stale);
    prop_assert_eq!(
        snapshot
            .resource_version()
            .and_then(ResourceVersion::as_u64),
        model.version
    );
    let names: Vec<String> = snapshot
        .index_names()
        .iter()
        .map(|name| name.to_string())
        .collect();
    prop_assert_eq!(&names, &model.indexes);
    for name in &model.indexes {
        same_index(snapshot, model, name)?;
    }
    same_selection(snapshot, model)
}

/// What selectors choose by labels.
fn same_selection(snapshot: &Snapshot<Thing>, model: &Model) -> Result<(), TestCaseError> {
    for text in [
        "first=a",
        "first!=a",
        "first",
        "!first",
        "first in (b,bb)",
        "first notin (b,c)",
    ] {
        let selector: LabelSelector = text.parse().expect("valid");
        let found: BTreeSet<String> = snapshot
            .select(&selector)
            .map(|thing| ObjectKey::of(&**thing).to_string())
            .collect();
        let chosen = model
            .objects
            .iter()
            .filter(|(_, thing)| selector.matches(&thing.meta));
        let expected: BTreeSet<String> = chosen.map(|(key, _)| key.clone()).collect();
        prop_assert_eq!(found, expected, "{}", text);
    }
    Ok(())
}

fn same_index(snapshot: &Snapshot<Thing>, model: &Model, name: &str) -> Result<(), TestCaseError> {
    let (expected, expected_left_out) = model.index(name);
    let texts = |keys: Vec<ObjectKey>| keys.iter().map(ToString::to_string).collect::<Vec<_>>();
    let mut found = BTreeMap::new();
    if name == "lengths" {
        let index = Index::<usize>::named(name);
        for (value, objects) in snapshot.values(&index).expect("it is there") {
            let keys = objects.keys().map(ToString::to_string).collect::<Vec<_>>();
            found.insert(value.to_string(), keys);
        }
        let wrong = matches!(
            snapshot.by_index(name, "1"),
            Err(IndexError::WrongType { .. })
        );
        prop_assert!(wrong);
    } else {
        for value in snapshot.list_index_values(name) {
            let keys = texts(snapshot.index_keys(name, &value).expect("it is there"));
            let objects = snapshot.by_index(name, &value).expect("it is there");
            prop_assert_eq!(objects.len(), keys.len());
            found.insert(value.to_string(), keys);
        }
        prop_assert!(
            snapshot
                .by_index(name, "no such value")
                .expect("it is there")
                .is_empty()
        );
    }
    for keys in found.values_mut() {
        let unique: BTreeSet<_> = keys.iter().cloned().collect();
        prop_assert_eq!(
            unique.len(),
            keys.len(),
            "a key stands twice under one value"
        );
        keys.sort();
    }
    let expected: BTreeMap<String, Vec<String>> = expected
        .into_iter()
        .map(|(value, keys)| (value, keys.into_iter().collect()))
        .collect();
    if name == SORTED {
        same_order(snapshot, &expected)?;
    }
    let status = snapshot.index_status(name).expect("it is there");
    prop_assert_eq!(status.values, expected.len());
    prop_assert_eq!(found, expected);
    prop_assert_eq!(status.unindexed, expected_left_out.len());
    let unindexed: BTreeSet<String> = snapshot
        .unindexed_keys(name)
        .expect("it is there")
        .map(ToString::to_string)
        .collect();
    prop_assert_eq!(unindexed, expected_left_out);
    Ok(())
}

/// Ranges and prefixes of the ordered index; other indexes have none.
fn same_order(
    snapshot: &Snapshot<Thing>,
    expected: &BTreeMap<String, Vec<String>>,
) -> Result<(), TestCaseError> {
    let index = Index::<String>::named(SORTED);
    let all = snapshot.range::<_, String, _>(&index, ..).expect("ordered");
    prop_assert!(all.map(|(value, _)| value).eq(expected.keys()));
    let range = "ab".to_owned().."c".to_owned();
    let found = snapshot.range(&index, range.clone()).expect("ordered");
    let naive = expected
        .range(range)
        .map(|(value, keys)| (value, keys.len()));
    prop_assert!(
        found
            .map(|(value, objects)| (value, objects.len()))
            .eq(naive)
    );
    let found = snapshot.prefix(&index, "b").expect("ordered");
    let naive = expected.keys().filter(|value| value.starts_with('b'));
    prop_assert!(found.map(|(value, _)| value).eq(naive));
    Ok(())
}

/// Those who follow the store from its beginning: a change log that is folded into a map, and watches.
struct Followers {
    changes: StoreChanges<Thing>,
    folded: BTreeMap<String, Thing>,
    watches: Vec<(Watched, StoreWatch<Thing>)>,
}

#[derive(Debug)]
enum Watched {
    Key(&'static str),
    Word(&'static str),
}

impl Watched {
    /// What a watcher would read.
    fn read(&self, model: &Model) -> BTreeMap<String, Thing> {
        let is_it = |(key, thing): &(&String, &Arc<Thing>)| match self {
            Self::Key(watched) => key == watched,
            Self::Word(word) => {
                let has = |other: &&str| thing.words.iter().any(|word| word == *other);
                model.indexes.contains(&"words") && has(word) && !has(&"fail") && !has(&"panic")
            }
        };
        let found = model.objects.iter().filter(is_it);
        found
            .map(|(key, thing)| (key.clone(), (**thing).clone()))
            .collect()
    }
}

impl Followers {
    fn new(store: &Store<Thing>) -> Self {
        let words = Index::<String>::named("words");
        Self {
            changes: store.subscribe(1000),
            folded: BTreeMap::new(),
            watches: vec![
                (Watched::Key("a/a"), store.watch_key("a/a")),
                (Watched::Key("b"), store.watch_key("b")),
                (Watched::Word("a"), store.watch_index(&words, "a")),
                (Watched::Word("bb"), store.watch_index(&words, "bb")),
            ],
        }
    }

    fn check(&mut self, before: &Model, after: &Model) -> Result<(), TestCaseError> {
        for change in self.changes.next_changes().expect("the log is long enough") {
            let key = change.key.to_string();
            let old = match &change.new {
                Some(new) => self.folded.insert(key, (**new).clone()),
                None => self.folded.remove(&key),
            };
            prop_assert_eq!(old.as_ref(), change.old.as_deref());
        }
        let objects = after.objects.iter().map(|(key, thing)| (key, &**thing));
        prop_assert!(objects.eq(&self.folded));
        for (watched, watch) in &mut self.watches {
            if watched.read(before) != watched.read(after) {
                prop_assert!(watch.has_changed(), "{watched:?} changed in silence");
            }
            if watch.has_changed() {
                let changed = std::pin::pin!(watch.changed());
                let polled = changed.poll(&mut Context::from_waker(Waker::noop()));
                prop_assert_eq!(polled, Poll::Ready(Ok(())));
            }
            prop_assert!(!watch.has_changed());
        }
        Ok(())
    }
}

fn add_index(store: &Store<Thing>, which: usize) -> Result<&'static str, IndexError> {
    match which {
        3 => store
            .add_ordered_index(SORTED, words)
            .map(|_: Index| SORTED),
        2 => store.add_typed_index("lengths", lengths).map(|_| "lengths"),
        which => store
            .add_index(WORD_INDEXES[which], words)
            .map(|_| WORD_INDEXES[which]),
    }
}

fn run(steps: Vec<Step>) -> Result<(), TestCaseError> {
    let store: Store<Thing> = Store::new();
    let mut model = Model::default();
    let mut followers = Followers::new(&store);
    let mut snapshots = Vec::new();
    for (at, step) in steps.into_iter().enumerate() {
        let before = model.clone();
        match step {
            Step::Single(write) => {
                let old = old_texts(apply_single(&store, &write));
                prop_assert_eq!(old, old_texts(model.write(&write)));
            }
            Step::Transaction { writes, commit } => {
                let mut after = model.clone();
                let mut transaction = store.transaction();
                for write in &writes {
                    let old = old_texts(apply_to_batch(&mut transaction, write));
                    prop_assert_eq!(old, old_texts(after.write(write)));
                    if let Write::Upsert(thing) = write {
                        let key = ObjectKey::of(thing);
                        prop_assert_eq!(transaction.get(&key).map(|object| &**object), Some(thing));
                    }
                    prop_assert_eq!(transaction.len(), after.objects.len());
                }
                // Nobody sees any of it yet.
                same(&store.snapshot(), &model)?;
                if commit {
                    transaction.commit();
                    model = after;
                }
            }
            Step::Replace(things, version) => {
                store
                    .replace(things.clone(), ResourceVersion::from(version))
                    .expect("names");
                let old = std::mem::take(&mut model.objects);
                for thing in things {
                    model.write(&Write::Upsert(thing));
                }
                model.version = Some(version);
                model
                    .stale
                    .retain(|key| old.contains_key(key) && model.objects.contains_key(key));
            }
            Step::AddIndex(which) => match add_index(&store, which) {
                Ok(name) => model.indexes.push(name),
                Err(error) => {
                    let exists = matches!(error, IndexError::Exists { .. });
                    prop_assert!(exists);
                }
            },
            Step::RemoveIndex(which) => {
                let name = ["words", "namespace", "lengths", SORTED][which];
                let was_there = model.indexes.contains(&name);
                prop_assert_eq!(store.remove_index(name).is_ok(), was_there);
                model.indexes.retain(|other| *other != name);
            }
            Step::AddNamespaceIndex => {
                store.add_namespace_index().expect("never fails");
                if !model.indexes.contains(&"namespace") {
                    model.indexes.push("namespace");
                }
            }
            Step::Snapshot => snapshots.push((store.snapshot(), model.clone())),
            Step::DropSnapshots => snapshots.clear(),
        }
        // Not every version is looked at before the next: what a reader fills in may come late.
        if at % 3 != 0 {
            same(&store.snapshot(), &model)?;
        }
        followers.check(&before, &model)?;
    }
    for (snapshot, model) in snapshots {
        same(&snapshot, &model)?;
    }
    same(&store.snapshot(), &model)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    // INV-STORE-1, INV-STORE-2, INV-STORE-3, INV-STORE-4; ST1-ST4; peers 51, 53.
    #[test]
    fn store_and_indexes_match_model(
        steps in prop::collection::vec(step(), 0..60),
    ) {
        quiet_panics(|| run(steps))?;
    }
}

/// Index functions panic here by the thousand; their messages are of no use.
fn quiet_panics<R>(work: impl FnOnce() -> R) -> R {
    use std::sync::Once;
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if info.payload().downcast_ref::<&str>() != Some(&"as asked") {
                usual(info);
            }
        }));
    });
    work()
}
