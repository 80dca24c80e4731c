//! Tools beside Kubernetes informers: for programs that need no cache, or one of another kind.
//!
//! Informers use nothing of it. It builds on `informer-store` and `informer-reflector`.
//!
//! | to | use |
//! |---|---|
//! | watch from a resource version on, and resume after failures | [`RetryWatcher`] |
//! | wait for an event | [`RetryWatcher::until`] |
//! | wait until the objects of a cluster meet a condition | [`until_with_sync`] |
//! | check that a store has what the server lists | [`check_consistency`] |
//! | let objects expire | [`TtlStore`] |
//! | receive the whole state after each change | [`UndeltaStore`] |
//! | compute a value from a store when it is read | [`Lazy`] |
//!
//! # Example
//!
//! Wait until a pod is ready, without an informer:
//!
//! ```
//! use std::time::Duration;
//!
//! use informer_reflector::ReflectorConfig;
//! use informer_tools::until_with_sync;
//! use k8s_openapi::api::core::v1::Pod;
//! # use futures_util::stream;
//! # use informer_reflector::{ListWatch, ListWatchError};
//! # use informer_wire::{ListMeta, ListOptions, WatchEvent};
//!
//! # fn web() -> Pod {
//! #     serde_json::from_value(serde_json::json!({
//! #         "metadata": { "namespace": "shop", "name": "web", "resourceVersion": "5" },
//! #         "status": { "conditions": [{ "type": "Ready", "status": "True" }] },
//! #     })).expect("a pod")
//! # }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let pods = ListWatch::new(
//! #     |_: ListOptions| async { Ok::<_, ListWatchError>((vec![web()], ListMeta::at(7.into()))) },
//! #     |_: ListOptions| async { Ok::<_, ListWatchError>(stream::pending::<Result<WatchEvent<Pod>, ListWatchError>>()) },
//! # );
//! let is_ready = |pod: &Pod| {
//!     let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
//!     conditions.into_iter().flatten().any(|condition| condition.type_ == "Ready" && condition.status == "True")
//! };
//! // `pods` lists and watches: `informer_reflector::http::HttpListerWatcher`, or a `ListWatch` of two closures.
//! let ready = until_with_sync(pods, ReflectorConfig::default(), |pods| {
//!     pods.get("shop/web").filter(|pod| is_ready(pod)).cloned()
//! });
//! let pod = tokio::time::timeout(Duration::from_secs(60), ready).await??;
//! println!("{:?} is ready", pod.metadata.name);
//! # Ok(())
//! # }
//! ```
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | `k8s-openapi` | every type of that crate is an object that can be listed and watched |
//!
//! # Which crate do I want?
//!
//! `informer-shared` for a cache with handlers, `informer-reflector` for a store that follows a cluster, `informer` for
//! all of it.

mod consistency;
#[cfg(all(test, informer_shuttle))]
mod interleavings;
mod lazy;
mod retry_watcher;
mod sync;
mod ttl;
mod undelta;
mod until;

pub use consistency::{Consistency, ConsistencyError, Difference, check_consistency};
pub use lazy::Lazy;
pub use retry_watcher::RetryWatcher;
pub use ttl::TtlStore;
pub use undelta::UndeltaStore;
pub use until::until_with_sync;

/// The example of the README, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
