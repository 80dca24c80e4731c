//! A handler made of up to three functions, one for each kind of event.

use std::fmt;
use std::sync::Arc;

use super::traits::{BlockingEventHandler, EventHandler, IntoHandlerResult};
use crate::error::BoxError;
use crate::event::{Cause, Event};

/// A handler made of functions. Events whose function is missing do nothing.
///
/// It serves as an async handler, where the functions should be quick, and as a blocking one.
///
/// ```
/// use informer_shared::{Event, EventHandler, HandlerFns};
/// # use std::sync::{Arc, atomic::{AtomicUsize, Ordering}};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let deleted = Arc::new(AtomicUsize::new(0));
/// let count = Arc::clone(&deleted);
/// let mut handler = HandlerFns::new()
///     .on_deleted(move |_object: Arc<&'static str>, _final_state_unknown| {
///         count.fetch_add(1, Ordering::Relaxed);
///     });
///
/// let object = Arc::new("an object");
/// let added = Event::Added { object: Arc::clone(&object), initial: false };
/// let deleted_event = Event::Deleted { object, final_state_unknown: false };
/// EventHandler::handle(&mut handler, added).await.unwrap();
/// EventHandler::handle(&mut handler, deleted_event).await.unwrap();
/// assert_eq!(deleted.load(Ordering::Relaxed), 1);
/// # }
/// ```
#[doc(alias = "ResourceEventHandlerFuncs")]
#[doc(alias = "ResourceEventHandlerDetailedFuncs")]
pub struct HandlerFns<K> {
    added: Option<Box<AddedFn<K>>>,
    updated: Option<Box<UpdatedFn<K>>>,
    deleted: Option<Box<DeletedFn<K>>>,
}

type AddedFn<K> = dyn FnMut(Arc<K>, bool) -> Result<(), BoxError> + Send;
type UpdatedFn<K> = dyn FnMut(Arc<K>, Arc<K>, Cause) -> Result<(), BoxError> + Send;
type DeletedFn<K> = dyn FnMut(Arc<K>, bool) -> Result<(), BoxError> + Send;

impl<K> HandlerFns<K> {
    /// Makes a handler that does nothing yet.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            added: None,
            updated: None,
            deleted: None,
        }
    }

    /// Sets the function for an added object; its second argument is `true` if the object existed before the handler was added.
    #[must_use]
    #[doc(alias = "OnAdd")]
    pub fn on_added<R: IntoHandlerResult>(
        mut self,
        mut f: impl FnMut(Arc<K>, bool) -> R + Send + 'static,
    ) -> Self {
        self.added = Some(Box::new(move |object, initial| {
            f(object, initial).into_result()
        }));
        self
    }

    /// Sets the function for an update: the old state, the new state and the cause.
    #[must_use]
    #[doc(alias = "OnUpdate")]
    pub fn on_updated<R: IntoHandlerResult>(
        mut self,
        mut f: impl FnMut(Arc<K>, Arc<K>, Cause) -> R + Send + 'static,
    ) -> Self {
        self.updated = Some(Box::new(move |old, new, cause| {
            f(old, new, cause).into_result()
        }));
        self
    }

    /// Sets the function for a deleted object; its second argument is `true` if the final state is unknown.
    #[must_use]
    #[doc(alias = "OnDelete")]
    pub fn on_deleted<R: IntoHandlerResult>(
        mut self,
        mut f: impl FnMut(Arc<K>, bool) -> R + Send + 'static,
    ) -> Self {
        self.deleted = Some(Box::new(move |object, unknown| {
            f(object, unknown).into_result()
        }));
        self
    }

    fn call(&mut self, event: Event<K>) -> Result<(), BoxError> {
        match event {
            Event::Added { object, initial } => {
                self.added.as_mut().map_or(Ok(()), |f| f(object, initial))
            }
            Event::Updated { old, new, cause } => {
                self.updated.as_mut().map_or(Ok(()), |f| f(old, new, cause))
            }
            Event::Deleted {
                object,
                final_state_unknown,
            } => self
                .deleted
                .as_mut()
                .map_or(Ok(()), |f| f(object, final_state_unknown)),
        }
    }
}

impl<K> Default for HandlerFns<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Send + Sync + 'static> EventHandler<K> for HandlerFns<K> {
    async fn handle(&mut self, event: Event<K>) -> Result<(), BoxError> {
        self.call(event)
    }
}

impl<K: Send + Sync + 'static> BlockingEventHandler<K> for HandlerFns<K> {
    fn handle(&mut self, event: Event<K>) -> Result<(), BoxError> {
        self.call(event)
    }
}

impl<K> fmt::Debug for HandlerFns<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HandlerFns")
            .field("added", &self.added.is_some())
            .field("updated", &self.updated.is_some())
            .field("deleted", &self.deleted.is_some())
            .finish()
    }
}
