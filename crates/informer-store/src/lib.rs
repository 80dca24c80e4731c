//! An indexed in-memory store for Kubernetes objects, with consistent snapshots in constant time.

mod batch;
mod changes;
mod digest;
mod directory;
mod effects;
mod flags;
mod index;
#[cfg(feature = "k8s-openapi")]
mod k8s;
mod key;
mod list;
mod lister;
mod object;
mod overlay;
mod pages;
mod posting;
mod replacement;
mod root;
mod selector;
mod signal;
mod sink;
mod snapshot;
mod store;
mod ttl;
mod uid;
mod undelta;
mod version;
mod wait;
mod watch;

pub use batch::Batch;
pub use changes::{Change, Changes, Lagged};
pub use index::{
    Index, IndexError, IndexFailure, IndexOutcome, IndexStatus, IndexValues, Indexers,
    NAMESPACE_INDEX,
};
pub use key::{KeyError, KeyLike, ObjectKey, ParseKeyError};
pub use lister::{Lister, NamespaceLister, NotFound};
pub use object::{Object, ObjectMetadata, OwnerReference};
pub use overlay::Overlaid;
pub use replacement::Replacement;
pub use selector::{FieldSelector, LabelSelector, Operator, Requirement, Selector, SelectorError};
pub use sink::{Deletion, DeltaSink, Known, Replace, ReplaceEnd};
pub use snapshot::{Indexed, Snapshot};
pub use store::Store;
pub use ttl::TtlStore;
pub use uid::Uid;
pub use undelta::{UndeltaReplacement, UndeltaStore};
pub use version::ResourceVersion;
pub use wait::WaitError;
pub use watch::Watch;

/// What the macros of this crate refer to.
#[doc(hidden)]
pub mod __private {
    #[cfg(feature = "k8s-openapi")]
    pub use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
}
