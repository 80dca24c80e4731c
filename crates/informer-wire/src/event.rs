//! Items of lists and events of watches, decoded.

use std::sync::Arc;

use informer_store::{ObjectKey, ObjectVersion, ResourceVersion};

use crate::error::DecodeError;
use crate::status::Status;

/// One event of a watch.
#[derive(Debug)]
#[non_exhaustive]
pub enum WatchEvent<K> {
    /// An object was added, or came to match the selectors, or is one of the initial events.
    Added(Decoded<K>),
    /// An object was changed.
    Modified(Decoded<K>),
    /// An object was deleted, or ceased to match the selectors. Its resource version is that of this change.
    Deleted(Decoded<K>),
    /// All changes up to a resource version have been sent.
    Bookmark {
        /// Up to where.
        resource_version: ResourceVersion,
        /// True if this ends the first state of a streaming list (annotation `k8s.io/initial-events-end`).
        initial_events_end: bool,
    },
    /// The server ended the watch with an error.
    Error(Status),
    /// An event of an unknown type.
    Unknown(String),
}

/// A received object: decoded, recognised as the stored one, or undecodable.
#[derive(Debug)]
#[non_exhaustive]
pub enum Decoded<K> {
    /// The decoded object.
    Object(K),
    /// The newest object of its key, with the key as stored: the received one has the same UID and resource version, so
    /// it was not decoded.
    Unchanged(ObjectKey, Arc<K>),
    /// An object that cannot be decoded.
    Undecodable(Undecodable),
}

/// An object that cannot be decoded, or that a transform refused. It does not stop a list or watch.
#[derive(Debug)]
#[non_exhaustive]
pub struct Undecodable {
    /// The object's key; `None` if it has no usable one: no name, a name that no object can have, another kind than the
    /// requested one, or no object at all. Such an event may concern any object, so only a list shows what changed.
    pub key: Option<ObjectKey>,
    /// The object's UID and resource version, as far as they could be read.
    pub version: ObjectVersion,
    /// The reason. Never contains contents of the object.
    pub error: DecodeError,
}

impl Undecodable {
    /// Makes an undecodable object.
    #[must_use]
    pub const fn new(key: Option<ObjectKey>, version: ObjectVersion, error: DecodeError) -> Self {
        Self {
            key,
            version,
            error,
        }
    }
}

/// The metadata of a list's page, known at its end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListMeta {
    /// The resource version of the list; `None` if the server sent none.
    pub resource_version: Option<ResourceVersion>,
    /// The token of the next page; `None` on the last one.
    pub continue_token: Option<String>,
    /// The approximate number of objects behind this page, if the server sends it.
    pub remaining_item_count: Option<u64>,
}

impl ListMeta {
    /// Makes the metadata of a last page of this resource version.
    #[must_use]
    pub fn at(resource_version: ResourceVersion) -> Self {
        Self {
            resource_version: Some(resource_version),
            ..Self::default()
        }
    }

    /// Sets the token of the next page.
    #[must_use]
    pub fn continue_token(mut self, token: impl Into<String>) -> Self {
        self.continue_token = Some(token.into());
        self
    }
}
