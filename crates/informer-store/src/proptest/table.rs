//! The rules of a sink, row by row.

use std::sync::Arc;

use super::steps::{ListChange, SinkStep};
use super::{AppliedObject, SinkUnderTest};
use crate::key::ObjectKey;
use crate::object::Object;
use crate::object_list::ListEnd;
use crate::object_version::ObjectVersion;
use crate::sink::{Deletion, DeltaSink};
use crate::uid::Uid;
use crate::version::ResourceVersion;

/// UID and resource version of an object; empty for none.
type Version = (&'static str, &'static str);

/// What is received.
#[derive(Clone, Copy, Debug)]
enum Received {
    /// ADDED, and in another run MODIFIED.
    Object(Version),
    Deletion(Version),
    Undecodable,
    /// A list at this resource version with this object.
    Item(Version, Option<u64>),
    /// A list without the key.
    Unlisted,
    UndecodableItem(Option<u64>),
    /// A deletion of the newest, then a list with this object.
    ItemAfterDeletion(Version),
}

/// What the sink has afterwards.
#[derive(Clone, Copy, Debug)]
enum Expected {
    Nothing,
    Newest,
    NewestStale,
    Received,
}

use Expected::{Newest, NewestStale, Nothing};
use Received::{
    Deletion as Deleted, Item, ItemAfterDeletion, Object as Changed, Undecodable, UndecodableItem,
    Unlisted,
};

/// The newest object of the key before, what is received, what the sink has afterwards. A list with a number is a
/// rewind to that resource version.
const TABLE: &[(Option<Version>, Received, Expected)] = &[
    // ADDED, MODIFIED: none, however low the version.
    (None, Changed(("a", "20")), Expected::Received),
    (None, Changed(("a", "")), Expected::Received),
    (None, Changed(("", "x")), Expected::Received),
    // Same UID and version.
    (Some(("a", "5")), Changed(("a", "5")), Newest),
    (Some(("a", "x")), Changed(("a", "x")), Newest),
    // Same UID, known to be newer.
    (Some(("a", "5")), Changed(("a", "4")), Newest),
    (Some(("a", "10")), Changed(("a", "9")), Newest),
    // Same or no UID, otherwise.
    (Some(("a", "5")), Changed(("a", "6")), Expected::Received),
    (Some(("a", "5")), Changed(("a", "x")), Expected::Received),
    (Some(("a", "5")), Changed(("a", "")), Expected::Received),
    (Some(("a", "")), Changed(("a", "")), Expected::Received),
    (Some(("", "5")), Changed(("a", "4")), Expected::Received),
    (Some(("a", "5")), Changed(("", "4")), Expected::Received),
    // Other UID.
    (Some(("a", "5")), Changed(("b", "6")), Expected::Received),
    (Some(("a", "5")), Changed(("b", "5")), Expected::Received),
    (Some(("a", "5")), Changed(("b", "4")), Expected::Received),
    (Some(("a", "5")), Changed(("b", "x")), Expected::Received),
    // DELETED: none.
    (None, Deleted(("a", "900")), Nothing),
    // Same or no UID, whatever the versions.
    (Some(("a", "5")), Deleted(("a", "6")), Nothing),
    (Some(("a", "5")), Deleted(("a", "5")), Nothing),
    (Some(("a", "5")), Deleted(("a", "4")), Nothing),
    (Some(("a", "5")), Deleted(("a", "")), Nothing),
    (Some(("a", "5")), Deleted(("a", "x")), Nothing),
    (Some(("a", "5")), Deleted(("", "4")), Nothing),
    (Some(("", "5")), Deleted(("a", "4")), Nothing),
    // Other UID, newer or not.
    (Some(("a", "5")), Deleted(("b", "6")), Nothing),
    (Some(("a", "5")), Deleted(("b", "5")), Newest),
    (Some(("a", "5")), Deleted(("b", "4")), Newest),
    (Some(("a", "5")), Deleted(("b", "x")), Newest),
    (Some(("a", "5")), Deleted(("b", "")), Newest),
    // Item of a list: same UID and version, no rewind.
    (Some(("a", "5")), Item(("a", "5"), None), Newest),
    // Otherwise as ADDED.
    (None, Item(("a", "5"), None), Expected::Received),
    (Some(("a", "5")), Item(("a", "4"), None), Newest),
    (Some(("a", "5")), Item(("a", "6"), None), Expected::Received),
    (Some(("a", "5")), Item(("a", ""), None), Expected::Received),
    (Some(("a", "5")), Item(("b", "4"), None), Expected::Received),
    // After its deletion, and in a rewind, always.
    (
        Some(("a", "5")),
        ItemAfterDeletion(("a", "5")),
        Expected::Received,
    ),
    (
        Some(("a", "5")),
        ItemAfterDeletion(("a", "4")),
        Expected::Received,
    ),
    (
        Some(("a", "5")),
        Item(("a", "5"), Some(5)),
        Expected::Received,
    ),
    (
        Some(("a", "5")),
        Item(("a", "4"), Some(4)),
        Expected::Received,
    ),
    // Absent from the list.
    (Some(("a", "5")), Unlisted, Nothing),
    (Some(("a", "900")), Unlisted, Nothing),
    // Undecodable.
    (None, Undecodable, Nothing),
    (Some(("a", "5")), Undecodable, NewestStale),
    (None, UndecodableItem(None), Nothing),
    (Some(("a", "5")), UndecodableItem(None), NewestStale),
    (Some(("a", "900")), UndecodableItem(None), NewestStale),
    (Some(("a", "5")), UndecodableItem(Some(5)), NewestStale),
    (Some(("a", "6")), UndecodableItem(Some(5)), Nothing),
    (Some(("a", "x")), UndecodableItem(Some(5)), NewestStale),
];

/// The resource version of the sink before: above most of the versions of the table, as in a collection of several
/// histories.
const LISTED_AT: u64 = 500;

/// How many numbers [`SinkUnderTest::between`] is called with for each row.
const CHOICES: u8 = 16;

/// Checks a sink against each rule of [`DeltaSink`], with objects that `object` makes, each time in a new sink.
///
/// # Panics
/// If the sink breaks a rule; the message names it.
pub fn check_table<K, T, M>(make: M, object: impl Fn((ObjectKey, ObjectVersion)) -> K)
where
    K: Object,
    T: SinkUnderTest<K>,
    M: Fn() -> T,
{
    let key = ObjectKey::namespaced("shop", "cart");
    let object =
        |(uid, version): Version| Arc::new(object((key.clone(), object_version((uid, version)))));
    for (newest, received, expected) in TABLE {
        for choice in 0..CHOICES {
            for is_added in [true, false] {
                let mut tested = make();
                let end = ListEnd::new(LISTED_AT.into());
                SinkStep::Replace(Vec::new(), end).feed(tested.sink());
                let newest = newest.map(object);
                if let Some(newest) = &newest {
                    tested.between(choice % 4);
                    tested.sink().add(key.clone(), Arc::clone(newest));
                }
                tested.between(choice / 4);
                let given = feed(&mut tested, &key, *received, is_added, &object);
                let applied = tested.applied().objects.remove(&key);
                let expected = match expected {
                    Nothing => None,
                    Newest => Some((newest, false)),
                    NewestStale => Some((newest, true)),
                    Expected::Received => Some((given, false)),
                };
                let expected = expected.map(|(object, is_stale)| AppliedObject {
                    object: object.expect("the row has this object"),
                    is_stale,
                });
                assert_eq!(
                    applied,
                    expected,
                    "{received:?} where the newest is of {:?} (choice {choice})",
                    expected.as_ref().map(|e| ObjectVersion::of(&*e.object)),
                );
            }
        }
    }
}

/// Feeds what a row has as received. Returns the object, if it is one.
fn feed<K: Object, T: SinkUnderTest<K>>(
    tested: &mut T,
    key: &ObjectKey,
    received: Received,
    is_added: bool,
    object: &impl Fn(Version) -> Arc<K>,
) -> Option<Arc<K>> {
    let end = |rewind: Option<u64>| {
        ListEnd::new(rewind.unwrap_or(LISTED_AT + 100).into()).rewind(rewind.is_some())
    };
    let list = |tested: &T, change, end| SinkStep::Replace(vec![change], end).feed(tested.sink());
    let item = |object: &Arc<K>| ListChange::Insert(key.clone(), Arc::clone(object));
    let sink = tested.sink();
    let mut given = None;
    match received {
        Changed(version) => {
            let object = &*given.insert(object(version));
            match is_added {
                true => sink.add(key.clone(), Arc::clone(object)),
                false => sink.update(key.clone(), Arc::clone(object)),
            }
        }
        // Decodable, and in another run not.
        Deleted(version) if is_added => sink.delete(key.clone(), Deletion::of(object(version))),
        Deleted(version) => {
            let deletion = Deletion::without_object(object_version(version));
            sink.delete(key.clone(), deletion);
        }
        Undecodable => sink.undecodable(key.clone(), Some(900.into())),
        Item(version, rewind) => {
            list(tested, item(given.insert(object(version))), end(rewind));
        }
        Unlisted => SinkStep::Replace(Vec::new(), end(None)).feed(sink),
        UndecodableItem(rewind) => list(tested, ListChange::Undecodable(key.clone()), end(rewind)),
        ItemAfterDeletion(version) => {
            sink.delete(key.clone(), Deletion::of(object(("a", "6"))));
            tested.between(u8::from(is_added));
            list(tested, item(given.insert(object(version))), end(None));
        }
    }
    given
}

fn object_version((uid, version): Version) -> ObjectVersion {
    let given = |text: &'static str| Some(text).filter(|text| !text.is_empty());
    ObjectVersion::new(
        given(uid).map(Uid::from),
        given(version).map(ResourceVersion::from),
    )
}
