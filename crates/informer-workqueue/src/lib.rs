//! A work queue for controllers: deduplicating, delaying, rate limited, fair by priority. It knows nothing of
//! Kubernetes, and nothing of a runtime.
//!
//! Whoever hears of a change adds a key to a [`WorkQueue`]; workers take keys and bring the world in order. This is
//! client-go's `util/workqueue` in one type:
//!
//! - An item is in the queue at most once. One that is added while someone works on it is worked on again afterwards,
//!   once, by one worker.
//! - [`add_after`](WorkQueue::add_after) queues later; the delays are one heap, and no task or thread stands behind it:
//!   whoever waits for an item waits until the first is due.
//! - A worker gets [`Work`] and says how it went: success, retry, give up. A retry waits as the [`RateLimiter`] says. What
//!   is dropped unsaid is tried again, so that a panic loses nothing.
//!
//! ```
//! use std::time::Duration;
//! use informer_workqueue::{Outcome, Priority, WorkQueue};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let queue = WorkQueue::new();
//!
//! // The informer's side.
//! queue.add("shop/cart");
//! queue.add("shop/cart");
//! queue.add_with_priority("shop/till", Priority::Low);
//! assert_eq!(queue.len(), 2);
//!
//! // A worker's side.
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
//! work.finish(Outcome::GiveUp);
//!
//! queue.add_after("shop/lamp", Duration::from_millis(10));
//! let work = queue.get().await.expect("not shut down");
//! work.finish(Outcome::Success);
//! queue.shut_down();
//! assert!(queue.get().await.is_none());
//! # Ok(()) }
//! ```
//!
//! # What is promised
//!
//! - Nobody works on an item twice at once, and no item that was added is lost before a shutdown: it is taken after it
//!   was added, or [removed](WorkQueue::remove).
//! - Within a priority, items are taken in the order in which they came. A higher priority goes first, but none starves:
//!   after [so many](Config::ageing) others a lower one has its turn.
//! - Memory is bounded by the number of different items, is given back when they leave, and items that only failed once
//!   are [forgotten](Config::max_remembered) in time.
//! - A [drain](WorkQueue::shut_down_with_drain) ends when nothing waits and nothing is worked on, not before.
//! - Nothing of yours runs under its lock but hashing, comparing and cloning items.
//!
//! # Where it differs from client-go
//!
//! `Done` cannot be said twice or for another's item: only [`Work`] can say it. A drain waits for items that no worker
//! has begun, too. The failures of items are counted by the queue, not by each limiter. [`Priority`] and ageing,
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

pub use config::Config;
pub use error::DrainCancelled;
pub use limit::{
    BucketRateLimiter, ExponentialRateLimiter, FastSlowRateLimiter, MaxOfRateLimiter,
    MaxWaitRateLimiter, RateLimiter, default_controller_rate_limiter,
    default_item_based_rate_limiter,
};
pub use metrics::{Metrics, Stats};
pub use parallel::Parallel;
pub use priority::Priority;
pub use queue::WorkQueue;
pub use work::{Outcome, Work};

/// What can be queued: small, cheap to clone, as an object's key. Every type that fits is one.
pub trait Item: Clone + Eq + Hash + Send + Sync + 'static {}

impl<T: Clone + Eq + Hash + Send + Sync + 'static> Item for T {}
