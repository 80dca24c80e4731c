//! How running an informer fails.

use std::sync::Arc;

use crate::handler::HandlerFailure;

/// The informer has stopped; it takes no more handlers and cannot be started again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the informer has stopped and cannot be used any more; make a new one")]
#[non_exhaustive]
pub struct InformerStopped;

/// Why an informer did not start, or ended other than by being stopped.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// It was started before. An informer runs once.
    #[error("the informer was started before and runs only once; make a new one to run again")]
    AlreadyStarted,
    /// It was stopped before it was started.
    #[error("the informer was stopped and cannot be started any more; make a new one")]
    Stopped,
    /// There is no tokio runtime to start it in.
    #[error("there is no tokio runtime here; start the informer inside of one")]
    NoRuntime,
    /// A handler failed whose policy is to stop the informer.
    #[error("the handler {handler:?} failed, and its policy is to stop the informer")]
    Handler {
        /// The handler's name.
        handler: Arc<str>,
        /// How it failed.
        source: HandlerFailure,
    },
    /// A part of the informer itself panicked.
    #[error(
        "the informer's {part} panicked: {message}; this is a bug of the informer or of its lister-watcher"
    )]
    Panicked {
        /// Which part, as `reflector`.
        part: &'static str,
        /// What the panic said.
        message: Arc<str>,
    },
}
