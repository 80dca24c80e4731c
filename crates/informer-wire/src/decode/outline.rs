//! The outline of an object in either format.

use std::borrow::Cow;

use informer_store::{ObjectKey, ObjectVersion, ResourceVersion};

use super::dropped::Keys;
use super::format::WireFormat;
use crate::error::DecodeError;
use crate::protobuf::{Envelope, Message};
use crate::{json, protobuf};

/// The identity of a received object, and the places of its parts.
#[derive(Debug)]
pub(crate) enum Outline<'a> {
    Json(json::Outline<'a>),
    Protobuf {
        outline: protobuf::Outline<'a>,
        /// The type in its envelope; empty if it has none.
        api_version: &'a str,
        kind: &'a str,
    },
}

impl<'a> Outline<'a> {
    /// Reads the outline of a whole JSON text.
    pub(crate) fn json(what: &'static str, text: &'a [u8]) -> Result<Self, DecodeError> {
        json::Outline::read(what, text).map(Self::Json)
    }

    /// Reads the outline of an object in protobuf without a type.
    pub(crate) fn protobuf(what: &'static str, bytes: &'a [u8]) -> Result<Self, DecodeError> {
        Self::typed(what, bytes, "", "")
    }

    /// Reads the outline of an object in an envelope.
    pub(crate) fn enveloped(
        what: &'static str,
        envelope: &Envelope<'a>,
    ) -> Result<Self, DecodeError> {
        if envelope.is_json() {
            return Self::json(what, envelope.raw);
        }
        Self::typed(what, envelope.raw, envelope.api_version, envelope.kind)
    }

    /// Reads the outline of an object that is a whole answer, which may be of a kind without metadata.
    pub(crate) fn answer(what: &'static str, envelope: &Envelope<'a>) -> Result<Self, DecodeError> {
        if envelope.is_json() {
            return Self::json(what, envelope.raw);
        }
        let message = Message::of_kind(envelope.api_version, envelope.kind);
        Self::of_message(
            what,
            message,
            envelope.raw,
            envelope.api_version,
            envelope.kind,
        )
    }

    /// Reads the outline of a message, which may be of a kind without metadata.
    fn of_message(
        what: &'static str,
        message: Option<Message>,
        bytes: &'a [u8],
        api_version: &'a str,
        kind: &'a str,
    ) -> Result<Self, DecodeError> {
        if message.is_none_or(Message::has_metadata) {
            return Self::typed(what, bytes, api_version, kind);
        }
        Ok(Self::Protobuf {
            outline: protobuf::Outline::without_metadata(bytes),
            api_version,
            kind,
        })
    }

    fn typed(
        what: &'static str,
        bytes: &'a [u8],
        api_version: &'a str,
        kind: &'a str,
    ) -> Result<Self, DecodeError> {
        Ok(Self::Protobuf {
            outline: protobuf::Outline::read(what, bytes)?,
            api_version,
            kind,
        })
    }

    /// The outline of the object without what is to be dropped, whose bytes are written to `out`.
    pub(super) fn pruned<'b>(
        &'b self,
        what: &'static str,
        message: Option<Message>,
        keys: &Keys,
        out: &'b mut Vec<u8>,
    ) -> Result<Outline<'b>, DecodeError> {
        // Of a kind that the table does not have, the metadata is known all the same.
        let metadata = || Message::of_kind("meta.k8s.io/v1", "PartialObjectMetadata");
        let message = message.or_else(metadata);
        match self {
            Self::Json(outline) => {
                json::prune(outline.text, message, keys.within(), out).map_err(
                    |json::Syntax { at }| {
                        DecodeError::malformed(what, format!("no valid JSON at byte {at}"))
                    },
                )?;
                Outline::json(what, out)
            }
            Self::Protobuf {
                outline,
                api_version,
                kind,
            } => {
                let Some(message) = message else {
                    return Outline::typed(what, outline.bytes(), api_version, kind);
                };
                protobuf::prune(message, outline.bytes(), keys.within(), out)
                    .map_err(|fault| DecodeError::malformed(what, fault.to_string()))?;
                Outline::of_message(what, Some(message), out, api_version, kind)
            }
        }
    }

    pub(crate) const fn format(&self) -> WireFormat {
        match self {
            Self::Json(_) => WireFormat::Json,
            Self::Protobuf { .. } => WireFormat::Protobuf,
        }
    }

    pub(crate) fn api_version(&self) -> Option<&str> {
        match self {
            Self::Json(outline) => outline.api_version.as_deref(),
            Self::Protobuf { api_version, .. } => Some(*api_version).filter(|v| !v.is_empty()),
        }
    }

    pub(crate) fn kind(&self) -> Option<&str> {
        match self {
            Self::Json(outline) => outline.kind.as_deref(),
            Self::Protobuf { kind, .. } => Some(*kind).filter(|kind| !kind.is_empty()),
        }
    }

    /// Returns `true` if the object is in a form that any kind has, such as its metadata alone or a table.
    pub(crate) fn is_of_meta(&self) -> bool {
        let version = self.api_version();
        version.is_some_and(|version| version.starts_with("meta.k8s.io/"))
    }

    fn names(&self) -> (Cow<'_, str>, Cow<'_, str>) {
        match self {
            Self::Json(outline) => (outline.namespace().into(), outline.name().into()),
            Self::Protobuf { outline, .. } => (outline.namespace(), outline.name()),
        }
    }

    /// The object's key; `None` if it has no name, or one that can be no object's: none can have a slash in it.
    pub(crate) fn key(&self) -> Option<ObjectKey> {
        let (namespace, name) = self.names();
        is_name(&namespace, &name).then(|| ObjectKey::namespaced(&namespace, &name))
    }

    /// True if the object has a key.
    pub(crate) fn is_named(&self) -> bool {
        let (namespace, name) = self.names();
        is_name(&namespace, &name)
    }

    /// Returns the object's UID and resource version.
    pub(crate) fn version(&self) -> ObjectVersion {
        match self {
            Self::Json(outline) => outline.version(),
            Self::Protobuf { outline, .. } => {
                ObjectVersion::new(outline.uid.clone(), outline.resource_version.clone())
            }
        }
    }

    pub(crate) const fn resource_version(&self) -> Option<&ResourceVersion> {
        match self {
            Self::Json(outline) => outline.resource_version(),
            Self::Protobuf { outline, .. } => outline.resource_version.as_ref(),
        }
    }

    /// Returns `true` for the bookmark that ends the initial events of a streaming list.
    pub(crate) const fn ends_initial_events(&self) -> bool {
        match self {
            Self::Json(outline) => outline.initial_events_end,
            Self::Protobuf { outline, .. } => outline.initial_events_end,
        }
    }
}

fn is_name(namespace: &str, name: &str) -> bool {
    !name.is_empty() && !name.contains('/') && !namespace.contains('/')
}
