//! Decodes a watch event by event as it arrives.

use std::marker::PhantomData;
use std::sync::Arc;

use super::format::WireFormat;
use super::from_wire::FromWire;
use super::object::{Context, Types};
use super::options::{DecodeOptions, KnownFn};
use super::outline::Outline;
use super::single::unnamed;
use super::watch_frame::{Body, Event};
use crate::error::DecodeError;
use crate::event::WatchEvent;
use crate::json::{self, StreamEnd};
use crate::protobuf;

/// How much of an unknown event type is told.
pub(super) const MAX_TYPE: usize = 64;

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
    splitter: Splitter,
    context: Context,
    known: Option<Arc<KnownFn>>,
    object: PhantomData<fn() -> K>,
}

impl<K: FromWire> WatchDecoder<K> {
    /// A decoder at the beginning of a body in this format.
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
            known: None,
            object: PhantomData,
        }
    }

    /// Says which copies are known already: in the first state of a streaming list, an added or modified object equal
    /// to one in UID and resource version comes out as [`Decoded::Unchanged`](crate::Decoded::Unchanged), and its body
    /// is not decoded. Behind the bookmark that ends the first state every object is decoded again, since what is known
    /// says nothing of changes.
    #[must_use]
    pub fn known(mut self, known: Arc<KnownFn>) -> Self {
        self.known = Some(known);
        self
    }

    /// Takes in the next bytes of the body. Take all events out before pushing more, or their bytes pile up.
    pub fn push(&mut self, bytes: &[u8]) {
        match &mut self.splitter {
            Splitter::Json(splitter) => splitter.push(bytes),
            Splitter::Protobuf(splitter) => splitter.push(bytes),
        }
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
        let event = match &mut self.splitter {
            Splitter::Json(splitter) => splitter.next_event()?.and_then(Event::of_json),
            Splitter::Protobuf(splitter) => splitter.next_frame()?.and_then(Event::of_protobuf),
        };
        let event = event.and_then(|event| decode(event, &mut self.context, self.known.as_deref()));
        if let Ok(WatchEvent::Bookmark {
            initial_events_end: true,
            ..
        }) = event
        {
            self.known = None;
        }
        Some(event)
    }

    /// Says how the body ended: cleanly, or within an event, which is thrown away.
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
            .field("known", &self.known.is_some())
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
    known: Option<&KnownFn>,
) -> Result<WatchEvent<K>, DecodeError> {
    const WHAT: &str = "object of a watch event";
    match &*event.event_type {
        "ADDED" | "MODIFIED" | "DELETED" => {}
        "BOOKMARK" => return bookmark(&event.object),
        "ERROR" => return Ok(WatchEvent::Error(event.object.status())),
        other => return Ok(WatchEvent::Unknown(other.chars().take(MAX_TYPE).collect())),
    }
    let outline = match &event.object {
        Body::None => return Err(DecodeError::Unnamed { what: WHAT }),
        Body::Json(text) => Outline::Json(json::Outline::read_cut_out(WHAT, text)?),
        Body::Protobuf(envelope) => Outline::enveloped(WHAT, envelope)?,
    };
    if !outline.is_named() {
        return Err(unnamed(WHAT, &outline));
    }
    let mut decode = |known| context.decode(&outline, Types::default(), known);
    Ok(match &*event.event_type {
        "ADDED" => WatchEvent::Added(decode(known)),
        "MODIFIED" => WatchEvent::Modified(decode(known)),
        // The end of an object is news, whatever is known of it.
        _ => WatchEvent::Deleted(decode(None)),
    })
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
        return Err(DecodeError::malformed(
            WHAT,
            "it has no metadata.resourceVersion",
        ));
    };
    Ok(WatchEvent::Bookmark {
        resource_version,
        initial_events_end: outline.ends_initial_events(),
    })
}
