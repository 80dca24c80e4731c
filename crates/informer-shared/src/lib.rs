//! Shared Kubernetes informers: one cache and one watch for many handlers, and a factory of them.
//!
//! A [`SharedInformer`] lists and watches one kind of objects, keeps them in an indexed [`Store`], and tells any number
//! of handlers what changes. An [`InformerFactory`] makes informers over one source and keeps one for each kind.
#![doc = include_str!("../docs/informer-example.md")]
//!
//! # From the watch to a handler
//!
//! The reflector's task feeds a delta FIFO and waits for nobody. One controller task takes batches out of it, writes the
//! cache in one step, and puts what changed into the queue of each handler. Each handler takes from its own queue:
//! in a task, on a thread, or as a stream.
//!
//! | what | async handler | blocking handler | stream |
//! |---|---|---|---|
//! | added by | [`add_handler`](SharedInformer::add_handler) | [`add_blocking_handler`](SharedInformer::add_blocking_handler) | [`events`](SharedInformer::events) |
//! | with settings | [`register`](HandlerBuilder::register) | [`register_blocking`](HandlerBuilder::register_blocking) | [`stream`](HandlerBuilder::stream) |
//! | runs | in a task of its own | on a thread of its own | where it is polled |
//! | is | [`EventHandler`] | [`BlockingEventHandler`] | [`EventStream`] |
//!
//! [`handler`](SharedInformer::handler) gives the settings: a name, a [`QueuePolicy`], a resync period, a filter, and
//! what panics and errors do ([`FailurePolicy`]). A [`Registration`] is a handler's place: dropping it removes the
//! handler.
//!
//! # What is promised
//!
//! - The cache has a change before any handler hears of it. A handler's history of an object is `Added`, any number of
//!   `Updated`, `Deleted`; the `old` of an update is the object it was told before.
//! - What the cache held decides what is told. A new UID under an old name is a deletion and an addition; a deletion of
//!   what is not cached is told to nobody.
//! - A late handler hears of all that is cached as `Added` with `initial` set, then of every later change: none is
//!   missed, none told twice.
//! - A slow, failing or panicking handler holds up neither the watch, nor the cache, nor other handlers. By default the
//!   events that wait for it join, so that memory is bounded by the number of objects.
//! - A handler is [synced](Registration::synced) once it has handled all of the state that it started from, not before.
//! - Reminders of unchanged objects reach only handlers with a resync period, carry the same `Arc` twice, and are due at
//!   exact multiples of the period.
//! - Of many informers of a factory that start together only a few list at once ([`StartLimit`]), and one that hangs
//!   holds up the others only for a while.
//! - An informer stops within about a second at any moment, and everything of it has ended then, but for a thread whose
//!   handler does not return. Dropping the last handle stops it too.
//!
//! # The layers below
//!
//! | type | is |
//! |---|---|
//! | [`SharedInformer`] | many handlers, each with a queue of its own |
//! | [`Informer`] | one handler, in the loop that writes the store: client-go's `NewInformer` |
//! | [`Controller`] | the loop alone: a queue, what fills it, and a [`Process`] of yours that applies what comes out |
//!
//! All three run on one loop. What a process or handler could not do is counted and reported, and the next list repairs
//! it.
//!
//! # Where it differs from client-go
//!
//! Handlers' queues join events by default ([`QueuePolicy::Unbounded`] is client-go's way). A new UID is told as two
//! events ([`RecreatedAs::Updated`] is client-go's way). Deletions of unknown objects are not told. A handler's resync
//! period may be shorter than the informer's. A panic ends one handler and not the process.
//!
//! # Features
//!
//! | feature | default | adds |
//! |---|---|---|
//! | `k8s-openapi` | no | every type of k8s-openapi is an object and knows its resource; the final program chooses the version |
//!
//! [`Store`]: informer_store::Store

mod apply;
mod controller;
mod error;
mod event;
mod factory;
mod fatal;
mod handler;
mod informer;
mod lazy;
mod notification;
mod processor;
mod queue;
mod resync;
mod single;
mod starts;
mod synced;
mod tasks;
#[cfg(test)]
mod testing;
mod wait;

pub use apply::RecreatedAs;
pub use controller::{
    Controller, ControllerConfig, ControllerMonitor, ControllerStatus, Failures, Process,
    ProcessEach,
};
pub use error::{InformerStopped, RunError};
pub use event::{Cause, Event};
pub use factory::{FactorySyncError, InformerFactory, InformerFactoryBuilder};
pub use handler::{
    BlockingEventHandler, BoxError, EventHandler, EventStream, FailurePolicy, HandlerBuilder,
    HandlerEnd, HandlerFailure, HandlerFns, HandlerOutcome, HandlerStatus, Registration,
};
pub use informer::{InformerStatus, OnStop, SharedInformer, SharedInformerBuilder};
/// In which order changes come from the watch to the store.
#[doc(inline)]
pub use informer_delta_fifo::Order as QueueOrder;
pub use lazy::Lazy;
pub use queue::QueuePolicy;
pub use single::{Informer, InformerBuilder};
pub use starts::StartLimit;
pub use synced::{CatchUpError, CaughtUp, Progress, SyncError, Synced};
pub use wait::{Wait, Waiting};
