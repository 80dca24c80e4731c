//! Decodes a watch event by event as it arrives.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use super::format::WireFormat;
use super::from_wire::FromWire;
use super::object::{Context, Types};
use super::options::{DecodeOptions, KnownFn};
use super::single::unnamed;
use crate::error::DecodeError;
use crate::event::WatchEvent;
use crate::json::{Cursor, FrameSplitter, Outline, StreamEnd, text_of};
use crate::status::Status;

const WHAT: &str = "watch event";
/// How much of an unknown event type is told.
const MAX_TYPE: usize = 64;

/// Decodes the events of one watch as their bytes arrive.
///
/// Push the body's bytes in, take the events out after each push, and ask [`finish`](Self::finish) when the body has
/// ended: an event that broke off is thrown away.
///
/// ```
/// use informer_wire::{DecodeOptions, Decoded, WatchDecoder, WatchEvent, WireFormat};
/// use serde_json::Value;
///
/// let mut decoder = WatchDecoder::<Value>::new(WireFormat::Json, DecodeOptions::default());
/// decoder.push(br#"{"type":"ADDED","object":{"metadata":{"name":"a"}}}{"type":"BOOK"#);
/// let Some(WatchEvent::Added(Decoded::Object(pod))) = decoder.next().transpose()? else { panic!() };
/// assert_eq!(pod["metadata"]["name"], "a");
/// decoder.push(br#"MARK","object":{"metadata":{"resourceVersion":"9"}}}"#);
/// let Some(WatchEvent::Bookmark { resource_version, .. }) = decoder.next().transpose()? else { panic!() };
/// assert_eq!(resource_version, "9".into());
/// assert!(decoder.next().is_none());
/// # Ok::<(), informer_wire::DecodeError>(())
/// ```
pub struct WatchDecoder<K> {
    splitter: FrameSplitter,
    context: Context,
    known: Option<Arc<KnownFn>>,
    object: PhantomData<fn() -> K>,
}

impl<K: FromWire> WatchDecoder<K> {
    /// A decoder at the beginning of a body in this format.
    #[must_use]
    pub fn new(format: WireFormat, options: DecodeOptions) -> Self {
        let splitter = match format {
            WireFormat::Json => FrameSplitter::new(options.limits),
        };
        Self {
            splitter,
            context: Context::new(options),
            known: None,
            object: PhantomData,
        }
    }

    /// Says which copies are known already: an added or modified object equal to one in UID and resource version
    /// comes out as [`Decoded::Unchanged`](crate::Decoded::Unchanged), and its body is not decoded.
    #[must_use]
    pub fn known(mut self, known: Arc<KnownFn>) -> Self {
        self.known = Some(known);
        self
    }

    /// Takes in the next bytes of the body. Take all events out before pushing more, or their bytes pile up.
    pub fn push(&mut self, bytes: &[u8]) {
        self.splitter.push(bytes);
    }

    /// The next event; `None` if none has fully arrived.
    ///
    /// An object that cannot be decoded comes out as [`Decoded::SetAside`](crate::Decoded::SetAside) within its
    /// event. An error means that a change may have been missed: give the watch up and list again.
    #[expect(
        clippy::should_implement_trait,
        reason = "None means that bytes are missing, not the end"
    )]
    pub fn next(&mut self) -> Option<Result<WatchEvent<K>, DecodeError>> {
        let frame = match self.splitter.next_frame()? {
            Ok(frame) => frame,
            Err(error) => return Some(Err(error)),
        };
        Some(decode(frame, &mut self.context, self.known.as_deref()))
    }

    /// Says how the body ended: cleanly, or within an event, which is thrown away.
    #[must_use]
    pub fn finish(self) -> StreamEnd {
        self.splitter.finish()
    }
}

impl<K> std::fmt::Debug for WatchDecoder<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WatchDecoder")
            .field("splitter", &self.splitter)
            .field("known", &self.known.is_some())
            .finish_non_exhaustive()
    }
}

/// The parts of an event, where they stand in its frame.
#[derive(Default)]
struct Parts {
    event_type: Option<Range<usize>>,
    object: Option<Range<usize>>,
    kind: Option<Range<usize>>,
}

fn parts(frame: &[u8]) -> Result<Parts, DecodeError> {
    let read = || {
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
    };
    read().map_err(|error: crate::json::Syntax| {
        DecodeError::malformed(
            WHAT,
            format!("no valid JSON object at its byte {}", error.at),
        )
    })
}

fn decode<K: FromWire>(
    frame: &[u8],
    context: &mut Context,
    known: Option<&KnownFn>,
) -> Result<WatchEvent<K>, DecodeError> {
    let parts = parts(frame)?;
    let Some(event_type) = parts.event_type.and_then(|range| text_of(&frame[range])) else {
        // Some servers write the error itself instead of an event that holds it.
        return match parts
            .kind
            .and_then(|range| text_of(&frame[range]))
            .as_deref()
        {
            Some("Status") => Ok(WatchEvent::Error(status_of(frame))),
            _ => Err(DecodeError::malformed(WHAT, "it has no type")),
        };
    };
    let object = parts.object.map_or(&b"null"[..], |range| &frame[range]);
    match &*event_type {
        "ADDED" | "MODIFIED" | "DELETED" => {}
        "BOOKMARK" => return bookmark(object),
        "ERROR" => return Ok(WatchEvent::Error(status_of(object))),
        other => return Ok(WatchEvent::Unknown(other.chars().take(MAX_TYPE).collect())),
    }
    if object == b"null" {
        return Err(DecodeError::Unnamed {
            what: "object of a watch event",
        });
    }
    let outline = Outline::read_cut_out("object of a watch event", object)?;
    if !outline.is_named() {
        return Err(unnamed("object of a watch event", &outline));
    }
    let mut decode = |known| context.decode(&outline, Types::default(), known);
    Ok(match &*event_type {
        "ADDED" => WatchEvent::Added(decode(known)),
        "MODIFIED" => WatchEvent::Modified(decode(known)),
        // The end of an object is news, whatever is known of it.
        _ => WatchEvent::Deleted(decode(None)),
    })
}

/// Reads the metadata of a bookmark alone: the rest is an empty shell of the kind that its type may refuse.
fn bookmark<K>(object: &[u8]) -> Result<WatchEvent<K>, DecodeError> {
    let outline = Outline::read("bookmark", object)?;
    let Some(resource_version) = outline.resource_version().cloned() else {
        return Err(DecodeError::malformed(
            "bookmark",
            "it has no metadata.resourceVersion",
        ));
    };
    Ok(WatchEvent::Bookmark {
        resource_version,
        initial_events_end: outline.initial_events_end,
    })
}

/// The error that an ERROR event holds. What is no `Status` becomes one, so that no error is lost.
fn status_of(object: &[u8]) -> Status {
    let kind = Outline::read("error", object).ok().and_then(|outline| {
        let kind = outline
            .kind
            .as_deref()
            .map(|kind| kind.chars().take(MAX_TYPE).collect());
        kind.filter(|kind: &String| kind != "Status")
    });
    let status = serde_json::from_slice::<Status>(object)
        .ok()
        .filter(|status| {
            kind.is_none()
                && (status.code != 0 || !status.reason.is_empty() || !status.message.is_empty())
        });
    status.unwrap_or_else(|| {
        let what = kind.unwrap_or_else(|| "something unreadable".to_owned());
        Status::failure(
            500,
            "InternalError",
            format!("the watch ended with {what} in place of a Status"),
        )
    })
}
