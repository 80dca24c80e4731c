//! What goes into and comes out of the machine.

use std::time::Duration;

use informer_store::{ReplaceEnd, ResourceVersion};
use informer_wire::ListOptions;

use crate::report::Operation;

/// Something to do, in the order in which it came out.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// Ask for this page of a list. It replaces whatever request is under way.
    List {
        /// The parameters.
        options: ListOptions,
        /// Whether copies that the sink knows may be left undecoded.
        use_known: bool,
    },
    /// Open this watch, which starts with the present state. It replaces whatever request is under way.
    StreamingList {
        /// The parameters.
        options: ListOptions,
        /// Whether copies of the present state that the sink knows may be left undecoded.
        use_known: bool,
    },
    /// Open this watch. It replaces whatever request is under way.
    Watch {
        /// The parameters.
        options: ListOptions,
    },
    /// Drop the request under way, if there is one.
    Close,
    /// A whole list begins to come in. Items go there from now on.
    BeginReplace,
    /// The list is complete: hand it over.
    FinishReplace(ReplaceEnd),
    /// The list will never be complete: drop it.
    AbortReplace,
    /// Remind consumers of all objects.
    Resync,
    /// Tell whoever watches over the reflector.
    Notice(Notice),
}

/// Something that the machine found out by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// A request failed.
    Failed {
        /// Which.
        during: Operation,
        /// Why.
        fault: Fault,
    },
    /// The server went back in time.
    Rewound {
        /// Up to where everything had been applied.
        from: ResourceVersion,
        /// Where the server is now.
        to: ResourceVersion,
    },
    /// Streaming lists are given up.
    FellBack {
        /// Why.
        reason: &'static str,
    },
}

/// Why a request failed that the other side did not call a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The other side took too long.
    Timeout {
        /// What was waited for.
        what: &'static str,
        /// For how long.
        limit: Duration,
    },
    /// The other side's answers do not fit together.
    Protocol(&'static str),
}

/// What the machine must know of an event of a watch. ERROR events go to
/// [`Machine::handle_error`](super::Machine::handle_error).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventMeta {
    /// The type of the event.
    pub kind: EventKind,
    /// The resource version of its object.
    pub resource_version: Option<ResourceVersion>,
    /// Whether its object has a name.
    pub named: bool,
}

impl EventMeta {
    /// An event whose object has a name.
    #[must_use]
    pub const fn new(kind: EventKind, resource_version: Option<ResourceVersion>) -> Self {
        Self {
            kind,
            resource_version,
            named: true,
        }
    }

    /// Says whether the event's object has a name.
    #[must_use]
    pub const fn named(mut self, named: bool) -> Self {
        self.named = named;
        self
    }
}

/// The type of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventKind {
    /// ADDED.
    Added,
    /// MODIFIED.
    Modified,
    /// DELETED.
    Deleted,
    /// BOOKMARK.
    Bookmark {
        /// True if it ends the first state of a streaming list.
        initial_events_end: bool,
    },
    /// A type that this version does not know.
    Unknown,
}

/// What to do with an object or event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Give it to the sink, then call [`Machine::handle_applied`](super::Machine::handle_applied).
    Apply,
    /// The same, but only if the sink does not know a copy of the same object that is as new or newer.
    ApplyIfNewer,
    /// It belongs to the list that is coming in.
    Collect,
    /// It belongs nowhere.
    Skip,
}
