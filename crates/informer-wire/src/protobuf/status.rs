//! A server's errors in protobuf.

use super::envelope::Envelope;
use super::node::MAGIC;
use super::object::ObjectBytes;
use super::table::Message;
use crate::error::DecodeError;
use crate::limits::Limits;
use crate::status::Status;

/// Reads the bytes of a `Status`.
pub(crate) fn status(bytes: &[u8]) -> Option<Status> {
    let object = ObjectBytes {
        message: Message::of_kind("v1", "Status"),
        bytes,
        api_version: "",
        kind: "",
        keep_managed_fields: false,
        with_metadata: true,
        limits: Limits::default(),
    };
    object.deserialize("status").ok()
}

/// The `Status` in an envelope, if it is one.
pub(crate) fn enveloped_status(bytes: &[u8]) -> Option<Status> {
    let envelope = Envelope::read(bytes).ok()?;
    match envelope.kind {
        "Status" if envelope.is_json() => serde_json::from_slice(envelope.raw).ok(),
        "Status" => status(envelope.raw),
        _ => None,
    }
}

/// Makes the error of a `Status` in place of something else.
pub(crate) fn error(what: &'static str, bytes: &[u8]) -> DecodeError {
    match status(bytes) {
        Some(status) => DecodeError::Status(Box::new(status)),
        None => DecodeError::malformed(what, "unreadable Status"),
    }
}

/// The `Status` that a server wrote at the end of these bytes, in protobuf or in JSON.
pub(super) fn written_status(tail: &[u8]) -> Option<Status> {
    let starts = (0..tail.len())
        .rev()
        .filter(|&at| tail[at..].starts_with(MAGIC));
    let found = starts
        .map(|at| enveloped_status(&tail[at..]))
        .find_map(|status| status);
    found.or_else(|| crate::json::written_status(tail))
}
