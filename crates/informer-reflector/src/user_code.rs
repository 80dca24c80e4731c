//! Calls of the user's code, whose panics are caught, and what its errors and panics say.

use std::any::Any;
use std::error::Error as StdError;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Calls a hook of the user. A panic in it is logged, and returns `None`.
pub fn call_hook<R>(hook: &'static str, call: impl FnOnce() -> R) -> Option<R> {
    let called = catch_unwind(AssertUnwindSafe(call));
    called
        .inspect_err(|panic| {
            let error = panic_message(&**panic);
            tracing::error!(hook, error, "hook panicked");
        })
        .ok()
}

/// Returns the text of what `catch_unwind` caught.
#[must_use]
pub fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a value that is no text")
}

/// Returns an error with all its causes in one line.
pub fn chain(error: &(dyn StdError + 'static)) -> String {
    let causes = std::iter::successors(error.source(), |cause: &&'_ (dyn StdError + 'static)| {
        (*cause).source()
    });
    causes.fold(error.to_string(), |line, cause| format!("{line}: {cause}"))
}
