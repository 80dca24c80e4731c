//! The status of an event source.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use informer_shared::{EndReason, HandlerStatus, Registration};
use parking_lot::Mutex;

/// The status of an event source of a [`Controller`](crate::Controller). Each method reads it at the moment of the call.
#[derive(Clone)]
pub struct SourceStatus {
    informer: Arc<str>,
    queued: Queued,
    handler: Arc<Mutex<Handler>>,
}

/// Counts the keys that a source queues.
#[derive(Debug, Clone, Default)]
pub(crate) struct Queued(Arc<AtomicU64>);

enum Handler {
    /// Dropped with the controller, which removes the handler.
    Registered(Registration),
    /// What it was when the controller was dropped.
    Removed(Box<HandlerStatus>),
}

impl SourceStatus {
    pub(crate) fn new(informer: Arc<str>, queued: Queued, registration: Registration) -> Self {
        Self {
            informer,
            queued,
            handler: Arc::new(Mutex::new(Handler::Registered(registration))),
        }
    }

    /// Returns the name of the source's informer.
    #[must_use]
    pub fn informer(&self) -> &str {
        &self.informer
    }

    /// Returns the status of the source's handler: whether it has handled its initial objects, how many events it has
    /// handled and has yet to handle, and why it ended, if so.
    #[must_use]
    pub fn handler(&self) -> HandlerStatus {
        match &*self.handler.lock() {
            Handler::Registered(registration) => registration.status(),
            Handler::Removed(status) => (**status).clone(),
        }
    }

    /// Returns how many keys it has queued, those included that waited already.
    #[must_use]
    pub fn queued(&self) -> u64 {
        self.queued.0.load(Ordering::Relaxed)
    }

    /// Asks the registration, while there is one.
    pub(crate) fn ask<R>(&self, question: impl FnOnce(&Registration) -> R) -> Option<R> {
        match &*self.handler.lock() {
            Handler::Registered(registration) => Some(question(registration)),
            Handler::Removed(_) => None,
        }
    }

    /// Removes the handler, whoever has clones of this.
    pub(crate) fn remove(&self) {
        let mut status = self.handler();
        status.ended.get_or_insert(EndReason::Removed);
        let removed = Handler::Removed(Box::new(status));
        let old = std::mem::replace(&mut *self.handler.lock(), removed);
        // Not under the lock: it removes the handler.
        drop(old);
    }
}

impl Queued {
    pub(crate) fn count(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl fmt::Debug for SourceStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SourceStatus")
            .field("informer", &self.informer)
            .field("queued", &self.queued())
            .field("handler", &self.handler())
            .finish()
    }
}
