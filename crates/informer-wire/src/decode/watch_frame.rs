//! One event of a watch, cut into its type and its object.

use std::borrow::Cow;
use std::ops::Range;

use super::outline::Outline;
use super::watch::MAX_TYPE;
use crate::error::DecodeError;
use crate::json::{Cursor, Frame, Syntax, text_of};
use crate::protobuf::{self, Envelope, Fault};
use crate::status::Status;

const WHAT: &str = "watch event";

/// One event.
#[derive(Debug)]
pub(super) struct Event<'a> {
    pub(super) event_type: Cow<'a, str>,
    pub(super) object: Body<'a>,
}

/// The received object of an event.
#[derive(Debug)]
pub(super) enum Body<'a> {
    None,
    Json(&'a [u8]),
    Protobuf(Envelope<'a>),
}

impl<'a> Event<'a> {
    /// An error that a server wrote itself instead of an event that holds it.
    const fn error(object: Body<'a>) -> Self {
        let event_type = Cow::Borrowed("ERROR");
        Self { event_type, object }
    }

    /// Cuts a JSON event.
    pub(super) fn of_json(frame: Frame<'a>) -> Result<Self, DecodeError> {
        if let Some((event_type, object)) = frame.event {
            return Ok(Self {
                event_type: String::from_utf8_lossy(event_type),
                object: Body::Json(object),
            });
        }
        let frame = frame.bytes;
        let parts = parts(frame).map_err(|Syntax { at }| {
            DecodeError::malformed(WHAT, format!("no valid JSON object at byte {at}"))
        })?;
        let text = |range: Option<Range<usize>>| range.and_then(|range| text_of(&frame[range]));
        let Some(event_type) = text(parts.event_type) else {
            return match text(parts.kind).as_deref() {
                Some("Status") => Ok(Self::error(Body::Json(frame))),
                _ => Err(DecodeError::malformed(WHAT, "no type")),
            };
        };
        let object = match parts.object.map(|range| &frame[range]) {
            None | Some(b"null") => Body::None,
            Some(text) => Body::Json(text),
        };
        Ok(Self { event_type, object })
    }

    /// Cuts an event in protobuf.
    pub(super) fn of_protobuf(frame: &'a [u8]) -> Result<Self, DecodeError> {
        let malformed = |fault: Fault| DecodeError::malformed(WHAT, fault.to_string());
        let mut bytes = frame;
        if frame.starts_with(protobuf::MAGIC) {
            let envelope = Envelope::read(frame).map_err(malformed)?;
            match envelope.kind {
                "Status" => return Ok(Self::error(Body::Protobuf(envelope))),
                "WatchEvent" => bytes = envelope.raw,
                _ => return Err(DecodeError::malformed(WHAT, "unexpected kind")),
            }
        }
        let (event_type, raw) = protobuf::watch_event(bytes).map_err(malformed)?;
        if event_type.is_empty() {
            return Err(DecodeError::malformed(WHAT, "no type"));
        }
        let object = match raw {
            b"" => Body::None,
            text if text.starts_with(b"{") => Body::Json(text),
            raw => Body::Protobuf(Envelope::read(raw).map_err(malformed)?),
        };
        let event_type = protobuf::text(event_type);
        Ok(Self { event_type, object })
    }
}

/// The places of an event's parts in its frame.
#[derive(Default)]
struct Parts {
    event_type: Option<Range<usize>>,
    object: Option<Range<usize>>,
    kind: Option<Range<usize>>,
}

fn parts(frame: &[u8]) -> Result<Parts, Syntax> {
    let mut parts = Parts::default();
    let mut cursor = Cursor::new(frame);
    let mut walk = cursor.open_object()?;
    while let Some(key) = cursor.next_key(&mut walk)? {
        let from = cursor.at();
        cursor.skip_value()?;
        let value = Some(from..cursor.at());
        match &*key.name() {
            b"type" => parts.event_type = value,
            b"object" => parts.object = value,
            b"kind" => parts.kind = value,
            _ => {}
        }
    }
    cursor.end()?;
    Ok(parts)
}

impl Body<'_> {
    /// Returns the error that an ERROR event has. An object that is no `Status` becomes one, so that no error is lost.
    pub(super) fn status(&self) -> Status {
        let (kind, status) = match self {
            Body::None => (None, None),
            Body::Protobuf(envelope) if !envelope.is_json() => (
                Some(envelope.kind.to_owned()),
                protobuf::status(envelope.raw),
            ),
            Body::Protobuf(Envelope { raw: text, .. }) | Body::Json(text) => {
                let outline = Outline::json("error", text).ok();
                let kind = outline.and_then(|outline| outline.kind().map(str::to_owned));
                (kind, serde_json::from_slice::<Status>(text).ok())
            }
        };
        let kind = kind.filter(|kind| !kind.is_empty() && kind != "Status");
        let says = |status: &Status| {
            status.code != 0 || !status.reason.is_empty() || !status.message.is_empty()
        };
        let status = status.filter(|status| kind.is_none() && says(status));
        status.unwrap_or_else(|| {
            let kind = kind.map(|kind| kind.chars().take(MAX_TYPE).collect());
            let what = kind.unwrap_or_else(|| "something unreadable".to_owned());
            Status::failure(
                500,
                "InternalError",
                format!("the watch ended with {what} in place of a Status"),
            )
        })
    }
}
