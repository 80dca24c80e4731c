//! A real kube-apiserver with etcd under the hand of a test: started on loopback, killed, restarted, compacted.
//!
//! `cargo xtask e2e` builds the server (the Go program in `e2e/apiserver`) and tells by the variable
//! [`SERVER_VARIABLE`] where it lies; then it runs the tests of this package and its scenarios (`main.rs`).
//!
//! - [`RealApiServer`] is one server. It ends with its value, and its state directory with it.
//! - [`ApiClient`] is the judge: a small HTTP client that shares nothing with the crates under test.
//!
//! # How a watch comes to a real 410
//!
//! kube-apiserver answers watches from its own cache, which holds more history than etcd. Seen on 1.36:
//!
//! | what happened since the resource version R | a watch that resumes at R |
//! |---|---|
//! | etcd compacted | goes on, from the cache |
//! | the server restarted, nothing of any kind written after R | goes on |
//! | the server restarted, anything at all written between R and its end | 410: the new cache starts at its first list |
//! | with `--watch-cache=false`: compacted at least two revisions after R | 410, from etcd |
//!
//! So [`RealApiServer::expire_history`] compacts, kills and restarts, and then no older version can be resumed. A list
//! at an exact old version, or with an old `continue` token, ends in the same way.

mod client;
mod error;
mod options;
mod ports;
mod process;
mod server;

pub use crate::client::{ApiClient, Method};
pub use crate::error::HarnessError;
pub use crate::options::ServerOptions;
pub use crate::server::{RealApiServer, SERVER_VARIABLE};
