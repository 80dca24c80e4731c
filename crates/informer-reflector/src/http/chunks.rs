//! The bytes of a body, counted, and the client's errors.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use informer_client::bytes::Bytes;
use informer_client::{Body, Error};

use super::traffic::Traffic;
use crate::error::ListWatchError;

/// The chunks of a body.
#[derive(Debug)]
pub struct Chunks {
    body: Body,
    traffic: Traffic,
}

impl Chunks {
    pub(super) const fn new(body: Body, traffic: Traffic) -> Self {
        Self { body, traffic }
    }
}

impl Stream for Chunks {
    type Item = Result<Bytes, ListWatchError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let chunk = std::task::ready!(Pin::new(&mut self.body).poll_next(context));
        if let Some(Ok(bytes)) = &chunk {
            self.traffic.received(bytes.len());
        }
        Poll::Ready(chunk.map(|chunk| chunk.map_err(failed)))
    }
}

/// The error of a request that failed before its response, or of a body that broke.
pub(super) fn failed(error: Error) -> ListWatchError {
    match error {
        Error::Status {
            status,
            retry_after,
        } => ListWatchError::Status {
            status,
            retry_after,
        },
        Error::Transport { refused, source } => ListWatchError::Transport { refused, source },
        Error::Timeout { limit, .. } => ListWatchError::Timeout {
            what: "response",
            limit,
        },
        // Its text says what to check, so it stays.
        error @ Error::Tls { .. } => ListWatchError::transport(error),
        error => ListWatchError::other(error),
    }
}
