//! Leader election on a Kubernetes Lease: one of several replicas works, another takes over when it is gone.
//!
//! A [`LeaderElector`] competes for a lease through a [`LeaseLock`], as [`HttpLeaseLock`] on an API server, and
//! [runs](LeaderElector::run) a future while it leads. It keeps to the record and the rules of client-go's
//! `leaderelection`, so that it can stand beside elections of other programs.
//!
//! # What is promised
//!
//! - Two replicas do not lead at once, as long as no clock runs much faster than the others. What time it is anywhere
//!   does not matter: whether a lease has ended is decided by how long ago it was seen to change.
//! - When the leadership is lost, the work is told, and its future is gone before the lease ends.
//! - After a stop the lease is held until the work has ended, and then given back, so that another takes over at once.
//! - Every request has an end; a server that hangs costs the leadership, not the process.
//!
//! It is no fence: a request that was sent before the lease ended may arrive after it. Where that matters, let the server
//! decide by resource versions.
//!
//! # Start informers first
//!
//! A replica that waits should have its caches filled: start the informers before [`LeaderElector::run`], and the workers
//! in the future that it runs.

mod candidate;
mod config;
mod elector;
mod lease;
mod lock;
mod machine;
mod status;

pub use candidate::LeaseCandidate;
pub use config::{Config, ConfigError};
pub use elector::{LeaderElector, LeadershipLost, Outcome};
pub use lease::{Lease, LeaseRecord};
pub use lock::{HttpLeaseLock, LeaseLock, LockError};
pub use status::{Health, Status};
