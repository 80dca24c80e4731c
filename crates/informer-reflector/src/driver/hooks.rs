//! The user's code that a reflector calls. A panic in it is caught: it must not end the reflector.

use std::error::Error as StdError;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use informer_store::{Object, ObjectVersion};
use informer_wire::DecodeError;

use crate::report::{Report, WatchErrorHandler};
use crate::user_code::{call_hook, panic_message};

type Transform<K> = dyn Fn(&mut K) -> Result<(), Box<dyn StdError + Send + Sync>> + Send + Sync;

pub(super) struct Hooks<K> {
    pub(super) transform: Option<Arc<Transform<K>>>,
    pub(super) error_handler: Option<Arc<dyn WatchErrorHandler>>,
    /// It was reported that the transform changes versions.
    version_restored: bool,
}

impl<K> Default for Hooks<K> {
    fn default() -> Self {
        Self {
            transform: None,
            error_handler: None,
            version_restored: false,
        }
    }
}

impl<K: Object> Hooks<K> {
    /// Transforms an object of this version; its refusal or panic makes the object undecodable. The cache compares objects
    /// by their versions, so one that the transform changes is restored.
    pub(super) fn transform(
        &mut self,
        object: &mut K,
        version: &ObjectVersion,
    ) -> Result<(), DecodeError> {
        let Some(transform) = &self.transform else {
            return Ok(());
        };
        let transformed = catch_unwind(AssertUnwindSafe(|| {
            transform(object)?;
            let kept = ObjectVersion::of(object) == *version;
            let restored = !kept && object.restore_version(version);
            Ok::<_, Box<dyn StdError + Send + Sync>>((kept, restored))
        }));
        let reason = match transformed {
            Ok(Ok((true, _))) => return Ok(()),
            Ok(Ok((false, true))) => {
                self.report_restored();
                return Ok(());
            }
            Ok(Ok((false, false))) => String::from(
                "the transform changes metadata.uid or metadata.resourceVersion, and the type cannot restore them; \
                 keep them, or implement restore_version",
            ),
            Ok(Err(error)) => format!("the transform refused it: {error}"),
            Err(panic) => format!("the transform panicked: {}", panic_message(&*panic)),
        };
        Err(DecodeError::Malformed {
            what: "transformed object",
            reason,
        })
    }

    fn report_restored(&mut self) {
        if !std::mem::replace(&mut self.version_restored, true) {
            tracing::warn!(
                "the transform changes metadata.uid or metadata.resourceVersion; they are restored"
            );
            self.report(&Report::VersionRestored);
        }
    }

    pub(super) fn report(&self, report: &Report) {
        let Some(handler) = &self.error_handler else {
            return;
        };
        call_hook("watch error handler", || handler.handle(report));
    }
}
