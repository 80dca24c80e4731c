//! The events of a list or a watch over HTTP, as their bytes are received.

use informer_wire::{DecodeError, FromWire, ListDecoder, WatchDecoder, WatchEvent, WireFormat};

use super::chunks::Chunks;
use super::negotiation::Negotiation;
use crate::body::{BodyDecoder, DecodedBody};
use crate::error::ListWatchError;
use crate::lister_watcher::ListEvent;

/// One page of a list over HTTP. Dropping it ends the request.
pub type HttpList<K> = DecodedBody<Chunks, Negotiated<ListDecoder<K>>>;

/// The events of one watch over HTTP. It ends when the server ends the watch; dropping it ends the request.
pub type HttpWatch<K> = DecodedBody<Chunks, Negotiated<WatchDecoder<K>>>;

/// A decoder whose events the negotiation sees: an error may mean that another format is better.
#[derive(Debug)]
pub struct Negotiated<D> {
    decoder: D,
    format: WireFormat,
    negotiation: Negotiation,
    /// Whether its objects are changes, not of a whole state.
    is_live: bool,
}

impl<D> Negotiated<D> {
    pub(super) const fn new(
        decoder: D,
        format: WireFormat,
        negotiation: Negotiation,
        is_live: bool,
    ) -> Self {
        Self {
            decoder,
            format,
            negotiation,
            is_live,
        }
    }
}

impl<K: FromWire> BodyDecoder for Negotiated<ListDecoder<K>> {
    type Event = ListEvent<K>;

    fn push(&mut self, bytes: &[u8]) {
        self.decoder.push(bytes);
    }

    fn next_event(&mut self) -> Option<Result<ListEvent<K>, DecodeError>> {
        let item = self.decoder.next()?.inspect_err(|error| {
            self.negotiation.undecodable(self.format, error);
        });
        let item = item.and_then(|item| self.negotiation.object(self.format, item));
        Some(item.map(ListEvent::Item))
    }

    fn finish(self) -> Option<Result<ListEvent<K>, ListWatchError>> {
        let end = BodyDecoder::finish(self.decoder)?;
        if let Err(ListWatchError::Decode(error)) = &end {
            self.negotiation.undecodable(self.format, error);
        }
        let all = |end| self.negotiation.all_objects(self.format).map(|()| end);
        Some(end.and_then(|end| all(end).map_err(ListWatchError::Decode)))
    }
}

impl<K: FromWire> BodyDecoder for Negotiated<WatchDecoder<K>> {
    type Event = WatchEvent<K>;

    fn push(&mut self, bytes: &[u8]) {
        self.decoder.push(bytes);
    }

    fn next_event(&mut self) -> Option<Result<WatchEvent<K>, DecodeError>> {
        let next = self.decoder.next()?.inspect_err(|error| {
            self.negotiation.undecodable(self.format, error);
        });
        Some(next.and_then(|event| self.check(event)))
    }

    fn finish(self) -> Option<Result<WatchEvent<K>, ListWatchError>> {
        BodyDecoder::finish(self.decoder)
    }
}

impl<K> Negotiated<WatchDecoder<K>> {
    fn check(&mut self, event: WatchEvent<K>) -> Result<WatchEvent<K>, DecodeError> {
        let object = |object| {
            if self.is_live {
                self.negotiation.change(self.format, object)
            } else {
                self.negotiation.object(self.format, object)
            }
        };
        Ok(match event {
            WatchEvent::Added(item) => WatchEvent::Added(object(item)?),
            WatchEvent::Modified(item) => WatchEvent::Modified(object(item)?),
            WatchEvent::Deleted(item) => WatchEvent::Deleted(object(item)?),
            WatchEvent::Bookmark {
                initial_events_end: true,
                ..
            } => {
                self.negotiation.all_objects(self.format)?;
                self.is_live = true;
                event
            }
            event => event,
        })
    }
}
