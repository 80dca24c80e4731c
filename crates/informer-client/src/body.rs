//! The body of an answer as a stream.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_core::Stream;

use crate::error::Error;
use crate::gzip::Gunzip;

type Chunks = dyn Stream<Item = reqwest::Result<Bytes>> + Send;

/// The body of an answer, chunk by chunk as it arrives, unpacked where it came compressed. Dropping it ends the request.
pub struct Body {
    chunks: Pin<Box<Chunks>>,
    gunzip: Option<Gunzip>,
}

impl Body {
    pub(crate) fn new(
        chunks: impl Stream<Item = reqwest::Result<Bytes>> + Send + 'static,
        gunzip: Option<Gunzip>,
    ) -> Self {
        Self {
            chunks: Box::pin(chunks),
            gunzip,
        }
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
            let chunk = chunk.map(|chunk| chunk.map_err(Error::from_reqwest));
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
