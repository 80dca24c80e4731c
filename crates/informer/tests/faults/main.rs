//! The informer as a program meets it, over real HTTP, against an API server that misbehaves.
//!
//! Whatever happens, in the end the cache equals what the server lists, each handler's history of a key is
//! `(Added Updated* Deleted)*` and ends at the cache, the indexes equal those made anew, and the informer stops.
#![cfg(feature = "full")]
#![allow(
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    reason = "a test fails by panicking"
)]

mod connections;
mod handlers;
mod history;
mod lists;
mod rig;
mod servers;
mod watches;
