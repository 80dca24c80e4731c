//! Small tools for programs that want no cache: a watch that goes on, and waiting until a condition holds.

mod retry;
mod until;

pub use retry::RetryWatcher;
pub use until::until_with_sync;
