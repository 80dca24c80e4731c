//! What an elector knows, for others to read.

use std::time::Duration;

use tokio::time::Instant;

/// Who leads, as an elector last saw it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Status {
    /// Who holds the lease; `None` if nobody does or nothing is known.
    pub leader: Option<String>,
    /// If this one leads: when it last asked for the renewal that it got.
    pub renewed: Option<Instant>,
}

impl Status {
    /// Whether this one leads.
    #[must_use]
    #[doc(alias = "IsLeader")]
    pub const fn is_leader(&self) -> bool {
        self.renewed.is_some()
    }
}

/// Whether an elector does what it should.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Health {
    /// It renews in time, or does not lead.
    Well,
    /// It believes to lead, and has not renewed for so long.
    Stale(Duration),
}

impl Health {
    /// True if all is well.
    #[must_use]
    pub const fn is_well(&self) -> bool {
        matches!(self, Self::Well)
    }
}
