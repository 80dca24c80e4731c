//! Lists and watches over HTTP, through a connection of `informer-client`.
//!
//! [`HttpListerWatcher`] is a [`ListerWatcher`](crate::ListerWatcher) for one resource. A
//! [`Client`](informer_client::Client), or an [`HttpSource`] with options, gives one for each resource that a factory
//! asks for.
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
//! For the kinds of Kubernetes itself, and for the metadata of any kind, protobuf is asked for: it is smaller and faster
//! for both sides, and every type that serde reads is read from it. Custom resources come as JSON, and so does
//! everything from a server that refuses protobuf or sends what cannot be read; a lister remembers that. What came is
//! told by its `Content-Type`, not by what was asked for. [`WirePreference`] asks for one format alone.
//!
//! A type can be one that only JSON fills: where it wants a field that a newer server writes and that this version does
//! not know. If none of the first objects can be read from protobuf, the request fails, JSON is asked for from then on,
//! and a warning says so; of changes, one is enough. An object that cannot be read among others that can is set aside,
//! as in JSON.
//!
//! # What it promises
//!
//! - Bodies are read chunk by chunk, and each item or event is passed on as soon as its bytes are there. No body is ever
//!   held as a whole.
//! - Opening an answer has a limit, and so has silence within the body of a list. Silence within a watch is normal; the
//!   reflector decides how long it may last.
//! - A page of a list yields its end only if the body ended well.
//! - Dropping a future or a stream ends the request and its connection.

mod chunks;
mod config;
mod events;
mod failure;
mod lister_watcher;
mod negotiation;
mod source;
mod traffic;

pub use config::HttpConfig;
pub use events::{HttpEvents, HttpList, HttpWatch};
pub use lister_watcher::HttpListerWatcher;
pub use negotiation::WirePreference;
pub use source::HttpSource;
pub use traffic::Traffic;
