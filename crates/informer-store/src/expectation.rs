//! What a store is waited for to have: a resource version, an object as it was written, a deletion.

use std::cmp::Ordering;
use std::fmt;

use crate::key::{KeyError, ObjectKey};
use crate::object::{Object, ObjectMetadata};
use crate::object_version::{ObjectVersion, Relation};
use crate::snapshot::Snapshot;
use crate::version::ResourceVersion;
use crate::wait::WaitError;

/// What to wait for until a store has it: usually the response to a write.
///
/// Only received objects count. An [overlaid](crate::Store::overlay) one fulfils nothing.
///
/// ```
/// use informer_store::{Expectation, Store};
/// use k8s_openapi::api::core::v1::Pod;
///
/// # fn pod(version: u64) -> Pod {
/// #     let mut pod = Pod::default();
/// #     pod.metadata.name = Some("cart-0".into());
/// #     pod.metadata.namespace = Some("shop".into());
/// #     pod.metadata.resource_version = Some(version.to_string());
/// #     pod
/// # }
/// # let response = pod(7);
/// let store = Store::<Pod>::new();
/// let expected = Expectation::written(&response)?;
/// assert_eq!(expected.to_string(), "shop/cart-0 at resource version 7");
/// assert!(!expected.is_met_by(&store.snapshot())?);
/// // A newer version meets it, as would the object's deletion.
/// store.add(pod(8))?;
/// assert!(expected.is_met_by(&store.snapshot())?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expectation {
    of: Of,
    version: ObjectVersion,
    /// Whether the store's resource version counts too.
    by_store: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Of {
    Everything,
    Written(ObjectKey),
    Deleted(ObjectKey),
}

impl Expectation {
    /// Expects everything up to this resource version. See [`wait_until`](crate::StoreReader::wait_until) for where
    /// that promises nothing.
    #[must_use]
    pub const fn version(resource_version: ResourceVersion) -> Self {
        Self {
            of: Of::Everything,
            version: ObjectVersion::new(None, Some(resource_version)),
            by_store: true,
        }
    }

    /// Expects this object in this version or a newer one, or its deletion. The object may be of another type than
    /// those of the store: only its metadata counts.
    ///
    /// # Errors
    /// If the object has no name.
    pub fn written<O: Object>(object: &O) -> Result<Self, KeyError> {
        Ok(Self {
            of: Of::Written(ObjectKey::try_of(object)?),
            version: ObjectVersion::of(object),
            by_store: true,
        })
    }

    /// Expects the deletion of this object: the response to a delete, or the object as it was last read. One of the
    /// same name and another UID does not count. An object with finalizers exists until they are removed.
    ///
    /// # Errors
    /// If the object has no name.
    pub fn deleted<O: Object>(object: &O) -> Result<Self, KeyError> {
        Ok(Self {
            of: Of::Deleted(ObjectKey::try_of(object)?),
            version: ObjectVersion::of(object),
            by_store: true,
        })
    }

    /// Decides by the UID and version of the stored object alone, and not by the store's resource version: for servers
    /// whose versions are no single rising history, such as aggregated ones that gather several stores.
    ///
    /// A written object is then only met by itself or a successor, so that a wait does not end if it was deleted before
    /// it was received; and an absent object counts as deleted, received or not. Does nothing to
    /// [`version`](Self::version).
    ///
    /// ```
    /// use informer_store::{Expectation, Store};
    /// use k8s_openapi::api::core::v1::ConfigMap;
    ///
    /// # let mut map = ConfigMap::default();
    /// # map.metadata.name = Some("settings".into());
    /// # map.metadata.uid = Some("1".into());
    /// # map.metadata.resource_version = Some("20".into());
    /// let store = Store::<ConfigMap>::new();
    /// // The list was at 500, but this object's history is at 20.
    /// store.set_resource_version(500.into());
    /// let expected = Expectation::written(&map)?.own_version_only();
    /// assert!(!expected.is_met_by(&store.snapshot())?);
    /// store.add(map)?;
    /// assert!(expected.is_met_by(&store.snapshot())?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub const fn own_version_only(mut self) -> Self {
        self.by_store = matches!(self.of, Of::Everything);
        self
    }

    /// Returns the key of the object that is waited for, if it is one.
    #[must_use]
    pub const fn key(&self) -> Option<&ObjectKey> {
        match &self.of {
            Of::Everything => None,
            Of::Written(key) | Of::Deleted(key) => Some(key),
        }
    }

    /// Returns the resource version that is waited for; `None` if the object had none.
    #[must_use]
    pub const fn resource_version(&self) -> Option<&ResourceVersion> {
        self.version.resource_version.as_ref()
    }

    /// Returns `true` if a state of the store has what is expected.
    ///
    /// # Errors
    /// [`WaitError::NotComparable`] if that is unknown, and waiting would not help.
    pub fn is_met_by<K: Object>(&self, state: &Snapshot<K>) -> Result<bool, WaitError> {
        let observed = self.key().and_then(|key| state.observed(key));
        let observed = observed.map(|object| {
            let metadata = object.metadata();
            ObjectVersion::new(metadata.uid(), metadata.resource_version())
        });
        let reached = |version| self.is_reached_by(version);
        match (&self.of, observed) {
            (Of::Everything, _) => reached(state.resource_version()),
            (Of::Written(_), Some(observed)) => {
                let is_met = self.is_written_in(&observed)?;
                // A newer version may be undecodable, so that only the store's version shows that it was received.
                Ok(is_met || self.by_store && reached(state.resource_version()).unwrap_or(false))
            }
            (Of::Deleted(_), Some(observed)) => self.is_deleted_in(&observed),
            (_, None) if self.by_store => reached(state.resource_version()),
            (Of::Written(_), None) => Ok(false),
            (Of::Deleted(_), None) => Ok(true),
        }
    }

    /// Returns `true` if the observed object of the key is the one that was written, or newer.
    fn is_written_in(&self, observed: &ObjectVersion) -> Result<bool, WaitError> {
        match self.version.relation_to(observed) {
            Relation::Same | Relation::Older => Ok(true),
            Relation::Newer | Relation::Recreated => {
                self.is_reached_by(observed.resource_version.as_ref())
            }
        }
    }

    /// Returns `true` if the observed object of the key is a successor of the one that was to be deleted.
    fn is_deleted_in(&self, observed: &ObjectVersion) -> Result<bool, WaitError> {
        let is_other = self.version.relation_to(observed) == Relation::Recreated;
        Ok(is_other && self.is_reached_by(observed.resource_version.as_ref())?)
    }

    fn is_reached_by(&self, present: Option<&ResourceVersion>) -> Result<bool, WaitError> {
        let wanted = self.resource_version().filter(|wanted| !wanted.is_unset());
        let order = match (wanted, present) {
            (Some(wanted), None) if wanted.is_comparable() => Some(Ordering::Less),
            (Some(wanted), Some(present)) => present.compare(wanted),
            _ => None,
        };
        let order = order.ok_or_else(|| WaitError::NotComparable {
            wanted: self.text(),
            present: present.map(ToString::to_string),
        });
        Ok(order?.is_ge())
    }

    fn text(&self) -> String {
        self.resource_version()
            .map_or_else(String::new, ToString::to_string)
    }
}

impl From<ResourceVersion> for Expectation {
    fn from(resource_version: ResourceVersion) -> Self {
        Self::version(resource_version)
    }
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = self.text();
        match &self.of {
            Of::Everything => write!(f, "resource version {version}"),
            Of::Written(key) => write!(f, "{key} at resource version {version}"),
            Of::Deleted(key) => write!(f, "the deletion of {key}, read at {version}"),
        }
    }
}
