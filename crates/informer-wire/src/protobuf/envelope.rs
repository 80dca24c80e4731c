//! The envelope of an object: magic bytes, its type, and its bytes (`runtime.Unknown`).

use super::fault::Fault;
use super::node::{MAGIC, first_bytes};
use super::reader::{Payload, Reader};

/// An enveloped object.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Envelope<'a> {
    pub(crate) api_version: &'a str,
    pub(crate) kind: &'a str,
    /// The object, in protobuf unless [`is_json`](Self::is_json).
    pub(crate) raw: &'a [u8],
    content_type: &'a [u8],
}

impl<'a> Envelope<'a> {
    /// Opens an envelope.
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self, Fault> {
        let mut reader = Reader(bytes.strip_prefix(MAGIC).ok_or(Fault::Malformed)?);
        let mut envelope = Self::default();
        let mut raw = None;
        while let Some((no, payload)) = reader.field()? {
            match (no, payload) {
                (1, Payload::Bytes(types)) => {
                    (envelope.api_version, envelope.kind) = type_meta(types)?;
                }
                (2, Payload::Bytes(bytes)) => raw = Some(bytes),
                // A content encoding, as gzip. None was ever used.
                (3, Payload::Bytes(encoding)) if !encoding.is_empty() => {
                    return Err(Fault::Encoding);
                }
                (3, Payload::Bytes(_)) => {}
                (4, Payload::Bytes(content_type)) => envelope.content_type = content_type,
                (1..=4, _) => return Err(Fault::Encoding),
                _ => {}
            }
        }
        envelope.raw = raw.ok_or(Fault::Short)?;
        Ok(envelope)
    }

    pub(crate) fn is_json(&self) -> bool {
        self.content_type.starts_with(b"application/json")
    }
}

/// The type of a `WatchEvent` and the bytes of its object, which may be missing.
pub(crate) fn watch_event(bytes: &[u8]) -> Result<(&[u8], &[u8]), Fault> {
    let mut event = (&b""[..], &b""[..]);
    let mut reader = Reader(bytes);
    while let Some((no, payload)) = reader.field()? {
        match (no, payload) {
            (1, Payload::Bytes(event_type)) => event.0 = event_type,
            (2, Payload::Bytes(extension)) => {
                event.1 = first_bytes(extension)?.unwrap_or_default();
            }
            (1 | 2, _) => return Err(Fault::Encoding),
            _ => {}
        }
    }
    Ok(event)
}

/// The `apiVersion` and `kind` of a `TypeMeta`.
pub(crate) fn type_meta(bytes: &[u8]) -> Result<(&str, &str), Fault> {
    let mut reader = Reader(bytes);
    let mut types = ("", "");
    while let Some((no, payload)) = reader.field()? {
        let text = |payload| match payload {
            Payload::Bytes(bytes) => std::str::from_utf8(bytes).map_err(|_| Fault::Malformed),
            _ => Err(Fault::Encoding),
        };
        match no {
            1 => types.0 = text(payload)?,
            2 => types.1 = text(payload)?,
            _ => {}
        }
    }
    Ok(types)
}
