//! List and watch Kubernetes objects into a store or queue, whatever the server does.
//!
//! A [`Reflector`] keeps a sink equal to one collection of an API server. The sink is an
//! [`informer_store::Store`], a delta FIFO, or anything else that is a
//! [`DeltaSink`](informer_store::DeltaSink). The objects come from a [`ListerWatcher`]: two async closures
//! ([`ListWatch`]), the HTTP client of the feature `http`, or a script in a test.
//!
//! # Example
#![doc = include_str!("../docs/reflector-example.md")]
//!
//! # What it takes care of
//! - Lists come page by page or as a streaming list, item by item, and reach the sink as one. Where a server cannot
//!   stream, the reflector lists, and remembers that.
//! - A watch that ends is resumed where it was. Only a version that is too old, or trouble that does not go away,
//!   leads to another list, and that list is not older than what was seen.
//! - Every wait has an end: for an answer, for progress, for the end of a first state, and for the next bookmark of a
//!   watch that used to have them.
//! - After failures it waits, ever longer up to half a minute, at random, or for as long as the server asks. Only
//!   lasting health makes the waits short again.
//! - An object that cannot be decoded is set aside, and the rest flows on.
//! - A server that went back in time, as after a restored backup, is recognised; nothing else moves an object back.
//! - Panics of the source and of hooks are caught, reported and survived.
//!
//! What goes wrong is told to a [`WatchErrorHandler`], logged by `tracing` within the span `reflector`, and kept in
//! the [`ReflectorStatus`].
//!
//! Programs that want no cache use [`tools`]: a watch that goes on, and waiting until a condition holds.
//!
//! The decisions are made by a state machine without I/O, [`machine::Machine`].
//!
//! # The resource `events`
//! API servers keep no history of `events` in memory: there are no bookmarks, so after a few guesses silence raises
//! no alarm there, and a version that is too old may show as a watch that closes at once. Two such ends in a row lead to a list. Many
//! deletions of events share one resource version; if a connection breaks among them, the server does not repeat the
//! rest, and those objects stay until the next list. So events are listed anew every ten minutes
//! ([`ListerWatcher::relist_period`]); [`ReflectorConfig::relist_period`] sets another time, or one for any resource.
//!
//! # What cannot be noticed
//! A connection that is dead although nobody closed it looks like a quiet one. It is found by the bookmarks that stay
//! away, after 70 seconds. Where a server sends no bookmarks at all, the reflector gives a silent watch 70 seconds at
//! first, then more each time. In the end a dead connection is found there only when the watch is over, 5 to 10
//! minutes after it was opened; TCP keep-alive, where the connection has it, finds some of them sooner.
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
//! | `informer_reflector_lists_total` | counter | lists that were begun, streaming ones included |
//! | `informer_reflector_watches_total` | counter | watches that were asked for |
//! | `informer_reflector_failures_total` | counter | requests and streams that failed; label `operation`: `list`, `streaming list`, `watch` |
//! | `informer_reflector_events_total` | counter | events of watches, bookmarks included |
//! | `informer_reflector_unknown_events_total` | counter | events of watches of a type that is unknown here, and skipped |
//! | `informer_reflector_set_aside_total` | counter | versions of objects that were set aside |
//! | `informer_reflector_rewinds_total` | counter | recognised rewinds of the server |
//! | `informer_reflector_list_duration_seconds` | histogram | from asking for a list to its end in the sink |
//! | `informer_reflector_synced` | gauge | 1 once the first list has arrived, 0 once the reflector has ended |
//!
//! # Logs
//! Everything is logged by `tracing` within the span `reflector`, whose field `resource` is the reflector's name. Fields
//! of the events: `during`, `error`, `attempts`, `retry_in_ms` where a list or watch failed; `key`, `resource_version`,
//! `error` where an object was set aside; `from`, `to` for a rewind; `resource_version`, `answered_ms`, `decoded_ms`,
//! `applied_ms` for each list, as a warning if it took more than 10 s.
//!
//! # Which crate do I want?
//! For handlers that are told of changes use `informer-shared`, or `informer` for everything at once. For a store
//! that is filled by hand `informer-store` is enough.

mod body;
mod boxed;
mod config;
mod driver;
mod error;
#[cfg(feature = "http")]
pub mod http;
mod list_watch;
mod lister_watcher;
pub mod machine;
mod report;
mod source;
mod status;
pub mod tools;

pub use body::{BodyDecoder, DecodedBody};
pub use boxed::BoxListerWatcher;
pub use config::{FirstList, ListMode, ReflectorConfig};
pub use driver::Reflector;
pub use error::ListWatchError;
pub use list_watch::{IntoPage, List, ListPage, ListWatch};
pub use lister_watcher::{KnownFn, ListEvent, ListRequest, ListerWatcher, relist_period};
pub use machine::BackoffConfig;
pub use report::{Operation, Report, WatchErrorHandler};
pub use source::ListerWatcherSource;
pub use status::{Phase, ReflectorStatus};

/// The example of the README, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
