//! Shared Kubernetes informers: one cache and one watch for many handlers, and a factory of them.

mod apply;
mod controller;
mod error;
mod event;
mod factory;
mod fatal;
mod handler;
mod informer;
mod notification;
mod processor;
mod queue;
mod resync;
mod synced;
mod tasks;
#[cfg(test)]
mod testing;
mod wait;

pub use apply::RecreatedAs;
pub use error::{InformerStopped, RunError};
pub use event::{Cause, Event};
pub use factory::{FactorySyncError, InformerFactory, InformerFactoryBuilder};
pub use handler::{
    BlockingEventHandler, BoxError, EventHandler, EventStream, FailurePolicy, HandlerBuilder,
    HandlerEnd, HandlerFailure, HandlerFns, HandlerOutcome, HandlerStatus, Registration,
};
pub use informer::{InformerStatus, OnStop, SharedInformer, SharedInformerBuilder};
pub use queue::QueuePolicy;
pub use synced::{CatchUpError, CaughtUp, Progress, SyncError, Synced};
pub use wait::{Wait, Waiting};
