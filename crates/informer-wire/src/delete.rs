//! The options of a delete, and its result.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::status::Status;

/// The options of a delete, as Kubernetes' `DeleteOptions`.
///
/// ```
/// use informer_wire::{DeleteOptions, Propagation};
///
/// let options = DeleteOptions::default().grace_period_seconds(0).propagation(Propagation::Foreground);
/// let body = serde_json::to_string(&options)?;
/// assert_eq!(body, r#"{"gracePeriodSeconds":0,"propagationPolicy":"Foreground"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// They are the body of the request, also of a whole collection's: beside a body a server ignores options in the query.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
#[must_use]
pub struct DeleteOptions {
    /// Whether the server only checks and answers, and deletes nothing.
    #[serde(
        serialize_with = "write_dry_run",
        deserialize_with = "read_dry_run",
        skip_serializing_if = "std::ops::Not::not"
    )]
    pub dry_run: bool,
    /// The number of seconds that the object has to end; 0 removes it at once. `None`: the default of its kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grace_period_seconds: Option<u64>,
    /// What happens to the objects that it owns. `None`: the default of its kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub propagation_policy: Option<Propagation>,
    /// What must hold of the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preconditions: Option<Preconditions>,
}

/// What must hold of an object for it to be deleted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Preconditions {
    /// The object's UID.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// The object's resource version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_version: Option<String>,
}

/// What happens to the objects that a deleted one owns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[doc(alias = "DeletionPropagation")]
#[non_exhaustive]
pub enum Propagation {
    /// They stay, without an owner.
    Orphan,
    /// They are deleted after it.
    Background,
    /// They are deleted before it.
    Foreground,
}

impl DeleteOptions {
    /// Sets whether the server only checks and answers, and deletes nothing.
    pub const fn dry_run(mut self, dry_run: bool) -> Self {
        self.dry_run = dry_run;
        self
    }

    /// Sets the number of seconds that the object has to end; 0 removes it at once.
    pub const fn grace_period_seconds(mut self, seconds: u64) -> Self {
        self.grace_period_seconds = Some(seconds);
        self
    }

    /// Sets what happens to the objects that it owns.
    pub const fn propagation(mut self, policy: Propagation) -> Self {
        self.propagation_policy = Some(policy);
        self
    }

    /// Deletes the object only if it has this UID, and not another one of its name.
    pub fn only_uid(mut self, uid: impl Into<String>) -> Self {
        self.preconditions.get_or_insert_default().uid = Some(uid.into());
        self
    }

    /// Deletes the object only if it has this resource version.
    pub fn only_resource_version(mut self, version: impl Into<String>) -> Self {
        self.preconditions.get_or_insert_default().resource_version = Some(version.into());
        self
    }
}

fn write_dry_run<S: Serializer>(_: &bool, serializer: S) -> Result<S::Ok, S::Error> {
    ["All"].serialize(serializer)
}

fn read_dry_run<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    let directives = Option::<Vec<String>>::deserialize(deserializer)?;
    Ok(directives.is_some_and(|directives| !directives.is_empty()))
}

/// The answer to a delete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deleted<K> {
    /// The server says that the object is deleted.
    Status(Box<Status>),
    /// The server sent the object: deleted, or still ending (finalizers, grace period).
    Object(K),
}
