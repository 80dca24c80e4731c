//! A queue of per-key deltas between a Kubernetes reflector and a controller.

mod batch;
mod config;
mod delta;
mod error;
mod fifo;
mod known;
mod list;
mod shared;
mod state;
mod stats;

pub use batch::{Batch, Deltas, KeyDeltas};
pub use config::Config;
pub use delta::{Deleted, Delta};
pub use error::Closed;
pub use fifo::DeltaFifo;
pub use known::KnownObjects;
pub use list::FifoReplace;
pub use stats::Stats;
