//! The bytes of a body, with a limit of silence, counted.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_core::Stream;
use informer_client::Body;
use informer_client::bytes::Bytes;
use tokio::time::{Instant, Sleep, sleep};

use super::failure::failed;
use super::traffic::Traffic;
use crate::error::ListWatchError;

/// The chunks of a body.
pub(super) struct Chunks {
    body: Body,
    what: &'static str,
    /// `None` where silence is normal.
    silence: Option<Silence>,
    traffic: Traffic,
}

impl Chunks {
    /// The chunks of what an error is to name so.
    pub(super) const fn new(body: Body, what: &'static str, traffic: Traffic) -> Self {
        Self {
            body,
            what,
            silence: None,
            traffic,
        }
    }

    /// Fails when nothing comes for so long.
    pub(super) fn silence(mut self, limit: Duration) -> Self {
        self.silence = Some(Silence::new(limit));
        self
    }
}

impl Stream for Chunks {
    type Item = Result<Bytes, ListWatchError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        let Poll::Ready(chunk) = Pin::new(&mut this.body).poll_next(context) else {
            let Some(silence) = &mut this.silence else {
                return Poll::Pending;
            };
            let (limit, what) = (ready!(silence.poll(context)), this.what);
            return Poll::Ready(Some(Err(ListWatchError::Timeout { what, limit })));
        };
        if let Some(silence) = &mut this.silence {
            silence.end();
        }
        let chunk = chunk.map(|chunk| chunk.map_err(|error| failed(error, this.what)));
        if let Some(Ok(bytes)) = &chunk {
            this.traffic.received(bytes.len());
        }
        Poll::Ready(chunk)
    }
}

/// Measures how long nothing came while somebody waited. A reader that takes its time is no silence.
struct Silence {
    limit: Duration,
    timer: Option<Pin<Box<Sleep>>>,
    waiting: bool,
}

impl Silence {
    const fn new(limit: Duration) -> Self {
        Self {
            limit,
            timer: None,
            waiting: false,
        }
    }

    /// Something came.
    const fn end(&mut self) {
        self.waiting = false;
    }

    /// Ready with the limit once nothing came for so long.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Duration> {
        let limit = self.limit;
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(limit)));
        if !std::mem::replace(&mut self.waiting, true) {
            timer.as_mut().reset(Instant::now() + limit);
        }
        timer.as_mut().poll(context).map(|()| limit)
    }
}
