//! What a handler is: an async function, a blocking function, or a type of one's own.

use std::future::Future;

use crate::error::BoxError;
use crate::event::Event;

/// Handles the events of an informer, one after another, in a task of its own.
///
/// Every closure from an event to a future is one, and the future may return nothing or a `Result`:
///
/// ```
/// use informer_shared::{Event, EventHandler};
/// # struct Pod;
/// fn is_a_handler<K>(_: impl EventHandler<K>) {}
///
/// is_a_handler(|event: Event<Pod>| async move { drop(event) });
/// is_a_handler(|event: Event<Pod>| async move {
///     match event {
///         Event::Deleted { .. } => Err("this must never happen"),
///         Event::Added { .. } | Event::Updated { .. } => Ok(()),
///     }
/// });
/// ```
///
/// A type keeps state between events without locks:
///
/// ```
/// use informer_shared::{BoxError, Event, EventHandler};
///
/// struct Count(usize);
///
/// impl<K: Send + Sync + 'static> EventHandler<K> for Count {
///     async fn handle(&mut self, event: Event<K>) -> Result<(), BoxError> {
///         self.0 += 1;
///         Ok(())
///     }
/// }
/// ```
///
/// # What a handler may hold
///
/// A handler that reads the cache holds a clone of [`store()`](crate::SharedInformer::store) or a lister. One that
/// needs its own informer holds a [`WeakInformer`](crate::WeakInformer): a [`SharedInformer`](crate::SharedInformer) in
/// a handler keeps its informer running for as long as the handler exists, and one that is never started is then never
/// freed.
#[doc(alias = "ResourceEventHandler")]
pub trait EventHandler<K>: Send + 'static {
    /// Handles one event. The next one follows only after this has returned.
    ///
    /// The future may be dropped at an await point when the informer stops.
    ///
    /// # Errors
    /// What an error leads to is [its policy](crate::HandlerBuilder::on_error). No other handler is affected.
    fn handle(&mut self, event: Event<K>) -> impl Future<Output = Result<(), BoxError>> + Send;
}

impl<K, F, Fut> EventHandler<K> for F
where
    K: Send + Sync + 'static,
    F: FnMut(Event<K>) -> Fut + Send + 'static,
    Fut: Future + Send,
    Fut::Output: IntoHandlerResult,
{
    async fn handle(&mut self, event: Event<K>) -> Result<(), BoxError> {
        self(event).await.into_result()
    }
}

/// Handles the events of an informer, one after another, on a thread of its own. It may block.
///
/// The thread is in the context of the informer's runtime: `tokio::spawn` and `Handle::current().block_on` work. Every
/// closure that takes an event and returns nothing or a `Result` is one. See [`EventHandler`] for what it may hold.
pub trait BlockingEventHandler<K>: Send + 'static {
    /// Handles one event. The next one follows only after this has returned.
    ///
    /// # Errors
    /// What an error leads to is [its policy](crate::HandlerBuilder::on_error). No other handler is affected.
    fn handle(&mut self, event: Event<K>) -> Result<(), BoxError>;
}

impl<K, F, R> BlockingEventHandler<K> for F
where
    F: FnMut(Event<K>) -> R + Send + 'static,
    R: IntoHandlerResult,
{
    fn handle(&mut self, event: Event<K>) -> Result<(), BoxError> {
        self(event).into_result()
    }
}

/// What a handler function may return: nothing, or a `Result` with any error.
pub trait IntoHandlerResult {
    /// Converts it into a `Result`.
    ///
    /// # Errors
    /// When the handler failed.
    fn into_result(self) -> Result<(), BoxError>;
}

impl IntoHandlerResult for () {
    fn into_result(self) -> Result<(), BoxError> {
        Ok(())
    }
}

impl<E: Into<BoxError>> IntoHandlerResult for Result<(), E> {
    fn into_result(self) -> Result<(), BoxError> {
        self.map_err(Into::into)
    }
}
