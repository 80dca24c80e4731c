//! What a store is expected to come to have: a version, an object as it was written, a deletion.

use std::fmt;

use crate::key::{KeyError, ObjectKey};
use crate::object::{Object, ObjectMetadata};
use crate::snapshot::Snapshot;
use crate::uid::Uid;
use crate::version::ResourceVersion;
use crate::wait::WaitError;

/// What to wait for until a store has it: usually what the server answered to a write of one's own.
///
/// What counts is what the server says. An object that was [added by hand](crate::Store::overlay) fulfils nothing.
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
/// # let answer = pod(7);
/// let store = Store::<Pod>::new();
/// let expected = Expectation::written(&answer)?;
/// assert_eq!(expected.to_string(), "shop/cart-0 at resource version 7");
/// assert!(!expected.is_met_by(&store.snapshot())?);
/// // A newer version will do, as would the object's deletion.
/// store.add(pod(8))?;
/// assert!(expected.is_met_by(&store.snapshot())?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expectation {
    of: Of,
    resource_version: ResourceVersion,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Of {
    Everything,
    Written(ObjectKey),
    Deleted(ObjectKey, Option<Uid>),
}

impl Expectation {
    /// Everything up to this resource version.
    #[must_use]
    pub const fn version(resource_version: ResourceVersion) -> Self {
        Self {
            of: Of::Everything,
            resource_version,
        }
    }

    /// This object in this version or a newer one, or its deletion. The object may be of another type than those of
    /// the store: only its metadata counts.
    ///
    /// # Errors
    /// When the object has no name.
    pub fn written<O: Object>(object: &O) -> Result<Self, KeyError> {
        Ok(Self {
            of: Of::Written(ObjectKey::try_of(object)?),
            resource_version: version_of(object),
        })
    }

    /// The end of this object's life: what a delete answered, or the object as it was last seen. An object of the
    /// same name and another UID does not count. An object with finalizers lives on until they are gone.
    ///
    /// # Errors
    /// When the object has no name.
    pub fn deleted<O: Object>(object: &O) -> Result<Self, KeyError> {
        let key = ObjectKey::try_of(object)?;
        Ok(Self {
            of: Of::Deleted(key, object.metadata().uid()),
            resource_version: version_of(object),
        })
    }

    /// The object's key, where one object is waited for.
    #[must_use]
    pub const fn key(&self) -> Option<&ObjectKey> {
        match &self.of {
            Of::Everything => None,
            Of::Written(key) | Of::Deleted(key, _) => Some(key),
        }
    }

    /// From which resource version on it is met. Empty where the object had none.
    #[must_use]
    pub const fn resource_version(&self) -> &ResourceVersion {
        &self.resource_version
    }

    /// Whether a state of the store has what is expected.
    ///
    /// # Errors
    /// [`WaitError::NotComparable`] when that cannot be told, and waiting would not help.
    pub fn is_met_by<K: Object>(&self, state: &Snapshot<K>) -> Result<bool, WaitError> {
        let base = self.key().and_then(|key| state.base(key));
        match (&self.of, base) {
            (Of::Written(_), Some(base)) => {
                let present = version_of(&**base);
                let is_newer = self.is_reached_by(Some(&present))?;
                // A store that is fed by hand has no version of its own, or one that says nothing of this object.
                Ok(is_newer
                    || self
                        .is_reached_by(state.resource_version())
                        .unwrap_or(false))
            }
            (Of::Deleted(_, uid), Some(base)) => {
                let same_life = base.metadata().uid() == *uid;
                Ok(!same_life && self.is_reached_by(Some(&version_of(&**base)))?)
            }
            (Of::Everything, _) | (_, None) => self.is_reached_by(state.resource_version()),
        }
    }

    fn is_reached_by(&self, present: Option<&ResourceVersion>) -> Result<bool, WaitError> {
        let wanted = &self.resource_version;
        let not_comparable = || WaitError::NotComparable {
            wanted: wanted.to_string(),
            present: present.map(ToString::to_string),
        };
        // What is no version says nothing, equal or not.
        if wanted.is_unset() {
            return Err(not_comparable());
        }
        match present {
            None if wanted.is_comparable() => Ok(false),
            None => Err(not_comparable()),
            Some(present) => match present.compare(wanted) {
                Some(order) => Ok(order.is_ge()),
                None => Err(not_comparable()),
            },
        }
    }
}

fn version_of<O: Object>(object: &O) -> ResourceVersion {
    let version = object.metadata().resource_version();
    version.unwrap_or_else(|| ResourceVersion::new(""))
}

impl From<ResourceVersion> for Expectation {
    fn from(resource_version: ResourceVersion) -> Self {
        Self::version(resource_version)
    }
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = &self.resource_version;
        match &self.of {
            Of::Everything => write!(f, "resource version {version}"),
            Of::Written(key) => write!(f, "{key} at resource version {version}"),
            Of::Deleted(key, _) => write!(f, "the deletion of {key}, seen at {version}"),
        }
    }
}
