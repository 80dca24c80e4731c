//! How one handler fares.

use std::sync::Arc;
use std::time::Duration;

use super::end::{HandlerEnd, HandlerFailure};

/// How one handler fares, at the moment it was asked.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HandlerStatus {
    /// The handler's name, given or made up.
    pub name: Arc<str>,
    /// True once it has handled the state that it started from.
    pub synced: bool,
    /// Events that wait for it.
    pub queue_depth: usize,
    /// How long the oldest event that it has not finished has waited, from when the cache had it.
    pub lag: Duration,
    /// Events that it has finished, failed ones included.
    pub delivered: u64,
    /// Events that joined or cancelled a waiting one and so were not delivered by themselves.
    pub coalesced: u64,
    /// Calls that returned an error.
    pub errors: u64,
    /// Calls that panicked.
    pub panics: u64,
    /// The last call that failed.
    pub last_failure: Option<HandlerFailure>,
    /// Why it hears of nothing more, if so.
    pub ended: Option<HandlerEnd>,
}
