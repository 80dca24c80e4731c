//! What a reflector tells of itself while it runs.

use std::sync::Arc;
use std::time::Instant;

use informer_store::ResourceVersion;

/// The state of a reflector, as [`Reflector::status`](crate::Reflector::status) gives it.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ReflectorStatus {
    /// What it does now.
    pub phase: Phase,
    /// True once a first whole list has arrived in the sink.
    pub synced: bool,
    /// How many requests have failed since the last that went well.
    pub attempts: u32,
    /// Why the last request failed, with all causes in one line. Kept after recovery.
    pub last_error: Option<Arc<str>>,
    /// When that was.
    pub last_error_at: Option<Instant>,
    /// When the next try is due, while [`phase`](Self::phase) is [`Phase::Waiting`].
    pub retry_at: Option<Instant>,
    /// Up to where the sink has everything; `None` before the first list, and where the server gives no
    /// resource versions.
    pub resource_version: Option<ResourceVersion>,
    /// When the last event or bookmark of a watch came.
    pub last_event_at: Option<Instant>,
    /// How many lists were begun, streaming ones included.
    pub lists: u64,
    /// How many watches were asked for, those that began as streaming lists included.
    pub watches: u64,
    /// How often the server was recognised to have gone back in time.
    pub rewinds: u64,
    /// How many objects are set aside now: their newest version cannot be decoded or was refused by the transform.
    pub set_aside: usize,
    /// How many versions of objects were ever set aside.
    pub set_aside_total: u64,
    /// How many events of watches were of a type that this version does not know, and skipped.
    pub unknown_events: u64,
}

/// What a reflector does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Phase {
    /// Nothing yet.
    #[default]
    Starting,
    /// A list is on its way.
    Listing,
    /// The first state of a streaming list is on its way.
    Streaming,
    /// A watch is being opened.
    OpeningWatch,
    /// A watch is open and everything before it has arrived.
    Watching,
    /// It waits before it tries again.
    Waiting,
    /// It has ended.
    Stopped,
}
