//! What a request asks for: the form of objects, and the formats.

use super::format::{ReadVerb, WireFormat};
use crate::resource::Resource;

/// The form of objects that a type is decoded from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum ObjectForm {
    /// Whole objects.
    #[default]
    Whole,
    /// Their metadata alone, as `PartialObjectMetadata`. A server without this form sends whole objects.
    #[doc(alias = "PartialObjectMetadata")]
    Metadata,
}

impl ObjectForm {
    /// Returns `true` if this form can be decoded from the protobuf that servers write of this resource. Metadata alone
    /// always can: its message is the same for all kinds.
    ///
    /// ```
    /// use informer_wire::{ObjectForm, Resource, Scope};
    ///
    /// let widgets = Resource::new("demo.example", "v1", "Widget", "widgets", Scope::Namespaced);
    /// assert!(!ObjectForm::Whole.has_protobuf(&widgets));
    /// assert!(ObjectForm::Metadata.has_protobuf(&widgets));
    /// ```
    #[must_use]
    pub fn has_protobuf(self, resource: &Resource) -> bool {
        self == Self::Metadata || resource.has_protobuf()
    }

    /// Returns the value of the `Accept` header that asks for this form in these formats, the first one preferred.
    ///
    /// ```
    /// use informer_wire::{ObjectForm, ReadVerb, WireFormat};
    ///
    /// let accept = ObjectForm::Metadata.accept(ReadVerb::Watch, &[WireFormat::Json]);
    /// assert_eq!(accept, "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json");
    /// ```
    #[must_use]
    pub fn accept(self, verb: ReadVerb, formats: &[WireFormat]) -> String {
        let mut clauses = Vec::with_capacity(2 * formats.len());
        if self == Self::Metadata {
            let kind = match verb {
                ReadVerb::List => "PartialObjectMetadataList",
                ReadVerb::Get | ReadVerb::Watch => "PartialObjectMetadata",
            };
            let partial = |format: &WireFormat| {
                format!("{};as={kind};g=meta.k8s.io;v=v1", format.media_type())
            };
            clauses.extend(formats.iter().map(partial));
        }
        clauses.extend(formats.iter().map(|format| format.media_type().to_owned()));
        clauses.join(",")
    }
}
