//! What a reflector reports while it runs, and who hears it.

use std::fmt;
use std::time::Duration;

use informer_store::{ObjectKey, ResourceVersion};
use informer_wire::DecodeError;

use crate::error::ListWatchError;

/// Something that went wrong, or was found to be odd, and from which the reflector recovers by itself.
#[derive(Debug)]
#[non_exhaustive]
pub enum Report<'a> {
    /// A list or watch failed.
    Failed {
        /// During what.
        during: Operation,
        /// Why.
        error: &'a ListWatchError,
        /// How many requests have failed since the last that went well.
        attempts: u32,
        /// When the next request follows; zero for at once.
        retry_in: Duration,
    },
    /// An object cannot be decoded, or the transform refused it. Reported once for each version.
    SetAside {
        /// Which object; `None` if even that could not be read.
        key: Option<&'a ObjectKey>,
        /// Which version of it.
        resource_version: Option<&'a ResourceVersion>,
        /// Why.
        error: &'a DecodeError,
    },
    /// The server has gone back in time, as after a restored backup. The sink is set to what it has now.
    Rewound {
        /// Up to where everything had been seen.
        from: &'a ResourceVersion,
        /// Where the server is now.
        to: &'a ResourceVersion,
    },
    /// A list of one version was not what the sink was given at that version: the API server, something before it,
    /// or this library is at fault. Only with [`check_consistency`](crate::ReflectorConfig::check_consistency).
    Inconsistent {
        /// Which version.
        resource_version: &'a ResourceVersion,
        /// Which objects differ: missing in one of the two, or in another copy.
        keys: &'a [ObjectKey],
    },
    /// A watch brought an event of a type that this version does not know. It is skipped and moves nothing; what it told
    /// of, if it was a change, comes with the next list. Reported once for each type.
    UnknownEvent {
        /// The type, as the server wrote it; its beginning, if it is long.
        event_type: &'a str,
    },
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
    /// Asking for a list or reading it.
    List,
    /// Asking for a streaming list or reading its first state.
    StreamingList,
    /// Opening or reading a watch.
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

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed { during, error, .. } => write!(f, "{during} failed: {}", error.chain()),
            Self::SetAside {
                key: Some(key),
                error,
                ..
            } => write!(f, "{key} set aside: {error}"),
            Self::SetAside {
                key: None, error, ..
            } => {
                write!(f, "an object without a name set aside: {error}")
            }
            Self::Rewound { from, to } => {
                write!(
                    f,
                    "the API server went back in time from resource version {from} to {to}"
                )
            }
            Self::Inconsistent {
                resource_version,
                keys,
            } => {
                write!(f, "a second list of version {resource_version} differs in")?;
                keys.iter()
                    .take(5)
                    .try_for_each(|key| write!(f, " {key}"))?;
                match keys.len().saturating_sub(5) {
                    0 => Ok(()),
                    more => write!(f, " and {more} more"),
                }
            }
            Self::UnknownEvent { event_type } => {
                write!(f, "skipped watch events of the unknown type {event_type:?}")
            }
            Self::FellBack { reason } => {
                write!(f, "lists instead of streaming lists from now on: {reason}")
            }
        }
    }
}

/// Hears of every failure of a reflector, also of those inside a stream.
///
/// Called on the reflector's task: it must not block. A panic in it is caught and logged. Closures of the fitting
/// form implement it.
#[doc(alias = "SetWatchErrorHandler")]
pub trait WatchErrorHandler: Send + Sync + 'static {
    /// Hears of this.
    fn handle(&self, report: &Report<'_>);
}

impl<F: Fn(&Report<'_>) + Send + Sync + 'static> WatchErrorHandler for F {
    fn handle(&self, report: &Report<'_>) {
        self(report);
    }
}
