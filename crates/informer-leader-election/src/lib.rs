//! Leader election on a Kubernetes Lease: one of several replicas works, and another takes over when it ends.
//!
//! A [`LeaderElector`] competes for a lease through a [`LeaseLock`], as [`HttpLeaseLock`] on an API server, and
//! [runs](LeaderElector::run) a future while it leads. It keeps to the record and the rules of client-go's
//! `leaderelection`, so that it can stand beside elections of other programs.
//!
//! # What is promised
//!
//! - Two replicas do not lead at once, as long as no clock runs much faster than the others. Absolute times do not
//!   matter: a lease has ended if this process has seen no change of it for its duration.
//! - When the leadership is lost, the work's token is cancelled; the work has the rest of the lease to stop, and then its
//!   future is dropped. It takes no step after the lease has ended, also if the process was frozen meanwhile.
//! - After a stop, and when the control plane prefers another replica, the lease is held until the work has ended, or as long
//!   as it lasts, and then released, so that another takes over at once.
//! - One request without a response costs no leadership: each may take half of the renew deadline.
//! - Renewing does not depend on the work: it has a [thread and connections of its own](Renewal).
//! - [`status`](LeaderElector::status) compares with the clock, and says that this one leads no longer, whatever has ended
//!   the run.
//! - An election that cannot take part says why: in the log at `warn`, once for each reason, in its status, and by its
//!   [health](LeaderElector::health). The error of a loss has the reason.
//!
//! # What only the leader may do
//!
//! A [`LeaseGate`] looks at the clock before each step of what it lets through. Give it to the client that the work writes
//! with:
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use informer_client::{Api, Client, Patch};
//! use informer_leader_election::{ElectionConfig, HttpLeaseLock, LeaderElector};
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use tokio_util::sync::CancellationToken;
//!
//! # async fn example(client: Client, stop: CancellationToken) -> Result<(), Box<dyn std::error::Error>> {
//! let lock = HttpLeaseLock::new(client.clone(), "kube-system", "my-controller");
//! let elector = LeaderElector::new(lock, ElectionConfig::new("pod-7f9c"))?;
//! let maps = Api::<ConfigMap>::namespaced(client.gated(elector.gate()), "shop");
//! let led = elector
//!     .run(&stop, |lost| async move {
//!         while !lost.is_cancelled() {
//!             maps.patch("beat", &Patch::Merge(&serde_json::json!({"data": {"alive": "yes"}}))).await?;
//!             tokio::time::sleep(Duration::from_secs(1)).await;
//!         }
//!         Ok::<(), informer_client::Error>(())
//!     })
//!     .await?;
//! // The work's own error.
//! led.worked().transpose()?;
//! # Ok(()) }
//! ```
//!
//! It is no fence. A request that has passed the gate is on its way, and a server may receive it after the lease has ended:
//! after a freeze at most those that were between the look and the wire. Where one late write is one too many, let the
//! server decide: by the resource version of what was read, by a precondition, or by a number in the object that each
//! leader raises first.
//!
//! A machine that is suspended as a whole is another case: on most systems the clock that leases are measured by stands
//! still meanwhile, in every program. Virtual machines that are moved or saved should be fenced by their platform.
//!
//! # Rights
//!
//! `get`, `create` and `update` on `leases` of `coordination.k8s.io` in the lease's namespace; a [`LeaseCandidate`] needs
//! these and `watch` on `leasecandidates`.
//!
//! # Start informers first
//!
//! A replica that waits should have synced caches: start the informers before [`LeaderElector::run`], and the workers
//! in the future that it runs.

mod campaign;
mod candidate;
mod config;
mod drive;
mod elector;
mod error;
mod gate;
mod lease;
mod lock;
mod machine;
mod reasons;
mod status;

pub use candidate::LeaseCandidate;
pub use config::{ConfigError, ElectionConfig, Renewal};
pub use elector::{LeaderElector, Leadership};
pub use error::LeadershipLost;
pub use gate::{LeaseGate, NotLeading};
pub use lease::{Lease, LeaseRecord};
pub use lock::{HttpLeaseLock, LeaseLock, LockError};
pub use status::{ElectionStatus, Health};
