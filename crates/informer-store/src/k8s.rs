//! `Object` for the types of the k8s-openapi crate.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::object::{Object, ObjectMetadata, OwnerReference};
use crate::object_version::ObjectVersion;
use crate::uid::Uid;
use crate::version::ResourceVersion;

impl<T> Object for T
where
    T: k8s_openapi::Metadata<Ty = ObjectMeta> + Send + Sync + 'static,
{
    type Metadata = ObjectMeta;

    fn metadata(&self) -> &ObjectMeta {
        k8s_openapi::Metadata::metadata(self)
    }

    fn restore_version(&mut self, version: &ObjectVersion) -> bool {
        self.metadata_mut().restore_version(version)
    }
}

impl ObjectMetadata for ObjectMeta {
    fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    fn uid(&self) -> Option<Uid> {
        self.uid.as_deref().map(Uid::new)
    }

    fn resource_version(&self) -> Option<ResourceVersion> {
        self.resource_version.as_deref().map(ResourceVersion::new)
    }

    fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        self.labels
            .iter()
            .flatten()
            .map(|(key, value)| (key.as_str(), value.as_str()))
    }

    fn annotations(&self) -> impl Iterator<Item = (&str, &str)> {
        self.annotations
            .iter()
            .flatten()
            .map(|(key, value)| (key.as_str(), value.as_str()))
    }

    fn owner_references(&self) -> impl Iterator<Item = OwnerReference<'_>> {
        self.owner_references.iter().flatten().map(|owner| {
            OwnerReference::new(
                &owner.api_version,
                &owner.kind,
                &owner.name,
                Uid::new(&owner.uid),
            )
            .controller(owner.controller.unwrap_or(false))
            .block_owner_deletion(owner.block_owner_deletion.unwrap_or(false))
        })
    }

    fn generation(&self) -> Option<i64> {
        self.generation
    }

    fn finalizers(&self) -> impl Iterator<Item = &str> {
        self.finalizers.iter().flatten().map(String::as_str)
    }

    fn is_being_deleted(&self) -> bool {
        self.deletion_timestamp.is_some()
    }

    fn label(&self, key: &str) -> Option<&str> {
        self.labels.as_ref()?.get(key).map(String::as_str)
    }

    fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations.as_ref()?.get(key).map(String::as_str)
    }

    fn restore_version(&mut self, version: &ObjectVersion) -> bool {
        let text = |version: &ResourceVersion| version.to_string();
        self.uid = version.uid.as_ref().map(ToString::to_string);
        self.resource_version = version.resource_version.as_ref().map(text);
        true
    }
}
