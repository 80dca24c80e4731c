//! The contract between a source of changes and a store or delta queue.

use std::sync::Arc;

use crate::key::ObjectKey;
use crate::object::Object;
use crate::object_list::{ListEnd, ObjectList};
use crate::object_version::ObjectVersion;
use crate::version::ResourceVersion;

/// Receives the changes of one collection of objects. A [`Store`](crate::Store) is a sink, and so is a delta FIFO.
///
/// # Contract
///
/// One feeder calls it, in the server's order. A list is never older than what was fed before, but for a
/// [rewind](ListEnd::rewind). No method blocks for long or waits for a consumer: a feeder that stops reading is
/// disconnected by the server.
///
/// A watch's order is the truth. Versions only keep an object, that is one key and UID, from going back:
/// [`ObjectVersion::relation_to`] and [`ObjectVersion::deletes`] compare, here and nowhere else.
///
/// | received | newest of the key | the sink |
/// |---|---|---|
/// | `add`, `update` | none, whatever the versions | stores it |
/// | | same UID and version, or same UID and known to be newer | ignores it |
/// | | same or no UID, otherwise | stores it |
/// | | other UID | deletes the newest and stores it |
/// | `delete` | same or no UID, whatever the versions | deletes the newest |
/// | | other UID | deletes the newest if the deletion is known to be newer, else ignores it |
/// | item of a list | same UID and version, no rewind | keeps the stored `Arc` |
/// | | otherwise | as `add`; in a rewind always stores it |
/// | not in the list | any | deletes the newest |
/// | `undecodable`, also in a list | any | keeps the newest as stale; a rewind deletes it if it is newer than the list |
///
/// Any received resource version moves the sink's own on, never back, but for a rewind.
pub trait DeltaSink<K: Object>: Send + Sync + 'static {
    /// Returns the newest object of a key that the sink has (queued, else in flight, else stored), with the key as
    /// stored. `None` if there is none, or if its deletion is queued.
    fn newest(&self, key: &ObjectKey) -> Option<(ObjectKey, Arc<K>)>;

    /// The server added an object, or sent one that existed when the watch was opened. A watch that is opened without a
    /// resource version sends all objects so, in any order.
    fn add(&self, key: ObjectKey, object: Arc<K>);

    /// The server changed an object.
    fn update(&self, key: ObjectKey, object: Arc<K>);

    /// The server deleted an object.
    fn delete(&self, key: ObjectKey, deletion: Deletion<K>);

    /// The server sent an object that cannot be decoded. The newest decodable one stays, as stale.
    fn undecodable(&self, key: ObjectKey, resource_version: Option<ResourceVersion>);

    /// The server has sent all changes up to this resource version.
    fn bookmark(&self, resource_version: ResourceVersion);

    /// Queues a `Sync` delta for every known object without queued deltas. A sink without consumers does nothing.
    fn resync(&self);

    /// Replaces all objects by a list.
    fn replace(&self, list: ObjectList<K>, end: ListEnd);

    /// Returns `true` if the sink dropped changes (a queue beyond its limit) and needs a list;
    /// [`replace`](Self::replace) clears it. A reflector asks after each event it applied, and lists then, with
    /// backoff.
    fn needs_list(&self) -> bool {
        false
    }
}

/// A deletion that a server sent.
#[derive(Debug)]
#[non_exhaustive]
pub struct Deletion<K> {
    /// The object's last state, as the server sent it; `None` if it could not be decoded.
    pub object: Option<Arc<K>>,
    /// The UID of the deleted object and the resource version of the deletion.
    pub version: ObjectVersion,
}

impl<K: Object> Deletion<K> {
    /// Makes the deletion of an object whose resource version is that of the deletion, as servers send it.
    #[must_use]
    pub fn of(object: Arc<K>) -> Self {
        Self {
            version: ObjectVersion::of(&*object),
            object: Some(object),
        }
    }
}

impl<K> Deletion<K> {
    /// Makes the deletion of an object whose last state cannot be decoded.
    #[must_use]
    pub const fn without_object(version: ObjectVersion) -> Self {
        Self {
            object: None,
            version,
        }
    }
}

impl<K> Clone for Deletion<K> {
    fn clone(&self) -> Self {
        Self {
            object: self.object.clone(),
            version: self.version.clone(),
        }
    }
}
