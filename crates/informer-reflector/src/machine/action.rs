//! What goes into and comes out of the machine.

use informer_store::{ListEnd, ResourceVersion};
use informer_wire::ListOptions;

use crate::report::Report;

/// Something to do, in the order in which it is returned.
#[derive(Debug)]
#[non_exhaustive]
pub enum Action {
    /// Request this page of a list. It replaces whatever request is open. Without a continue token it starts a new list.
    List {
        /// The parameters.
        options: ListOptions,
        /// Whether objects that the sink has in the same version may be taken from there, undecoded.
        reuse: bool,
    },
    /// Open this watch, which begins with the whole state: a new list. It replaces whatever request is open.
    StreamingList {
        /// The parameters.
        options: ListOptions,
        /// As in [`List`](Self::List), for the initial events.
        reuse: bool,
    },
    /// Open this watch. It replaces whatever request is open.
    Watch {
        /// The parameters.
        options: ListOptions,
    },
    /// Drop the open request, if there is one.
    Close,
    /// The list is complete: hand it to the sink.
    FinishList(ListEnd),
    /// The list will never be complete: drop it.
    DropList,
    /// Queue a `Sync` delta for every known object.
    Resync,
    /// Report this.
    Report(Report),
}

/// What the machine must know of a watch event. ERROR events go to
/// [`Machine::handle_error`](super::Machine::handle_error).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventMeta {
    /// The type of the event.
    pub event_type: EventType,
    /// The resource version of its object.
    pub resource_version: Option<ResourceVersion>,
    /// Whether the object has a key: it is one of the resource's kind, with a name.
    pub keyed: bool,
}

impl EventMeta {
    /// Describes an event whose object has a key.
    #[must_use]
    pub const fn new(event_type: EventType, resource_version: Option<ResourceVersion>) -> Self {
        Self {
            event_type,
            resource_version,
            keyed: true,
        }
    }

    /// Sets whether the event's object has a key.
    #[must_use]
    pub const fn keyed(mut self, keyed: bool) -> Self {
        self.keyed = keyed;
        self
    }
}

/// The type of a watch event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventType {
    /// ADDED.
    Added,
    /// MODIFIED.
    Modified,
    /// DELETED.
    Deleted,
    /// BOOKMARK.
    Bookmark {
        /// `true` if it ends the initial events of a streaming list.
        initial_events_end: bool,
    },
    /// A type that this version does not know.
    Unknown,
}

/// Where an item or event goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// To the sink.
    Apply,
    /// Into the list that is being received; a DELETED removes its object from it.
    Collect,
    /// Nowhere.
    Skip,
}
