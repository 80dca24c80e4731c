//! What this queue is tested with, for your consumer, your queue or your sink, with your objects. Needs the feature `proptest`.
//!
//! | you wrote | test it with |
//! |---|---|
//! | a consumer of a [`DeltaFifo`] | [`World`], which feeds it as a server with a history would, and [`BatchChecker`], which watches the batches |
//! | a queue in its place | [`check_calls`], which compares it with the naive [`Model`], call by call |
//! | a sink | [`World`] too, and [`informer_store::proptest`] |
//!
//! All take any type of object: [`Objects`] is a strategy for what objects contain, and how they get a key, a UID and a resource version.
//! [`Sample`] is a ready one.
//!
//! ```
//! use informer_delta_fifo::proptest::{BatchChecker, Objects, Step, World, steps};
//! use informer_delta_fifo::{Delta, DeltaFifo, DeltaFifoConfig};
//! use informer_store::Store;
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use proptest::prelude::*;
//!
//! fn maps() -> Objects<ConfigMap> {
//!     let content = any::<bool>().prop_map(|immutable| ConfigMap { immutable: Some(immutable), ..ConfigMap::default() });
//!     Objects::new(content, |map, key, version| {
//!         map.metadata.namespace = key.namespace().map(str::to_owned);
//!         map.metadata.name = Some(key.name().to_owned());
//!         map.metadata.uid = version.uid.as_ref().map(ToString::to_string);
//!         map.metadata.resource_version = version.resource_version.as_ref().map(ToString::to_string);
//!     })
//! }
//!
//! /// The consumer under test: yours, instead of this one.
//! fn consume(fifo: &DeltaFifo<ConfigMap>, store: &Store<ConfigMap>, keys: usize, checker: &mut BatchChecker) -> bool {
//!     let Some(batch) = fifo.try_pop_batch(keys) else { return false };
//!     checker.check(&batch).unwrap();
//!     let mut transaction = store.transaction();
//!     for (key, deltas) in batch.iter() {
//!         for delta in deltas {
//!             match delta {
//!                 Delta::Added(object) | Delta::Updated(object) | Delta::Replaced(object) => {
//!                     transaction.upsert(key.clone(), object.clone());
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
//!     true
//! }
//!
//! proptest!(ProptestConfig::with_cases(32), |(steps in steps(&maps(), 1..40))| {
//!     let store = Store::new();
//!     let fifo = DeltaFifo::new(DeltaFifoConfig::new().known(store.clone()));
//!     let (mut world, mut checker) = (World::new(maps()), BatchChecker::new());
//!     for step in &steps {
//!         match step {
//!             Step::Consume(keys) => _ = consume(&fifo, &store, *keys, &mut checker),
//!             // A batch that is dropped is requeued.
//!             Step::Requeue(keys) => drop(fifo.try_pop_batch(*keys)),
//!             _ => world.perform(step, &fifo),
//!         }
//!         world.check(store.list(), store.resource_version().as_ref()).unwrap();
//!     }
//!     world.finish(&fifo);
//!     while consume(&fifo, &store, 10, &mut checker) {}
//!     world.check_finished(store.list()).unwrap();
//! });
//! ```

mod calls;
mod checker;
mod model;
mod objects;
mod steps;
mod timeline;
mod under_test;
mod world;

pub use calls::{Call, calls, check_calls};
pub use checker::BatchChecker;
pub use model::Model;
pub use objects::{Objects, Sample};
pub use steps::{Step, steps};
pub use under_test::{FifoUnderTest, Popped, QueueUnderTest, TestStore};
pub use world::World;

#[cfg(doc)]
use crate::DeltaFifo;

/// What must hold and does not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Violation(String);
