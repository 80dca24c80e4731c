//! An informer's events as a stream.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use tokio::task::coop::poll_proceed;

use super::registration::Registration;
use super::run::Events;
use super::status::HandlerStatus;
use crate::event::Event;
use crate::wait::Wait;

/// The events of an informer as a stream. Dropping it removes it from the informer.
///
/// It ends when the informer stops. An event counts as handled when the next one is polled. It has a queue of its own,
/// so that it delays nobody if it is not polled. In a tokio task it takes part in the task's cooperative budget: a long
/// queue, or a filter that drops much, does not keep other tasks from running.
///
/// ```no_run
/// use futures_util::StreamExt;
/// use informer_shared::{RunError, SharedInformer};
/// use k8s_openapi::api::core::v1::Pod;
///
/// async fn print(informer: &SharedInformer<Pod>) -> Result<(), RunError> {
///     let mut events = informer.events()?;
///     while let Some(event) = events.next().await {
///         println!("{event:?}");
///     }
///     Ok(())
/// }
/// ```
pub struct EventStream<K> {
    events: Events<K>,
    registration: Registration,
}

impl<K> EventStream<K> {
    pub(super) const fn new(events: Events<K>, registration: Registration) -> Self {
        Self {
            events,
            registration,
        }
    }

    /// Returns `true` if all initial objects were received and handled.
    #[must_use]
    pub fn has_synced(&self) -> bool {
        self.registration.has_synced()
    }

    /// Waits until all initial objects were received and handled. Somebody else must poll the stream meanwhile.
    pub fn synced(&self) -> Wait {
        self.registration.synced()
    }

    /// Returns the stream's status. It says why the stream has ended, or will once it is polled.
    #[must_use]
    pub fn status(&self) -> HandlerStatus {
        self.registration.status()
    }
}

// Nothing in it is pinned: the queue is polled by `&mut`.
impl<K> Unpin for EventStream<K> {}

impl<K: Send + Sync + 'static> Stream for EventStream<K> {
    type Item = Event<K>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event<K>>> {
        loop {
            let budget = ready!(poll_proceed(cx));
            let next = ready!(self.events.consumer.poll_next(cx));
            budget.made_progress();
            let Some(delivery) = next else {
                return Poll::Ready(None);
            };
            if let Some(event) = self.events.filtered(delivery) {
                return Poll::Ready(Some(event));
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
