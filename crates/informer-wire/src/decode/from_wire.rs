//! The trait of everything that can be decoded from the answers of an API server.

use serde::de::DeserializeOwned;

use super::accept::ObjectForm;
use super::object::WireObject;
use crate::error::DecodeError;

/// A type that can be decoded from the answers of an API server.
///
/// Every type that serde can read is: k8s-openapi's types, custom resources, a struct with the few fields that you
/// need. The types of this crate decode more cleverly and implement it themselves, and therefore never `Deserialize`.
///
/// ```
/// use informer_wire::{DecodeOptions, ObjectMeta, WireFormat, decode_object};
///
/// #[derive(serde::Deserialize)]
/// struct Pod { metadata: ObjectMeta, spec: Spec }
///
/// #[derive(serde::Deserialize)]
/// #[serde(rename_all = "camelCase")]
/// struct Spec { node_name: Option<String> }
///
/// let json = br#"{"metadata":{"name":"a"},"spec":{"nodeName":"n","containers":[]}}"#;
/// let pod: Pod = decode_object(WireFormat::Json, json, &DecodeOptions::default())?;
/// assert_eq!(pod.metadata.name(), "a");
/// assert_eq!(pod.spec.node_name.as_deref(), Some("n"));
/// # Ok::<(), informer_wire::DecodeError>(())
/// ```
pub trait FromWire: Sized + Send + Sync + 'static {
    /// Returns the form of objects that this type is decoded from.
    #[must_use]
    fn form() -> ObjectForm {
        ObjectForm::Whole
    }

    /// Reads one object.
    ///
    /// # Errors
    /// When the object is not of this type's shape.
    fn from_wire(object: WireObject<'_>) -> Result<Self, DecodeError>;
}

impl<T> FromWire for T
where
    T: DeserializeOwned + Send + Sync + 'static,
{
    fn from_wire(object: WireObject<'_>) -> Result<Self, DecodeError> {
        object.deserialize()
    }
}
