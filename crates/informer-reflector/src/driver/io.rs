//! The open request: at most one, waiting for its response or streaming.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;
use informer_wire::{ListOptions, WatchEvent};

use crate::error::ListWatchError;
use crate::lister_watcher::{ListEvent, ListRequest, ListerWatcher};
use crate::user_code::{call_hook, panic_message};

type Opening<T> = Pin<Box<dyn Future<Output = Result<T, ListWatchError>> + Send>>;

/// The open request.
#[expect(missing_debug_implementations, reason = "it is no part of the API")]
pub enum Io<L: ListerWatcher> {
    /// There is none.
    Idle,
    /// Waiting for the response to a list.
    OpeningList(Opening<L::List>),
    /// Waiting for the response to a watch.
    OpeningWatch(Opening<L::Watch>),
    /// Receiving a list.
    List(Pin<Box<L::List>>),
    /// Receiving a watch.
    Watch(Pin<Box<L::Watch>>),
}

/// What a request yields.
#[expect(missing_debug_implementations, reason = "it is no part of the API")]
pub enum Incoming<K> {
    /// The server has responded; the stream begins.
    Opened,
    /// From a list.
    List(ListEvent<K>),
    /// From a watch.
    Watch(WatchEvent<K>),
    /// The request or its stream failed; it is over.
    Failed(ListWatchError),
    /// The stream ended.
    Ended,
}

impl<L: ListerWatcher> Io<L> {
    /// Requests a page of a list.
    pub fn list(lister: &Arc<L>, request: ListRequest<L::Object>) -> Self {
        let lister = Arc::clone(lister);
        Self::OpeningList(Box::pin(async move { lister.list(request).await }))
    }

    /// Requests a watch.
    pub fn watch(lister: &Arc<L>, options: ListOptions) -> Self {
        let lister = Arc::clone(lister);
        Self::OpeningWatch(Box::pin(async move { lister.watch(options).await }))
    }

    /// Requests a streaming list.
    pub fn watch_list(lister: &Arc<L>, request: ListRequest<L::Object>) -> Self {
        let lister = Arc::clone(lister);
        Self::OpeningWatch(Box::pin(async move { lister.watch_list(request).await }))
    }

    /// Puts a request in the place of the open one.
    pub fn open(&mut self, request: Self) {
        self.close();
        *self = request;
    }

    /// Drops the request. A panic of what it drops, which is the source's, is caught.
    pub fn close(&mut self) {
        let request = std::mem::replace(self, Self::Idle);
        call_hook("drop of a list or watch", || drop(request));
    }

    /// Returns what the request yields next; waits for ever without a request. Loses nothing when dropped.
    pub async fn next(&mut self) -> Incoming<L::Object> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    /// After a panic or the end of a stream the request is over.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Incoming<L::Object>> {
        match catch_unwind(AssertUnwindSafe(|| self.poll_request(cx))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(incoming)) => {
                if matches!(incoming, Incoming::Failed(_) | Incoming::Ended) {
                    self.close();
                }
                Poll::Ready(incoming)
            }
            Err(panic) => {
                self.close();
                let message = panic_message(&*panic).to_owned();
                Poll::Ready(Incoming::Failed(ListWatchError::Panicked { message }))
            }
        }
    }

    fn poll_request(&mut self, cx: &mut Context<'_>) -> Poll<Incoming<L::Object>> {
        match self {
            Self::Idle => Poll::Pending,
            Self::OpeningList(opening) => {
                let opened = std::task::ready!(opening.as_mut().poll(cx));
                Poll::Ready(self.opened(opened.map(|list| Self::List(Box::pin(list)))))
            }
            Self::OpeningWatch(opening) => {
                let opened = std::task::ready!(opening.as_mut().poll(cx));
                Poll::Ready(self.opened(opened.map(|watch| Self::Watch(Box::pin(watch)))))
            }
            Self::List(list) => list.as_mut().poll_next(cx).map(|next| match next {
                Some(Ok(event)) => Incoming::List(event),
                Some(Err(error)) => Incoming::Failed(error),
                None => Incoming::Ended,
            }),
            Self::Watch(watch) => watch.as_mut().poll_next(cx).map(|next| match next {
                Some(Ok(event)) => Incoming::Watch(event),
                Some(Err(error)) => Incoming::Failed(error),
                None => Incoming::Ended,
            }),
        }
    }

    fn opened(&mut self, opened: Result<Self, ListWatchError>) -> Incoming<L::Object> {
        match opened {
            Ok(stream) => {
                *self = stream;
                Incoming::Opened
            }
            Err(error) => Incoming::Failed(error),
        }
    }
}
