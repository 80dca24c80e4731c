//! From what a request brings to the sink.

use std::sync::Arc;

use informer_store::{Deletion, DeltaSink, Object, ObjectKey, ObjectVersion, ResourceVersion};
use informer_wire::{DecodeError, Decoded, WatchEvent};

use super::run::Driver;
use crate::error::ListWatchError;
use crate::lister_watcher::{ListEvent, ListerWatcher};
use crate::machine::{EventMeta, EventType, Route};
use crate::report::Report;

/// A received object, with its key and version as the server sent them, before the transform.
struct Received<K> {
    /// `None` without a usable key.
    key: Option<ObjectKey>,
    version: ObjectVersion,
    content: Content<K>,
}

enum Content<K> {
    Object(K),
    /// The sink's own, transformed.
    Unchanged(Arc<K>),
    Undecodable(DecodeError),
}

impl<K: Object> Received<K> {
    fn new(decoded: Decoded<K>) -> Self {
        match decoded {
            Decoded::Object(object) => Self {
                key: (!object.name().is_empty()).then(|| ObjectKey::of(&object)),
                version: ObjectVersion::of(&object),
                content: Content::Object(object),
            },
            Decoded::Unchanged(key, object) => Self {
                key: Some(key),
                version: ObjectVersion::of(&*object),
                content: Content::Unchanged(object),
            },
            Decoded::Undecodable(undecodable) => Self {
                key: undecodable.key.filter(|key| !key.name().is_empty()),
                version: undecodable.version,
                content: Content::Undecodable(undecodable.error),
            },
            // A form that only a later version of the wire crate has.
            _ => Self {
                key: None,
                version: ObjectVersion::new(None, None),
                content: Content::Undecodable(malformed("it has an unknown form")),
            },
        }
    }
}

impl<L: ListerWatcher, S: DeltaSink<L::Object>> Driver<L, S> {
    pub(super) fn handle_list_event(&mut self, event: ListEvent<L::Object>) {
        let now = self.now();
        match event {
            ListEvent::Item(item) => {
                if self.machine.handle_list_item(now) == Route::Collect {
                    self.collect(Received::new(item));
                }
            }
            ListEvent::End(meta) => self.machine.handle_list_end(now, &meta),
        }
    }

    pub(super) fn handle_watch_event(&mut self, event: WatchEvent<L::Object>) {
        let now = self.now();
        self.last_event_at = Some(now);
        match event {
            WatchEvent::Added(object) => self.handle_change(EventType::Added, object),
            WatchEvent::Modified(object) => self.handle_change(EventType::Modified, object),
            WatchEvent::Deleted(object) => self.handle_change(EventType::Deleted, object),
            WatchEvent::Bookmark {
                resource_version,
                initial_events_end,
            } => {
                let event_type = EventType::Bookmark { initial_events_end };
                let meta = EventMeta::new(event_type, Some(resource_version.clone()));
                if self.machine.handle_event(now, &meta) == Route::Apply {
                    self.sink.bookmark(resource_version);
                }
            }
            WatchEvent::Error(status) => {
                let error = ListWatchError::status_error(status);
                self.machine.handle_error(now, error);
            }
            WatchEvent::Unknown(event_type) => self.handle_unknown(event_type),
            // One that only a later version of the wire crate has.
            _ => self.handle_unknown("?".to_owned()),
        }
    }

    fn handle_unknown(&mut self, event_type: String) {
        let meta = EventMeta::new(EventType::Unknown, None);
        let _ = self.machine.handle_event(self.now(), &meta);
        if self.unknown.count(&event_type) {
            tracing::warn!(event_type, "skips watch events of an unknown type");
            self.hooks.report(&Report::UnknownEvent { event_type });
        }
    }

    fn handle_change(&mut self, event_type: EventType, object: Decoded<L::Object>) {
        let received = Received::new(object);
        let version = received.version.resource_version.clone();
        let meta = EventMeta::new(event_type, version).keyed(received.key.is_some());
        match self.machine.handle_event(self.now(), &meta) {
            Route::Skip if meta.keyed => {}
            // The machine has seen to the rest.
            Route::Skip => self.report_keyless(received),
            Route::Collect if event_type == EventType::Deleted => {
                if let Some(key) = &received.key {
                    self.undecodable.remove_listed(key);
                    self.list.remove(key);
                }
            }
            Route::Collect => self.collect(received),
            Route::Apply => self.apply(event_type, received),
        }
    }

    /// Inserts an object into the list that is being received.
    fn collect(&mut self, received: Received<L::Object>) {
        let Received {
            key: Some(key),
            version,
            content,
        } = received
        else {
            return self.report_keyless(received);
        };
        match self.transformed(content, &version) {
            Ok(object) => {
                self.undecodable.remove_listed(&key);
                self.list.insert(key, object);
            }
            Err(error) => {
                let version = version.resource_version;
                if self.undecodable.insert_listed(&key, version.as_ref()) {
                    self.report_undecodable(Some(key.clone()), version, error);
                }
                self.list.insert_undecodable(key);
            }
        }
    }

    /// Gives a change to the sink.
    fn apply(&mut self, event_type: EventType, received: Received<L::Object>) {
        let Received {
            key: Some(key),
            version,
            content,
        } = received
        else {
            return;
        };
        match (event_type, self.transformed(content, &version)) {
            (EventType::Deleted, object) => {
                self.undecodable.remove(&key);
                let mut deletion = Deletion::without_object(version);
                deletion.object = object.ok();
                self.sink.delete(key, deletion);
            }
            (event_type, Ok(object)) => {
                self.undecodable.remove(&key);
                if event_type == EventType::Added {
                    self.sink.add(key, object);
                } else {
                    self.sink.update(key, object);
                }
            }
            (_, Err(error)) => {
                let version = version.resource_version;
                if self.undecodable.insert(&key, version.as_ref()) {
                    self.report_undecodable(Some(key.clone()), version.clone(), error);
                }
                self.sink.undecodable(key, version);
            }
        }
        self.see_to_dropped_changes();
    }

    /// Lists if the sink dropped changes.
    pub(super) fn see_to_dropped_changes(&mut self) {
        if self.sink.needs_list() {
            self.machine.handle_dropped_changes(self.now());
        }
    }

    fn transformed(
        &mut self,
        content: Content<L::Object>,
        version: &ObjectVersion,
    ) -> Result<Arc<L::Object>, DecodeError> {
        match content {
            Content::Object(mut object) => {
                if version.uid.is_none() || version.resource_version.is_none() {
                    self.report_unversioned();
                }
                self.hooks.transform(&mut object, version)?;
                Ok(Arc::new(object))
            }
            Content::Unchanged(object) => Ok(object),
            Content::Undecodable(error) => Err(error),
        }
    }

    fn report_unversioned(&mut self) {
        if !std::mem::replace(&mut self.unversioned, true) {
            let report = Report::Unversioned;
            tracing::warn!("{report}");
            self.hooks.report(&report);
        }
    }

    fn report_keyless(&mut self, received: Received<L::Object>) {
        let error = match received.content {
            Content::Undecodable(error) => error,
            _ => malformed("it has no metadata.name"),
        };
        self.undecodable.insert_keyless();
        self.report_undecodable(None, received.version.resource_version, error);
    }

    fn report_undecodable(
        &self,
        key: Option<ObjectKey>,
        resource_version: Option<ResourceVersion>,
        error: DecodeError,
    ) {
        tracing::warn!(
            key = key.as_ref().map(tracing::field::display),
            resource_version = resource_version.as_ref().map(tracing::field::display),
            %error,
            "cannot decode an object",
        );
        self.hooks.report(&Report::Undecodable {
            key,
            resource_version,
            error,
        });
    }
}

fn malformed(reason: &str) -> DecodeError {
    DecodeError::Malformed {
        what: "object",
        reason: reason.to_owned(),
    }
}
