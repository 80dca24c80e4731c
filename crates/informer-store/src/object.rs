//! The `Object` trait: what a cache reads of an object, and the metadata behind it.

use crate::object_version::ObjectVersion;
use crate::uid::Uid;
use crate::version::ResourceVersion;

/// A Kubernetes object that can be cached.
///
/// One method is required, which returns the metadata.
///
/// | what | how it becomes an `Object` |
/// |---|---|
/// | a type of the crate k8s-openapi | the feature `k8s-openapi` makes every one of them an `Object` |
/// | a struct of your own with an `ObjectMeta`, such as a custom resource | [`object!`](crate::object!)`(Foo)` |
/// | a struct with only the fields it needs | implement [`ObjectMetadata`], then `object!(Foo, meta: Meta)` |
pub trait Object: Send + Sync + 'static {
    /// The type of the metadata, often an `ObjectMeta`. A type with the few fields it needs among its own implements
    /// [`ObjectMetadata`] and names itself here.
    type Metadata: ObjectMetadata;

    /// Returns the object's metadata.
    fn metadata(&self) -> &Self::Metadata;

    /// Returns the object's name; empty if it has none, as no object of an API server.
    fn name(&self) -> &str {
        self.metadata().name().unwrap_or_default()
    }

    /// Returns the object's namespace; `None` if it is cluster-scoped.
    fn namespace(&self) -> Option<&str> {
        self.metadata()
            .namespace()
            .filter(|namespace| !namespace.is_empty())
    }

    /// Returns the object's UID.
    fn uid(&self) -> Option<Uid> {
        self.metadata().uid()
    }

    /// Returns the object's resource version.
    fn resource_version(&self) -> Option<ResourceVersion> {
        self.metadata().resource_version()
    }

    /// Returns the value of a label.
    fn label(&self, key: &str) -> Option<&str> {
        self.metadata().label(key)
    }

    /// Returns the value of an annotation.
    fn annotation(&self, key: &str) -> Option<&str> {
        self.metadata().annotation(key)
    }

    /// Writes UID and resource version back into the object, after a transform changed them: a cache compares objects
    /// by them. Returns `false` if the type cannot, as by default; [`object!`](crate::object!), the types of
    /// k8s-openapi and those of informer-wire can.
    fn restore_version(&mut self, version: &ObjectVersion) -> bool {
        let _ = version;
        false
    }
}

/// The fields of an object's metadata that caches, selectors and controllers read. No method allocates for what
/// API servers write.
pub trait ObjectMetadata {
    /// Returns `metadata.name`.
    fn name(&self) -> Option<&str>;

    /// Returns `metadata.namespace`.
    fn namespace(&self) -> Option<&str>;

    /// Returns `metadata.uid`.
    fn uid(&self) -> Option<Uid>;

    /// Returns `metadata.resourceVersion`.
    fn resource_version(&self) -> Option<ResourceVersion>;

    /// Returns all labels, in no particular order.
    fn labels(&self) -> impl Iterator<Item = (&str, &str)>;

    /// Returns all annotations, in no particular order.
    fn annotations(&self) -> impl Iterator<Item = (&str, &str)>;

    /// Returns `metadata.ownerReferences`.
    fn owner_references(&self) -> impl Iterator<Item = OwnerReference<'_>>;

    /// Returns `metadata.generation`, which servers raise with each change of the desired state; `None` for kinds whose
    /// server counts none.
    fn generation(&self) -> Option<i64>;

    /// Returns `metadata.finalizers`.
    fn finalizers(&self) -> impl Iterator<Item = &str>;

    /// Returns `true` if the object has a `metadata.deletionTimestamp`: it is being deleted, and exists until its
    /// finalizers are removed and its grace period is over.
    fn is_being_deleted(&self) -> bool;

    /// Returns the value of a label.
    fn label(&self, key: &str) -> Option<&str> {
        self.labels()
            .find(|(k, _)| *k == key)
            .map(|(_, value)| value)
    }

    /// Returns the value of an annotation.
    fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations()
            .find(|(k, _)| *k == key)
            .map(|(_, value)| value)
    }

    /// Writes UID and resource version; see [`Object::restore_version`]. Returns `false` if the type has no room for
    /// them.
    fn restore_version(&mut self, version: &ObjectVersion) -> bool {
        let _ = version;
        false
    }
}

/// One entry of `metadata.ownerReferences`, borrowed from its object.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OwnerReference<'a> {
    /// The owner's group and version, as `apps/v1`.
    pub api_version: &'a str,
    /// The owner's kind.
    pub kind: &'a str,
    /// The owner's name.
    pub name: &'a str,
    /// The owner's UID.
    pub uid: Uid,
    /// Whether this owner manages the object.
    pub controller: bool,
    /// Whether the owner cannot be deleted in the foreground while the object exists.
    pub block_owner_deletion: bool,
}

impl<'a> OwnerReference<'a> {
    /// Makes a reference that neither controls nor blocks.
    #[must_use]
    pub const fn new(api_version: &'a str, kind: &'a str, name: &'a str, uid: Uid) -> Self {
        Self {
            api_version,
            kind,
            name,
            uid,
            controller: false,
            block_owner_deletion: false,
        }
    }

    /// Sets whether the owner manages the object.
    #[must_use]
    pub fn controller(mut self, controller: bool) -> Self {
        self.controller = controller;
        self
    }

    /// Sets whether the owner's deletion in the foreground waits for the object.
    #[must_use]
    pub fn block_owner_deletion(mut self, block: bool) -> Self {
        self.block_owner_deletion = block;
        self
    }
}

/// Makes a struct with a metadata field an [`Object`]: `object!(Foo)` for a field `metadata`, `object!(Foo, meta)`
/// for a field of another name. The field's type is named last where it is not k8s-openapi's `ObjectMeta`.
///
/// ```
/// use informer_store::{Object, ObjectMetadata, OwnerReference, ResourceVersion, Uid, object};
///
/// struct Meta(String);
///
/// impl ObjectMetadata for Meta {
///     fn name(&self) -> Option<&str> { Some(&self.0) }
///     fn namespace(&self) -> Option<&str> { None }
///     fn uid(&self) -> Option<Uid> { None }
///     fn resource_version(&self) -> Option<ResourceVersion> { None }
///     fn labels(&self) -> impl Iterator<Item = (&str, &str)> { std::iter::empty() }
///     fn annotations(&self) -> impl Iterator<Item = (&str, &str)> { std::iter::empty() }
///     fn owner_references(&self) -> impl Iterator<Item = OwnerReference<'_>> { std::iter::empty() }
///     fn generation(&self) -> Option<i64> { None }
///     fn finalizers(&self) -> impl Iterator<Item = &str> { std::iter::empty() }
///     fn is_being_deleted(&self) -> bool { false }
/// }
///
/// struct Widget { meta: Meta }
/// object!(Widget, meta: Meta);
///
/// assert_eq!(Widget { meta: Meta("w".into()) }.name(), "w");
/// ```
#[macro_export]
macro_rules! object {
    ($type:ty, $field:ident : $metadata:ty) => {
        impl $crate::Object for $type {
            type Metadata = $metadata;

            fn metadata(&self) -> &Self::Metadata {
                &self.$field
            }

            fn restore_version(&mut self, version: &$crate::ObjectVersion) -> bool {
                $crate::ObjectMetadata::restore_version(&mut self.$field, version)
            }
        }
    };
    ($type:ty, $field:ident) => {
        $crate::object!($type, $field: $crate::__private::ObjectMeta);
    };
    ($type:ty) => {
        $crate::object!($type, metadata: $crate::__private::ObjectMeta);
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Leaves the methods of the trait that have a default as they are.
    struct Least(Vec<(&'static str, &'static str)>);

    impl ObjectMetadata for Least {
        fn name(&self) -> Option<&str> {
            None
        }
        fn namespace(&self) -> Option<&str> {
            Some("")
        }
        fn uid(&self) -> Option<Uid> {
            None
        }
        fn resource_version(&self) -> Option<ResourceVersion> {
            Some("7".into())
        }
        fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
            self.0.iter().copied()
        }
        fn annotations(&self) -> impl Iterator<Item = (&str, &str)> {
            self.0.iter().copied().rev()
        }
        fn owner_references(&self) -> impl Iterator<Item = OwnerReference<'_>> {
            std::iter::once(OwnerReference::new("v1", "Pod", "p", "u".into()).controller(true))
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

    struct Thing {
        meta: Least,
    }
    object!(Thing, meta: Least);

    #[test]
    fn default_methods_read_the_metadata() {
        let thing = Thing {
            meta: Least(vec![("a", "1"), ("b", "2")]),
        };
        assert_eq!(
            (thing.name(), thing.namespace(), thing.uid()),
            ("", None, None)
        );
        assert_eq!(thing.resource_version(), Some("7".into()));
        assert_eq!((thing.label("b"), thing.label("c")), (Some("2"), None));
        assert_eq!(
            (thing.annotation("a"), thing.annotation("")),
            (Some("1"), None)
        );
        let owner = thing.metadata().owner_references().next();
        assert!(owner.is_some_and(|owner| owner.controller && !owner.block_owner_deletion));
    }

    #[cfg(feature = "k8s-openapi")]
    #[test]
    fn k8s_openapi_types_are_objects() {
        use k8s_openapi::api::core::v1::ConfigMap;
        use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;

        let text = |text: &str| Some(text.to_owned());
        let pairs = |key: &str, value: &str| Some([(key.to_owned(), value.to_owned())].into());
        let owner = meta::OwnerReference {
            api_version: "apps/v1".into(),
            kind: "ReplicaSet".into(),
            name: "cart".into(),
            uid: "u-1".into(),
            controller: Some(true),
            block_owner_deletion: None,
        };
        let metadata = meta::ObjectMeta {
            name: text("settings"),
            namespace: text("shop"),
            uid: text("u-2"),
            resource_version: text("12"),
            labels: pairs("app", "cart"),
            annotations: pairs("note", "x"),
            owner_references: Some(vec![owner]),
            ..meta::ObjectMeta::default()
        };
        let map = ConfigMap {
            metadata,
            ..ConfigMap::default()
        };
        assert_eq!((map.name(), map.namespace()), ("settings", Some("shop")));
        assert_eq!(
            (map.uid(), map.resource_version()),
            (Some("u-2".into()), Some("12".into()))
        );
        assert_eq!(
            (map.label("app"), map.annotation("note")),
            (Some("cart"), Some("x"))
        );
        let metadata = Object::metadata(&map);
        assert_eq!(metadata.labels().collect::<Vec<_>>(), [("app", "cart")]);
        assert_eq!(metadata.annotations().collect::<Vec<_>>(), [("note", "x")]);
        let owners: Vec<_> = metadata.owner_references().collect();
        let expected = OwnerReference::new("apps/v1", "ReplicaSet", "cart", "u-1".into());
        assert_eq!(owners, [expected.controller(true)]);
        let nothing = ConfigMap::default();
        assert_eq!(
            (nothing.name(), nothing.namespace(), nothing.uid()),
            ("", None, None)
        );
    }
}
