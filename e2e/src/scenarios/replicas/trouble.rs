//! What is done to a leader.

use std::time::Duration;

use fastrand::Rng;

use super::LEASE_DURATION;
use crate::network::Fault;

/// What is done to a leader.
#[derive(Debug, Clone, Copy)]
pub(super) enum Trouble {
    /// SIGSTOP, and SIGCONT in the end.
    Freeze(Lasts),
    /// SIGKILL. Another replica is started.
    Kill,
    /// A fault of its network.
    Cut(Fault, Lasts),
}

/// How long trouble lasts.
#[derive(Debug, Clone, Copy)]
pub(super) enum Lasts {
    /// For this time, whoever leads then.
    For(Duration),
    /// Until another leads, and this much longer.
    Beyond(Duration),
}

impl Trouble {
    /// Troubles of every kind, in an order and of lengths that follow from the random source.
    pub(super) fn some(rng: &mut Rng) -> Vec<Self> {
        let lease = LEASE_DURATION.as_millis() as u64;
        let beyond = |rng: &mut Rng| Lasts::Beyond(Duration::from_millis(rng.u64(..1_000)));
        let within = |rng: &mut Rng, millis| Lasts::For(Duration::from_millis(rng.u64(millis)));
        let mut faults = [Fault::Reset, Fault::Close, Fault::Cut];
        rng.shuffle(&mut faults);
        let mut some = vec![
            Self::Freeze(beyond(rng)),
            Self::Freeze(beyond(rng)),
            // About when the lease ends, and nobody else has taken it yet.
            Self::Freeze(within(rng, lease..lease * 5 / 4)),
            Self::Freeze(within(rng, 50..lease)),
            Self::Kill,
            Self::Cut(faults[0], beyond(rng)),
            Self::Cut(faults[1], beyond(rng)),
            Self::Cut(faults[2], within(rng, 50..lease / 8)),
        ];
        rng.shuffle(&mut some);
        // Last, as its connections stay silent when it is over, until they are given up.
        some.push(Self::Cut(Fault::Silence, beyond(rng)));
        some
    }
}
