//! Watches: a cursor over a collection's history that selects events.

use std::sync::Arc;

use informer_wire::Status;

use super::cluster::Cluster;
use super::collection::Scope;
use super::custom;
use super::history::Change;
use super::object::StoredObject;
use super::options::ListOptions;
use super::replica::ReplicaView;
use crate::resource::ResourceType;
use crate::selector::Selection;
use crate::status;

/// The type of a watch event with an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(
    clippy::exhaustive_enums,
    reason = "the protocol has these three and no others"
)]
pub enum WatchEventType {
    /// The object was created, or came to match the selectors.
    Added,
    /// The object was changed, and matched and matches the selectors.
    Modified,
    /// The object was deleted, or ceased to match the selectors.
    Deleted,
}

impl WatchEventType {
    /// Returns the text on the wire, such as `ADDED`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
        }
    }
}

/// One event of one watch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WatchEvent {
    /// The type, as this watch's selectors see it.
    pub event_type: WatchEventType,
    /// The object. For [`WatchEventType::Deleted`] it is the last version that was selected.
    pub object: Arc<StoredObject>,
    /// The revision of the change, which the event's object has as its resource version; for a deletion it is not the
    /// object's own.
    pub revision: u64,
}

/// The position of one watch: its selectors, and the revision up to which it has its events.
#[derive(Clone, Debug)]
pub struct WatchCursor {
    resource: Arc<ResourceType>,
    scope: Scope,
    selection: Selection,
    position: u64,
    /// Events at or below it are suppressed, and bookmarks below it: a watch from the future.
    silent_until: u64,
}

impl WatchCursor {
    /// Returns the revision up to which every change was pulled.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Returns the resource being watched.
    pub fn resource(&self) -> &Arc<ResourceType> {
        &self.resource
    }

    /// Returns the revision that a bookmark may have now; `None` while the watch is from the future.
    pub fn bookmark(&self) -> Option<u64> {
        (self.position >= self.silent_until).then_some(self.position)
    }

    fn event(&self, change: &Change) -> Option<WatchEvent> {
        if change.revision <= self.silent_until || !self.scope.contains(change.key()) {
            return None;
        }
        let selected = |object: &Arc<StoredObject>| self.selection.matches(object);
        let seen = |object: &Option<Arc<StoredObject>>| {
            let seen = object
                .as_ref()
                .map(|object| custom::view(&self.resource, object));
            seen.filter(selected)
        };
        let (old, new) = (seen(&change.old), seen(&change.new));
        let (event_type, object) = match (old, new) {
            (None, None) => return None,
            (None, Some(new)) => (WatchEventType::Added, new),
            (Some(_), Some(new)) => (WatchEventType::Modified, new),
            (Some(old), None) => (WatchEventType::Deleted, old),
        };
        Some(WatchEvent {
            event_type,
            object,
            revision: change.revision,
        })
    }
}

/// A watch that was accepted.
#[derive(Debug)]
#[non_exhaustive]
pub struct WatchStart {
    /// The cursor behind which changes follow.
    pub cursor: WatchCursor,
    /// The initial events: the present state in the order of keys.
    pub initial: Vec<Arc<StoredObject>>,
    /// The revision of the bookmark at the end of the initial events, if it is to be sent.
    pub initial_end: Option<u64>,
}

/// A watch that was not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "there is no third way to refuse")]
pub enum WatchRefusal {
    /// The response has this status.
    Answer(Status),
    /// The response is 200, and sends this as its only event, of type `ERROR`.
    ErrorEvent(Status),
}

impl From<Status> for WatchRefusal {
    fn from(status: Status) -> Self {
        Self::Answer(status)
    }
}

/// The result of a pull.
#[derive(Debug)]
#[non_exhaustive]
pub enum Pull {
    /// The next events, possibly none.
    Events {
        /// In the order of their revisions.
        events: Vec<WatchEvent>,
        /// Whether there are more.
        more: bool,
    },
    /// Changes that this watch has not seen are no longer kept: it has to end.
    Overtaken,
    /// The resource is no longer served, and all its events have been pulled.
    Unregistered,
}

impl Cluster {
    /// Opens a watch on a namespace, or on everything when `namespace` is empty.
    ///
    /// # Errors
    /// Those of a real server, as a status or inside the stream.
    pub fn watch(
        &self,
        resource: &Arc<ResourceType>,
        namespace: &str,
        options: &ListOptions,
    ) -> Result<WatchStart, WatchRefusal> {
        self.watch_seen(ReplicaView::newest(), resource, namespace, options)
    }

    /// Opens a watch as [`Self::watch`], at a replica that may be behind and may have started late.
    ///
    /// # Errors
    /// As [`Self::watch`].
    pub fn watch_seen(
        &self,
        view: ReplicaView,
        resource: &Arc<ResourceType>,
        namespace: &str,
        options: &ListOptions,
    ) -> Result<WatchStart, WatchRefusal> {
        options.check_watch(self.streaming_lists)?;
        let selection =
            Selection::parse(resource, &options.label_selector, &options.field_selector)?;
        let collection = self.collection(resource)?;
        // A real server answers this with 500 and no reason.
        let asked = options
            .revision()
            .map_err(|why| Status::failure(500, "", why))?;
        let from_state = options
            .send_initial_events
            .unwrap_or(matches!(asked, None | Some(0)));
        let cursor = |position, silent_until| WatchCursor {
            resource: resource.clone(),
            scope: Scope::new(namespace),
            selection,
            position,
            silent_until,
        };
        if !from_state {
            let position = match asked {
                None | Some(0) => view.revision(self.revision()),
                Some(asked) => asked,
            };
            let floor = collection.history().floor().max(view.floor());
            if position < floor {
                return Err(WatchRefusal::ErrorEvent(status::too_old(position, floor)));
            }
            let cursor = cursor(position.min(view.revision(self.revision())), position);
            return Ok(WatchStart {
                cursor,
                initial: Vec::new(),
                initial_end: None,
            });
        }
        let revision = match asked {
            // Consistent: whatever this replica has seen, the newest.
            None => self.revision(),
            Some(asked) => self
                .not_older_than(view, asked)
                .map_err(WatchRefusal::ErrorEvent)?,
        };
        let cursor = cursor(revision, 0);
        let selected = |object: &&Arc<StoredObject>| cursor.selection.matches(object);
        let mut initial = collection.at(revision, &cursor.scope, "");
        custom::view_all(resource, &mut initial);
        initial.retain(|object| selected(&object));
        let marked = options.allow_watch_bookmarks && self.streaming_lists;
        Ok(WatchStart {
            cursor,
            initial,
            initial_end: marked.then_some(revision),
        })
    }

    /// Moves a cursor on by at most `max` events.
    pub fn pull(&self, cursor: &mut WatchCursor, max: usize) -> Pull {
        self.pull_seen(ReplicaView::newest(), cursor, max)
    }

    /// Moves a cursor on as [`Self::pull`], by what a replica has seen.
    pub fn pull_seen(&self, view: ReplicaView, cursor: &mut WatchCursor, max: usize) -> Pull {
        let seen = view.revision(self.revision());
        let Ok(collection) = self.collection(&cursor.resource) else {
            return Pull::Unregistered;
        };
        if !collection.history().reaches(cursor.position) {
            return Pull::Overtaken;
        }
        let mut events = Vec::new();
        for change in collection.history().after(cursor.position) {
            if change.revision > seen {
                break;
            }
            if events.len() == max {
                return Pull::Events { events, more: true };
            }
            events.extend(cursor.event(change));
            cursor.position = change.revision;
        }
        cursor.position = cursor.position.max(seen);
        let resource = &cursor.resource;
        let served = self
            .registry
            .find(&resource.group, &resource.version, &resource.plural);
        if events.is_empty() && served.is_none() {
            return Pull::Unregistered;
        }
        Pull::Events {
            events,
            more: false,
        }
    }

    /// Returns `true` if at least `limit` events are queued for a cursor.
    pub fn is_behind(&self, cursor: &WatchCursor, limit: usize) -> bool {
        let Ok(collection) = self.collection(&cursor.resource) else {
            return false;
        };
        let waiting = collection.history().after(cursor.position);
        waiting
            .filter_map(|change| cursor.event(change))
            .take(limit)
            .count()
            >= limit
    }
}
