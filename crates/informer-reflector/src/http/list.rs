//! One page of a list, item by item as its bytes arrive.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_core::Stream;
use informer_client::Body;
use informer_wire::{FromWire, ListDecoder};
use tokio::time::{Instant, Sleep, sleep};

use super::answer::Answered;
use super::failure::failed;
use crate::error::ListWatchError;
use crate::lister_watcher::ListEvent;

/// One page of a list over HTTP. After its end or an error it yields nothing more.
pub struct HttpList<K> {
    body: Body,
    /// `None` once the page has ended, well or not.
    decoder: Option<ListDecoder<K>>,
    silence: Silence,
    answered: Answered,
}

impl<K: FromWire> HttpList<K> {
    pub(super) fn new(
        body: Body,
        decoder: ListDecoder<K>,
        silence: Duration,
        answered: Answered,
    ) -> Self {
        Self {
            body,
            decoder: Some(decoder),
            silence: Silence::new(silence),
            answered,
        }
    }

    /// The next item that is there already or can be had from the body now.
    fn advance(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<ListEvent<K>, ListWatchError>>> {
        loop {
            let Some(decoder) = &mut self.decoder else {
                return Poll::Ready(None);
            };
            if let Some(item) = decoder.next() {
                let item = item.map(ListEvent::Item);
                return Poll::Ready(Some(item.map_err(|error| self.answered.unreadable(error))));
            }
            let chunk = match Pin::new(&mut self.body).poll_next(context) {
                Poll::Ready(chunk) => chunk,
                Poll::Pending => {
                    let limit = ready!(self.silence.poll(context));
                    let what = "bytes of a list";
                    return Poll::Ready(Some(Err(ListWatchError::Timeout { what, limit })));
                }
            };
            self.silence.end();
            match chunk {
                Some(Ok(bytes)) => {
                    self.answered.received(bytes.len());
                    decoder.push(&bytes);
                }
                Some(Err(error)) => {
                    return Poll::Ready(Some(Err(failed(error, "bytes of a list"))));
                }
                None => {
                    let end = self.decoder.take().map(ListDecoder::finish);
                    let end = end.map(|end| end.map(ListEvent::End));
                    let answered = &self.answered;
                    return Poll::Ready(
                        end.map(|end| end.map_err(|error| answered.unreadable(error))),
                    );
                }
            }
        }
    }
}

impl<K> Unpin for HttpList<K> {}

impl<K: FromWire> Stream for HttpList<K> {
    type Item = Result<ListEvent<K>, ListWatchError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = ready!(self.advance(context));
        if matches!(next, Some(Err(_))) {
            self.decoder = None;
        }
        Poll::Ready(next)
    }
}

impl<K> fmt::Debug for HttpList<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpList")
            .field("ended", &self.decoder.is_none())
            .finish_non_exhaustive()
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
