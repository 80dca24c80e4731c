//! How handlers and informers fail and end.

use std::any::Any;
use std::error::Error as StdError;
use std::sync::Arc;

use informer_reflector::__private::panic_message;
use informer_store::{IndexError, SelectorError};

/// An error of any type, as handlers may return it.
pub type BoxError = Box<dyn StdError + Send + Sync>;

/// A failed call of a handler.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum HandlerError {
    /// The handler panicked.
    #[error("handler panicked: {message}")]
    Panicked {
        /// The text of the panic.
        message: Arc<str>,
    },
    /// The handler returned an error.
    #[error("handler returned an error")]
    Failed {
        /// The error.
        source: Arc<dyn StdError + Send + Sync>,
    },
}

impl HandlerError {
    pub(crate) fn from_panic(panic: &(dyn Any + Send)) -> Self {
        Self::Panicked {
            message: Arc::from(panic_message(panic)),
        }
    }
}

/// Why a handler receives no more events.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum EndReason {
    /// It was removed.
    #[error("handler was removed")]
    Removed,
    /// The informer stopped.
    #[error("informer stopped")]
    InformerStopped,
    /// Its bounded queue was full.
    #[error(
        "handler queue is full with {limit} events; make the handler faster, or its queue larger or coalescing"
    )]
    QueueFull {
        /// How many events its queue holds at most.
        limit: usize,
    },
    /// A call failed, and the handler's [policy](crate::FailurePolicy) is not to continue.
    #[error("handler failed and was stopped")]
    Failed(#[source] HandlerError),
    /// No thread could be started for it.
    #[error("cannot start a thread for the handler")]
    NoThread(#[source] Arc<std::io::Error>),
}

/// Why an informer or process loop cannot be used, or ended other than by being stopped.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// It was started before.
    #[error("informer was started before and runs only once; make a new one to run again")]
    AlreadyStarted,
    /// It was stopped: it takes no handlers and cannot be started.
    #[error("informer was stopped and cannot be used any more; make a new one")]
    Stopped,
    /// There is no tokio runtime to start it in.
    #[error("no tokio runtime; start the informer within one")]
    NoRuntime,
    /// The wait was refused: it was called within a handler whose end it would have to wait for.
    #[error(
        "a handler cannot wait for the end of its own informer; return from the handler instead"
    )]
    WithinHandler,
    /// A handler failed whose policy is to stop the informer.
    #[error("handler {handler:?} failed, and its policy is to stop the informer")]
    Handler {
        /// The handler's name.
        handler: Arc<str>,
        /// The failure.
        source: HandlerError,
    },
    /// A part of the informer panicked.
    #[error(
        "{part} panicked: {message}; the cause is in the lister-watcher, the objects' type or the informer itself"
    )]
    Panicked {
        /// The part, as `reflector`.
        part: &'static str,
        /// The text of the panic.
        message: Arc<str>,
    },
}

/// Why an informer or a factory cannot be made.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// Two indexes have one name.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// A selector does not parse.
    #[error("invalid selector of the reflector's configuration")]
    Selector(#[from] SelectorError),
}

impl RunError {
    pub(crate) fn from_panic(part: &'static str, panic: &(dyn Any + Send)) -> Self {
        Self::Panicked {
            part,
            message: Arc::from(panic_message(panic)),
        }
    }
}
