//! A queue of deltas by key, between a Kubernetes reflector and what keeps a store.
//!
//! A reflector must keep reading, whatever its consumers do. It queues what the server sends in a [`DeltaFifo`] and never waits. A process
//! loop pops [batches](Batch), each key with all its deltas, writes its store, and acknowledges. This is client-go's `DeltaFIFO`, with
//! these differences:
//!
//! - No user code runs under its lock but metadata and known objects. What is in flight (popped, not acknowledged) counts as queued and as
//!   known; if the batch is dropped (a panic, a cancelled task) it returns to the front. *Synced* means applied.
//! - A list is queued in one call and popped as one batch, so that it becomes one transaction of the store.
//! - A watch's order is the truth. Versions only keep an object, that is one key and UID, from going back.
//! - A new UID of a key is a tombstone of the old object and the addition of the new one.
//! - A key has at most 8 deltas (or as many as you like): longer ones are coalesced to what a consumer needs, and an object that is deleted
//!   before a consumer saw it leaves nothing.
//! - A batch carries the resource version that the store [reaches by applying it](Batch::applied_up_to).
//!
//! ```
//! use informer_delta_fifo::{Delta, DeltaFifo, DeltaFifoConfig};
//! use informer_store::{DeltaSink, ListEnd, ObjectKey, ObjectList, Store};
//! use k8s_openapi::api::core::v1::Pod;
//! # use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
//! # fn pod(name: &str, version: u64) -> std::sync::Arc<Pod> {
//! #     let (name, resource_version) = (Some(name.into()), Some(version.to_string()));
//! #     let uid = Some(format!("uid-{version}"));
//! #     Pod { metadata: ObjectMeta { name, uid, resource_version, ..Default::default() }, ..Default::default() }.into()
//! # }
//!
//! let store: Store<Pod> = Store::new();
//! let fifo = DeltaFifo::new(DeltaFifoConfig::new().known(store.clone()));
//!
//! // The reflector's side: a list, then events.
//! let cart = ObjectKey::cluster_scoped("cart");
//! let list = ObjectList::from_iter([(cart, pod("cart", 1))]);
//! fifo.replace(list, ListEnd::new(10.into()));
//! fifo.add(ObjectKey::cluster_scoped("till"), pod("till", 12));
//!
//! // The consumer's side.
//! while let Some(batch) = fifo.try_pop_batch(1000) {
//!     let mut transaction = store.transaction();
//!     for (key, deltas) in batch.iter() {
//!         for delta in deltas {
//!             match delta {
//!                 Delta::Added(pod) | Delta::Updated(pod) | Delta::Replaced(pod) => {
//!                     transaction.upsert(key.clone(), pod.clone());
//!                 }
//!                 Delta::Deleted(_) => drop(transaction.remove(key)),
//!                 Delta::Sync(_) | Delta::Undecodable(_) => {}
//!             }
//!         }
//!     }
//!     if let Some(version) = batch.applied_up_to() {
//!         transaction.set_resource_version(version.clone());
//!     }
//!     transaction.commit();
//!     batch.ack();
//! }
//!
//! assert!(fifo.has_synced());
//! assert_eq!(store.len(), 2);
//! assert_eq!(store.snapshot().resource_version(), Some(&12.into()));
//! ```
//!
//! # What becomes of what is received
//!
//! | received | newest of the key | queued |
//! |---|---|---|
//! | ADDED, MODIFIED | none, however low the version | `Added`, `Updated` |
//! | | same UID and version, or same UID and known to be newer | nothing |
//! | | same or no UID, otherwise | `Added`, `Updated` |
//! | | other UID | tombstone of the old object, then `Added` |
//! | | queued `Deleted`, whatever the versions | `Added`; without UIDs as the event says |
//! | DELETED | none | nothing |
//! | | same or no UID, whatever the versions | `Deleted` |
//! | | other UID | a tombstone of the newest if the event is newer, else nothing |
//! | | queued `Deleted` | the better of both |
//! | item of a list | same UID and version, no rewind | `Replaced` with the stored `Arc`, unless it is queued |
//! | | otherwise | as ADDED, but `Replaced`; after `Deleted` and in a rewind always |
//! | not in the list | present | tombstone |
//! | undecodable | present | `Undecodable`; in a rewind a tombstone, if it is newer than the list |
//!
//! The newest of a key is queued, else in flight, else among the [known objects](KnownObjects).
//!
//! # What a consumer must do
//!
//! - Pop one batch at a time, apply it whole, then [`ack`](Batch::ack) it; or [`ack_except`](Batch::ack_except) what failed.
//! - Decide by what the store holds, not by the type of the delta: an object that is stored is updated, one that is not is added. Ignore a
//!   [`Deleted`](Delta::Deleted) or [`Sync`](Delta::Sync) of what is not stored.
//! - After a failure between the store's transaction and the acknowledgement, the same deltas are popped again. The store may then be ahead
//!   of the first of them.
//!
//! # Order
//!
//! By key, the default: a key stands where its first queued delta stands; its later deltas join it there (client-go's D2). In the batch of
//! a list, what was queued before it is first, then tombstones of what the list lacks, then the objects of the list in its order.
//!
//! With [`QueueOrder::InOrder`] every change keeps its place over all keys, as in client-go's `RealFIFO`, and each list is a batch of its
//! own. Choose it to follow the history of a collection; choose the default to keep a copy of it.
//!
//! # Memory
//!
//! By key and with known objects, a stalled consumer costs the objects that exist, those that it has, and those in flight, however many come
//! and go. Without known objects every deletion must be kept, and in order every event: there
//! [`max_queued`](DeltaFifoConfig::max_queued) sets a limit, beyond which a list replaces what is queued.
//!
//! # Property tests
//!
//! With the feature `proptest`, the module `proptest` has what this queue is tested with, for your objects: a server with a history that
//! feeds any [`DeltaSink`](informer_store::DeltaSink), a checker of batches for your consumer, and a naive model of this queue for yours.
//!
//! | feature | default | adds |
//! |---|---|---|
//! | `proptest` | no | the module `proptest` |
//!
//! # Which crate?
//!
//! `informer-store` is the store. `informer-reflector` feeds this queue. `informer-shared` puts the three together and calls handlers; use
//! this crate alone if you build your own process loop on it.

mod batch;
mod clock;
mod coalesce;
mod config;
mod delta;
mod fifo;
#[cfg(all(test, informer_shuttle))]
mod interleavings;
mod known;
#[cfg(feature = "proptest")]
pub mod proptest;
mod state;
mod stats;
mod sync;
mod wake;

pub use batch::Batch;
pub use config::{DeltaFifoConfig, QueueOrder};
pub use delta::{Deleted, Delta, Deltas};
pub use fifo::DeltaFifo;
#[doc(no_inline)]
pub use informer_store::Closed;
pub use known::KnownObjects;
pub use stats::QueueStats;
