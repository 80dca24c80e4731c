//! The `apiVersion` and `kind` that objects of one list share.

use std::sync::Arc;

use crate::decode::WireFormat;
use crate::protobuf::Message;

/// The type of an object, and its meaning for decoding together with the format.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct TypeMeta {
    pub(crate) api_version: Box<str>,
    pub(crate) kind: Box<str>,
    pub(crate) format: WireFormat,
    /// Of an object in protobuf, the message that it is; `None` if the table does not have it.
    pub(crate) message: Option<Message>,
}

/// Gives equal types the same allocation, as long as they follow each other.
#[derive(Debug, Default)]
pub(crate) struct TypeCache(Option<Arc<TypeMeta>>);

impl TypeCache {
    pub(crate) fn get(
        &mut self,
        api_version: &str,
        kind: &str,
        format: WireFormat,
    ) -> Arc<TypeMeta> {
        match &self.0 {
            Some(last)
                if &*last.api_version == api_version
                    && &*last.kind == kind
                    && last.format == format =>
            {
                last.clone()
            }
            _ => {
                let message = match format {
                    WireFormat::Protobuf => Message::of_kind(api_version, kind),
                    WireFormat::Json => None,
                };
                let types = TypeMeta {
                    api_version: api_version.into(),
                    kind: kind.into(),
                    format,
                    message,
                };
                self.0.insert(Arc::new(types)).clone()
            }
        }
    }
}
