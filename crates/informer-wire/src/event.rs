//! What comes over the wire: items of lists and events of watches, decoded.

use informer_store::{Known, ObjectKey, ResourceVersion, Uid};

use crate::error::DecodeError;
use crate::status::Status;

/// One event of a watch.
#[derive(Debug)]
#[non_exhaustive]
pub enum WatchEvent<K> {
    /// An object was added, or came to match the selectors, or is part of the first state.
    Added(Decoded<K>),
    /// An object was changed.
    Modified(Decoded<K>),
    /// An object was deleted, or ceased to match the selectors. It carries the resource version of that change.
    Deleted(Decoded<K>),
    /// Every change up to this resource version has been sent.
    Bookmark {
        /// Up to where.
        resource_version: ResourceVersion,
        /// True if this ends the first state of a streaming list (annotation `k8s.io/initial-events-end`).
        initial_events_end: bool,
    },
    /// The server ended the watch with an error.
    Error(Status),
    /// An event of a type that this version does not know.
    Unknown(String),
}

/// An object as it came: decoded, known already, or set aside.
#[derive(Debug)]
#[non_exhaustive]
pub enum Decoded<K> {
    /// The object.
    Object(K),
    /// A copy that is known already (equal UID and resource version), so its body was not decoded.
    Unchanged(ObjectKey),
    /// The object cannot be decoded. What its metadata says is here, so that the rest can flow on.
    SetAside(SetAside),
}

/// An object that could not be decoded, or that a transform refused.
#[derive(Debug)]
#[non_exhaustive]
pub struct SetAside {
    /// Which object it is; `None` if even that could not be read.
    pub key: Option<ObjectKey>,
    /// Its UID, if that could be read.
    pub uid: Option<Uid>,
    /// Its resource version, if that could be read.
    pub resource_version: Option<ResourceVersion>,
    /// Why it was set aside. Never holds the object's contents.
    pub error: DecodeError,
}

impl SetAside {
    /// An object set aside for this reason.
    #[must_use]
    pub fn new(key: Option<ObjectKey>, known: Known, error: DecodeError) -> Self {
        let Known {
            uid,
            resource_version,
            ..
        } = known;
        Self {
            key,
            uid,
            resource_version,
            error,
        }
    }
}

/// What a list says of itself, known when the page has ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListMeta {
    /// The resource version of the list; `None` if the server gave none.
    pub resource_version: Option<ResourceVersion>,
    /// The token of the next page; `None` on the last one.
    pub continue_token: Option<String>,
    /// About how many objects follow, where the server says so.
    pub remaining_item_count: Option<u64>,
}

impl ListMeta {
    /// The end of a list that is complete at this resource version.
    #[must_use]
    pub fn at(resource_version: ResourceVersion) -> Self {
        Self {
            resource_version: Some(resource_version),
            ..Self::default()
        }
    }

    /// Says that more pages follow.
    #[must_use]
    pub fn continue_token(mut self, token: impl Into<String>) -> Self {
        self.continue_token = Some(token.into());
        self
    }
}
