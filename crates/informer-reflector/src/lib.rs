//! Lists and watches Kubernetes objects into a store or queue, whatever the server does.
//!
//! A [`Reflector`] keeps a sink equal to one collection of an API server. The sink is an
//! [`informer_store::Store`], a delta queue, or anything else that is a
//! [`DeltaSink`](informer_store::DeltaSink). The objects come from a [`ListerWatcher`]: two async closures
//! ([`ListWatch`]), the HTTP client of the feature `http`, or a script in a test.
//!
//! # Example
#![doc = include_str!("../docs/reflector-example.md")]
//!
//! # What it takes care of
//! - A list, page by page or as a streaming list, reaches the sink as one. Where a server does not support streaming
//!   lists, the reflector lists, and remembers that.
//! - A watch that ends is resumed where it was. Only a resource version that is too old, or trouble that does not end,
//!   leads to another list, and that list is not older than what was received.
//! - Every wait has an end: for a response, for progress, for the end of the initial events, and for the next bookmark.
//!   [`ReflectorConfig`] has them all.
//! - After failures it waits, ever longer up to half a minute, at random, or for as long as the server asks. Only
//!   lasting health makes the waits short again.
//! - An object that cannot be decoded is reported, and stops nothing. A watch event without a usable key may concern any
//!   object, so it leads to a list.
//! - A server whose resource versions went back, as after a restored backup, is recognised.
//! - A resource that the server does not have (404) is a phase of its own, [`ReflectorPhase::NotFound`], logged once and
//!   requested again with backoff: a CRD may be installed later, or again.
//! - Panics of the source and of hooks are caught and reported.
//!
//! A [`WatchErrorHandler`] receives its reports; they are logged by `tracing` within the span `reflector`, and the last
//! error is kept in the [`ReflectorStatus`].
//!
//! A watch that retries without a cache, waiting for a condition, and a check of lists are in the crate `informer-tools`.
//!
//! # The resource `events`
//! API servers keep no history of `events` in memory: there are no bookmarks, so after a few guesses silence raises
//! no alarm there, and a resource version that is too old may show as a watch that ends at once. Two such ends in a row
//! lead to a list. Many deletions of events share one resource version; if a connection breaks among them, the server does
//! not repeat the rest, and those objects stay until the next list. So events are listed every ten minutes
//! ([`ListerWatcher::relist_period`]); [`ReflectorConfig::relist_period`] sets another period, for any resource.
//!
//! # What cannot be noticed
//! A connection that is dead although nobody closed it looks like a quiet one. It is found by missing bookmarks, after 70
//! seconds. Where a server sends no bookmarks at all, the reflector gives a silent watch 70 seconds at
//! first, then more each time. In the end a dead connection is found there only when the watch is over, 5 to 10
//! minutes after it was opened; TCP keep-alive, where the connection has it, finds some of them sooner.
//!
//! # Objects without versions
//! A cache compares objects by UID and resource version. Where a type has none, or a server sends none, every received object is
//! newer: each update is delivered, nothing keeps an outdated object out, a relist updates all objects, and a recreation
//! between two lists is an update. That is reported once ([`Report::Unversioned`]). A transform cannot remove
//! them: see [`Reflector::transform`].
//!
//! # Features
//! | feature | gives |
//! |---|---|
//! | `http` | a client that lists and watches over HTTP |
//! | `ring` (default), `aws-lc-rs` | the cryptography of TLS for `http`; with both it is the latter |
//! | `metrics` | counts through the `metrics` facade, see below |
//! | `k8s-openapi` | objects and resources of the `k8s-openapi` crate |
//!
//! # Metrics
//! With the feature `metrics` each reflector counts through the facade of that name, under the label `resource`, which
//! is its [name](Reflector::named). The status has the same figures without it.
//!
//! | name | kind | what |
//! |---|---|---|
//! | `informer_reflector_lists_total` | counter | lists that were requested, streaming ones included |
//! | `informer_reflector_watches_total` | counter | watches that were requested |
//! | `informer_reflector_failures_total` | counter | requests and streams that failed; label `operation`: `list`, `streaming list`, `watch` |
//! | `informer_reflector_events_total` | counter | events of watches, bookmarks included |
//! | `informer_reflector_unknown_events_total` | counter | watch events of unknown types, which were skipped |
//! | `informer_reflector_undecodable_total` | counter | versions of objects that could not be decoded |
//! | `informer_reflector_rewinds_total` | counter | rewinds of the server's resource versions |
//! | `informer_reflector_list_duration_seconds` | histogram | from requesting a list to its end in the sink |
//! | `informer_reflector_synced` | gauge | 1 once the sink has the first list, 0 once the reflector has ended |
//!
//! # Logs
//! Everything is logged by `tracing` within the span `reflector`, whose field `resource` is the reflector's name. Fields
//! of the events: `during`, `error`, `attempts`, `retry_in_ms` where a list or watch failed; `key`, `resource_version`,
//! `error` where an object cannot be decoded; `from`, `to` for a rewind; `resource_version`, `answered_ms`, `decoded_ms`,
//! `applied_ms` for each list, as a warning if it took more than 10 s.
//!
//! # Which crate do I want?
//! For handlers that receive changes use `informer-shared`, or `informer` for everything at once. For a store
//! that your own code fills, `informer-store` is enough.

mod body;
mod boxed;
mod config;
mod driver;
mod error;
#[cfg(feature = "http")]
pub mod http;
mod list_watch;
mod lister_watcher;
mod machine;
mod report;
mod source;
mod status;
mod user_code;

/// For the crates `informer-tools`, whose watches retry by the same rules, `informer-shared` and `informer-controller`.
/// Without any promise.
#[doc(hidden)]
pub mod __private {
    pub use crate::driver::{Incoming, Io};
    pub use crate::machine::{Action, ErrorClass, EventMeta, EventType, Machine, Route};
    pub use crate::user_code::{call_hook, chain, panic_message};
}

#[doc(hidden)]
pub use body::BodyDecoder;
pub use body::DecodedBody;
pub use boxed::BoxListerWatcher;
pub use config::{BackoffConfig, ListMode, ReflectorConfig};
pub use driver::Reflector;
pub use error::ListWatchError;
pub use list_watch::ListWatch;
pub use lister_watcher::{Collection, ListEvent, ListRequest, ListerWatcher, relist_period};
pub use report::{Operation, Report, WatchErrorHandler};
pub use source::ListerWatcherSource;
pub use status::{ReflectorPhase, ReflectorStatus};

/// The example of the README, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
