//! An indexed in-memory store for Kubernetes objects, with consistent snapshots in constant time.

mod key;
#[cfg(feature = "k8s-openapi")]
mod k8s;
mod object;
mod sink;
mod uid;
mod version;

pub use key::{ObjectKey, ParseKeyError};
pub use object::{Object, ObjectMetadata, OwnerReference};
pub use sink::{DeltaSink, Deletion, Known, Replace, ReplaceEnd};
pub use uid::Uid;
pub use version::ResourceVersion;

/// What the macros of this crate refer to.
#[doc(hidden)]
pub mod __private {
    #[cfg(feature = "k8s-openapi")]
    pub use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
}
