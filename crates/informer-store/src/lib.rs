//! An indexed in-memory store for Kubernetes objects, with consistent snapshots in constant time.
//!
//! This is client-go's `Store` and `Indexer`, its listers and selectors, with more. It depends on no async runtime, no
//! HTTP and no serde, and can be used alone, with or without a watch to feed it.
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
//! // A snapshot is one state of objects and indexes, for as long as it is held.
//! let snapshot = store.snapshot();
//! store.delete("shop/cart-2");
//! assert!(snapshot.contains("shop/cart-2"));
//! for pod in snapshot.visit_index("node", "node-a")? {
//!     println!("{:?} runs on node-a", pod.metadata.name);
//! }
//!
//! // Several writes are visible together, or not at all.
//! let mut transaction = store.transaction();
//! transaction.remove("blog/web-1");
//! transaction.add(pod("blog", "web-2", "web", "node-b"))?;
//! transaction.commit();
//!
//! // Controllers read through listers and selectors.
//! let pods = Lister::new(store, "pods");
//! let cart: LabelSelector = "app=cart,!canary".parse()?;
//! assert_eq!(pods.namespaced("shop").list(&cart).len(), 1);
//! assert!(pods.namespaced("shop").get("cart-2").is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Overview
//!
//! | to | use |
//! |---|---|
//! | add, replace, delete | [`Store::add`], [`Store::delete`], [`Store::replace`], [`Transaction`] |
//! | read | [`Snapshot`]; [`StoreReader`], a handle that cannot write |
//! | find by a value, a range of values, a prefix | [`Store::add_index`], [`Store::add_typed_index`], [`Store::add_ordered_index`] |
//! | find by labels or metadata | [`LabelSelector`], [`FieldSelector`], [`Lister`], [`Snapshot::select`] |
//! | wait until the store has a write of yours | [`StoreReader::wait_for`], [`StoreReader::wait_until`] |
//! | read a write of yours before the watch sends it | [`Store::overlay`] |
//! | be woken when a key, an index value or anything changes | [`StoreReader::watch_key`], [`StoreReader::watch_index`], [`StoreReader::watch`] |
//! | poll for changes | [`StoreReader::subscribe`] |
//! | be fed by a reflector | [`DeltaSink`], which a `Store` is; [`ObjectList`] |
//! | compare two versions of an object | [`ObjectVersion`] |
//! | store a type of your own | [`Object`], [`object!`] |
//!
//! Watches and waits need no runtime, overlays no clock: any executor polls them, and the time is passed in.
//!
//! # Guarantees
//!
//! - A snapshot takes the same time for ten objects and a million. It holds no lock; a transaction never delays a
//!   reader, and no reader delays a writer.
//! - Indexes are exact in every snapshot. An index function that fails or panics leaves its object out of that index
//!   alone; [`StoreReader::index_status`] counts it, [`Store::on_index_failure`] reports it.
//! - Objects are returned as `Arc<K>`, which nobody can change: nothing is cloned, and no mutation detector is needed.
//! - A list replaces the store in one step, and unchanged objects keep their `Arc`.
//! - As a sink the store follows the server's order, and no object (one key and UID) goes back in time, but for a
//!   rewind.
//! - All orders depend on the sequence of writes alone, never on a hash, so that a simulation repeats.
//! - Changes are kept for subscribers only, and within bounds.
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | `k8s-openapi` | every type of that crate is an [`Object`]; label selectors from `LabelSelector`s of the API |
//! | `proptest` | the module `proptest`: property tests for sinks of your own |
//!
//! # Related crates
//!
//! `informer-delta-fifo` queues changes for a store, `informer-reflector` lists and watches, `informer-shared` calls
//! handlers, `informer-tools` has stores whose objects expire and more. The crate `informer` combines them.
//!
#![doc = include_str!("guide.md")]

mod changes;
mod closed;
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
mod key_queue;
mod lister;
mod object;
mod object_list;
mod object_version;
mod overlay;
mod pages;
mod posting;
#[cfg(feature = "proptest")]
pub mod proptest;
mod root;
mod selector;
mod signal;
mod sink;
mod snapshot;
mod store;
mod sync;
mod transaction;
mod uid;
mod version;
mod wait;
mod watch;

pub use changes::{Lagged, StoreChange, StoreChanges};
pub use closed::Closed;
pub use expectation::Expectation;
pub use index::{
    Index, IndexError, IndexFailure, IndexOutcome, IndexStatus, IndexValues, Indexers,
    NAMESPACE_INDEX,
};
pub use key::{KeyError, KeyLike, ObjectKey, ParseKeyError};
#[doc(hidden)]
pub use key_queue::{Item, KeyQueue};
pub use lister::{Lister, NamespaceLister, NotFound};
pub use object::{Object, ObjectMetadata, OwnerReference};
pub use object_list::{ListEnd, ObjectList};
pub use object_version::{ObjectVersion, Relation};
pub use overlay::Overlaid;
pub use selector::{FieldSelector, LabelSelector, Operator, Requirement, Selector, SelectorError};
pub use sink::{Deletion, DeltaSink};
pub use snapshot::{Indexed, Snapshot};
pub use store::{Store, StoreReader};
pub use transaction::Transaction;
pub use uid::Uid;
pub use version::ResourceVersion;
pub use wait::WaitError;
pub use watch::StoreWatch;

// The tests of interleavings use the support module of the tests beside this crate, which use its name.
#[cfg(all(test, informer_shuttle))]
extern crate self as informer_store;

/// For the macros of this crate.
#[doc(hidden)]
pub mod __private {
    #[cfg(feature = "k8s-openapi")]
    pub use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
}
