//! What can be seen of the machine.

use std::time::Instant;

use informer_store::ResourceVersion;

use super::class::ErrorClass;
use super::state::State;
use super::{Counts, Machine};
use crate::config::ListMode;
use crate::report::Operation;
use crate::status::ReflectorPhase;

impl Machine {
    /// Returns where the machine stands.
    #[must_use]
    pub fn phase(&self) -> ReflectorPhase {
        match &self.state {
            State::Start => ReflectorPhase::Starting,
            _ if self.retry.not_found => ReflectorPhase::NotFound,
            State::Waiting { .. } => ReflectorPhase::Waiting,
            State::Listing(_) => ReflectorPhase::Listing,
            State::Watching(watching) if watching.initial.is_some() => ReflectorPhase::Streaming,
            State::Watching(watching) if watching.opened.is_none() => ReflectorPhase::OpeningWatch,
            State::Watching(_) => ReflectorPhase::Watching,
        }
    }

    /// Returns when the next request follows, if a wait lies before it.
    #[must_use]
    pub const fn retry_at(&self) -> Option<Instant> {
        match &self.state {
            State::Waiting { until, .. } => Some(*until),
            _ => None,
        }
    }

    /// Returns the resource version up to which everything was routed to the sink.
    #[must_use]
    pub const fn resource_version(&self) -> Option<&ResourceVersion> {
        self.resume.as_ref()
    }

    /// Returns `true` once a whole list was handed over.
    #[must_use]
    pub const fn is_synced(&self) -> bool {
        self.synced
    }

    /// Returns the number of failed requests since the last that went well.
    #[must_use]
    pub const fn attempts(&self) -> u32 {
        self.retry.attempts
    }

    /// Returns how often things happened.
    #[must_use]
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// Which request is open.
    pub(super) const fn operation(&self) -> Operation {
        match &self.state {
            State::Watching(watching) if watching.initial.is_some() => Operation::StreamingList,
            State::Watching(_) => Operation::Watch,
            _ => Operation::List,
        }
    }

    /// Whether this failure is the answer to a question: whether the server has streaming lists, which mode `Auto` asks
    /// by requesting one.
    pub(super) fn is_answer(&self, class: ErrorClass) -> bool {
        self.operation() == Operation::StreamingList
            && self.config.list_mode == ListMode::Auto
            && class == ErrorClass::Unsupported
    }
}
