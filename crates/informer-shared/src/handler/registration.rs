//! The handle of a handler that was added to an informer.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::current::{is_within_handler, is_within_informer};
use super::listener::AnyListener;
use super::status::HandlerStatus;
use crate::error::EndReason;
use crate::handler_queue::HandlerPhase;
use crate::wait::{Wait, WaitError};

/// How long [`Registration::remove`] waits by default, so that a handler that waits for its own removal in a
/// task that it spawned does not wait for ever.
const REMOVAL_DEADLINE: Duration = Duration::from_secs(30);

/// A handler of an informer: its status, its sync, its removal.
///
/// Dropping it changes nothing: the handler stays for as long as the informer runs. Ask for a
/// [scoped](Self::scoped) one to have the handler removed on drop.
///
/// ```
/// use informer_shared::{Event, RunError, SharedInformer};
/// use k8s_openapi::api::core::v1::Pod;
///
/// fn add(informer: &SharedInformer<Pod>) -> Result<(), RunError> {
///     informer.add_handler(|event: Event<Pod>| async move { println!("{event:?}") })?;
///     let guard = informer.add_handler(|_: Event<Pod>| async {})?.scoped();
///     // The second handler is removed here, the first one stays.
///     drop(guard);
///     Ok(())
/// }
/// ```
#[doc(alias = "ResourceEventHandlerRegistration")]
pub struct Registration {
    listener: Arc<dyn AnyListener>,
    is_scoped: bool,
}

impl Registration {
    pub(super) const fn new(listener: Arc<dyn AnyListener>) -> Self {
        Self {
            listener,
            is_scoped: false,
        }
    }

    /// Returns `true` if the handler has handled all of its initial objects: those of the informer's first list, or those
    /// that were cached when it was added. Once true it stays true.
    #[must_use]
    #[doc(alias = "HasSynced")]
    pub fn has_synced(&self) -> bool {
        self.listener.phase().borrow().is_synced()
    }

    /// Waits until the handler has handled all of its initial objects.
    ///
    /// # Errors
    /// [`WaitError::HandlerEnded`] if the handler ends before; [`WaitError::Deadline`]; [`WaitError::WithinHandler`], at once,
    /// within the handler itself.
    pub fn synced(&self) -> Wait {
        let late = Arc::clone(&self.listener);
        let unmet: Arc<str> = Arc::from(format!("handler {:?} not synced", late.name()));
        let (listener, unsynced) = (Arc::clone(&late), Arc::clone(&unmet));
        let outcome = async move {
            let phase = reached(&*listener, &unsynced, |phase| {
                phase.is_synced() || phase.is_ended()
            });
            if phase.await?.is_synced() {
                return Ok(());
            }
            Err(WaitError::HandlerEnded {
                unmet: unsynced,
                source: end_reason(&*listener),
            })
        };
        Wait::new(outcome, move |deadline| WaitError::Deadline {
            unmet,
            deadline,
            reason: late.not_synced(),
        })
    }

    /// Returns the handler's status.
    #[must_use]
    pub fn status(&self) -> HandlerStatus {
        self.listener.status()
    }

    /// Waits until no call of the handler can run any more, and returns why. Does not remove it.
    ///
    /// # Errors
    /// [`WaitError::NotEnded`] if a deadline that was set passes; [`WaitError::WithinHandler`], at once, within the handler
    /// itself.
    pub fn ended(&self) -> Wait<EndReason> {
        let late = Arc::clone(&self.listener);
        let listener = Arc::clone(&late);
        let outcome = async move {
            let unmet = Arc::from(format!("handler {:?} not ended", listener.name()));
            reached(&*listener, &unmet, HandlerPhase::is_ended).await?;
            Ok(end_reason(&*listener))
        };
        Wait::new(outcome, move |deadline| WaitError::NotEnded {
            handler: Arc::clone(late.name()),
            deadline,
        })
    }

    /// Removes the handler: its queued events are dropped, and it receives no more. Awaited, it then waits until a call
    /// that runs has returned. Within the handler itself, whose call that is, it returns at once.
    ///
    /// # Errors
    /// The handler is removed all the same: [`WaitError::WithinHandler`], at once, within another handler of the informer,
    /// since the two might wait for each other; [`WaitError::NotEnded`] if the call has not returned within the deadline,
    /// which is 30 s unless another one is set, so that a handler that awaits its own removal in a task that it spawned is
    /// released.
    #[doc(alias = "RemoveEventHandler")]
    #[doc(alias = "ShutDownEventHandler")]
    pub fn remove(self) -> Wait<EndReason> {
        self.listener.remove();
        let listener = Arc::clone(&self.listener);
        let Wait { outcome, late, .. } = self.ended();
        let outcome = async move {
            let (id, informer) = listener.ids();
            if is_within_handler(id) {
                return Ok(end_reason(&*listener));
            }
            if is_within_informer(informer) && !listener.phase().borrow().is_ended() {
                let unmet = Arc::from(format!("handler {:?} not ended", listener.name()));
                return Err(WaitError::WithinHandler { unmet });
            }
            outcome.await
        };
        Wait::new(outcome, late).deadline(REMOVAL_DEADLINE)
    }

    /// Lets it remove the handler when it is dropped. A call that runs at that moment runs to its end; queued events are
    /// dropped.
    #[must_use = "dropping it removes the handler"]
    pub const fn scoped(mut self) -> Self {
        self.is_scoped = true;
        self
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        if self.is_scoped {
            self.listener.remove();
        }
    }
}

/// Waits for a phase of a handler, unless it would wait for itself.
async fn reached(
    listener: &dyn AnyListener,
    unmet: &Arc<str>,
    is_reached: impl Fn(HandlerPhase) -> bool,
) -> Result<HandlerPhase, WaitError> {
    let mut phase = listener.phase();
    let now = *phase.borrow_and_update();
    if is_reached(now) {
        return Ok(now);
    }
    if is_within_handler(listener.ids().0) {
        let unmet = Arc::clone(unmet);
        return Err(WaitError::WithinHandler { unmet });
    }
    // An error cannot be: the listener holds the sender.
    let phase = phase.wait_for(|phase| is_reached(*phase)).await;
    Ok(phase.map_or(HandlerPhase::Ended { synced: false }, |phase| *phase))
}

fn end_reason(listener: &dyn AnyListener) -> EndReason {
    listener.end_reason().unwrap_or(EndReason::InformerStopped)
}

impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registration")
            .field("status", &self.status())
            .finish_non_exhaustive()
    }
}
