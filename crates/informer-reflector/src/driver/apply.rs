//! From what a request brings to the sink.

use std::sync::Arc;

use informer_store::{Deletion, DeltaSink, Known, Object, ObjectKey, Replace as _, mutant};
use informer_wire::{DecodeError, Decoded, SetAside, WatchEvent};

use super::consistency;
use super::drive::Driver;
use crate::error::ListWatchError;
use crate::lister_watcher::{ListEvent, ListerWatcher};
use crate::machine::{EventKind, EventMeta, Verdict};
use crate::report::Report;

/// An object on its way, after the transform.
enum Received<K> {
    Usable {
        key: ObjectKey,
        object: Arc<K>,
        version: Known,
    },
    Unchanged(ObjectKey),
    Unusable {
        key: Option<ObjectKey>,
        version: Known,
        error: DecodeError,
    },
}

impl<L: ListerWatcher, S: DeltaSink<L::Object>> Driver<L, S> {
    pub(super) fn handle_list_event(&mut self, event: ListEvent<L::Object>) {
        let now = self.now();
        match event {
            ListEvent::Item(item) => {
                if self.machine.handle_list_item(now) == Verdict::Collect {
                    self.collect(item);
                }
            }
            ListEvent::End(meta) => self.machine.handle_list_end(now, &meta),
        }
    }

    pub(super) fn handle_watch_event(&mut self, event: WatchEvent<L::Object>) {
        let now = self.now();
        self.last_event_at = Some(now);
        match event {
            WatchEvent::Added(item) => self.handle_change(EventKind::Added, item),
            WatchEvent::Modified(item) => self.handle_change(EventKind::Modified, item),
            WatchEvent::Deleted(item) => self.handle_change(EventKind::Deleted, item),
            WatchEvent::Bookmark {
                resource_version,
                initial_events_end,
            } => {
                let kind = EventKind::Bookmark { initial_events_end };
                let meta = EventMeta::new(kind, Some(resource_version.clone()));
                if self.machine.handle_event(now, &meta) == Verdict::Apply {
                    self.sink.bookmark(resource_version);
                    self.machine.handle_applied();
                }
            }
            WatchEvent::Error(status) => self.handle_failure(&ListWatchError::status_error(status)),
            WatchEvent::Unknown(event_type) => self.handle_unknown(&event_type),
            // Something that only a later version of the wire crate can read.
            _ => self.handle_unknown("?"),
        }
    }

    fn handle_unknown(&mut self, event_type: &str) {
        self.skip_unknown();
        if self.unknown.note(event_type) {
            tracing::warn!(event_type, "skips watch events of an unknown type");
            self.hooks.report(&Report::UnknownEvent { event_type });
        }
    }

    fn skip_unknown(&mut self) {
        let (now, meta) = (self.now(), EventMeta::new(EventKind::Unknown, None));
        if self.machine.handle_event(now, &meta) != Verdict::Skip {
            tracing::debug!("an unknown event was not skipped");
        }
    }

    fn handle_change(&mut self, kind: EventKind, item: Decoded<L::Object>) {
        if let Decoded::SetAside(SetAside {
            error: DecodeError::UnexpectedKind { .. },
            ..
        }) = &item
        {
            // It has no place here, and what follows does not depend on it.
            self.skip_unknown();
            return self.report_nameless(item);
        }
        let meta = match &item {
            Decoded::Object(object) => {
                EventMeta::new(kind, object.resource_version()).named(!object.name().is_empty())
            }
            Decoded::SetAside(aside) => EventMeta::new(kind, aside.resource_version.clone())
                .named(aside.key.as_ref().is_some_and(|key| !key.name().is_empty())),
            _ => EventMeta::new(kind, None),
        };
        let verdict = self.machine.handle_event(self.now(), &meta);
        match verdict {
            Verdict::Skip if meta.named => {}
            Verdict::Skip => self.report_nameless(item),
            Verdict::Collect if kind == EventKind::Deleted => self.uncollect(&item),
            Verdict::Collect => self.collect(item),
            Verdict::Apply | Verdict::ApplyIfNewer => {
                self.apply(kind, item, verdict == Verdict::ApplyIfNewer);
                self.machine.handle_applied();
            }
        }
    }

    /// Puts an object into the list that is coming in.
    fn collect(&mut self, item: Decoded<L::Object>) {
        if self.config.check_consistency {
            consistency::note(&mut self.copies, &item, &*self.known);
        }
        let received = self.receive(item);
        let Some(replace) = &mut self.replace else {
            return;
        };
        match received {
            Received::Usable { key, object, .. } => {
                self.aside.clear_in_list(&key);
                replace.insert(key, object);
            }
            Received::Unchanged(key) => {
                self.aside.clear_in_list(&key);
                replace.keep(key);
            }
            Received::Unusable {
                key: None,
                error,
                version,
            } => {
                self.aside.nameless();
                self.report_set_aside(None, &version, &error);
            }
            Received::Unusable {
                key: Some(key),
                version,
                error,
            } => {
                let new = self
                    .aside
                    .set_aside_in_list(&key, version.resource_version.as_ref());
                replace.set_aside(key.clone());
                if new {
                    self.report_set_aside(Some(&key), &version, &error);
                }
            }
        }
    }

    /// Takes an object out of the list that is coming in.
    fn uncollect(&mut self, item: &Decoded<L::Object>) {
        consistency::forget(&mut self.copies, item);
        let key = match item {
            Decoded::Object(object) => Some(self.key_of(object)),
            Decoded::Unchanged(key) => Some(self.in_cluster(key)),
            Decoded::SetAside(aside) => aside.key.as_ref().map(|key| self.in_cluster(key)),
            _ => None,
        };
        if let (Some(key), Some(replace)) = (key, &mut self.replace) {
            self.aside.clear_in_list(&key);
            replace.remove(&key);
        }
    }

    /// Gives a change to the sink.
    fn apply(&mut self, kind: EventKind, item: Decoded<L::Object>, only_if_newer: bool) {
        match self.receive(item) {
            // A watch never says that nothing changed.
            Received::Unchanged(_) | Received::Unusable { key: None, .. } => {}
            Received::Usable { key, version, .. }
            | Received::Unusable {
                key: Some(key),
                version,
                ..
            } if only_if_newer && self.is_outdated(&key, &version) => {
                tracing::debug!(%key, "skipped a change that is older than what is known");
            }
            Received::Usable {
                key,
                object,
                version,
            } => {
                self.aside.clear(&key);
                if kind == EventKind::Deleted && mutant!("reflector-lose-deletions") {
                    return;
                }
                self.apply_usable(kind, key, object, version);
            }
            Received::Unusable {
                key: Some(key),
                version,
                error,
            } => {
                self.apply_unusable(kind, key, version, &error);
            }
        }
    }

    fn apply_usable(
        &self,
        kind: EventKind,
        key: ObjectKey,
        object: Arc<L::Object>,
        version: Known,
    ) {
        match kind {
            EventKind::Added => self.sink.add(key, object),
            EventKind::Deleted => {
                // The transform may have taken out what tells lives of a key apart.
                let mut deletion = Deletion::of(object);
                deletion.uid = version.uid;
                deletion.resource_version = version.resource_version;
                self.sink.delete(key, deletion);
            }
            _ => self.sink.update(key, object),
        }
    }

    fn apply_unusable(
        &mut self,
        kind: EventKind,
        key: ObjectKey,
        version: Known,
        error: &DecodeError,
    ) {
        if kind == EventKind::Deleted {
            self.aside.clear(&key);
            let deletion = Deletion::without_object(version.uid, version.resource_version);
            self.sink.delete(key, deletion);
            return;
        }
        if self
            .aside
            .set_aside(&key, version.resource_version.as_ref())
        {
            self.report_set_aside(Some(&key), &version, error);
        }
        self.sink.set_aside(key, version.resource_version);
    }

    /// True if the sink knows a copy of the same object that is as new or newer.
    fn is_outdated(&self, key: &ObjectKey, version: &Known) -> bool {
        let Some(known) = self.sink.known(key) else {
            return false;
        };
        let (Some(old), Some(new)) = (&known.resource_version, &version.resource_version) else {
            return false;
        };
        known.uid == version.uid && (old == new || new.is_older_than(old))
    }

    /// Names, transforms and wraps an object.
    fn receive(&self, item: Decoded<L::Object>) -> Received<L::Object> {
        let mut object = match item {
            Decoded::Object(object) => object,
            Decoded::Unchanged(key) => return Received::Unchanged(self.in_cluster(&key)),
            Decoded::SetAside(aside) => return self.receive_set_aside(aside),
            other => return unknown_form(&other),
        };
        let version = Known::of(&object);
        if object.name().is_empty() {
            let error = DecodeError::Malformed {
                what: "object",
                reason: "it has no metadata.name".to_owned(),
            };
            return Received::Unusable {
                key: None,
                version,
                error,
            };
        }
        if self.hooks.transform.is_some() {
            let key = self.key_of(&object);
            if let Err(error) = self.hooks.transform(&mut object) {
                return Received::Unusable {
                    key: Some(key),
                    version,
                    error,
                };
            }
        }
        Received::Usable {
            key: self.key_of(&object),
            object: Arc::new(object),
            version,
        }
    }

    fn receive_set_aside(&self, aside: SetAside) -> Received<L::Object> {
        let key = aside
            .key
            .filter(|key| !key.name().is_empty())
            .map(|key| self.in_cluster(&key));
        let version = Known::new(aside.uid, aside.resource_version);
        Received::Unusable {
            key,
            version,
            error: aside.error,
        }
    }

    fn report_nameless(&mut self, item: Decoded<L::Object>) {
        if let Received::Unusable { version, error, .. } = self.receive(item) {
            self.aside.nameless();
            self.report_set_aside(None, &version, &error);
        }
    }

    fn report_set_aside(&self, key: Option<&ObjectKey>, version: &Known, error: &DecodeError) {
        let resource_version = version.resource_version.as_ref();
        tracing::warn!(
            key = key.map(tracing::field::display),
            resource_version = resource_version.map(tracing::field::display),
            %error,
            "an object was set aside",
        );
        self.hooks.report(&Report::SetAside {
            key,
            resource_version,
            error,
        });
    }

    fn key_of(&self, object: &L::Object) -> ObjectKey {
        let key = ObjectKey::of(object);
        match &self.config.cluster {
            Some(cluster) => key.in_cluster(cluster),
            None => key,
        }
    }

    fn in_cluster(&self, key: &ObjectKey) -> ObjectKey {
        match &self.config.cluster {
            Some(cluster) => key.in_cluster(cluster),
            None => key.clone(),
        }
    }
}

/// A form of object that a later version of the wire crate may add.
fn unknown_form<K>(_: &Decoded<K>) -> Received<K> {
    let error = DecodeError::Malformed {
        what: "object",
        reason: "it came in an unknown form".to_owned(),
    };
    Received::Unusable {
        key: None,
        version: Known::new(None, None),
        error,
    }
}
