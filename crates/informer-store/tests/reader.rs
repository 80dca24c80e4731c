//! The handle that can only read, and lists on their way to a sink.

mod support;

use std::sync::Arc;

use informer_store::{
    Index, IndexValues, LabelSelector, Lister, ObjectKey, ObjectList, ResourceVersion, Store,
    StoreReader, WaitError,
};
use support::{Thing, block_on, poll_once};

fn words(thing: &Thing, values: &mut IndexValues<'_>) {
    values.extend(thing.words.iter().map(String::as_str));
}

// INV-STORE-1, INV-STORE-11, INV-STORE-12, INV-STORE-13
#[test]
fn reader_reads_waits_and_follows_as_the_store_does() {
    let store = Store::new();
    let reader: StoreReader<Thing> = store.reader();
    let mut watch = reader.watch();
    let mut changes = reader.subscribe(10);
    let by_word: Index = store.add_index("words", words).expect("new");
    store.add_namespace_index().expect("new");
    store.add(Thing::new("ns/a").words(["x"])).expect("named");
    store.set_resource_version(5.into());

    assert_eq!(reader.get("ns/a"), store.get("ns/a"));
    assert!(reader.contains("ns/a") && !reader.is_empty());
    assert_eq!((reader.len(), reader.list().len()), (1, 1));
    assert_eq!(reader.keys(), store.keys());
    assert_eq!(reader.revision(), store.revision());
    assert_eq!(reader.resource_version(), Some(ResourceVersion::from(5)));
    assert_eq!(reader.snapshot().len(), 1);
    assert_eq!(reader.index_names(), ["words", "namespace"]);
    assert_eq!(reader.by_index("words", "x").expect("added").len(), 1);
    assert_eq!(reader.by(&by_word, "x").expect("added").len(), 1);
    assert_eq!(reader.index_status("words").expect("added").values, 1);
    assert_eq!(poll_once(reader.wait_until(&5.into())), Some(Ok(())));
    assert_eq!(poll_once(watch.changed()), Some(Ok(())));
    assert_eq!(changes.next_changes().expect("kept").len(), 1);

    let things = Lister::new(reader.clone(), "things");
    let everything = LabelSelector::everything();
    assert_eq!(things.namespaced("ns").list(&everything).len(), 1);
    assert_eq!(things.store().len(), 1);
    // A store makes a lister too, and becomes its reader.
    assert_eq!(
        Lister::new(store.clone(), "things").list(&everything).len(),
        1
    );
    assert_eq!(StoreReader::from(store.clone()).len(), 1);

    assert!(!reader.is_closed());
    store.close();
    assert!(reader.is_closed());
    assert_eq!(
        block_on(reader.wait_until(&6.into())),
        Err(WaitError::Closed)
    );
}

#[test]
fn object_list_has_each_key_once_in_order() {
    let key = |name: &str| ObjectKey::namespaced("ns", name);
    let thing = |name: &str, version: u64| Arc::new(Thing::new(name).version(version));
    let mut list = ObjectList::new();
    assert!(list.is_empty());
    for name in ["a", "b", "c", "d"] {
        list.insert(key(name), thing(name, 1));
    }
    // A later insertion of a key wins, and keeps its place.
    list.insert(key("a"), thing("a", 2));
    list.insert_undecodable(key("b"));
    assert!(list.remove(&key("c")) && !list.remove(&key("c")));
    list.insert(key("c"), thing("c", 3));
    assert!(list.contains(&key("b")) && !list.contains(&key("z")));
    assert_eq!(list.len(), 4);
    let expected = [
        (key("a"), Some(thing("a", 2))),
        (key("b"), None),
        (key("d"), Some(thing("d", 1))),
        (key("c"), Some(thing("c", 3))),
    ];
    let found: Vec<_> = list
        .iter()
        .map(|(key, object)| (key.clone(), object.cloned()))
        .collect();
    assert_eq!(found, expected);
    assert!(list.into_items().eq(expected));
}
