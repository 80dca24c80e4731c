//! A storage provisioner on informers: volumes for claims of its classes, once each, whatever crashes.
//!
//! It shows a whole program on `informer`: informers of one factory with indexes, two controllers with several workers,
//! leader election, finalizers, events, retries. Implement [`Provisioner`] for another kind of storage; [`HostPath`]
//! makes directories.
//!
//! # How it keeps its promises
//!
//! - A claim's volume has a name made of the claim's UID, so the server refuses a second one. Storage comes before the
//!   volume, and both may be made again after a crash.
//! - A volume has a finalizer from the start, so its storage is deleted before it goes. Storage without volume and claim
//!   is found by the next leader.
//! - Storage is made and deleted on the server's own word about the claim, not on a cache's.
//!
//! A cluster without kube-controller-manager has nobody to bind claims and to end the protection of deleted ones. There
//! this program does both, as the controllers of that program would; where a controller manager has a lease, it does not.

mod caches;
mod claims;
mod context;
mod host_path;
mod provisioner;
mod rules;
mod service;
mod stand_in;
mod volumes;

pub use host_path::HostPath;
pub use provisioner::{ProvisionError, ProvisionRequest, Provisioner};
pub use rules::FINALIZER;
pub use service::{Options, ServiceError, run};
