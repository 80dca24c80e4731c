//! Kubernetes informers: a live, indexed, in-memory copy of a cluster's objects, and handlers that hear of every change.
//!
//! This crate gathers the layers of the project under one name. Start with [`SharedInformer`] and [`InformerFactory`];
//! take a layer alone where you need only that.
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use informer::http::HttpListerWatcher;
//! use informer::{Client, Compact, Event, LabelSelector, Object, SharedInformer};
//! use k8s_openapi::api::core::v1::Pod;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! // As kubectl: KUBECONFIG, ~/.kube/config, or what the pod is given.
//! let client = Client::infer()?;
//! // `Compact` keeps metadata decoded and the rest as bytes: a cache about the size of the wire.
//! let pods = SharedInformer::builder(HttpListerWatcher::<Compact<Pod>>::all(client)).build()?;
//!
//! let registration = pods.add_handler(|event: Event<Compact<Pod>>| async move {
//!     println!("{event:?}");
//! })?;
//! pods.start()?;
//! pods.synced().deadline(Duration::from_secs(60)).await?;
//!
//! let selector: LabelSelector = "tier=control-plane".parse()?;
//! for pod in pods.lister().namespaced("kube-system").list(&selector) {
//!     println!("{:?}", pod.metadata());
//! }
//! # drop(registration);
//! # Ok(()) }
//! ```
//!
//! The module `guide` (feature `full`) goes on from here: to production, from client-go, from kube.
//!
//! # Which type to cache
//!
//! | type | holds | for |
//! |---|---|---|
//! | any `k8s_openapi` type, any struct of a custom resource | the whole object, decoded | handlers that read much of it |
//! | a struct of your own, or [`View<T>`](View) | metadata and the few fields that you name | most controllers |
//! | [`Compact<K>`](Compact) | metadata decoded, the rest as bytes; `decode()` gives a `K` | big caches |
//! | [`Metadata`] | metadata alone, asked from the server as such | owners, labels, garbage collection |
//! | [`Dynamic`] | as `Compact`, with its kind | kinds known only at run time |
//!
//! `managedFields` are dropped while decoding.
//!
//! # Features
//!
//! | feature | default | adds |
//! |---|---|---|
//! | `http` | yes | [`Client`], kubeconfigs, lists and watches over HTTP |
//! | `ring` | yes | cryptography of TLS that needs no further tool to build |
//! | `aws-lc-rs` | no | the other cryptography; counts before `ring` |
//! | `tower` | no | `Client::from_service`: requests over any tower service, as kube's client |
//! | `k8s-openapi` | no | every type of k8s-openapi is an [`Object`] and knows its resource; your program chooses the version |
//! | `metrics` | no | lists, watches and failures are counted through the `metrics` facade: [names](reflector#metrics) |
//! | `controller` | no | work queue, leader election, controllers: `workqueue`, `leader_election`, `controller` |
//! | `full` | no | `http`, `ring`, `k8s-openapi`, `metrics` and `controller` |
//!
//! # The layers
//!
//! [`store`] ← [`delta_fifo`], [`wire`] ← [`reflector`] ← [`shared`]; beside them `client` and `kubeconfig` (feature
//! `http`). Each is a crate of its own that depends only on what stands before it.

#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "full")]
pub mod guide;

#[doc(inline)]
pub use informer_delta_fifo as delta_fifo;
#[doc(inline)]
pub use informer_reflector as reflector;
#[doc(inline)]
pub use informer_shared as shared;
#[doc(inline)]
pub use informer_store as store;
#[doc(inline)]
pub use informer_wire as wire;

#[cfg(feature = "controller")]
#[doc(inline)]
pub use informer_controller as controller;
#[cfg(feature = "controller")]
#[doc(inline)]
pub use informer_leader_election as leader_election;
#[cfg(feature = "controller")]
#[doc(inline)]
pub use informer_workqueue as workqueue;

#[cfg(feature = "http")]
#[doc(inline)]
pub use informer_client as client;
#[cfg(feature = "http")]
#[doc(inline)]
pub use informer_kubeconfig as kubeconfig;
#[cfg(feature = "http")]
#[doc(inline)]
pub use informer_reflector::http;

#[cfg(feature = "http")]
pub use informer_client::{Api, Client};
pub use informer_reflector::{ListMode, ListWatch, ListerWatcher, Reflector, ReflectorConfig};
pub use informer_shared::{
    Cause, Controller, ControllerConfig, Event, Informer, InformerFactory, QueueOrder, QueuePolicy,
    Registration, SharedInformer,
};
pub use informer_store::{
    FieldSelector, IndexValues, Indexers, LabelSelector, Lister, Object, ObjectKey, ObjectMetadata,
    ResourceVersion, Store, Uid, object,
};
#[cfg(feature = "k8s-openapi")]
pub use informer_wire::kube_object;
pub use informer_wire::{
    Compact, Dynamic, FromWire, ListOptions, Metadata, ObjectMeta, Resource, Scope, StaticResource,
    View,
};
