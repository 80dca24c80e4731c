//! `View`: an object's metadata and the few fields that its user needs.

use std::ops::Deref;

use informer_store::{Object, ObjectMetadata as _, ObjectVersion};
use serde::de::DeserializeOwned;

use crate::decode::{FromWire, WireObject};
use crate::error::DecodeError;
use crate::meta::ObjectMeta;
use crate::resource::{Resource, StaticResource};

/// The metadata of an object and, of the rest, only the fields of `T`. Fields that `T` does not name are skipped on the
/// wire, which makes it small and fast. For most controllers.
///
/// ```
/// use informer_wire::{DecodeOptions, View, WireFormat, decode_object};
///
/// #[derive(serde::Deserialize)]
/// struct PodNode { spec: Spec }
///
/// #[derive(serde::Deserialize)]
/// #[serde(rename_all = "camelCase")]
/// struct Spec { node_name: Option<String> }
///
/// let json = br#"{"metadata":{"name":"a"},"spec":{"nodeName":"n","containers":[]}}"#;
/// let pod: View<PodNode> = decode_object(WireFormat::Json, json, &DecodeOptions::default())?;
/// assert_eq!(pod.metadata.name(), "a");
/// assert_eq!(pod.spec.node_name.as_deref(), Some("n"));
/// # Ok::<(), informer_wire::DecodeError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct View<T> {
    /// The object's metadata.
    pub metadata: ObjectMeta,
    /// The other fields.
    pub fields: T,
}

impl<T> View<T> {
    /// Makes a view of these parts.
    #[must_use]
    pub const fn new(metadata: ObjectMeta, fields: T) -> Self {
        Self { metadata, fields }
    }
}

impl<T> Deref for View<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.fields
    }
}

impl<T: DeserializeOwned + Send + Sync + 'static> FromWire for View<T> {
    fn from_wire(mut object: WireObject<'_>) -> Result<Self, DecodeError> {
        let metadata = object.metadata()?;
        Ok(Self {
            metadata,
            fields: object.deserialize_rest()?,
        })
    }
}

impl<T: StaticResource> StaticResource for View<T> {
    /// The resource that `T` names: implement it for the struct of your fields.
    fn resource() -> Resource {
        T::resource()
    }
}

impl<T: Send + Sync + 'static> Object for View<T> {
    type Metadata = ObjectMeta;

    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn restore_version(&mut self, version: &ObjectVersion) -> bool {
        self.metadata.restore_version(version)
    }
}
