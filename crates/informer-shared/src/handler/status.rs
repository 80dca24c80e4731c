//! The status of one handler.

use std::sync::Arc;
use std::time::Duration;

use crate::error::{EndReason, HandlerError};

/// A snapshot of a handler's status.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HandlerStatus {
    /// The handler's name, given or generated.
    pub name: Arc<str>,
    /// `true` if it has handled its initial objects.
    pub synced: bool,
    /// Number of queued events.
    pub queue_depth: usize,
    /// Age of the oldest event that it has not finished, from when the cache had the change.
    pub lag: Duration,
    /// Number of finished events, failed ones included.
    pub delivered: u64,
    /// Number of events that were coalesced with a queued one and so not delivered by themselves.
    pub coalesced: u64,
    /// Number of calls that returned an error.
    pub errors: u64,
    /// Number of calls that panicked.
    pub panics: u64,
    /// The last failure of a call.
    pub last_error: Option<HandlerError>,
    /// Why the handler ended; `None` while it receives events.
    pub ended: Option<EndReason>,
}
