//! Objects for tests.

use std::fmt;
use std::sync::Arc;

use informer_store::{
    Object, ObjectKey, ObjectMetadata, ObjectVersion, OwnerReference, ResourceVersion, Uid,
};
use proptest::prelude::*;

/// How test objects are made: what they contain, and how they get an identity.
pub struct Objects<K> {
    content: BoxedStrategy<K>,
    identify: Arc<Identify<K>>,
}

type Identify<K> = dyn Fn(&mut K, &ObjectKey, &ObjectVersion);

impl<K: Clone + fmt::Debug + 'static> Objects<K> {
    /// Makes objects of this content; `identify` sets the name, namespace, UID and resource version of one.
    pub fn new(
        content: impl Strategy<Value = K> + 'static,
        identify: impl Fn(&mut K, &ObjectKey, &ObjectVersion) + 'static,
    ) -> Self {
        Self {
            content: content.boxed(),
            identify: Arc::new(identify),
        }
    }

    /// Returns the strategy of the content.
    pub(super) fn content(&self) -> BoxedStrategy<K> {
        self.content.clone()
    }

    /// Makes an object of this content and identity.
    pub(super) fn make(&self, content: &K, key: &ObjectKey, version: &ObjectVersion) -> Arc<K> {
        let mut object = content.clone();
        (self.identify)(&mut object, key, version);
        Arc::new(object)
    }

    /// Returns a strategy of whole objects, whose identities come from another one.
    pub(super) fn identified(
        &self,
        identities: impl Strategy<Value = (ObjectKey, ObjectVersion)> + 'static,
    ) -> BoxedStrategy<K> {
        let identify = Arc::clone(&self.identify);
        let object = (self.content(), identities).prop_map(move |(mut object, (key, version))| {
            identify(&mut object, &key, &version);
            object
        });
        object.boxed()
    }
}

impl<K> Clone for Objects<K> {
    fn clone(&self) -> Self {
        Self {
            content: self.content.clone(),
            identify: Arc::clone(&self.identify),
        }
    }
}

impl<K> fmt::Debug for Objects<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Objects").finish_non_exhaustive()
    }
}

/// An object with an identity and one value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    key: ObjectKey,
    version: ObjectVersion,
    value: u8,
}

impl Sample {
    /// Returns how samples are made.
    #[must_use]
    pub fn objects() -> Objects<Self> {
        let blank = |value| Self {
            key: ObjectKey::cluster_scoped("sample"),
            version: ObjectVersion::new(None, None),
            value,
        };
        Objects::new(any::<u8>().prop_map(blank), |sample, key, version| {
            sample.key = key.clone();
            sample.version = version.clone();
        })
    }
}

impl ObjectMetadata for Sample {
    fn name(&self) -> Option<&str> {
        Some(self.key.name())
    }
    fn namespace(&self) -> Option<&str> {
        self.key.namespace()
    }
    fn uid(&self) -> Option<Uid> {
        self.version.uid.clone()
    }
    fn resource_version(&self) -> Option<ResourceVersion> {
        self.version.resource_version.clone()
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

impl Object for Sample {
    type Metadata = Self;
    fn metadata(&self) -> &Self {
        self
    }
}
