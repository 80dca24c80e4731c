//! An indexed in-memory store for Kubernetes objects, with consistent snapshots in constant time.

mod batch;
mod directory;
mod flags;
mod index;
#[cfg(feature = "k8s-openapi")]
mod k8s;
mod key;
mod lister;
mod object;
mod pages;
mod posting;
mod replacement;
mod root;
mod selector;
mod sink;
mod snapshot;
mod store;
mod uid;
mod version;
mod wait;

pub use batch::Batch;
pub use index::{
    Index, IndexError, IndexFailure, IndexOutcome, IndexStatus, IndexValues, Indexers,
    NAMESPACE_INDEX,
};
pub use key::{KeyError, KeyLike, ObjectKey, ParseKeyError};
pub use lister::{Lister, NamespaceLister, NotFound};
pub use object::{Object, ObjectMetadata, OwnerReference};
pub use replacement::Replacement;
pub use selector::{FieldSelector, LabelSelector, Operator, Requirement, Selector, SelectorError};
pub use sink::{Deletion, DeltaSink, Known, Replace, ReplaceEnd};
pub use snapshot::{Indexed, Snapshot};
pub use store::Store;
pub use uid::Uid;
pub use version::ResourceVersion;
pub use wait::WaitError;

/// What the macros of this crate refer to.
#[doc(hidden)]
pub mod __private {
    #[cfg(feature = "k8s-openapi")]
    pub use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
}
