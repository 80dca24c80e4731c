//! What a list or a watch brings over HTTP, as its bytes arrive.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use informer_wire::{DecodeError, FromWire, ListDecoder, WatchDecoder, WatchEvent, WireFormat};

use super::chunks::Chunks;
use super::negotiation::Negotiation;
use crate::body::{BodyDecoder, DecodedBody};
use crate::error::ListWatchError;
use crate::lister_watcher::ListEvent;

/// One page of a list over HTTP.
pub type HttpList<K> = HttpEvents<ListDecoder<K>>;

/// The events of one watch over HTTP. It ends when the server ends the watch.
pub type HttpWatch<K> = HttpEvents<WatchDecoder<K>>;

/// What a decoder makes of an answer's body. After its end or an error it yields nothing more. Dropping it ends the
/// request.
pub struct HttpEvents<D> {
    events: DecodedBody<Chunks, D>,
    format: WireFormat,
    negotiation: Negotiation,
    /// Whether it tells of changes, not of a whole state.
    is_live: bool,
}

impl<D> HttpEvents<D> {
    pub(super) const fn new(
        chunks: Chunks,
        decoder: D,
        format: WireFormat,
        negotiation: Negotiation,
    ) -> Self {
        Self {
            events: DecodedBody::new(chunks, decoder),
            format,
            negotiation,
            is_live: false,
        }
    }

    /// Says that it tells of changes from its start.
    pub(super) const fn live(mut self, is_live: bool) -> Self {
        self.is_live = is_live;
        self
    }
}

impl<D: BodyDecoder> HttpEvents<D> {
    /// The next event, unless the negotiation says that the request goes better in another format.
    fn next(
        &mut self,
        context: &mut Context<'_>,
        judge: impl FnOnce(&Negotiation, WireFormat, D::Event) -> Result<D::Event, DecodeError>,
    ) -> Poll<Option<Result<D::Event, ListWatchError>>> {
        let next = ready!(Pin::new(&mut self.events).poll_next(context));
        Poll::Ready(next.map(|next| match next {
            Ok(event) => judge(&self.negotiation, self.format, event).map_err(|error| {
                self.events.end();
                ListWatchError::Decode(error)
            }),
            Err(error) => {
                if let ListWatchError::Decode(error) = &error {
                    self.negotiation.unreadable(self.format, error);
                }
                Err(error)
            }
        }))
    }
}

impl<K: FromWire> Stream for HttpEvents<ListDecoder<K>> {
    type Item = Result<ListEvent<K>, ListWatchError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.next(context, |negotiation, format, event| match event {
            ListEvent::Item(item) => Ok(ListEvent::Item(negotiation.object(format, item)?)),
            end @ ListEvent::End(_) => negotiation.all_objects(format).map(|()| end),
        })
    }
}

impl<K: FromWire> Stream for HttpEvents<WatchDecoder<K>> {
    type Item = Result<WatchEvent<K>, ListWatchError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let is_live = self.is_live;
        let next = ready!(self.next(context, |negotiation, format, event| {
            let object = |object| {
                if is_live {
                    negotiation.change(format, object)
                } else {
                    negotiation.object(format, object)
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
                    negotiation.all_objects(format)?;
                    event
                }
                event => event,
            })
        }));
        self.is_live |= matches!(
            next,
            Some(Ok(WatchEvent::Bookmark {
                initial_events_end: true,
                ..
            }))
        );
        Poll::Ready(next)
    }
}

impl<D> fmt::Debug for HttpEvents<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpEvents")
            .field("events", &self.events)
            .field("format", &self.format)
            .finish_non_exhaustive()
    }
}
