//! What happened to one object: deltas, and how an object was last seen.

use std::sync::Arc;

use informer_store::ResourceVersion;

/// One thing that happened to one object.
///
/// A consumer decides by what its store holds, not by the kind: `Added`, `Updated`, `Replaced` and `Sync` each say
/// that the object is there in this state. The kind says where the news comes from.
#[derive(Debug)]
#[doc(alias = "DeltaType")]
pub enum Delta<K> {
    /// The server said that the object was added.
    Added(Arc<K>),
    /// The server said that the object was changed.
    Updated(Arc<K>),
    /// A whole list held the object. If it is the copy that the store holds (equal UID and resource version),
    /// this is the stored `Arc`, and only consumers that ask for resyncs want to hear of it.
    Replaced(Arc<K>),
    /// A reminder that the object is there. If it is gone from the store when this is applied, drop it: it never
    /// brings an object back.
    Sync(Arc<K>),
    /// The object is gone. Drop it if the store does not hold the object.
    Deleted(Deleted<K>),
    /// The server sent a newer copy that cannot be decoded, at this resource version. The stored copy stays and is
    /// stale.
    SetAside(Option<ResourceVersion>),
}

impl<K> Delta<K> {
    /// The object, in the state that this delta tells; `None` for [`SetAside`](Self::SetAside).
    #[must_use]
    pub const fn object(&self) -> Option<&Arc<K>> {
        match self {
            Self::Added(object)
            | Self::Updated(object)
            | Self::Replaced(object)
            | Self::Sync(object)
            | Self::Deleted(Deleted::LastState(object) | Deleted::FinalStateUnknown(object)) => {
                Some(object)
            }
            Self::SetAside(_) => None,
        }
    }

    /// The object, in the state that this delta tells; `None` for [`SetAside`](Self::SetAside).
    #[must_use]
    pub fn into_object(self) -> Option<Arc<K>> {
        match self {
            Self::Added(object)
            | Self::Updated(object)
            | Self::Replaced(object)
            | Self::Sync(object) => Some(object),
            Self::Deleted(deleted) => Some(deleted.into_object()),
            Self::SetAside(_) => None,
        }
    }

    /// True for [`Deleted`](Self::Deleted).
    #[must_use]
    pub const fn is_deleted(&self) -> bool {
        matches!(self, Self::Deleted(_))
    }

    /// The name of the kind, as in client-go: `Added`, `Updated`, `Replaced`, `Sync`, `Deleted`; and `SetAside`.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Added(_) => "Added",
            Self::Updated(_) => "Updated",
            Self::Replaced(_) => "Replaced",
            Self::Sync(_) => "Sync",
            Self::Deleted(_) => "Deleted",
            Self::SetAside(_) => "SetAside",
        }
    }
}

impl<K> Clone for Delta<K> {
    fn clone(&self) -> Self {
        match self {
            Self::Added(object) => Self::Added(Arc::clone(object)),
            Self::Updated(object) => Self::Updated(Arc::clone(object)),
            Self::Replaced(object) => Self::Replaced(Arc::clone(object)),
            Self::Sync(object) => Self::Sync(Arc::clone(object)),
            Self::Deleted(deleted) => Self::Deleted(deleted.clone()),
            Self::SetAside(version) => Self::SetAside(version.clone()),
        }
    }
}

/// How a deleted object was last seen.
#[derive(Debug)]
pub enum Deleted<K> {
    /// The server reported the deletion with this last state.
    LastState(Arc<K>),
    /// The deletion was missed or came without a readable state. This is the last state that is known, which may
    /// be older than the object's last.
    #[doc(alias = "DeletedFinalStateUnknown")]
    #[doc(alias = "tombstone")]
    FinalStateUnknown(Arc<K>),
}

impl<K> Deleted<K> {
    /// The object, as it was last seen.
    #[must_use]
    pub const fn object(&self) -> &Arc<K> {
        match self {
            Self::LastState(object) | Self::FinalStateUnknown(object) => object,
        }
    }

    /// The object, as it was last seen.
    #[must_use]
    pub fn into_object(self) -> Arc<K> {
        match self {
            Self::LastState(object) | Self::FinalStateUnknown(object) => object,
        }
    }

    /// True if the deletion itself was not seen.
    #[must_use]
    pub const fn is_final_state_unknown(&self) -> bool {
        matches!(self, Self::FinalStateUnknown(_))
    }
}

impl<K> Clone for Deleted<K> {
    fn clone(&self) -> Self {
        match self {
            Self::LastState(object) => Self::LastState(Arc::clone(object)),
            Self::FinalStateUnknown(object) => Self::FinalStateUnknown(Arc::clone(object)),
        }
    }
}
