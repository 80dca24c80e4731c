//! Waits: awaitable values with an optional deadline, and why they fail.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use informer_reflector::ReflectorPhase;

use crate::error::EndReason;

/// A wait, with a deadline or without. Await it.
///
/// Without a deadline it lasts until it succeeds or can never succeed. It keeps nothing alive, and dropping it has no
/// effect. A deadline needs a tokio runtime with time.
///
/// ```no_run
/// use std::time::Duration;
/// use informer_shared::{SharedInformer, WaitError};
/// use k8s_openapi::api::core::v1::Pod;
///
/// async fn ready(informer: &SharedInformer<Pod>) -> Result<(), WaitError> {
///     informer.synced().deadline(Duration::from_secs(60)).await
/// }
/// ```
#[must_use = "it waits only when awaited"]
pub struct Wait<T = ()> {
    pub(crate) outcome: BoxFuture<'static, Result<T, WaitError>>,
    pub(crate) late: Box<dyn FnOnce(Duration) -> WaitError + Send>,
    deadline: Option<Duration>,
}

impl<T: Send + 'static> Wait<T> {
    /// Makes a wait; `late` makes the error of a deadline that passed.
    pub(crate) fn new(
        outcome: impl Future<Output = Result<T, WaitError>> + Send + 'static,
        late: impl FnOnce(Duration) -> WaitError + Send + 'static,
    ) -> Self {
        Self {
            outcome: outcome.boxed(),
            late: Box::new(late),
            deadline: None,
        }
    }

    /// Sets the deadline, counted from the first poll: the wait fails if it takes longer.
    pub const fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }
}

impl<T: Send + 'static> IntoFuture for Wait<T> {
    type Output = Result<T, WaitError>;
    type IntoFuture = BoxFuture<'static, Result<T, WaitError>>;

    fn into_future(self) -> Self::IntoFuture {
        let Self {
            outcome,
            late,
            deadline,
        } = self;
        let Some(deadline) = deadline else {
            return outcome;
        };
        let bounded = async move {
            let timed = tokio::time::timeout(deadline, outcome).await;
            timed.unwrap_or_else(|_| Err(late(deadline)))
        };
        bounded.boxed()
    }
}

impl<T> fmt::Debug for Wait<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wait")
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}

/// Why a wait failed. Each error names what was waited for.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum WaitError {
    /// The deadline passed.
    #[error("{unmet} within {deadline:?}: {reason}")]
    Deadline {
        /// The condition that was not met, as `informer of pods not synced`.
        unmet: Arc<str>,
        /// The deadline.
        deadline: Duration,
        /// What it waited for last.
        reason: NotSynced,
    },
    /// The informer or process loop stopped before.
    #[error("{unmet} before it stopped: {reason}")]
    Stopped {
        /// The condition that was not met.
        unmet: Arc<str>,
        /// What it waited for last.
        reason: NotSynced,
    },
    /// The handler ended before.
    #[error("{unmet} before it ended")]
    HandlerEnded {
        /// The condition that was not met.
        unmet: Arc<str>,
        /// Why the handler ended.
        source: EndReason,
    },
    /// Whether the condition is met cannot be told, or nothing feeds the cache any more.
    #[error("{unmet}")]
    Never {
        /// The condition that was not met.
        unmet: Arc<str>,
        /// Why.
        source: informer_store::WaitError,
    },
    /// The wait was refused: a handler waits, directly or through other handlers, for itself.
    #[error("{unmet}: the handler that waits would wait for itself; return from it instead")]
    WithinHandler {
        /// The condition that was not met.
        unmet: Arc<str>,
    },
    /// The handler has not ended within the deadline: a call of it still runs, or nothing has ended it.
    #[error(
        "handler {handler:?} not ended within {deadline:?}; a call of it that runs must not wait for its own end"
    )]
    NotEnded {
        /// The handler's name.
        handler: Arc<str>,
        /// The deadline.
        deadline: Duration,
    },
    /// Of several informers, these are not synced.
    #[error("{} of {total} informers not synced: {}", .failed.len(), Joined(.failed))]
    Informers {
        /// How many informers were waited for.
        total: usize,
        /// One error for each informer that is late or stopped.
        failed: Vec<Self>,
    },
}

impl WaitError {
    /// Returns `true` if only the deadline passed, so that waiting longer may help.
    #[must_use]
    pub fn is_deadline(&self) -> bool {
        match self {
            Self::Deadline { .. } | Self::NotEnded { .. } => true,
            Self::Informers { failed, .. } => failed.iter().all(Self::is_deadline),
            _ => false,
        }
    }

    /// Returns why the informer was not synced, if that is the reason.
    #[must_use]
    pub const fn not_synced(&self) -> Option<&NotSynced> {
        match self {
            Self::Deadline { reason, .. } | Self::Stopped { reason, .. } => Some(reason),
            _ => None,
        }
    }
}

struct Joined<'a>(&'a [WaitError]);

impl fmt::Display for Joined<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, error) in self.0.iter().enumerate() {
            let separator = if at == 0 { "" } else { "; " };
            write!(f, "{separator}{error}")?;
        }
        Ok(())
    }
}

/// Where an informer or process loop stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum InformerPhase {
    /// It was made, and not started.
    #[default]
    NotStarted,
    /// It is started and waits for its turn among many: see [`StartLimit`](crate::StartLimit).
    WaitingForStartSlot,
    /// Its first list is being received or applied.
    Syncing,
    /// Its first list is applied, and it follows changes.
    Synced,
    /// It has stopped.
    Stopped,
}

/// Why an informer, a process loop or a handler is not synced, for people and programs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotSynced {
    /// The informer's name.
    pub informer: Arc<str>,
    /// Where the informer stands.
    pub phase: InformerPhase,
    /// Where its reflector stands.
    pub reflector: ReflectorPhase,
    /// How many requests in a row have failed.
    pub attempts: u32,
    /// Why the last request failed, with all causes in one line.
    pub last_error: Option<Arc<str>>,
    /// How many events the handler has queued, if a handler was waited for.
    pub handler_queue: Option<usize>,
}

impl fmt::Display for NotSynced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.phase {
            InformerPhase::NotStarted => f.write_str("not started; call `start` or `run`")?,
            InformerPhase::WaitingForStartSlot => f.write_str("waiting for a start slot")?,
            InformerPhase::Synced => f.write_str("the first list is applied")?,
            InformerPhase::Syncing | InformerPhase::Stopped => self.fmt_requests(f)?,
        }
        match self.handler_queue {
            Some(events) => write!(f, "; {events} events are queued for the handler"),
            None => Ok(()),
        }
    }
}

impl NotSynced {
    fn fmt_requests(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.reflector == ReflectorPhase::NotFound {
            f.write_str("the server does not have this resource; ")?;
        }
        match (&self.last_error, self.attempts) {
            (Some(error), attempts @ 1..) => {
                write!(
                    f,
                    "{attempts} requests failed in a row, the last with: {error}"
                )
            }
            (Some(error), 0) => {
                write!(
                    f,
                    "the first list is not complete; an earlier request failed with: {error}"
                )
            }
            (None, _) => f.write_str("the first list is not complete; no request has failed"),
        }
    }
}
