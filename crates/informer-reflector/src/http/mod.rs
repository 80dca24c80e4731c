//! Lists and watches over HTTP, through a connection of `informer-client`.
//!
//! [`HttpListerWatcher`] is a [`ListerWatcher`](crate::ListerWatcher) for one resource. A
//! [`Client`](informer_client::Client), or an [`HttpSource`] with settings, makes one for each resource of a factory.
//!
//! ```no_run
//! use informer_client::Client;
//! use informer_reflector::http::HttpListerWatcher;
//! use k8s_openapi::api::core::v1::Pod;
//!
//! # fn main() -> Result<(), informer_client::BuildError> {
//! let pods = HttpListerWatcher::<Pod>::namespaced(Client::infer()?, "shop");
//! # Ok(()) }
//! ```
//!
//! # Wire formats
//!
//! For the kinds of Kubernetes itself, and for the metadata of any kind, protobuf is requested: it is smaller and faster
//! for both sides, and every type that serde decodes is decoded from it. Custom resources come as JSON, and so does
//! everything from a server that refuses protobuf or sends what cannot be decoded; a lister-watcher remembers that. The
//! format is that of the response's `Content-Type`, whatever was requested. [`WirePreference`] requests one format alone.
//!
//! Some types only JSON fills: those that want a field that a newer server writes and that this version does
//! not know. If none of the first objects can be decoded from protobuf, the request fails, JSON is requested from then on,
//! and a warning says so; of changes, one is enough. An undecodable object among decodable ones is reported, as in JSON.
//!
//! # What it promises
//!
//! - Bodies are decoded chunk by chunk, and each item or event is passed on as soon as its bytes are received. No body is
//!   ever held as a whole.
//! - It has no time limits: a reflector has them all, in its [`ReflectorConfig`](crate::ReflectorConfig). The connection
//!   has its own, for connecting.
//! - A page of a list yields its end only if the body ended well.
//! - Dropping a future or a stream ends the request and its connection.

mod chunks;
mod config;
mod events;
mod lister_watcher;
mod negotiation;
mod source;
mod traffic;

pub use config::HttpConfig;
pub use events::{HttpList, HttpWatch};
pub use lister_watcher::HttpListerWatcher;
pub use negotiation::WirePreference;
pub use source::HttpSource;
pub use traffic::Traffic;
