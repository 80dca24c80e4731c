//! The body of a list or a watch, decoded as its bytes are received.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use informer_wire::{DecodeError, FromWire, ListDecoder, StreamEnd, WatchDecoder, WatchEvent};

use crate::error::ListWatchError;
use crate::lister_watcher::ListEvent;

/// Decodes the bytes of a body: a [`ListDecoder`] or a [`WatchDecoder`].
#[doc(hidden)]
pub trait BodyDecoder: Unpin {
    /// What it yields.
    type Event;

    /// Takes the next bytes.
    fn push(&mut self, bytes: &[u8]);

    /// Returns the next event; `None` if it is not complete. An error is final: the rest cannot be decoded.
    fn next_event(&mut self) -> Option<Result<Self::Event, DecodeError>>;

    /// Returns the event of the body's end, or what is wrong with that end; `None` where the end is no event.
    fn finish(self) -> Option<Result<Self::Event, ListWatchError>>;
}

impl<K: FromWire> BodyDecoder for ListDecoder<K> {
    type Event = ListEvent<K>;

    fn push(&mut self, bytes: &[u8]) {
        self.push(bytes);
    }

    fn next_event(&mut self) -> Option<Result<ListEvent<K>, DecodeError>> {
        Some(self.next()?.map(ListEvent::Item))
    }

    fn finish(self) -> Option<Result<ListEvent<K>, ListWatchError>> {
        Some(self.finish().map(ListEvent::End).map_err(undecodable))
    }
}

impl<K: FromWire> BodyDecoder for WatchDecoder<K> {
    type Event = WatchEvent<K>;

    fn push(&mut self, bytes: &[u8]) {
        self.push(bytes);
    }

    fn next_event(&mut self) -> Option<Result<WatchEvent<K>, DecodeError>> {
        self.next()
    }

    /// A watch ends between two events, or within one that is lost.
    fn finish(self) -> Option<Result<WatchEvent<K>, ListWatchError>> {
        match self.finish() {
            StreamEnd::Clean => None,
            _ => Some(Err(ListWatchError::transport(DecodeError::Truncated {
                what: "watch",
            }))),
        }
    }
}

/// The error of a body that cannot be decoded. If the server wrote an error into it, that is the error.
fn undecodable(error: DecodeError) -> ListWatchError {
    match error {
        DecodeError::Status(status) => ListWatchError::status_error(*status),
        error => ListWatchError::Decode(error),
    }
}

/// The events of a body, decoded from a stream of bytes by a [`ListDecoder`] or a [`WatchDecoder`]: for a
/// [`ListerWatcher`](crate::ListerWatcher) over another connection. After the body's end or an error it yields nothing more.
///
/// ```
/// use futures_util::{StreamExt, stream};
/// use informer_reflector::{DecodedBody, ListWatchError};
/// use informer_wire::{DecodeOptions, PartialObjectMetadata, WatchDecoder, WatchEvent, WireFormat};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), ListWatchError> {
/// let chunks = [r#"{"type":"ADDED","object":{"meta"#, r#"data":{"name":"a"}}}"#];
/// let chunks = stream::iter(chunks.map(|chunk| Ok::<_, ListWatchError>(chunk)));
/// let decoder = WatchDecoder::<PartialObjectMetadata>::new(WireFormat::Json, DecodeOptions::default());
/// let mut watch = DecodedBody::new(chunks, decoder);
/// assert!(matches!(watch.next().await.transpose()?, Some(WatchEvent::Added(_))));
/// assert!(watch.next().await.is_none());
/// # Ok(()) }
/// ```
pub struct DecodedBody<B, D> {
    body: B,
    /// `None` once the body has ended, well or not.
    decoder: Option<D>,
}

impl<B, D> DecodedBody<B, D> {
    /// Makes the events of this body by this decoder.
    #[must_use]
    pub const fn new(body: B, decoder: D) -> Self {
        Self {
            body,
            decoder: Some(decoder),
        }
    }
}

impl<B, C, D> DecodedBody<B, D>
where
    B: Stream<Item = Result<C, ListWatchError>> + Unpin,
    C: AsRef<[u8]>,
    D: BodyDecoder,
{
    /// The next event that is complete or can be had from the body now.
    fn advance(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<D::Event, ListWatchError>>> {
        loop {
            let Some(decoder) = &mut self.decoder else {
                return Poll::Ready(None);
            };
            if let Some(event) = decoder.next_event() {
                return Poll::Ready(Some(event.map_err(undecodable)));
            }
            match ready!(Pin::new(&mut self.body).poll_next(context)) {
                Some(Ok(bytes)) => decoder.push(bytes.as_ref()),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(self.decoder.take().and_then(BodyDecoder::finish)),
            }
        }
    }
}

impl<B, C, D> Stream for DecodedBody<B, D>
where
    B: Stream<Item = Result<C, ListWatchError>> + Unpin,
    C: AsRef<[u8]>,
    D: BodyDecoder,
{
    type Item = Result<D::Event, ListWatchError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = ready!(self.advance(context));
        if matches!(next, Some(Err(_))) {
            self.decoder = None;
        }
        Poll::Ready(next)
    }
}

impl<B, D> fmt::Debug for DecodedBody<B, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DecodedBody")
            .field("ended", &self.decoder.is_none())
            .finish_non_exhaustive()
    }
}
