//! `Metadata`: objects of which the server sends the metadata alone.

use std::sync::Arc;

use informer_store::Object;

use crate::decode::{FromWire, ObjectForm, WireObject};
use crate::error::DecodeError;
use crate::meta::ObjectMeta;
use crate::types::TypeMeta;

/// The metadata of an object and nothing else, asked from the server as `PartialObjectMetadata`: for owners, labels
/// and garbage collection, of any kind.
///
/// A server that cannot send the metadata alone sends whole objects, of which all else is skipped.
///
/// ```
/// use informer_wire::{DecodeOptions, Metadata, Resource, WireFormat, decode_object};
///
/// let json = br#"{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a"}}"#;
/// let options = DecodeOptions::default().resource(Resource::builtin("pods").unwrap());
/// let pod: Metadata = decode_object(WireFormat::Json, json, &options)?;
/// assert_eq!(pod.metadata().name(), "a");
/// assert_eq!(pod.kind(), "Pod");
/// # Ok::<(), informer_wire::DecodeError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[doc(alias = "PartialObjectMetadata")]
pub struct Metadata {
    metadata: ObjectMeta,
    types: Arc<TypeMeta>,
}

impl Metadata {
    /// The object's metadata.
    #[must_use]
    pub const fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    /// The group and version of the object itself, as `apps/v1`; empty if neither the request nor the server said.
    #[must_use]
    pub fn api_version(&self) -> &str {
        &self.types.api_version
    }

    /// The kind of the object itself; empty if neither the request nor the server said.
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.types.kind
    }
}

impl FromWire for Metadata {
    fn form() -> ObjectForm {
        ObjectForm::Metadata
    }

    fn from_wire(mut object: WireObject<'_>) -> Result<Self, DecodeError> {
        let metadata = object.metadata()?;
        Ok(Self {
            metadata,
            types: object.requested_types(),
        })
    }
}

impl Object for Metadata {
    type Metadata = ObjectMeta;

    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }
}
