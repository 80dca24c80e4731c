//! Kubernetes objects from bytes: watch events, lists item by item, metadata and compact objects.
//!
//! [`ListDecoder`], [`WatchDecoder`] and [`decode_object`] take bytes as they arrive and give objects. They do no
//! I/O. What an object becomes is chosen by its type, which is any that is [`FromWire`]:
//!
//! | type | holds |
//! |---|---|
//! | any type that serde can read, as those of `k8s-openapi` | the whole object, or the fields it names |
//! | [`View<T>`](View) | [`ObjectMeta`] and the fields of `T` |
//! | [`Compact<K>`](Compact) | [`ObjectMeta`] and the bytes of the rest; `decode()` gives a `K` |
//! | [`Dynamic`] | the same, of a kind that is known only at run time |
//! | [`Metadata`] | [`ObjectMeta`] alone, and asks the server for no more |
//!
//! [`Resource`] says which collection is meant and where its URL is, [`ListOptions`] what is asked of it, [`Status`]
//! what went wrong.
//!
//! # Formats
//!
//! All of them read JSON and Kubernetes' protobuf, which API servers write of their own kinds, and of the metadata of
//! every kind: see [`Resource::has_protobuf`] and [`WireFormat`]. Nothing is generated for a kind: a table in this
//! crate says which field of a message has which key in JSON, and a serde `Deserializer` shows types what JSON would
//! show them. An object is the same from both. What a type does not name is passed over by its length.
//!
//! # Limits
//!
//! What a server can make a decoder hold is bounded, see [`Limits`]: an event or item, a page (after it was unpacked),
//! how deep values lie in each other. Lengths that a server announces are looked at before anything is kept for them.
//! Of an error answer's body [`Status::MAX_BODY`] bytes are read.
//!
//! # Features
//! - `k8s-openapi`: every type of that crate knows its [`Resource`] and is an
//!   [`Object`](informer_store::Object).

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
mod protobuf;
mod resource;
mod response;
mod status;
mod types;
mod view;

pub use builtin::BuiltinResource;
pub use compact::{Compact, Dynamic};
pub use decode::{
    DecodeOptions, FromWire, KnownFn, ListDecoder, ObjectForm, ReadVerb, WatchDecoder, WireFormat,
    WireObject, decode_object,
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
