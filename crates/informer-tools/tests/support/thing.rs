//! A small object for tests of stores.
#![allow(dead_code, unreachable_pub, reason = "each test uses a part of it")]

use informer_store::{Object, ObjectMetadata, OwnerReference, ResourceVersion, Uid};

/// An object with metadata and a size.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Thing {
    pub meta: Meta,
    pub size: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Meta {
    pub name: String,
    pub version: Option<String>,
}

impl Thing {
    pub fn new(name: &str) -> Self {
        let meta = Meta {
            name: name.into(),
            version: None,
        };
        Self { meta, size: 0 }
    }

    pub fn version(mut self, version: impl ToString) -> Self {
        self.meta.version = Some(version.to_string());
        self
    }

    pub fn size(mut self, size: u64) -> Self {
        self.size = size;
        self
    }
}

impl Object for Thing {
    type Metadata = Meta;

    fn metadata(&self) -> &Meta {
        &self.meta
    }
}

impl ObjectMetadata for Meta {
    fn name(&self) -> Option<&str> {
        Some(&self.name)
    }
    fn namespace(&self) -> Option<&str> {
        None
    }
    fn uid(&self) -> Option<Uid> {
        Some(Uid::new(&self.name))
    }
    fn resource_version(&self) -> Option<ResourceVersion> {
        self.version.as_deref().map(ResourceVersion::new)
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
