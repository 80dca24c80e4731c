//! What is asked of a server: the form of objects, in the formats that can be read.

use super::format::{ReadVerb, WireFormat};

/// Which form of objects a type is read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum ObjectForm {
    /// Whole objects.
    #[default]
    Whole,
    /// Their metadata alone, as `PartialObjectMetadata`. A server that cannot send it sends whole objects.
    #[doc(alias = "PartialObjectMetadata")]
    Metadata,
}

impl ObjectForm {
    /// The value of the `Accept` header that asks for this form in these formats, the first one preferred.
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
