//! Decodes a watch event by event.

use std::marker::PhantomData;
use std::sync::Arc;

use informer_store::{Object, ObjectVersion};

use super::format::WireFormat;
use super::from_wire::FromWire;
use super::object::{Context, Types, undecodable};
use super::options::{DecodeOptions, NewestFn, Stored, stored};
use super::outline::Outline;
use super::single::unnamed;
use super::watch_frame::{Body, Event};
use crate::error::DecodeError;
use crate::event::{Decoded, Undecodable, WatchEvent};
use crate::json::{self, StreamEnd};
use crate::protobuf;

/// The most characters of an unknown event type that are kept.
pub(super) const MAX_TYPE: usize = 64;

/// Decodes the events of one watch from its bytes in pieces.
///
/// Push the body's bytes, take all events after each push, and call [`finish`](Self::finish) at the end of the body: an
/// event that broke off is discarded.
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
    splitter: Splitter,
    context: Context,
    stored: Option<Stored<K>>,
    object: PhantomData<fn() -> K>,
}

impl<K: FromWire> WatchDecoder<K> {
    /// Makes a decoder of a body in this format.
    #[must_use]
    pub fn new(format: WireFormat, options: DecodeOptions) -> Self {
        let splitter = match format {
            WireFormat::Json => Splitter::Json(json::FrameSplitter::new(options.limits)),
            WireFormat::Protobuf => {
                Splitter::Protobuf(protobuf::FrameSplitter::new(options.limits))
            }
        };
        Self {
            splitter,
            context: Context::new(options),
            stored: None,
            object: PhantomData,
        }
    }

    /// Sets where to look up the newest object of a key: among the initial events of a streaming list, an added or
    /// modified object with its UID and resource version is not decoded, and becomes [`Decoded::Unchanged`]. Behind the
    /// bookmark that ends the initial events every object is decoded.
    #[must_use]
    pub fn newest(mut self, newest: Arc<NewestFn<K>>) -> Self
    where
        K: Object,
    {
        self.stored = Some(stored(newest));
        self
    }

    /// Adds bytes of the body. Take all events before pushing more, or their bytes pile up.
    pub fn push(&mut self, bytes: &[u8]) {
        match &mut self.splitter {
            Splitter::Json(splitter) => splitter.push(bytes),
            Splitter::Protobuf(splitter) => splitter.push(bytes),
        }
    }

    /// Returns the next event; `None` if it has not been received yet.
    ///
    /// An object that cannot be decoded becomes [`Decoded::Undecodable`]. One without a key may be any object: list again,
    /// as no later event makes up for it. After an error, too, events may be missing.
    #[expect(
        clippy::should_implement_trait,
        reason = "None means that bytes are missing, not the end"
    )]
    pub fn next(&mut self) -> Option<Result<WatchEvent<K>, DecodeError>> {
        let event = match &mut self.splitter {
            Splitter::Json(splitter) => splitter.next_event()?.and_then(Event::of_json),
            Splitter::Protobuf(splitter) => splitter.next_frame()?.and_then(Event::of_protobuf),
        };
        let event = event.and_then(|event| decode(event, &mut self.context, self.stored.as_ref()));
        if let Ok(WatchEvent::Bookmark {
            initial_events_end: true,
            ..
        }) = event
        {
            self.stored = None;
        }
        Some(event)
    }

    /// Returns how the body ended: between two events, or within one, which is discarded.
    #[must_use]
    pub fn finish(self) -> StreamEnd {
        match &self.splitter {
            Splitter::Json(splitter) => splitter.finish(),
            Splitter::Protobuf(splitter) => splitter.finish(),
        }
    }
}

impl<K> std::fmt::Debug for WatchDecoder<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WatchDecoder")
            .field("splitter", &self.splitter)
            .field("newest", &self.stored.is_some())
            .finish_non_exhaustive()
    }
}

/// Cuts the events out.
#[derive(Debug)]
enum Splitter {
    Json(json::FrameSplitter),
    Protobuf(protobuf::FrameSplitter),
}

fn decode<K: FromWire>(
    event: Event<'_>,
    context: &mut Context,
    stored: Option<&Stored<K>>,
) -> Result<WatchEvent<K>, DecodeError> {
    let wrap = match &*event.event_type {
        "ADDED" => WatchEvent::Added,
        "MODIFIED" => WatchEvent::Modified,
        "DELETED" => WatchEvent::Deleted,
        "BOOKMARK" => return bookmark(&event.object),
        "ERROR" => return Ok(WatchEvent::Error(event.object.status())),
        other => return Ok(WatchEvent::Unknown(other.chars().take(MAX_TYPE).collect())),
    };
    // A deletion counts whatever the newest object is.
    let stored = stored.filter(|_| event.event_type != "DELETED");
    object(&event.object, context, stored).map(wrap)
}

/// Decodes the object of an event.
fn object<K: FromWire>(
    object: &Body<'_>,
    context: &mut Context,
    stored: Option<&Stored<K>>,
) -> Result<Decoded<K>, DecodeError> {
    const WHAT: &str = "object of a watch event";
    let outline = match object {
        Body::None => Err(DecodeError::Unnamed { what: WHAT }),
        Body::Json(text) => json::Outline::read_cut_out(WHAT, text).map(Outline::Json),
        Body::Protobuf(envelope) if envelope.is_json() => Outline::enveloped(WHAT, envelope),
        // Bytes that are no protobuf say that the format is not understood, not that an object has no name.
        Body::Protobuf(envelope) => Ok(Outline::enveloped(WHAT, envelope)?),
    };
    let outline = match outline {
        Ok(outline) => outline,
        Err(error) => {
            let undecodable = Undecodable::new(None, ObjectVersion::new(None, None), error);
            return Ok(Decoded::Undecodable(undecodable));
        }
    };
    if outline.is_named() {
        return Ok(context.decode(&outline, Types::default(), stored));
    }
    match unnamed(WHAT, &outline) {
        error @ DecodeError::Status(_) => Err(error),
        error => Ok(undecodable(None, &outline, error)),
    }
}

/// Reads the metadata of a bookmark alone: the rest is an empty shell of the kind that its type may refuse.
fn bookmark<K>(object: &Body<'_>) -> Result<WatchEvent<K>, DecodeError> {
    const WHAT: &str = "bookmark";
    let outline = match object {
        Body::None => Outline::json(WHAT, b"{}")?,
        Body::Json(text) => Outline::json(WHAT, text)?,
        Body::Protobuf(envelope) => Outline::enveloped(WHAT, envelope)?,
    };
    let Some(resource_version) = outline.resource_version().cloned() else {
        return Err(DecodeError::malformed(WHAT, "no metadata.resourceVersion"));
    };
    Ok(WatchEvent::Bookmark {
        resource_version,
        initial_events_end: outline.ends_initial_events(),
    })
}
