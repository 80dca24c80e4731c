//! Kubernetes informers: a live, indexed, in-memory copy of a cluster's objects, and handlers that receive every change.
//!
//! This crate re-exports the layers of the project under one name. Start with [`SharedInformer`] and [`InformerFactory`];
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
//! pods.add_handler(|event: Event<Compact<Pod>>| async move {
//!     println!("{event:?}");
//! })?;
//! pods.start()?;
//! pods.synced().deadline(Duration::from_secs(60)).await?;
//!
//! let selector: LabelSelector = "tier=control-plane".parse()?;
//! for pod in pods.lister().namespaced("kube-system").list(&selector) {
//!     println!("{:?}", pod.metadata());
//! }
//! # Ok(()) }
//! ```
//!
//! The module `guide` (feature `full`) continues from here: to production, to tests of your controller, from client-go,
//! from kube.
//!
//! # Which type to cache
//!
//! | type | holds | for |
//! |---|---|---|
//! | any `k8s_openapi` type, any struct of a custom resource | the whole object, decoded | handlers that read much of it |
//! | any struct with metadata, or [`View<T>`](View) | metadata and the few fields that you name | most controllers |
//! | [`Compact<K>`](Compact) | metadata decoded, the rest as bytes; `decode()` gives a `K` | big caches |
//! | [`PartialObjectMetadata`] | metadata alone, requested from the server as such | owners, labels, garbage collection |
//! | [`Dynamic`] | as `Compact`, with its kind | kinds known only at run time |
//!
//! `managedFields` are dropped while decoding.
//!
//! # Beside the informers
//!
//! [`ProcessLoop`] is an informer without its handlers: a delta queue, its reflector, and a
//! [`Process`](shared::Process) of yours that applies batches, as client-go's `cache.New`. A
//! [`DeltaFifo`](delta_fifo::DeltaFifo) or a [`Reflector`] works without even that. With the feature `proptest` the
//! properties of the delta queue and of sinks are exported, as strategies and checks, for tests of your own queue,
//! consumer or sink: `delta_fifo::proptest`, `store::proptest`.
//!
//! # Tests of what you build
//!
//! [`informer-testkit`](https://docs.rs/informer-testkit) is an API server in memory: for a whole program without sockets
//! and in paused time, with conflicts, lost responses, crashes, missing rights and another time of day on demand. The guide
//! `testing_your_controller` shows how.
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
//! | `tools` | no | watches that resume, waits for a condition, a consistency check, stores with a time to live: `tools` |
//! | `proptest` | no | the properties of delta queues and sinks, for your own tests |
//! | `full` | no | `http`, `ring`, `k8s-openapi`, `metrics`, `controller` and `tools` |
//!
//! # The layers
//!
//! [`store`] ← [`delta_fifo`], [`wire`] ← [`reflector`] ← [`shared`]; beside them `client` and `kubeconfig` (feature
//! `http`), and `tools`. Each is a separate crate that depends only on those before it.

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

#[cfg(feature = "tools")]
#[doc(inline)]
pub use informer_tools as tools;

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
    Cause, Event, InformerFactory, ProcessLoop, QueueOrder, QueuePolicy, Registration,
    SharedInformer,
};
pub use informer_store::{
    FieldSelector, IndexValues, Indexers, LabelSelector, Lister, Object, ObjectKey, ObjectMetadata,
    ResourceVersion, Store, StoreReader, Uid, object,
};
#[cfg(feature = "k8s-openapi")]
pub use informer_wire::kube_object;
pub use informer_wire::{
    Compact, Dynamic, FromWire, ListOptions, ObjectMeta, PartialObjectMetadata, Resource, Scope,
    StaticResource, View,
};
