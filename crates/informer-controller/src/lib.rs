//! Kubernetes controllers on informers: keys to reconcile, workers, retries, finalizers, events. No framework beyond that.
//!
//! A [`Controller`] queues keys from [`EventSource`]s, which are informers, and calls an async function for each, that
//! compares the present state with the desired one and acts. It reads the present state from the informers' stores.
//!
//! ```no_run
//! use informer_client::{Api, Client};
//! use informer_controller::{Action, Controller, ReconcileRequest, EventSource, predicate};
//! use informer_reflector::http::HttpListerWatcher;
//! use informer_shared::SharedInformer;
//! use k8s_openapi::api::apps::v1::ReplicaSet;
//! use k8s_openapi::api::core::v1::Pod;
//! use tokio_util::sync::CancellationToken;
//!
//! # async fn example(client: Client, stop: CancellationToken) -> Result<(), Box<dyn std::error::Error>> {
//! let sets = SharedInformer::builder(HttpListerWatcher::<ReplicaSet>::all(client.clone())).build()?;
//! let pods = SharedInformer::builder(HttpListerWatcher::<Pod>::all(client.clone())).build()?;
//! let controller = Controller::new("replicasets")
//!     .workers(4)
//!     .watch(EventSource::objects(&sets).when(predicate::generation()))?
//!     .watch(EventSource::owned_by(&pods, "apps", "ReplicaSet"))?;
//! sets.start()?;
//! pods.start()?;
//!
//! let (sets, pods) = (sets.store().clone(), pods.store().clone());
//! controller
//!     .run(&stop, move |request: ReconcileRequest| {
//!         let (set, pods) = (sets.get(&request.key), pods.clone());
//!         async move {
//!             let Some(set) = set else {
//!                 return Ok(Action::Done);
//!             };
//!             println!("{:?} wants pods; there are {}", set.metadata.name, pods.len());
//!             Ok(Action::Done)
//!         }
//!     })
//!     .await?;
//! # Ok(()) }
//! ```
//!
//! # What is promised
//!
//! - Reconciling starts once all caches are synced; no key is reconciled twice at once.
//! - A key whose reconcile fails, panics or takes too long is retried with backoff, or at its next event if that is earlier.
//!   An error can change that by [`ReconcileError::terminal`] or [`ReconcileError::retry_after`]; if an API server asks to
//!   wait, the key waits as long. Warnings name the key, its failures in a row and the next try; a conflict with a concurrent
//!   write is one from the third in a row on.
//! - What a reconcile writes through its [request's client](ReconcileRequest::client) is in the caches before its key is
//!   reconciled again; until then the key holds no worker.
//! - A panic in a predicate or mapping function loses no other event.
//! - Initial objects and resyncs have a lower priority than changes, and do not starve.
//! - After a stop no reconcile is started, and running ones may end.
//! - It ends with an error when a cache is not synced in time, and when one of its informers or event sources ends.
//! - [`ControllerStatus`] shows what it does: its sources, which reconciles run and since when, which keys fail, why, and
//!   when they are tried again.
//!
//! # Leading
//!
//! A replica that does not lead watches its event sources already, so that its queue and caches are ready. Run the
//! controller as the work of an elector, and let it write with a client that passes requests only under the lease: a
//! reconcile that was frozen, or hangs, must not write when another replica leads.
//!
//! ```no_run
//! # use informer_client::{Api, Client};
//! # use informer_controller::{Action, Controller, ReconcileRequest};
//! # use informer_leader_election::{ElectionConfig, HttpLeaseLock, LeaderElector};
//! # use k8s_openapi::api::apps::v1::ReplicaSet;
//! # use tokio_util::sync::CancellationToken;
//! # async fn example(client: Client, controller: Controller, stop: CancellationToken) -> Result<(), Box<dyn std::error::Error>> {
//! let lock = HttpLeaseLock::new(client.clone(), "kube-system", "my-controller");
//! let elector = LeaderElector::new(lock, ElectionConfig::new("pod-7f9c"))?;
//! let gated = client.gated(elector.gate());
//! let led = elector
//!     .run(&stop, |lost| async move {
//!         let reconcile = move |request: ReconcileRequest| {
//!             // Its writes are also waited for, before the key is reconciled again.
//!             let sets = Api::<ReplicaSet>::namespaced(request.client(&gated), "shop");
//!             async move {
//!                 sets.delete(request.name(), &Default::default()).await?;
//!                 Ok(Action::Done)
//!             }
//!         };
//!         controller.run(&lost, reconcile).await
//!     })
//!     .await?;
//! // The controller's own error.
//! led.worked().transpose()?;
//! # Ok(()) }
//! ```
//!
#![cfg_attr(docsrs, feature(doc_cfg))]

mod conflict;
mod controller;
mod finalizer;
pub mod predicate;
mod reconcile;
mod recorder;
mod source;
mod status;
mod worker;
mod writes;

pub use conflict::{IsConflict, retry_on_conflict};
pub use controller::{Controller, ControllerError};
pub use finalizer::{Finalizer, FinalizerStep};
pub use reconcile::{Action, BoxError, ReconcileError, ReconcileRequest};
pub use recorder::{EventRecorder, EventType, ObjectReference, RecorderError};
pub use source::EventSource;
pub use status::{ControllerPhase, ControllerStatus, FailingKey, RunningReconcile, SourceStatus};
