//! How a leadership is lost.

use std::sync::Arc;

use crate::lock::LockError;
use crate::reasons::chain;

/// Why the leadership was lost while the work ran. The work has ended.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum LeadershipLost {
    /// The lease was not renewed in time: the API server did not respond, or this process did not run.
    #[error(
        "lease not renewed in time; check the connection to the API server and whether the process was starved or frozen"
    )]
    NotRenewed,
    /// The lease was not renewed in time, because requests failed.
    #[error("lease not renewed in time: {}", chain(source))]
    RenewalFailed {
        /// How the last of them failed.
        source: Arc<LockError>,
    },
    /// Another replica holds the lease.
    #[error("another replica took the lease")]
    Taken,
    /// The control plane prefers another replica (coordinated leader election).
    #[error("the control plane prefers another replica")]
    OtherPreferred,
}

/// Two are equal if they have the same text: an error of a lock has no other equality.
impl PartialEq for LeadershipLost {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}
