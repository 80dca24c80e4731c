//! The half above the cache: replicas of an operator with electors and controllers, on one server.

mod chaos;
mod count;
mod freeze;
mod ledger;
mod net;
mod plan;
mod process;
mod settle;
mod trouble;
mod work;
mod world;

use informer_wire::{Resource, Scope};

pub use count::Counts;

use crate::trace::Trace;

const NAMESPACE: &str = "shop";
const LEASE: &str = "operator";

fn widgets() -> Resource {
    Resource::new("demo.example", "v1", "Widget", "widgets", Scope::Namespaced)
}

fn parts() -> Resource {
    Resource::new("demo.example", "v1", "Part", "parts", Scope::Namespaced)
}

/// Plays a seed.
pub(crate) async fn play(seed: u64, trace: Trace) -> Counts {
    world::World::new(seed, trace).play().await
}
