//! The body of an answer as a stream.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_core::Stream;

use crate::error::Error;

type Chunks = dyn Stream<Item = reqwest::Result<Bytes>> + Send;

/// The body of an answer, chunk by chunk as it arrives. Dropping it ends the request.
pub struct Body(Pin<Box<Chunks>>);

impl Body {
    pub(crate) fn new(answer: reqwest::Response) -> Self {
        Self(Box::pin(answer.bytes_stream()))
    }
}

impl Stream for Body {
    type Item = Result<Bytes, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let chunk = self.0.as_mut().poll_next(context);
        chunk.map(|chunk| chunk.map(|chunk| chunk.map_err(Error::from_reqwest)))
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Body").finish_non_exhaustive()
    }
}
