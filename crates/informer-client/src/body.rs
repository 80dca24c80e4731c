//! The body of a response as a stream.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_core::Stream;

use crate::error::Error;
use crate::gzip::Gunzip;
use crate::transport::Place;

type Chunks = dyn Stream<Item = Result<Bytes, Error>> + Send;

/// The body of a response, chunk by chunk, unpacked if it is compressed. Dropping it ends the request.
pub struct Body {
    chunks: Pin<Box<Chunks>>,
    gunzip: Option<Gunzip>,
}

impl Body {
    /// The body of a response that keeps its place among the connections until it ends.
    pub(crate) fn from_reqwest(answer: reqwest::Response, place: Place) -> Self {
        Self::new(Placed {
            chunks: Box::pin(answer.bytes_stream()),
            _place: place,
        })
    }

    pub(crate) fn new(chunks: impl Stream<Item = Result<Bytes, Error>> + Send + 'static) -> Self {
        Self {
            chunks: Box::pin(chunks),
            gunzip: None,
        }
    }

    /// Unpacks the body.
    pub(crate) fn gunzip(&mut self) {
        self.gunzip = Some(Gunzip::new());
    }

    /// Returns the next chunk; `None` at the end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, Error> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context))
            .await
            .transpose()
    }
}

impl Stream for Body {
    type Item = Result<Bytes, Error>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let body = self.get_mut();
        loop {
            if let Some(gunzip) = &mut body.gunzip
                && let Some(piece) = gunzip.next().transpose()
            {
                return Poll::Ready(Some(piece.map_err(Error::broken_body)));
            }
            let chunk = ready!(body.chunks.as_mut().poll_next(context));
            match (&mut body.gunzip, chunk) {
                (Some(gunzip), Some(Ok(packed))) => gunzip.push(packed),
                (Some(gunzip), None) => {
                    let end = gunzip.finish().err();
                    return Poll::Ready(end.map(|error| Err(Error::broken_body(error))));
                }
                (_, chunk) => return Poll::Ready(chunk),
            }
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Body").finish_non_exhaustive()
    }
}

/// Chunks of our own connections.
struct Placed<S> {
    chunks: Pin<Box<S>>,
    _place: Place,
}

impl<S: Stream<Item = reqwest::Result<Bytes>>> Stream for Placed<S> {
    type Item = Result<Bytes, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let chunk = self.chunks.as_mut().poll_next(context);
        chunk.map(|chunk| chunk.map(|chunk| chunk.map_err(Error::from_reqwest)))
    }
}
