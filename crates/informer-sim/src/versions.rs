//! Servers whose resource versions are no single rising history, and a transform that takes versions away. What such a
//! server sends is made of what the test kit's server sends, and what the client asks of it is turned back.

use std::collections::BTreeMap;
use std::sync::Arc;

use fastrand::Rng;
use informer_reflector::ListEvent;
use informer_store::{Object as _, ObjectVersion, ResourceVersion};
use informer_wire::{Decoded, ListOptions, WatchEvent};
use parking_lot::Mutex;

use crate::object::{Item, value_of};

/// What the versions of the second of several stores are ahead of those of the first.
const SECOND_STORE: u64 = 1_000_000;

/// Which versions objects, lists and bookmarks have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VersionKind {
    /// Each change of any object has a higher one, as in a Kubernetes API server.
    Rising,
    /// Texts that cannot be compared.
    Opaque,
    /// An object has that of the last change of its value: that it matches the selector, or no longer does, or is
    /// deleted, does not change it.
    OfValues,
    /// One namespace is another store: its objects have lower versions than all others, and than lists.
    Stores,
    /// There are none.
    Absent,
    /// Rising ones, which the client's transform takes away.
    Transformed,
}

impl VersionKind {
    pub(crate) fn draw(rng: &mut Rng) -> Self {
        match rng.u8(0..15) {
            0 => Self::Opaque,
            1 => Self::OfValues,
            2 => Self::Stores,
            3 => Self::Absent,
            4 => Self::Transformed,
            _ => Self::Rising,
        }
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Rising => "rising versions",
            Self::Opaque => "opaque versions",
            Self::OfValues => "versions of values",
            Self::Stores => "versions of two stores",
            Self::Absent => "no versions",
            Self::Transformed => "versions that a transform drops",
        }
    }

    /// Whether a rewind can be told by the versions.
    pub(crate) const fn tells_rewinds(self) -> bool {
        matches!(self, Self::Rising | Self::Transformed)
    }

    /// Whether events are sent again when a watch is resumed: their versions are below the one to resume from.
    pub(crate) const fn repeats_events(self) -> bool {
        matches!(self, Self::OfValues | Self::Stores)
    }

    /// Whether an event's version says that everything before it was sent, so that a cache without anything queued is
    /// what the server had at exactly its version.
    pub(crate) const fn is_history(self) -> bool {
        !self.repeats_events() && !matches!(self, Self::Absent)
    }
}

/// The versions of one server. Clones share the state.
#[derive(Debug, Clone)]
pub(crate) struct Versions {
    pub(crate) kind: VersionKind,
    /// The revision in which each value was written.
    values: Arc<Mutex<BTreeMap<String, u64>>>,
}

impl Versions {
    pub(crate) fn new(kind: VersionKind) -> Self {
        Self {
            kind,
            values: Arc::default(),
        }
    }

    /// A value was written.
    pub(crate) fn wrote(&self, value: &str, revision: u64) {
        self.values
            .lock()
            .entry(value.to_owned())
            .or_insert(revision);
    }

    /// Returns the version of an object that has this value and namespace since this revision.
    pub(crate) fn of_object(&self, namespace: &str, value: &str, revision: u64) -> String {
        match self.kind {
            VersionKind::Rising | VersionKind::Transformed => revision.to_string(),
            VersionKind::OfValues => {
                let written = self.values.lock().get(value).copied();
                written.unwrap_or(revision).to_string()
            }
            VersionKind::Stores if namespace == "even" => revision.to_string(),
            VersionKind::Opaque | VersionKind::Stores | VersionKind::Absent => {
                self.of_list(revision)
            }
        }
    }

    /// Returns the version of a list or bookmark at this revision.
    fn of_list(&self, revision: u64) -> String {
        match self.kind {
            VersionKind::Opaque => format!("r{revision:x}"),
            VersionKind::Stores => (SECOND_STORE + revision).to_string(),
            VersionKind::Absent => String::new(),
            VersionKind::Rising | VersionKind::OfValues | VersionKind::Transformed => {
                revision.to_string()
            }
        }
    }

    /// Returns the revision of a version.
    pub(crate) fn revision(&self, version: &ResourceVersion) -> Option<u64> {
        match self.kind {
            VersionKind::Opaque => {
                let text = version.to_string();
                u64::from_str_radix(text.strip_prefix('r')?, 16).ok()
            }
            VersionKind::Stores => {
                let number = version.as_u64()?;
                Some(number.checked_sub(SECOND_STORE).unwrap_or(number))
            }
            _ => version.as_u64(),
        }
    }

    /// Turns what a client asks back into what the test kit's server understands.
    pub(crate) fn ask(&self, options: &mut ListOptions) {
        let version = options.resource_version.take();
        options.resource_version = version.map(|version| match self.revision(&version) {
            Some(revision) => revision.into(),
            None => version,
        });
    }

    pub(crate) fn list_event(&self, event: &mut ListEvent<Item>) {
        match event {
            ListEvent::Item(decoded) => self.object(decoded),
            ListEvent::End(end) => {
                if let Some(version) = &mut end.resource_version {
                    self.list(version);
                }
            }
            _ => {}
        }
    }

    pub(crate) fn watch_event(&self, event: &mut WatchEvent<Item>) {
        match event {
            WatchEvent::Added(decoded)
            | WatchEvent::Modified(decoded)
            | WatchEvent::Deleted(decoded) => self.object(decoded),
            WatchEvent::Bookmark {
                resource_version, ..
            } => self.list(resource_version),
            _ => {}
        }
    }

    fn list(&self, version: &mut ResourceVersion) {
        if let Some(revision) = version.as_u64() {
            *version = ResourceVersion::new(&self.of_list(revision));
        }
    }

    fn object(&self, decoded: &mut Decoded<Item>) {
        match decoded {
            Decoded::Object(item) => {
                let version = ObjectVersion::of(item);
                let Some(revision) = version.resource_version.and_then(|rv| rv.as_u64()) else {
                    return;
                };
                let namespace = item.metadata.namespace().unwrap_or_default();
                let text = self.of_object(namespace, value_of(item), revision);
                item.fields.revision = Some(revision);
                let own = (!text.is_empty()).then(|| ResourceVersion::new(&text));
                item.restore_version(&ObjectVersion::new(version.uid, own));
            }
            Decoded::Undecodable(undecodable) => {
                if let Some(version) = &mut undecodable.version.resource_version {
                    self.list(version);
                }
            }
            _ => {}
        }
    }
}

/// A transform that drops UID and version.
pub(crate) fn drop_version(item: &mut Item) -> Result<(), std::convert::Infallible> {
    item.restore_version(&ObjectVersion::new(None, None));
    Ok(())
}
