//! Kubernetes objects from bytes: watch events, lists item by item, metadata and compact objects.
//!
//! [`ListDecoder`], [`WatchDecoder`] and [`decode_object`] decode objects from bytes in pieces. They do no
//! I/O. The type of the objects is any that is [`FromWire`]:
//!
//! | type | holds |
//! |---|---|
//! | any type that serde can read, as those of `k8s-openapi` | the whole object, or the fields it names |
//! | [`View<T>`](View) | [`ObjectMeta`] and the fields of `T` |
//! | [`Compact<K>`](Compact) | [`ObjectMeta`] and the bytes of the rest; `decode()` gives a `K` |
//! | [`Dynamic`] | the same, of a kind known only at run time |
//! | [`PartialObjectMetadata`] | [`ObjectMeta`] alone, and asks the server for no more |
//!
//! Of requests and other answers it has [`Resource`] (which collection, and its URL), [`ListOptions`], [`DeleteOptions`],
//! [`Patch`] and [`Status`].
//!
//! # Formats
//!
//! All of them read JSON and Kubernetes' protobuf, which API servers have for their own kinds, and for the metadata of
//! every kind: see [`Resource::has_protobuf`] and [`WireFormat`]. Nothing is generated for a kind: a table in this
//! crate says which field of a message has which key in JSON, and a serde `Deserializer` shows types what JSON would
//! show them. An object is the same from both. Fields that a type does not name are skipped by their length.
//!
//! # Limits
//!
//! The memory that a server can make a decoder use is bounded, see [`Limits`]: an event or item, a page (unpacked),
//! the levels of nested values. Lengths that a server announces are checked before memory is allocated for them.
//! Of an error answer's body [`Status::MAX_BODY`] bytes are read.
//!
//! # Features
//! - `k8s-openapi`: every type of that crate knows its [`Resource`] and is an
//!   [`Object`](informer_store::Object).

mod builtin;
mod clock;
mod compact;
mod decode;
mod delete;
mod error;
mod event;
mod intern;
pub mod json;
mod limits;
mod meta;
mod options;
mod partial_object_metadata;
mod patch;
mod path;
mod protobuf;
mod resource;
mod response;
mod status;
mod types;
mod view;

pub use builtin::BuiltinResource;
pub use clock::WallClock;
pub use compact::{Compact, Dynamic};
pub use decode::{
    DecodeOptions, FromWire, ListDecoder, NewestFn, ObjectForm, ReadVerb, WatchDecoder, WireFormat,
    WireObject, decode_object,
};
pub use delete::{DeleteOptions, Deleted, Preconditions, Propagation};
pub use error::DecodeError;
pub use event::{Decoded, ListMeta, Undecodable, WatchEvent};
pub use intern::Interner;
pub use json::StreamEnd;
pub use limits::Limits;
pub use meta::ObjectMeta;
pub use options::{ListOptions, ResourceVersionMatch};
pub use partial_object_metadata::PartialObjectMetadata;
pub use patch::Patch;
pub use path::PathError;
#[cfg(feature = "k8s-openapi")]
pub use resource::KnownScope;
pub use resource::{Resource, Scope, StaticResource};
pub use status::{Status, StatusCause, StatusDetails, StatusMeta};
pub use view::View;

#[doc(hidden)]
pub mod schema {
    //! The table of Kubernetes' fields, for the test kit, which writes protobuf by it. Not part of what this crate
    //! promises.

    pub use crate::protobuf::{Field, Form, Message, Scalar};
}

/// What macros of this crate need.
#[cfg(feature = "k8s-openapi")]
#[doc(hidden)]
pub mod __private {
    pub use informer_store::object;
}

/// The README's example runs as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
