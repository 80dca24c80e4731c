//! A queue of per-key deltas between a Kubernetes reflector and a controller.
//!
//! A reflector must keep reading, whatever consumers do. It puts what the server says into a [`DeltaFifo`] and never
//! waits. A controller takes it out in [batches](Batch), key by key with everything that happened to the key, writes
//! its store, and acknowledges. This is client-go's `DeltaFIFO`, with these differences:
//!
//! - Nothing of yours runs under its lock. What was taken out and not acknowledged counts as queued and as known; if
//!   the batch is dropped (a panic, a cancelled task) it returns to the front. *Synced* means applied.
//! - A whole list comes in through a [guard](FifoReplace), all or nothing, and comes out as one batch, so that it
//!   becomes one write to the store.
//! - What is older than the newest that is known, be it queued, in flight or stored, has no effect: neither a late
//!   event nor a list from a replica that lags behind.
//! - A new UID under an old name comes out as the end of the old object and the addition of the new one.
//! - A key holds at most 8 deltas (or as many as you like): longer chains are compressed to what a consumer must see.
//! - A batch says up to which resource version [everything is applied](Batch::applied_up_to) once it is.
//!
//! ```
//! use informer_delta_fifo::{Delta, DeltaFifo};
//! use informer_store::{DeltaSink, Deletion, Object, ObjectKey, Replace, ReplaceEnd, Store};
//! # use informer_store::{ObjectMetadata, OwnerReference, ResourceVersion, Uid};
//! use std::sync::Arc;
//!
//! struct Pod { name: &'static str, version: u64 }
//! # impl ObjectMetadata for Pod {
//! #     fn name(&self) -> Option<&str> { Some(self.name) }
//! #     fn namespace(&self) -> Option<&str> { None }
//! #     fn uid(&self) -> Option<Uid> { Some("uid".into()) }
//! #     fn resource_version(&self) -> Option<ResourceVersion> { Some(self.version.into()) }
//! #     fn labels(&self) -> impl Iterator<Item = (&str, &str)> { std::iter::empty() }
//! #     fn annotations(&self) -> impl Iterator<Item = (&str, &str)> { std::iter::empty() }
//! #     fn owner_references(&self) -> impl Iterator<Item = OwnerReference<'_>> { std::iter::empty() }
//! # }
//! # impl Object for Pod { type Metadata = Self; fn metadata(&self) -> &Self { self } }
//!
//! let store: Store<Pod> = Store::new();
//! let fifo = DeltaFifo::new(store.clone());
//!
//! // The reflector's side: a list, then changes.
//! let mut list = fifo.begin_replace();
//! list.insert(ObjectKey::cluster_scoped("cart"), Arc::new(Pod { name: "cart", version: 1 }));
//! list.finish(ReplaceEnd::new(10.into()));
//! fifo.update(ObjectKey::cluster_scoped("cart"), Arc::new(Pod { name: "cart", version: 11 }));
//! fifo.add(ObjectKey::cluster_scoped("till"), Arc::new(Pod { name: "till", version: 12 }));
//!
//! // The controller's side.
//! while let Some(batch) = fifo.try_pop_batch(1000) {
//!     let mut write = store.begin_batch();
//!     for deltas in batch.iter() {
//!         for delta in deltas.deltas() {
//!             match delta {
//!                 Delta::Added(pod) | Delta::Updated(pod) | Delta::Replaced(pod) => {
//!                     write.upsert(deltas.key().clone(), pod);
//!                 }
//!                 Delta::Deleted(_) => drop(write.remove(deltas.key())),
//!                 Delta::Sync(_) | Delta::SetAside(_) => {}
//!             }
//!         }
//!     }
//!     if let Some(version) = batch.applied_up_to() {
//!         write.set_resource_version(version.clone());
//!     }
//!     write.commit();
//!     batch.ack();
//! }
//!
//! assert!(fifo.has_synced());
//! assert_eq!(store.len(), 2);
//! assert_eq!(store.snapshot().resource_version(), Some(&12.into()));
//! ```
//!
//! # What a consumer must do
//!
//! - Take one batch at a time, apply it whole, then [`ack`](Batch::ack) it.
//! - Decide by what the store holds, not by the kind of the delta: an object that is there is updated, one that is
//!   not is added. Drop a [`Deleted`](Delta::Deleted) or [`Sync`](Delta::Sync) whose key is not stored.
//! - After a failure between writing the store and acknowledging, the same deltas come again. The store may then be
//!   ahead of the first of them.
//!
//! # Order
//!
//! A key stands where its first delta that is not taken out stands; its later deltas join it there (client-go's D2).
//! In the batch of a list, what was queued before comes first, then deletions of what the list lacks, then the
//! objects of the list in its order.
//!
//! That is [`Order::ByKey`], the default. With [`Order::InOrder`] every change comes out where it arrived, as from
//! client-go's `RealFIFO`, and each list is a batch of its own. Choose it to follow the history of a collection; choose
//! the default to keep a copy of it, with memory bounded by the number of objects whatever the consumer does.
//!
//! # Features
//!
//! | feature | default | adds |
//! |---|---|---|
//! | `proptest` | no | the module `proptest`: what happens to a queue as strategies, and checkers of what must hold, for your own consumer, queue or sink |
//!
//! # Which crate?
//!
//! `informer-store` is the store. `informer-reflector` feeds this queue. `informer-shared` puts the three together and
//! tells handlers; use this crate alone if you build your own controller on it.

mod batch;
mod chain;
mod clock;
mod config;
mod delta;
mod error;
mod fifo;
mod known;
mod list;
#[cfg(feature = "proptest")]
pub mod proptest;
mod shared;
mod state;
mod stats;

pub use batch::{Batch, Deltas, KeyDeltas};
pub use config::{Config, Order};
pub use delta::{Deleted, Delta};
pub use error::Closed;
pub use fifo::DeltaFifo;
pub use known::KnownObjects;
pub use list::FifoReplace;
pub use stats::Stats;
