//! Kubernetes objects from bytes: watch events, lists item by item, metadata and compact objects.

mod error;
mod event;
mod options;
mod resource;
mod status;

pub use error::DecodeError;
pub use event::{Decoded, ListMeta, SetAside, WatchEvent};
pub use options::{ListOptions, ResourceVersionMatch};
#[cfg(feature = "k8s-openapi")]
pub use resource::KnownScope;
pub use resource::{Resource, Scope, StaticResource};
pub use status::{Status, StatusCause, StatusDetails, StatusMeta};
