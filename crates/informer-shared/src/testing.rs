//! A small object for this crate's unit tests.

use informer_store::{Object, ObjectKey, ObjectMetadata, OwnerReference, ResourceVersion, Uid};

/// A config-map-like object with a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) name: String,
    pub(crate) uid: Option<Uid>,
    pub(crate) version: Option<ResourceVersion>,
}

impl Item {
    pub(crate) fn new(name: &str, uid: &str, version: u64) -> Self {
        Self {
            name: name.into(),
            uid: Some(Uid::new(uid)),
            version: Some(version.into()),
        }
    }

    pub(crate) fn key(&self) -> ObjectKey {
        ObjectKey::of(self)
    }
}

impl Object for Item {
    type Metadata = Self;

    fn metadata(&self) -> &Self {
        self
    }
}

impl ObjectMetadata for Item {
    fn name(&self) -> Option<&str> {
        Some(&self.name)
    }

    fn namespace(&self) -> Option<&str> {
        Some("ns")
    }

    fn uid(&self) -> Option<Uid> {
        self.uid.clone()
    }

    fn resource_version(&self) -> Option<ResourceVersion> {
        self.version.clone()
    }

    fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        std::iter::empty()
    }

    fn annotations(&self) -> impl Iterator<Item = (&str, &str)> {
        std::iter::empty()
    }

    fn owner_references(&self) -> impl Iterator<Item = OwnerReference<'_>> {
        std::iter::empty()
    }

    fn generation(&self) -> Option<i64> {
        None
    }

    fn finalizers(&self) -> impl Iterator<Item = &str> {
        std::iter::empty()
    }

    fn is_being_deleted(&self) -> bool {
        false
    }
}
