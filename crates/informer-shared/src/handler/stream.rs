//! An informer's events as a stream.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;

use super::end::HandlerEnd;
use super::registration::Registration;
use super::run::Feed;
use super::status::HandlerStatus;
use crate::event::Event;
use crate::synced::Synced;

/// The events of an informer, for whoever polls it. Dropping it removes it from the informer.
///
/// It ends when the informer stops. An event counts as handled when the next one is asked for. It has its own
/// queue, so that it holds nobody up if it is not polled.
pub struct EventStream<K> {
    feed: Feed<K>,
    registration: Registration,
}

impl<K> EventStream<K> {
    pub(crate) const fn new(feed: Feed<K>, registration: Registration) -> Self {
        Self { feed, registration }
    }

    /// Whether the whole state that the stream started from was taken and handled.
    #[must_use]
    pub fn has_synced(&self) -> bool {
        self.registration.has_synced()
    }

    /// Waits until the whole state that the stream started from was taken and handled. The stream must be polled
    /// meanwhile, by someone else.
    pub fn synced(&self) -> Synced {
        self.registration.synced()
    }

    /// How the stream fares.
    #[must_use]
    pub fn status(&self) -> HandlerStatus {
        self.registration.status()
    }

    /// Why the stream has ended or will once it is polled; `None` while it goes on.
    #[must_use]
    pub fn end(&self) -> Option<HandlerEnd> {
        self.feed.listener.end_reason()
    }
}

// Nothing in it is pinned: the queue is polled by `&mut`.
impl<K> Unpin for EventStream<K> {}

impl<K> Stream for EventStream<K> {
    type Item = Event<K>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event<K>>> {
        loop {
            match self.feed.consumer.poll_next(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Ready(Some(delivery)) => {
                    if let Some(event) = self.feed.filtered(delivery) {
                        return Poll::Ready(Some(event));
                    }
                }
            }
        }
    }
}

impl<K> fmt::Debug for EventStream<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventStream")
            .field("status", &self.status())
            .finish_non_exhaustive()
    }
}
