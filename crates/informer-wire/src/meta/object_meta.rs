//! `ObjectMeta`: the metadata of an object, in little memory.

use std::sync::Arc;

use informer_store::{ObjectMetadata, ObjectVersion, OwnerReference, ResourceVersion, Uid};
use jiff::Timestamp;

use super::owner::Owner;
use super::time::Seconds;

/// A key and a value, shared with other objects where the decoder could.
pub(crate) type Pair = (Arc<str>, Arc<str>);

/// The metadata of an object: all of Kubernetes' `ObjectMeta` but `managedFields` and the long unused `selfLink`.
///
/// Small enough to be held a hundred thousand times: UIDs, versions and times are numbers, and what repeats from
/// object to object is shared. Use it as the `metadata` field of your own structs, or through [`View`](crate::View)
/// and [`Compact`](crate::Compact).
///
/// ```
/// use informer_wire::ObjectMeta;
///
/// let meta: ObjectMeta = serde_json::from_str(
///     r#"{"name":"cart-1","namespace":"shop","labels":{"app":"cart"},"creationTimestamp":"2026-11-29T15:33:37Z"}"#,
/// )?;
/// assert_eq!(meta.name(), "cart-1");
/// assert_eq!(meta.label("app"), Some("cart"));
/// assert_eq!(meta.creation_timestamp().map(|time| time.as_second()), Some(1_795_966_417));
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// It reads what any server writes, null for a missing value included, and writes what Kubernetes writes. Times are
/// kept to the second, as Kubernetes writes them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ObjectMeta {
    pub(super) name: Box<str>,
    pub(super) namespace: Option<Arc<str>>,
    pub(super) uid: Option<Uid>,
    pub(super) resource_version: Option<ResourceVersion>,
    pub(super) generation: Option<i64>,
    pub(super) creation: Seconds,
    /// Sorted by key, each key once.
    pub(super) labels: Arc<[Pair]>,
    /// Sorted by key, each key once.
    pub(super) annotations: Box<[Pair]>,
    /// Fields that many objects do not have; `None` if this one has none of them.
    pub(super) rare: Option<Box<Rare>>,
}

/// The fields that many objects do not have.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Rare {
    pub(super) generate_name: Option<Arc<str>>,
    pub(super) deletion: Seconds,
    pub(super) deletion_grace_period_seconds: Option<i64>,
    pub(super) owners: Arc<[Owner]>,
    pub(super) finalizers: Box<[Arc<str>]>,
}

impl ObjectMeta {
    /// Makes the metadata of an object of this name and namespace, and nothing else.
    #[must_use]
    pub fn new(namespace: Option<&str>, name: &str) -> Self {
        let namespace = namespace.filter(|namespace| !namespace.is_empty());
        Self {
            name: name.into(),
            namespace: namespace.map(Arc::from),
            ..Self::default()
        }
    }

    /// Returns the object's name; empty if it has none, which no object from an API server is.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the object's namespace; `None` if it is cluster-scoped.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// Returns the prefix from which the server generated the name, if it did.
    #[must_use]
    pub fn generate_name(&self) -> Option<&str> {
        self.rare.as_ref()?.generate_name.as_deref()
    }

    /// Returns the object's UID.
    #[must_use]
    pub const fn uid(&self) -> Option<&Uid> {
        self.uid.as_ref()
    }

    /// Returns the object's resource version.
    #[must_use]
    pub const fn resource_version(&self) -> Option<&ResourceVersion> {
        self.resource_version.as_ref()
    }

    /// Returns the generation: how often the desired state was changed.
    #[must_use]
    pub const fn generation(&self) -> Option<i64> {
        self.generation
    }

    /// Returns the time of the object's creation.
    #[must_use]
    pub fn creation_timestamp(&self) -> Option<Timestamp> {
        self.creation.get()
    }

    /// Returns the time at which the object is to be removed, if it is being deleted.
    #[must_use]
    pub fn deletion_timestamp(&self) -> Option<Timestamp> {
        self.rare.as_ref()?.deletion.get()
    }

    /// Returns the number of seconds that the object has to end, if it is being deleted.
    #[must_use]
    pub fn deletion_grace_period_seconds(&self) -> Option<i64> {
        self.rare.as_ref()?.deletion_grace_period_seconds
    }

    /// Returns all labels, sorted by key.
    pub fn labels(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.labels.iter().map(|(key, value)| (&**key, &**value))
    }

    /// Returns the value of one label.
    #[must_use]
    pub fn label(&self, key: &str) -> Option<&str> {
        find(&self.labels, key)
    }

    /// Returns all annotations, sorted by key.
    pub fn annotations(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.annotations
            .iter()
            .map(|(key, value)| (&**key, &**value))
    }

    /// Returns the value of one annotation.
    #[must_use]
    pub fn annotation(&self, key: &str) -> Option<&str> {
        find(&self.annotations, key)
    }

    /// Returns the owners of the object.
    pub fn owner_references(&self) -> impl Iterator<Item = OwnerReference<'_>> {
        self.owners().iter().map(Owner::reference)
    }

    /// Returns the finalizers, in the server's order.
    pub fn finalizers(&self) -> impl Iterator<Item = &str> {
        self.rare
            .iter()
            .flat_map(|rare| &rare.finalizers)
            .map(|finalizer| &**finalizer)
    }

    pub(super) fn owners(&self) -> &[Owner] {
        self.rare.as_ref().map_or(&[], |rare| &rare.owners)
    }
}

/// The value of a key among pairs sorted by key.
fn find<'a>(pairs: &'a [Pair], key: &str) -> Option<&'a str> {
    let at = pairs.binary_search_by(|(k, _)| (**k).cmp(key)).ok()?;
    Some(&pairs[at].1)
}

impl ObjectMetadata for ObjectMeta {
    fn name(&self) -> Option<&str> {
        Some(&*self.name).filter(|name| !name.is_empty())
    }

    fn namespace(&self) -> Option<&str> {
        self.namespace()
    }

    fn uid(&self) -> Option<Uid> {
        self.uid.clone()
    }

    fn resource_version(&self) -> Option<ResourceVersion> {
        self.resource_version.clone()
    }

    fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        self.labels()
    }

    fn annotations(&self) -> impl Iterator<Item = (&str, &str)> {
        self.annotations()
    }

    fn owner_references(&self) -> impl Iterator<Item = OwnerReference<'_>> {
        self.owner_references()
    }

    fn generation(&self) -> Option<i64> {
        Self::generation(self)
    }

    fn finalizers(&self) -> impl Iterator<Item = &str> {
        Self::finalizers(self)
    }

    fn is_being_deleted(&self) -> bool {
        self.deletion_timestamp().is_some()
    }

    fn label(&self, key: &str) -> Option<&str> {
        self.label(key)
    }

    fn annotation(&self, key: &str) -> Option<&str> {
        self.annotation(key)
    }

    fn restore_version(&mut self, version: &ObjectVersion) -> bool {
        self.uid.clone_from(&version.uid);
        self.resource_version.clone_from(&version.resource_version);
        true
    }
}
