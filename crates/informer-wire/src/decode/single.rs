//! Decodes an answer that is one object.

use super::format::WireFormat;
use super::from_wire::FromWire;
use super::object::{Context, Types};
use super::options::DecodeOptions;
use super::outline::Outline;
use crate::error::DecodeError;
use crate::protobuf::{self, Envelope};

const WHAT: &str = "object";

/// Decodes the whole body of an answer that is one object, such as that of a get, create or patch. The object need not
/// have a name: reviews and other objects that no server stores have none.
///
/// # Errors
/// When the bytes are no object of this type. A `Status` in its place gives [`DecodeError::Status`].
pub fn decode_object<K: FromWire>(
    format: WireFormat,
    body: &[u8],
    options: &DecodeOptions,
) -> Result<K, DecodeError> {
    let limit = options.limits.object_bytes;
    if body.len() > limit {
        return Err(DecodeError::TooLarge {
            what: WHAT,
            limit: limit as u64,
        });
    }
    let outline = match format {
        WireFormat::Json => Outline::json(WHAT, body)?,
        WireFormat::Protobuf => {
            let envelope = Envelope::read(body).map_err(|fault| {
                DecodeError::malformed(WHAT, format!("{fault}, in its envelope"))
            })?;
            if envelope.kind == "Status" && !envelope.is_json() {
                return Err(protobuf::status_error(WHAT, envelope.raw));
            }
            Outline::answer(WHAT, &envelope)?
        }
    };
    if !outline.is_named() {
        match unnamed(WHAT, &outline) {
            DecodeError::Unnamed { .. } => {}
            error => return Err(error),
        }
    }
    Context::new(options.clone()).read(&outline, Types::default())
}

/// Returns the error of an object without a name: an error of the server, a table, or an object without a name.
pub(super) fn unnamed(what: &'static str, outline: &Outline<'_>) -> DecodeError {
    match (outline.kind(), outline) {
        (Some("Status"), Outline::Json(outline)) => match serde_json::from_slice(outline.text) {
            Ok(status) => DecodeError::Status(Box::new(status)),
            Err(_) => DecodeError::malformed(what, "unreadable Status"),
        },
        (Some("Status"), Outline::Protobuf { outline, .. }) => {
            protobuf::status_error(what, outline.bytes())
        }
        (Some("Table"), _) if outline.is_of_meta() => DecodeError::UnexpectedKind {
            expected: "an object",
            kind: "Table".to_owned(),
        },
        _ => DecodeError::Unnamed { what },
    }
}
