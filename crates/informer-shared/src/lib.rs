//! Shared Kubernetes informers: one cache and one watch for many handlers, and a factory of them.
//!
//! A [`SharedInformer`] lists and watches one kind of objects, keeps them in an indexed
//! [store](informer_store::Store), and sends their changes to any number of handlers. An [`InformerFactory`] makes
//! informers over one source and keeps one for each kind.
#![doc = include_str!("../docs/informer-example.md")]
//!
//! # From the watch to a handler
//!
//! The reflector's task feeds a delta queue and waits for nobody. The [process loop](ProcessLoop) pops batches, writes each
//! to the cache in one transaction, and pushes its changes into the queue of each handler. Each handler pops from its own
//! queue: in a task, on a thread, or as a stream.
//!
//! | | async handler | blocking handler | stream |
//! |---|---|---|---|
//! | added by | [`add_handler`](SharedInformer::add_handler) | [`add_blocking_handler`](SharedInformer::add_blocking_handler) | [`events`](SharedInformer::events) |
//! | with settings | [`register`](HandlerBuilder::register) | [`register_blocking`](HandlerBuilder::register_blocking) | [`stream`](HandlerBuilder::stream) |
//! | runs | in a task of its own | on a thread of its own | where it is polled |
//! | implements | [`EventHandler`] | [`BlockingEventHandler`] | [`EventStream`] |
//!
//! [`handler`](SharedInformer::handler) gives the settings: a name, a [`QueuePolicy`], a resync period, a filter, and what
//! panics and errors lead to ([`FailurePolicy`]). A [`Registration`] shows the handler's status, waits for it and removes
//! it; dropping it keeps the handler. What a handler may hold says [`EventHandler`].
//!
//! # Guarantees
//!
//! - The cache has a change before any handler receives it. A handler's history of an object is `Added`, any number of
//!   `Updated`, `Deleted`; the `old` of an update is the object of its event before.
//! - What the cache held decides which event is sent. A new UID under an old name is a deletion and an addition; a deletion
//!   of what is not cached is sent to nobody.
//! - A late handler receives all cached objects as `Added` with `initial` set, then every later change: none is missed, none
//!   repeated.
//! - A slow, failing or panicking handler delays neither the watch, nor the cache, nor other handlers. By default its queued
//!   events are coalesced, so that memory is bounded by the number of objects.
//! - A handler is [synced](Registration::synced) once it has handled all of its initial objects, not before.
//! - Resyncs are sent only to handlers with a resync period, carry the same `Arc` twice, and are due at exact multiples of
//!   the period.
//! - Of many informers of a factory that start together only a few list at once ([`StartLimit`]), and one that hangs delays
//!   the others only for a while.
//! - An informer stops within about a second at any moment, and everything of it has ended then, but for a thread whose
//!   handler does not return. Dropping the last handle stops it too.
//! - Every [`Wait`] takes a deadline, and its [error](WaitError) says what was waited for and why it was not met.
//!
//! # Which type to use
//!
//! | type | is |
//! |---|---|
//! | [`InformerFactory`] | informers that the parts of a program share |
//! | [`SharedInformer`] | one cache, many handlers, each with a queue of its own; with one handler it is client-go's `NewInformer` |
//! | [`ProcessLoop`] | the loop alone, client-go's `cache.New`: a delta queue, its reflector, and your [`Process`] that applies batches |
//!
//! # Where it differs from client-go
//!
//! Handlers' queues coalesce events by default ([`QueuePolicy::Unbounded`] is client-go's way). A new UID is sent as two
//! events ([`RecreatedAs::Updated`] is client-go's way). Deletions of unknown objects are not sent. A handler's resync period
//! may be shorter than the informer's. A panic ends one handler and not the process.
//!
//! # Features
//!
//! | feature | default | adds |
//! |---|---|---|
//! | `k8s-openapi` | no | every type of k8s-openapi is an object and knows its resource; the final program chooses the version |

mod apply;
mod error;
mod event;
mod factory;
mod handler;
mod handler_queue;
mod informer;
mod notification;
mod process_loop;
mod processor;
mod schedule;
mod start_limit;
mod tasks;
#[cfg(test)]
mod testing;
mod wait;

pub use apply::RecreatedAs;
pub use error::{BoxError, BuildError, EndReason, HandlerError, RunError};
pub use event::{Cause, Event};
pub use factory::{InformerFactory, InformerFactoryBuilder};
pub use handler::{
    BlockingEventHandler, EventHandler, EventStream, FailurePolicy, HandlerBuilder, HandlerFns,
    HandlerStatus, IntoHandlerResult, Registration,
};
pub use handler_queue::QueuePolicy;
pub use informer::{InformerStatus, OnStop, SharedInformer, SharedInformerBuilder, WeakInformer};
/// The order in which changes are cached.
#[doc(inline)]
pub use informer_delta_fifo::QueueOrder;
pub use process_loop::{FailedKeys, Process, ProcessLoop, ProcessLoopStatus};
pub use start_limit::StartLimit;
pub use wait::{InformerPhase, NotSynced, Wait, WaitError};

/// The README's examples run as tests of documentation.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
