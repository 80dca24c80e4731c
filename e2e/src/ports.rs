//! Finds free ports for a server that will be restarted on them.

use std::hash::{BuildHasher, RandomState};
use std::net::{Ipv4Addr, TcpListener};
use std::ops::Range;

use crate::HarnessError;

/// Below the ports that Linux and macOS give to outgoing connections. A client that retries while the server is down
/// could otherwise be given the server's own port, connect to itself, and keep the server from coming back.
const RANGE: Range<u16> = 20_000..32_000;

/// kube-apiserver, etcd for clients, etcd for peers.
const NEEDED: u16 = 3;

/// The first of three free ports in a row on loopback.
///
/// They are free now; nothing keeps them so. Each call starts at a random place, so that servers that are started at
/// the same time rarely meet.
pub(crate) fn free_base() -> Result<u16, HarnessError> {
    let slots = (RANGE.end - RANGE.start) / NEEDED;
    let start = RandomState::new().hash_one(std::process::id()) % u64::from(slots);
    let start = u16::try_from(start).unwrap_or_default();
    (0..slots)
        .map(|step| RANGE.start + (start + step) % slots * NEEDED)
        .find(|base| all_free(*base))
        .ok_or(HarnessError::NoPorts)
}

fn all_free(base: u16) -> bool {
    (base..base + NEEDED).all(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ports_found_can_be_bound_and_lie_below_those_of_outgoing_connections() {
        let base = free_base().expect("some ports are free");
        assert!(RANGE.contains(&base) && RANGE.contains(&(base + NEEDED - 1)));
        for port in base..base + NEEDED {
            TcpListener::bind((Ipv4Addr::LOCALHOST, port)).expect("it was free just now");
        }
    }

    #[test]
    fn a_base_with_one_port_taken_is_not_free() {
        let base = free_base().expect("some ports are free");
        let _taken = TcpListener::bind((Ipv4Addr::LOCALHOST, base + 2)).expect("it was free");
        assert!(!all_free(base));
    }
}
