//! What a reflector reports while it runs, and who receives it.

use std::fmt;
use std::time::Duration;

use informer_store::{ObjectKey, ResourceVersion};
use informer_wire::DecodeError;

use crate::error::ListWatchError;

/// Something that went wrong, or is odd, and from which the reflector recovers by itself.
#[derive(Debug)]
#[non_exhaustive]
pub enum Report {
    /// A list or watch failed. Of a resource that the server does not have (404) only the first failure in a row is
    /// reported.
    Failed {
        /// During what.
        during: Operation,
        /// Why.
        error: ListWatchError,
        /// The number of failed requests since the last that went well.
        attempts: u32,
        /// When the next request follows; zero for at once.
        retry_in: Duration,
    },
    /// An object cannot be decoded, or the transform refused it. Reported once for each version.
    Undecodable {
        /// The object's key; `None` if even that cannot be decoded.
        key: Option<ObjectKey>,
        /// Its resource version.
        resource_version: Option<ResourceVersion>,
        /// Why.
        error: DecodeError,
    },
    /// The server's resource versions went back, as after a restored backup. The sink is set to what it has now.
    Rewound {
        /// The resource version reached before.
        from: ResourceVersion,
        /// The server's resource version now.
        to: ResourceVersion,
    },
    /// The sink dropped changes, because its queue is full. A list replaces them.
    ChangesDropped {
        /// When that list is requested.
        retry_in: Duration,
    },
    /// A watch event of a type that this version does not know was skipped. What it reported, if it was a change, comes with
    /// the next list. Reported once for each type.
    UnknownEvent {
        /// The type, as the server wrote it; its beginning, if it is long.
        event_type: String,
    },
    /// The transform changes UIDs or resource versions, by which the cache compares objects. They are restored. Reported
    /// once.
    VersionRestored,
    /// Objects have no UID or no resource version, so that the cache cannot compare them: nothing keeps an outdated object
    /// out, and every relist updates all of them. Reported once.
    Unversioned,
    /// Streaming lists do not work here. The reflector lists from now on.
    FellBack {
        /// Why.
        reason: &'static str,
    },
}

/// What a reflector was doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Operation {
    /// Requesting or receiving a list.
    List,
    /// Requesting a streaming list or receiving its initial events.
    StreamingList,
    /// Opening or receiving a watch.
    Watch,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::List => "list",
            Self::StreamingList => "streaming list",
            Self::Watch => "watch",
        })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed {
                during,
                error: error @ ListWatchError::Timeout { .. },
                ..
            } => write!(f, "{during} {error}"),
            Self::Failed { during, error, .. } => write!(f, "{during} failed: {}", error.chain()),
            Self::Undecodable { key, error, .. } => match key {
                Some(key) => write!(f, "cannot decode {key}: {error}"),
                None => write!(f, "cannot decode an object without a key: {error}"),
            },
            Self::Rewound { from, to } => write!(
                f,
                "the API server's resource versions went back from {from} to {to}"
            ),
            Self::ChangesDropped { .. } => {
                f.write_str("changes were dropped because the queue is full; a list replaces them")
            }
            Self::UnknownEvent { event_type } => {
                write!(f, "skipped watch events of the unknown type {event_type:?}")
            }
            Self::VersionRestored => f.write_str(
                "the transform changes metadata.uid or metadata.resourceVersion; they are restored",
            ),
            Self::Unversioned => f.write_str(
                "objects have no metadata.uid or metadata.resourceVersion and cannot be compared",
            ),
            Self::FellBack { reason } => {
                write!(f, "lists instead of streaming lists from now on: {reason}")
            }
        }
    }
}

/// Receives a reflector's reports.
///
/// Called on the reflector's task: must not block. A panic in it is caught and logged. Closures of the fitting form
/// implement it.
#[doc(alias = "SetWatchErrorHandler")]
pub trait WatchErrorHandler: Send + Sync + 'static {
    /// Receives a report.
    fn handle(&self, report: &Report);
}

impl<F: Fn(&Report) + Send + Sync + 'static> WatchErrorHandler for F {
    fn handle(&self, report: &Report) {
        self(report);
    }
}
