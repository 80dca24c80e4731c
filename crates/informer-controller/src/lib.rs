//! Kubernetes controllers on informers: keys to reconcile, workers, retries, finalizers, events. No framework beyond that.
//!
//! A [`Controller`] takes keys from [`Source`]s, which are informers, and gives them one by one to an async function
//! that compares what is with what should be and acts. What it reads it takes from the informers' stores.
//!
//! ```no_run
//! use informer_client::{Api, Client};
//! use informer_controller::{Action, Controller, Request, Source, predicate};
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
//!     .watch(Source::objects(&sets).when(predicate::generation()))?
//!     .watch(Source::owned_by(&pods, "apps", "ReplicaSet"))?;
//! sets.start()?;
//! pods.start()?;
//!
//! let (sets, pods) = (sets.store().clone(), pods.store().clone());
//! controller
//!     .run(&stop, move |request: Request| {
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
//! - Reconciling begins once all caches are filled; no key is worked on twice at once.
//! - A key whose reconcile fails or panics is tried again with backoff, and no later than when something changes. An
//!   error says otherwise with [`ReconcileError::terminal`] or [`ReconcileError::retry_after`]; a conflict is no error
//!   to be logged; what an API server asks to wait is waited.
//! - What was there before, and resyncs, stand behind what changes now, and do not starve.
//! - A stop begins nothing any more and lets what runs end.
//! - It never goes on beside an informer that has stopped.
//!
//! # Leading
//!
//! A replica that does not lead watches its sources already, so that its queue and its caches are ready. Run the
//! controller as the work of an elector:
//!
//! ```no_run
//! # use informer_client::Client;
//! # use informer_controller::{Action, Controller, Request};
//! # use informer_leader_election::{Config, HttpLeaseLock, LeaderElector};
//! # use tokio_util::sync::CancellationToken;
//! # async fn example(client: Client, controller: Controller, stop: CancellationToken) -> Result<(), Box<dyn std::error::Error>> {
//! let lock = HttpLeaseLock::new(client, "kube-system", "my-controller");
//! let elector = LeaderElector::new(lock, Config::new("pod-7f9c"))?;
//! elector
//!     .run(&stop, |lost| async move {
//!         controller.run(&lost, |request: Request| async move { Ok(Action::Done) }).await
//!     })
//!     .await?;
//! # Ok(()) }
//! ```
//!
//! # Features
//!
//! | feature | default | adds |
//! |---|---|---|
//! | `k8s-openapi` | no | predicates on generations and finalizers of k8s-openapi's types |

#![cfg_attr(docsrs, feature(doc_cfg))]

mod conflict;
mod controller;
mod finalizer;
pub mod predicate;
mod reconcile;
mod recorder;
mod source;

pub use conflict::{IsConflict, retry_on_conflict};
pub use controller::{Controller, ControllerError};
pub use finalizer::{Finalizer, Step as FinalizerStep};
pub use reconcile::{Action, BoxError, ReconcileError, Request};
pub use recorder::{EventRecorder, EventType, ObjectReference};
pub use source::Source;
