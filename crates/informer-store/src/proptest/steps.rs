//! Everything a sink is fed with.

use std::fmt;
use std::sync::Arc;

use ::proptest::collection::vec;
use ::proptest::option::weighted;
use ::proptest::prelude::*;
use ::proptest::sample::{SizeRange, select};

use crate::key::ObjectKey;
use crate::object::Object;
use crate::object_list::{ListEnd, ObjectList};
use crate::object_version::ObjectVersion;
use crate::sink::{Deletion, DeltaSink};
use crate::uid::Uid;
use crate::version::ResourceVersion;

/// One call of a feeder.
pub enum SinkStep<K> {
    /// [`DeltaSink::add`].
    Add(ObjectKey, Arc<K>),
    /// [`DeltaSink::update`].
    Update(ObjectKey, Arc<K>),
    /// [`DeltaSink::delete`].
    Delete(ObjectKey, Deletion<K>),
    /// [`DeltaSink::undecodable`].
    Undecodable(ObjectKey, Option<ResourceVersion>),
    /// [`DeltaSink::bookmark`].
    Bookmark(ResourceVersion),
    /// [`DeltaSink::resync`].
    Resync,
    /// [`DeltaSink::replace`] with a list that is made by these changes.
    Replace(Vec<ListChange<K>>, ListEnd),
}

/// One change of an [`ObjectList`] that is being received.
pub enum ListChange<K> {
    /// [`ObjectList::insert`].
    Insert(ObjectKey, Arc<K>),
    /// [`ObjectList::insert_undecodable`].
    Undecodable(ObjectKey),
    /// [`ObjectList::remove`].
    Remove(ObjectKey),
}

impl<K> Clone for SinkStep<K> {
    fn clone(&self) -> Self {
        match self {
            Self::Add(key, object) => Self::Add(key.clone(), Arc::clone(object)),
            Self::Update(key, object) => Self::Update(key.clone(), Arc::clone(object)),
            Self::Delete(key, deletion) => Self::Delete(key.clone(), deletion.clone()),
            Self::Undecodable(key, version) => Self::Undecodable(key.clone(), version.clone()),
            Self::Bookmark(version) => Self::Bookmark(version.clone()),
            Self::Resync => Self::Resync,
            Self::Replace(changes, end) => Self::Replace(changes.clone(), end.clone()),
        }
    }
}

impl<K> Clone for ListChange<K> {
    fn clone(&self) -> Self {
        match self {
            Self::Insert(key, object) => Self::Insert(key.clone(), Arc::clone(object)),
            Self::Undecodable(key) => Self::Undecodable(key.clone()),
            Self::Remove(key) => Self::Remove(key.clone()),
        }
    }
}

impl<K: Object> SinkStep<K> {
    /// Feeds a sink with this step.
    pub fn feed<S: DeltaSink<K> + ?Sized>(&self, sink: &S) {
        match self.clone() {
            Self::Add(key, object) => sink.add(key, object),
            Self::Update(key, object) => sink.update(key, object),
            Self::Delete(key, deletion) => sink.delete(key, deletion),
            Self::Undecodable(key, version) => sink.undecodable(key, version),
            Self::Bookmark(version) => sink.bookmark(version),
            Self::Resync => sink.resync(),
            Self::Replace(changes, end) => {
                let mut list = ObjectList::new();
                for change in changes {
                    match change {
                        ListChange::Insert(key, object) => list.insert(key, object),
                        ListChange::Undecodable(key) => list.insert_undecodable(key),
                        ListChange::Remove(key) => drop(list.remove(&key)),
                    }
                }
                sink.replace(list, end);
            }
        }
    }

    /// Returns the keys that the step is about.
    pub(super) fn keys(&self) -> Vec<&ObjectKey> {
        match self {
            Self::Add(key, _)
            | Self::Update(key, _)
            | Self::Delete(key, _)
            | Self::Undecodable(key, _) => vec![key],
            Self::Bookmark(_) | Self::Resync => Vec::new(),
            Self::Replace(changes, _) => changes.iter().map(ListChange::key).collect(),
        }
    }
}

impl<K> ListChange<K> {
    pub(super) const fn key(&self) -> &ObjectKey {
        match self {
            Self::Insert(key, _) | Self::Undecodable(key) | Self::Remove(key) => key,
        }
    }
}

/// Writes what a comparison reads of an object.
pub(super) fn write_object<K: Object>(f: &mut fmt::Formatter<'_>, object: &K) -> fmt::Result {
    let version = ObjectVersion::of(object);
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "none".into());
    write!(
        f,
        "{{uid: {}, version: {}}}",
        or_none(version.uid.map(|uid| uid.to_string())),
        or_none(version.resource_version.map(|version| version.to_string())),
    )
}

impl<K: Object> fmt::Debug for SinkStep<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, key, object) = match self {
            Self::Add(key, object) => ("Add", key, object),
            Self::Update(key, object) => ("Update", key, object),
            Self::Delete(key, deletion) => {
                let form = if deletion.object.is_some() {
                    ""
                } else {
                    ", undecodable"
                };
                return write!(f, "Delete({key}, {:?}{form})", deletion.version);
            }
            Self::Undecodable(key, version) => return write!(f, "Undecodable({key}, {version:?})"),
            Self::Bookmark(version) => return write!(f, "Bookmark({version})"),
            Self::Resync => return f.write_str("Resync"),
            Self::Replace(changes, end) => {
                let form = if end.rewind { ", rewind" } else { "" };
                return write!(f, "Replace({changes:?}, {}{form})", end.resource_version);
            }
        };
        write!(f, "{name}({key}, ")?;
        write_object(f, &**object)?;
        f.write_str(")")
    }
}

impl<K: Object> fmt::Debug for ListChange<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Insert(key, object) => {
                write!(f, "Insert({key}, ")?;
                write_object(f, &**object)?;
                f.write_str(")")
            }
            Self::Undecodable(key) => write!(f, "Undecodable({key})"),
            Self::Remove(key) => write!(f, "Remove({key})"),
        }
    }
}

/// Generates keys, UIDs and resource versions, few of each, so that they often meet: comparable versions and opaque
/// ones, long numbers, and none.
pub fn versions() -> impl Strategy<Value = (ObjectKey, ObjectVersion)> {
    let key = prop_oneof![
        3 => select(vec!["a", "b", "c"]).prop_map(|name| ObjectKey::namespaced("shop", name)),
        1 => select(vec!["a", "node"]).prop_map(ObjectKey::cluster_scoped),
    ];
    let uid = weighted(0.9, select(vec!["1", "2", "3"]).prop_map(Uid::from));
    (key, uid, weighted(0.95, resource_version()))
        .prop_map(|(key, uid, version)| (key, ObjectVersion::new(uid, version)))
}

fn resource_version() -> impl Strategy<Value = ResourceVersion> {
    prop_oneof![
        12 => (1u64..30).prop_map(ResourceVersion::from),
        1 => select(vec!["x", "y", "99999999999999999999", "0", ""]).prop_map(ResourceVersion::from),
    ]
}

/// Generates steps about objects of a strategy, each with a number for
/// [`SinkUnderTest::between`](super::SinkUnderTest::between). The objects' keys, UIDs and resource versions should
/// often meet; see [`versions`].
pub fn sink_steps<K, S>(
    objects: S,
    count: impl Into<SizeRange>,
) -> impl Strategy<Value = Vec<(u8, SinkStep<K>)>>
where
    K: Object + fmt::Debug,
    S: Strategy<Value = K> + 'static,
{
    let object = objects.prop_map(|object| (ObjectKey::of(&object), Arc::new(object)));
    let object = object.boxed();
    let key = object.clone().prop_map(|(key, _)| key).boxed();
    let deletion = object
        .clone()
        .prop_map(|(key, object)| (key, Deletion::of(object)));
    let bare = object
        .clone()
        .prop_map(|(key, object)| (key, Deletion::without_object(ObjectVersion::of(&*object))));
    let list_change = prop_oneof![
        8 => object.clone().prop_map(|(key, object)| ListChange::Insert(key, object)),
        1 => key.clone().prop_map(ListChange::Undecodable),
        1 => key.clone().prop_map(ListChange::Remove),
    ];
    let end = (resource_version(), prop::bool::weighted(0.2))
        .prop_map(|(version, rewind)| ListEnd::new(version).rewind(rewind));
    let step = prop_oneof![
        4 => object.clone().prop_map(|(key, object)| SinkStep::Add(key, object)),
        6 => object.prop_map(|(key, object)| SinkStep::Update(key, object)),
        3 => deletion.prop_map(|(key, deletion)| SinkStep::Delete(key, deletion)),
        1 => bare.prop_map(|(key, deletion)| SinkStep::Delete(key, deletion)),
        1 => (key, weighted(0.8, resource_version()))
            .prop_map(|(key, version)| SinkStep::Undecodable(key, version)),
        1 => resource_version().prop_map(SinkStep::Bookmark),
        1 => Just(SinkStep::Resync),
        2 => (vec(list_change, 0..8), end).prop_map(|(changes, end)| SinkStep::Replace(changes, end)),
    ];
    vec((any::<u8>(), step), count)
}
