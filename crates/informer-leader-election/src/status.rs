//! What an elector knows, for others to read.

use std::time::Duration;

use tokio::time::Instant;

/// A snapshot of an election, as an elector last saw it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ElectionStatus {
    /// The holder of the lease; `None` if nobody holds it or nothing is known.
    pub leader: Option<String>,
    /// While this one leads: when it sent the request that last renewed the lease.
    pub renewed: Option<Instant>,
    /// While this one holds the lease: when that ends if it is not renewed. After a loss the work has until then to stop.
    pub lease_ends: Option<Instant>,
    /// The number of failed attempts to acquire or renew the lease since the last one that did not fail.
    pub failed_attempts: u32,
    /// Why the last of them failed, with its causes.
    pub last_error: Option<String>,
    pub(crate) running: Running,
}

/// The run that a status is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Running {
    /// Counts the beginnings and ends of runs.
    pub(crate) number: u64,
    /// When it began; `None` if none is under way.
    pub(crate) since: Option<Instant>,
    /// Whether one of its attempts did not fail.
    pub(crate) has_access: bool,
}

impl ElectionStatus {
    /// Returns `true` if this one leads: it holds the lease, by the clock as it is now, and no loss has cancelled the
    /// token of its work.
    #[must_use]
    #[doc(alias = "IsLeader")]
    pub fn is_leader(&self) -> bool {
        self.renewed.is_some() && self.holds_lease(Instant::now())
    }

    pub(crate) fn holds_lease(&self, now: Instant) -> bool {
        self.lease_ends.is_some_and(|ends| now < ends)
    }
}

/// Whether an election goes as it should.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Health {
    /// The lease is renewed in time, or this one does not lead.
    Well,
    /// This one leads, and has not renewed for this long.
    Overdue(Duration),
    /// For this long, since its run began, no attempt to acquire the lease has succeeded: the right to it is missing, its
    /// namespace does not exist, or there is no connection. [`ElectionStatus::last_error`] has the reason.
    NoAccess(Duration),
}

impl Health {
    /// Returns `true` if all is well.
    #[must_use]
    pub const fn is_well(&self) -> bool {
        matches!(self, Self::Well)
    }
}
