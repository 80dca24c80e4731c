//! An indexed in-memory store for Kubernetes objects, with consistent snapshots in constant time.
//!
//! This is client-go's `Store` and `Indexer`, its listers and selectors, and what neither has. It depends on no async
//! runtime, no HTTP and no serde, and can be used alone, with or without a watch to feed it.
//!
//! # In five minutes
//!
//! A [`Store`] holds objects by [`ObjectKey`], and is shared by cloning it.
//!
//! ```
//! use informer_store::{IndexValues, LabelSelector, Lister, Store};
//! use k8s_openapi::api::core::v1::Pod;
//! # use std::collections::BTreeMap;
//!
//! # fn pod(namespace: &str, name: &str, app: &str, node: &str) -> Pod {
//! #     let mut pod = Pod::default();
//! #     pod.metadata.namespace = Some(namespace.into());
//! #     pod.metadata.name = Some(name.into());
//! #     pod.metadata.labels = Some(BTreeMap::from([("app".into(), app.into())]));
//! #     pod.spec.get_or_insert_default().node_name = Some(node.into());
//! #     pod
//! # }
//! let store: Store<Pod> = Store::new();
//! store.add(pod("shop", "cart-1", "cart", "node-a"))?;
//! store.add(pod("shop", "cart-2", "cart", "node-b"))?;
//! store.add(pod("blog", "web-1", "web", "node-a"))?;
//!
//! // An index can be added at any time, and removed.
//! store.add_namespace_index()?;
//! store.add_index("node", |pod: &Pod, values: &mut IndexValues<'_>| {
//!     values.extend(pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()));
//! })?;
//!
//! // A snapshot is one state of objects and indexes, for as long as you hold it.
//! let snapshot = store.snapshot();
//! store.delete("shop/cart-2");
//! assert!(snapshot.contains("shop/cart-2"));
//! for pod in snapshot.visit_index("node", "node-a")? {
//!     println!("{:?} runs on node-a", pod.metadata.name);
//! }
//!
//! // Several writes are seen together, or not at all.
//! let mut batch = store.begin_batch();
//! batch.remove("blog/web-1");
//! batch.add(pod("blog", "web-2", "web", "node-b"))?;
//! batch.commit();
//!
//! // Controllers read through listers and selectors.
//! let pods = Lister::new(store, "pods");
//! let cart: LabelSelector = "app=cart,!canary".parse()?;
//! assert_eq!(pods.namespaced("shop").list(&cart).len(), 1);
//! assert!(pods.namespaced("shop").get("cart-2").is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What there is
//!
//! | to | use |
//! |---|---|
//! | add, replace, delete | [`Store::add`], [`Store::delete`], [`Store::replace`], [`Batch`] |
//! | read | [`Snapshot`]; [`Store::get`] and others for one look |
//! | find by a value, a range of values, a prefix | [`Store::add_index`], [`Store::add_typed_index`], [`Store::add_ordered_index`] |
//! | find by labels or metadata | [`LabelSelector`], [`FieldSelector`], [`Lister`], [`Snapshot::select`] |
//! | wait until a write of yours is here | [`Store::wait_until`], [`Store::wait_for`] |
//! | see a write of yours before the watch tells of it | [`Store::overlay`] |
//! | be woken when a key, an index value or anything changes | [`Store::watch_key`], [`Store::watch_index`], [`Store::watch`] |
//! | poll for what changed | [`Store::subscribe`] |
//! | be given the whole state after each change | [`UndeltaStore`] |
//! | let objects expire | [`TtlStore`] |
//! | be fed by a reflector | [`DeltaSink`], which a `Store` is |
//! | store a type of your own | [`Object`], [`object!`] |
//!
//! What is woken, waits or expires takes no runtime and no clock of its own: any executor polls it, and the time is
//! passed in.
//!
//! # What holds
//!
//! - Taking a snapshot costs the same for ten objects and a million. It holds no lock; a batch at work never holds up a
//!   reader, and no reader holds up a writer.
//! - Indexes are exact in every snapshot. An index function that fails or panics leaves its object out of that index
//!   alone; [`Store::index_status`] counts it, [`Store::on_index_failure`] reports it.
//! - Objects come out as `Arc<K>`, which nobody can change: no copies, and no detector of mutations.
//! - A list replaces the store in one step, and what it holds unchanged keeps its `Arc`.
//! - As a sink the store never goes back in time, unless it is told that the server did.
//! - The order of everything depends on the sequence of writes alone, never on a hash, so that a simulation repeats.
//! - Nothing is kept for followers until there is one, and then within bounds.
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | `k8s-openapi` | every type of that crate is an [`Object`]; label selectors are made of `LabelSelector`s of the API |
//!
//! # Around it
//!
//! `informer-delta-fifo` queues changes on their way into a store, `informer-reflector` lists and watches,
//! `informer-shared` tells handlers what changed. The crate `informer` brings them together.
//!
#![doc = include_str!("guide.md")]

mod batch;
mod changes;
mod digest;
mod directory;
mod effects;
mod expectation;
mod flags;
mod index;
#[cfg(all(test, informer_shuttle))]
mod interleavings;
#[cfg(feature = "k8s-openapi")]
mod k8s;
mod key;
mod list;
mod lister;
mod mutants;
mod object;
mod overlay;
mod pages;
mod posting;
mod replacement;
mod root;
mod selector;
mod signal;
mod sink;
mod snapshot;
mod store;
mod sync;
mod ttl;
mod uid;
mod undelta;
mod version;
mod wait;
mod watch;

pub use batch::Batch;
pub use changes::{Change, Changes, Lagged};
pub use expectation::Expectation;
pub use index::{
    Index, IndexError, IndexFailure, IndexOutcome, IndexStatus, IndexValues, Indexers,
    NAMESPACE_INDEX,
};
pub use key::{KeyError, KeyLike, ObjectKey, ParseKeyError};
pub use lister::{Lister, NamespaceLister, NotFound};
pub use object::{Object, ObjectMetadata, OwnerReference};
pub use overlay::Overlaid;
pub use replacement::Replacement;
pub use selector::{FieldSelector, LabelSelector, Operator, Requirement, Selector, SelectorError};
pub use sink::{Deletion, DeltaSink, Known, Replace, ReplaceEnd};
pub use snapshot::{Indexed, Snapshot};
pub use store::Store;
pub use ttl::TtlStore;
pub use uid::Uid;
pub use undelta::{UndeltaReplacement, UndeltaStore};
pub use version::ResourceVersion;
pub use wait::WaitError;
pub use watch::Watch;

// The tests of interleavings share what the tests beside this crate share, which know it by its name.
#[cfg(all(test, informer_shuttle))]
extern crate self as informer_store;

/// What the macros of this crate refer to.
#[doc(hidden)]
pub mod __private {
    pub use crate::mutants::is_on as is_mutant_on;
    #[cfg(feature = "k8s-openapi")]
    pub use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
}
