//! The user's code that a reflector calls. A panic in it is caught: it must not end the reflector.

use std::any::Any;
use std::error::Error as StdError;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use informer_wire::DecodeError;

use crate::report::{Report, WatchErrorHandler};

type Transform<K> = dyn Fn(&mut K) -> Result<(), Box<dyn StdError + Send + Sync>> + Send + Sync;

pub(super) struct Hooks<K> {
    pub(super) transform: Option<Arc<Transform<K>>>,
    pub(super) error_handler: Option<Arc<dyn WatchErrorHandler>>,
    pub(super) should_resync: Option<Arc<dyn Fn() -> bool + Send + Sync>>,
}

impl<K> Default for Hooks<K> {
    fn default() -> Self {
        Self {
            transform: None,
            error_handler: None,
            should_resync: None,
        }
    }
}

impl<K> Hooks<K> {
    /// Transforms an object; its refusal or panic is why the object is set aside.
    pub(super) fn transform(&self, object: &mut K) -> Result<(), DecodeError> {
        let Some(transform) = &self.transform else {
            return Ok(());
        };
        let reason = match catch_unwind(AssertUnwindSafe(|| transform(object))) {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(error)) => format!("the transform refused it: {error}"),
            Err(panic) => format!("the transform panicked: {}", panic_message(&*panic)),
        };
        Err(DecodeError::Malformed {
            what: "transformed object",
            reason,
        })
    }

    pub(super) fn report(&self, report: &Report<'_>) {
        let Some(handler) = &self.error_handler else {
            return;
        };
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| handler.handle(report))) {
            let message = panic_message(&*panic);
            tracing::error!(error = message, "the watch error handler panicked");
        }
    }

    /// Whether anyone wants a resync. One that panics gets it: reminding is harmless.
    pub(super) fn should_resync(&self) -> bool {
        let Some(ask) = &self.should_resync else {
            return true;
        };
        catch_unwind(AssertUnwindSafe(|| ask())).unwrap_or_else(|panic| {
            let message = panic_message(&*panic);
            tracing::error!(
                error = message,
                "the hook that decides on a resync panicked"
            );
            true
        })
    }
}

/// What a panic said.
pub(super) fn panic_message(panic: &(dyn Any + Send)) -> &str {
    if let Some(text) = panic.downcast_ref::<&str>() {
        text
    } else if let Some(text) = panic.downcast_ref::<String>() {
        text
    } else {
        "no message"
    }
}
