//! How handlers fail and end, and what a failure does.

use std::any::Any;
use std::error::Error as StdError;
use std::sync::Arc;

/// What a handler's panic or error does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FailurePolicy {
    /// The handler ends. Others and the informer go on.
    StopHandler,
    /// The event is counted as handled, and the next one follows.
    Skip,
    /// The informer stops with the failure as its error.
    StopInformer,
}

/// A call of a handler that failed.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum HandlerFailure {
    /// The handler panicked.
    #[error("the handler panicked: {message}")]
    Panicked {
        /// What the panic said.
        message: Arc<str>,
    },
    /// The handler returned an error.
    #[error("the handler returned an error")]
    Failed {
        /// The error.
        source: Arc<dyn StdError + Send + Sync>,
    },
}

impl HandlerFailure {
    /// The failure behind what `catch_unwind` caught.
    pub(crate) fn from_panic(panic: &(dyn Any + Send)) -> Self {
        let message = panic
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("a value that is no text");
        Self::Panicked {
            message: Arc::from(message),
        }
    }
}

/// Why a handler hears of nothing more.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum HandlerEnd {
    /// Its registration was dropped or removed.
    #[error("the handler was removed")]
    Removed,
    /// The informer stopped.
    #[error("the informer stopped")]
    InformerStopped,
    /// Its bounded queue was full.
    #[error(
        "the handler fell behind by more than the {limit} events that its queue holds; make it faster, \
         or let its queue hold more or coalesce"
    )]
    QueueFull {
        /// How many events its queue holds.
        limit: usize,
    },
    /// It failed, and its policy is not to go on.
    #[error("the handler failed and was stopped")]
    Failure(#[source] HandlerFailure),
    /// No thread could be started for it.
    #[error("no thread could be started for the handler")]
    NoThread(#[source] Arc<std::io::Error>),
}
