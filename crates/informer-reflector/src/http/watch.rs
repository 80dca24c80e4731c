//! The events of one watch, as their bytes arrive.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use informer_client::Body;
use informer_wire::{DecodeError, FromWire, StreamEnd, WatchDecoder, WatchEvent};

use super::answer::Answered;
use super::failure::failed;
use crate::error::ListWatchError;

/// The events of one watch over HTTP. It ends when the server ends the watch; after that or an error it yields nothing
/// more.
pub struct HttpWatch<K> {
    body: Body,
    /// `None` once the watch has ended.
    decoder: Option<WatchDecoder<K>>,
    answered: Answered,
}

impl<K: FromWire> HttpWatch<K> {
    pub(super) const fn new(body: Body, decoder: WatchDecoder<K>, answered: Answered) -> Self {
        Self {
            body,
            decoder: Some(decoder),
            answered,
        }
    }

    /// The next event that is there already or can be had from the body now.
    fn advance(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<WatchEvent<K>, ListWatchError>>> {
        loop {
            let Some(decoder) = &mut self.decoder else {
                return Poll::Ready(None);
            };
            if let Some(event) = decoder.next() {
                return Poll::Ready(Some(event.map_err(|error| self.answered.unreadable(error))));
            }
            match ready!(Pin::new(&mut self.body).poll_next(context)) {
                Some(Ok(bytes)) => {
                    self.answered.received(bytes.len());
                    decoder.push(&bytes);
                }
                Some(Err(error)) => {
                    return Poll::Ready(Some(Err(failed(error, "bytes of a watch"))));
                }
                None => return Poll::Ready(self.end()),
            }
        }
    }

    /// The body has ended: cleanly, or within an event that is lost.
    fn end(&mut self) -> Option<Result<WatchEvent<K>, ListWatchError>> {
        match self.decoder.take()?.finish() {
            StreamEnd::Clean => None,
            _ => Some(Err(ListWatchError::transport(DecodeError::Truncated {
                what: "watch",
            }))),
        }
    }
}

impl<K> Unpin for HttpWatch<K> {}

impl<K: FromWire> Stream for HttpWatch<K> {
    type Item = Result<WatchEvent<K>, ListWatchError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = ready!(self.advance(context));
        if matches!(next, Some(Err(_))) {
            self.decoder = None;
        }
        Poll::Ready(next)
    }
}

impl<K> fmt::Debug for HttpWatch<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpWatch")
            .field("ended", &self.decoder.is_none())
            .finish_non_exhaustive()
    }
}
