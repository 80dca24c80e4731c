//! The status of a reflector.

use std::sync::Arc;
use std::time::Instant;

use informer_store::ResourceVersion;

/// A snapshot of a reflector's status, as [`Reflector::status`](crate::Reflector::status) returns it.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ReflectorStatus {
    /// Where the reflector stands.
    pub phase: ReflectorPhase,
    /// `true` once the sink has the first list.
    pub synced: bool,
    /// The number of failed requests since the last that went well.
    pub attempts: u32,
    /// Why the last request failed, with all causes in one line. Kept after recovery.
    pub last_error: Option<Arc<str>>,
    /// When it failed.
    pub last_error_at: Option<Instant>,
    /// When the next request is due, while the reflector waits before it.
    pub retry_at: Option<Instant>,
    /// The resource version up to which the sink has received everything; `None` before the first list, and where the
    /// server gives no resource versions.
    pub resource_version: Option<ResourceVersion>,
    /// When the last event or bookmark of a watch was received.
    pub last_event_at: Option<Instant>,
    /// The number of lists requested, streaming ones included.
    pub lists: u64,
    /// The number of watches requested, those that began as streaming lists included.
    pub watches: u64,
    /// The number of rewinds of the server.
    pub rewinds: u64,
    /// The number of objects whose newest version cannot be decoded, or was refused by the transform.
    pub undecodable: usize,
    /// The number of versions of objects that ever were undecodable.
    pub undecodable_total: u64,
    /// The number of watch events of unknown types, which were skipped.
    pub unknown_events: u64,
}

/// Where a reflector stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ReflectorPhase {
    /// Not run yet.
    #[default]
    Starting,
    /// Requesting or receiving a list.
    Listing,
    /// Requesting a streaming list or receiving its initial events.
    Streaming,
    /// Opening a watch.
    OpeningWatch,
    /// The watch is open, and the sink has received everything before it.
    Watching,
    /// Waiting before the next request.
    Waiting,
    /// The server does not have the resource (404): its CRD is not installed, or was deleted. The sink keeps what it has,
    /// and the reflector requests the resource again, with backoff.
    NotFound,
    /// Ended.
    Stopped,
}
