//! What a reflector feeds: the contract between a source of changes and a store or queue.

use std::sync::Arc;

use crate::key::ObjectKey;
use crate::object::Object;
use crate::uid::Uid;
use crate::version::ResourceVersion;

/// Receives what a server says of one collection of objects, in the server's order.
///
/// A reflector calls it from one task. No method blocks for long or waits for a consumer: a reflector that stops
/// reading is cut off by the server. A [`Store`](crate::Store) is a sink, and so is a delta FIFO.
///
/// A sink takes one history, in the order in which the server made it. What has arrived tells what is old: a copy of
/// an unknown key that is older than the newest change, bookmark or list counts as deleted since, and is left out.
/// Several threads may feed one sink only if together they keep that order.
///
/// Keys are made by the caller, so that one sink can hold the objects of several clusters.
pub trait DeltaSink<K: Object>: Send + Sync + 'static {
    /// A whole list on its way in.
    type Replace: Replace<K>;

    /// Which copy of an object is the newest that has arrived here (queued ones included), so that an equal one
    /// need not be decoded again. `None` if there is none, or if its deletion has arrived.
    fn known(&self, key: &ObjectKey) -> Option<Known>;

    /// The server added an object, or told of one that was there when a watch began. If the last list had no
    /// resource version such a watch tells of all objects, in any order, so that this says nothing of what else has
    /// arrived.
    fn add(&self, key: ObjectKey, object: Arc<K>);

    /// The server changed an object.
    fn update(&self, key: ObjectKey, object: Arc<K>);

    /// The server deleted an object.
    fn delete(&self, key: ObjectKey, deletion: Deletion<K>);

    /// The server sent a copy of an object that cannot be decoded. The last good copy stays, marked stale; the
    /// collection's resource version moves on to `resource_version`.
    fn set_aside(&self, key: ObjectKey, resource_version: Option<ResourceVersion>);

    /// All changes up to this resource version have arrived.
    fn bookmark(&self, resource_version: ResourceVersion);

    /// Reminds consumers of every object that is known, if the sink has consumers that ask for it.
    fn resync(&self);

    /// Starts to take in a whole list, which replaces what is here once it is finished. Dropped before that, it
    /// leaves no trace.
    fn begin_replace(&self) -> Self::Replace;
}

/// A whole list on its way into a [`DeltaSink`]: nothing of it is seen before [`finish`](Self::finish).
pub trait Replace<K: Object>: Send + 'static {
    /// The list holds this object. A later call with the same key wins.
    fn insert(&mut self, key: ObjectKey, object: Arc<K>);

    /// The list holds this object in the very copy (UID and resource version) that the sink
    /// [knows](DeltaSink::known), which stays. Not for a list that may turn out to be a
    /// [rewind](ReplaceEnd::rewind): there an equal mark can be of another state.
    fn keep(&mut self, key: ObjectKey);

    /// The list holds this object, but in a form that cannot be decoded. It counts as present; the last good copy,
    /// if any, stays.
    fn set_aside(&mut self, key: ObjectKey);

    /// An object that was inserted is gone again (streaming lists mix changes into the first state).
    fn remove(&mut self, key: &ObjectKey);

    /// The list is complete: objects that it did not hold are gone.
    fn finish(self, end: ReplaceEnd);
}

/// The end of a whole list.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReplaceEnd {
    /// The resource version of the list.
    pub resource_version: ResourceVersion,
    /// True if the server was recognised to have gone back in time: the list holds even where it is older than
    /// what is known.
    pub rewind: bool,
}

impl ReplaceEnd {
    /// The end of an ordinary list at this resource version.
    #[must_use]
    pub const fn new(resource_version: ResourceVersion) -> Self {
        Self {
            resource_version,
            rewind: false,
        }
    }

    /// Says that the server went back in time.
    #[must_use]
    pub const fn rewind(mut self, rewind: bool) -> Self {
        self.rewind = rewind;
        self
    }
}

/// What tells two copies of an object apart.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Known {
    /// The object's UID.
    pub uid: Option<Uid>,
    /// The copy's resource version.
    pub resource_version: Option<ResourceVersion>,
}

impl Known {
    /// The mark of a copy.
    #[must_use]
    pub const fn new(uid: Option<Uid>, resource_version: Option<ResourceVersion>) -> Self {
        Self {
            uid,
            resource_version,
        }
    }

    /// The mark of this object.
    #[must_use]
    pub fn of<K: Object>(object: &K) -> Self {
        Self::new(object.uid(), object.resource_version())
    }

    /// True if the two marks are of one copy: equal UID and equal resource version, both present.
    #[must_use]
    pub fn is_same_copy(&self, other: &Self) -> bool {
        self.uid.is_some()
            && self.resource_version.is_some()
            && self.uid == other.uid
            && self.resource_version == other.resource_version
    }
}

/// A deletion that a server reported.
#[derive(Debug)]
#[non_exhaustive]
pub struct Deletion<K> {
    /// The last state, as the server sent it; `None` if it could not be decoded.
    pub object: Option<Arc<K>>,
    /// Which life of the key ended.
    pub uid: Option<Uid>,
    /// The resource version of the deletion itself.
    pub resource_version: Option<ResourceVersion>,
}

impl<K: Object> Deletion<K> {
    /// The deletion of this object; its resource version is the deletion's.
    #[must_use]
    pub fn of(object: Arc<K>) -> Self {
        Self {
            uid: object.uid(),
            resource_version: object.resource_version(),
            object: Some(object),
        }
    }
}

impl<K> Deletion<K> {
    /// The deletion of an object whose last state could not be decoded.
    #[must_use]
    pub const fn without_object(
        uid: Option<Uid>,
        resource_version: Option<ResourceVersion>,
    ) -> Self {
        Self {
            object: None,
            uid,
            resource_version,
        }
    }
}

impl<K> Clone for Deletion<K> {
    fn clone(&self) -> Self {
        Self {
            object: self.object.clone(),
            uid: self.uid.clone(),
            resource_version: self.resource_version.clone(),
        }
    }
}
