//! `PartialObjectMetadata`: objects of which the server sends the metadata alone.

use std::sync::Arc;

use informer_store::{Object, ObjectMetadata as _, ObjectVersion};

use crate::decode::{FromWire, ObjectForm, WireObject};
use crate::error::DecodeError;
use crate::meta::ObjectMeta;
use crate::types::TypeMeta;

/// The metadata of an object and nothing else: for owners, labels and garbage collection, of any kind.
///
/// A server that cannot send the metadata alone sends whole objects, of which all else is skipped.
///
/// ```
/// use informer_wire::{DecodeOptions, PartialObjectMetadata, Resource, WireFormat, decode_object};
///
/// let json = br#"{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a"}}"#;
/// let options = DecodeOptions::default().resource(Resource::builtin("pods").unwrap());
/// let pod: PartialObjectMetadata = decode_object(WireFormat::Json, json, &options)?;
/// assert_eq!(pod.metadata().name(), "a");
/// assert_eq!(pod.kind(), "Pod");
/// # Ok::<(), informer_wire::DecodeError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[doc(alias = "Metadata")]
#[doc(alias = "metadata.Interface")]
pub struct PartialObjectMetadata {
    metadata: ObjectMeta,
    types: Arc<TypeMeta>,
}

impl PartialObjectMetadata {
    /// Returns the object's metadata.
    #[must_use]
    pub const fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    /// Returns the group and version of the object itself, such as `apps/v1`; empty if neither the request nor the
    /// server has them.
    #[must_use]
    pub fn api_version(&self) -> &str {
        &self.types.api_version
    }

    /// Returns the kind of the object itself; empty if neither the request nor the server has it.
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.types.kind
    }
}

impl FromWire for PartialObjectMetadata {
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

impl Object for PartialObjectMetadata {
    type Metadata = ObjectMeta;

    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn restore_version(&mut self, version: &ObjectVersion) -> bool {
        self.metadata.restore_version(version)
    }
}
