//! Calls of functions, comparisons and drops that are the user's: a panic there must not leave an index half changed.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Calls user code. A panic becomes its message.
pub(super) fn catch<R>(call: impl FnOnce() -> R) -> Result<R, String> {
    catch_unwind(AssertUnwindSafe(call)).map_err(message)
}

/// Drops what may hold values of the user's. A panic of their drop is ignored, after the panic hook has reported it.
pub(super) fn drop_values<T>(values: T) {
    let _ = catch(|| drop(values));
}

fn message(panic: Box<dyn Any + Send>) -> String {
    let panic = match panic.downcast::<&'static str>() {
        Ok(text) => return (*text).to_owned(),
        Err(panic) => panic,
    };
    match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(other) => {
            // Its drop is user code, and could panic as well.
            std::mem::forget(other);
            "a panic without a message".to_owned()
        }
    }
}
