//! Kubernetes objects from bytes: watch events, lists item by item, metadata and compact objects.

mod builtin;
mod compact;
mod decode;
mod error;
mod event;
mod intern;
pub mod json;
mod limits;
mod meta;
mod metadata;
mod options;
mod path;
mod resource;
mod response;
mod status;
mod types;
mod view;

pub use builtin::BuiltinResource;
pub use compact::{Compact, Dynamic};
pub use decode::{
    DecodeOptions, FromWire, KnownFn, ListDecoder, ReadVerb, WatchDecoder, WireFormat, WireObject,
    decode_object,
};
pub use error::DecodeError;
pub use event::{Decoded, ListMeta, SetAside, WatchEvent};
pub use intern::Interner;
pub use json::StreamEnd;
pub use limits::Limits;
pub use meta::ObjectMeta;
pub use metadata::Metadata;
pub use options::{ListOptions, ResourceVersionMatch};
pub use path::PathError;
#[cfg(feature = "k8s-openapi")]
pub use resource::KnownScope;
pub use resource::{Resource, Scope, StaticResource};
pub use status::{Status, StatusCause, StatusDetails, StatusMeta};
pub use view::View;
