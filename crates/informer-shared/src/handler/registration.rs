//! The handle to a handler that was added to an informer.

use std::fmt;
use std::sync::Arc;

use super::control::Control;
use super::end::HandlerEnd;
use super::run::current_handler;
use super::status::HandlerStatus;
use crate::synced::{ProgressFn, Synced, handler_synced};

/// A handler's place in an informer. Dropping it removes the handler.
///
/// A call of the handler that runs at that moment runs to its end; what waits is dropped.
#[must_use = "dropping the registration removes the handler; keep it, or call `detach`"]
#[doc(alias = "ResourceEventHandlerRegistration")]
pub struct Registration {
    control: Arc<dyn Control>,
    progress: ProgressFn,
    detached: bool,
}

impl Registration {
    pub(crate) const fn new(control: Arc<dyn Control>, progress: ProgressFn) -> Self {
        Self {
            control,
            progress,
            detached: false,
        }
    }

    /// Whether the handler has handled the whole state that it started from: the informer's first list, or the
    /// objects that were cached when it was added. Once true it stays true.
    #[must_use]
    #[doc(alias = "HasSynced")]
    pub fn has_synced(&self) -> bool {
        self.control.phase().borrow().synced
    }

    /// Waits until the handler has handled the whole state that it started from.
    ///
    /// See [`Synced`] for deadlines and for what it says when it fails.
    pub fn synced(&self) -> Synced {
        handler_synced(Arc::clone(&self.control), Arc::clone(&self.progress))
    }

    /// How the handler fares.
    #[must_use]
    pub fn status(&self) -> HandlerStatus {
        self.control.status()
    }

    /// Waits until no call of the handler can run any more, and says why that is. Does not remove it.
    ///
    /// Cancel safe.
    pub async fn ended(&self) -> HandlerEnd {
        // An error means that the queue is gone, and with it the handler.
        let _ = self.control.phase().wait_for(|phase| phase.ended).await;
        self.control
            .end_reason()
            .unwrap_or(HandlerEnd::InformerStopped)
    }

    /// Removes the handler and waits until its last call has ended.
    ///
    /// Inside of the handler itself it does not wait, since that call is one of those to wait for.
    ///
    /// If the future is dropped early the handler is removed all the same.
    #[doc(alias = "RemoveEventHandler")]
    #[doc(alias = "ShutDownEventHandler")]
    pub async fn remove(self) {
        self.control.remove();
        if current_handler() != Some(self.control.id()) {
            self.ended().await;
        }
    }

    /// Leaves the handler in the informer for as long as the informer runs.
    pub fn detach(mut self) {
        self.detached = true;
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        if !self.detached {
            self.control.remove();
        }
    }
}

impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registration")
            .field("status", &self.status())
            .finish_non_exhaustive()
    }
}
