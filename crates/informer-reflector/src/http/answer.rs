//! What is known of an answer whose body is being read.

use informer_wire::{DecodeError, WireFormat};

use super::failure;
use super::negotiation::Negotiation;
use super::traffic::Traffic;
use crate::error::ListWatchError;

/// The format of an answer, and who wants to hear how its body fares.
pub(super) struct Answered {
    pub(super) format: WireFormat,
    pub(super) negotiation: Negotiation,
    pub(super) traffic: Traffic,
}

impl Answered {
    /// So many bytes of the body have arrived.
    pub(super) fn received(&self, bytes: usize) {
        self.traffic.received(bytes);
    }

    /// The body cannot be read, for this reason.
    pub(super) fn unreadable(&self, error: DecodeError) -> ListWatchError {
        self.negotiation.unreadable(self.format, &error);
        failure::unreadable(error)
    }
}
