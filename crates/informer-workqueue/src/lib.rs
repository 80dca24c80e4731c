//! A work queue for controllers: deduplicating, delaying, rate limited, fair by priority. It depends neither on Kubernetes
//! nor on a runtime.
//!
//! Handlers of events add keys to a [`WorkQueue`]; workers take keys and reconcile them. This is client-go's
//! `util/workqueue` in one type:
//!
//! - An item is in the queue at most once. One that is added while in work is worked on again afterwards, once, by one
//!   worker.
//! - [`add_after`](WorkQueue::add_after) queues later; the delays are one heap, and no task or thread stands behind it:
//!   whoever waits for an item waits until the first is due.
//! - A worker gets [`Work`] and ends it by its [result](WorkResult): success, retry, give up. A retry waits for the
//!   [`RateLimiter`]. Work that is dropped is tried again, so that a panic loses nothing.
//!
//! ```
//! use std::time::Duration;
//! use informer_workqueue::{WorkResult, Priority, WorkQueue};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let queue = WorkQueue::new();
//!
//! // An informer's handler.
//! queue.add("shop/cart");
//! queue.add("shop/cart");
//! queue.add_with_priority("shop/till", Priority::Low);
//! assert_eq!(queue.len(), 2);
//!
//! // A worker.
//! let work = queue.get().await.expect("not shut down");
//! assert_eq!(*work.item(), "shop/cart");
//! work.success();
//!
//! let work = queue.get().await.expect("not shut down");
//! assert_eq!((*work.item(), work.failures()), ("shop/till", 0));
//! work.retry();
//!
//! let work = queue.get().await.expect("not shut down");
//! assert_eq!((*work.item(), work.failures()), ("shop/till", 1));
//! work.finish(WorkResult::GiveUp);
//!
//! queue.add_after("shop/lamp", Duration::from_millis(10));
//! let work = queue.get().await.expect("not shut down");
//! work.finish(WorkResult::Success);
//! queue.shut_down();
//! assert!(queue.get().await.is_none());
//! # Ok(()) }
//! ```
//!
//! # What is promised
//!
//! - No two workers have an item at once, and no item that was added is lost: it is taken after it was added, or
//!   [removed](WorkQueue::remove).
//! - Within a priority, items are taken in the order in which they were queued. A higher priority goes first, but none
//!   starves: after [a number](WorkQueueConfig::starvation_limit) of others a lower one is taken.
//! - An item that fails delays no other by more than one token of the rate of retries. One that waits takes none: a token
//!   is taken when a retry is due, and additions of an item that waits already cost nothing.
//! - What the last work of an item asked for, a retry or to look again, is void once newer work on it has begun: no old
//!   delay brings back what has succeeded since.
//! - The backoff of an item that failed holds against additions for [a second](WorkQueueConfig::event_backoff), or as long
//!   as that setting says: from not at all to all of it.
//! - Memory is bounded by the number of different items, is given back when they leave, and items that are remembered for
//!   a failure alone are [forgotten](WorkQueueConfig::max_remembered) in time.
//! - A [drain](WorkQueue::shut_down_with_drain) ends when nothing waits and nothing is in work, not before.
//! - No code of yours runs under its lock but hashing, comparing and cloning of items.
//!
//! # Where it differs from client-go
//!
//! `Done` cannot be called twice or for another's item: only [`Work`] has it. A drain waits for items that no worker
//! has begun, too. The failures of items are counted by the queue, not by each limiter, and the tokens of a bucket are the
//! queue's: client-go takes one for each failure, even of an item that waits. There, a delay that waits runs whatever
//! happened since, and additions pass every backoff; here, [`event_backoff`](WorkQueueConfig::event_backoff) decides. [`Priority`] and starvation limits,
//! [`remove`](WorkQueue::remove), [`clear`](WorkQueue::clear) and the limits on memory have no counterpart there.
//!
//! # Features
//!
//! | feature | default | adds |
//! |---|---|---|
//! | `tokio` | no | [`get`](WorkQueue::get) and [`run_workers`](WorkQueue::run_workers), with tokio's timer and tasks |
//!
//! On another runtime [`get_with`](WorkQueue::get_with) takes its timer; threads use
//! [`get_blocking`](WorkQueue::get_blocking).
//!
//! # Which crate?
//!
//! `informer-controller` feeds this queue from informers and runs reconcilers on it.

#![cfg_attr(docsrs, feature(doc_cfg))]

use std::hash::Hash;

mod config;
mod error;
#[cfg(all(test, informer_shuttle))]
mod interleavings;
mod limit;
mod metrics;
mod parallel;
mod priority;
mod queue;
mod schedule;
mod shared;
mod signal;
mod state;
mod sync;
mod work;
mod workers;

pub use config::WorkQueueConfig;
pub use error::DrainCancelled;
pub use limit::{
    BucketRateLimiter, ExponentialRateLimiter, FastSlowRateLimiter, MaxOfRateLimiter,
    MaxWaitRateLimiter, RateLimiter, RetryRate, default_controller_rate_limiter,
    default_item_based_rate_limiter,
};
pub use metrics::{Metrics, WorkQueueStats};
pub use parallel::Parallel;
pub use priority::Priority;
pub use queue::WorkQueue;
pub use work::{Work, WorkResult};

/// What can be queued: small, cheap to clone, as an object's key. Every type that fits is one.
pub trait Item: Clone + Eq + Hash + Send + Sync + 'static {}

impl<T: Clone + Eq + Hash + Send + Sync + 'static> Item for T {}
