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
//! # What it promises
//!
//! - Bodies are read chunk by chunk, and each item or event is passed on as soon as its bytes are there. No body is ever
//!   held as a whole.
//! - Opening an answer has a limit, and so has silence within the body of a list. Silence within a watch is normal; the
//!   reflector decides how long it may last.
//! - A page of a list yields its end only if the body ended well.
//! - Dropping a future or a stream ends the request and its connection.

mod config;
mod failure;
mod list;
mod lister_watcher;
mod source;
mod traffic;
mod watch;

pub use config::HttpConfig;
pub use list::HttpList;
pub use lister_watcher::HttpListerWatcher;
pub use source::HttpSource;
pub use traffic::Traffic;
pub use watch::HttpWatch;
