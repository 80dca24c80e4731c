//! Waiting for an informer or a handler to be synced, with a deadline and a reason where it fails.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use informer_store::{Expectation, WaitError};
use tokio::sync::watch;

use crate::handler::{Control, HandlerEnd};
use crate::wait::Wait;

/// How an informer was getting on when a wait for it failed.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Progress {
    /// The informer's name.
    pub informer: Arc<str>,
    /// Whether the informer was started.
    pub started: bool,
    /// Whether its cache has the first list.
    pub store_synced: bool,
    /// Whether it waits for its turn among many that start: see [`StartLimit`](crate::StartLimit).
    pub waits_for_turn: bool,
    /// How many requests have failed since the last that went well.
    pub attempts: u32,
    /// Why the last request failed, with all causes in one line.
    pub last_error: Option<Arc<str>>,
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.started {
            return f.write_str("the informer was not started; call `start` or `run`");
        }
        if self.store_synced {
            return f.write_str("the cache has the first list");
        }
        if self.waits_for_turn {
            return f.write_str("it waits for its turn to start; others that start first are slow");
        }
        match (&self.last_error, self.attempts) {
            (Some(error), attempts @ 1..) => {
                write!(
                    f,
                    "{attempts} requests failed in a row, the last one: {error}"
                )
            }
            (Some(error), 0) => {
                write!(
                    f,
                    "the first list has not arrived; an earlier request failed: {error}"
                )
            }
            (None, _) => f.write_str("the first list has not arrived; no request has failed"),
        }
    }
}

/// Why a wait to be synced failed.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum SyncError {
    /// The deadline passed.
    #[error("{what} is not synced after {deadline:?}: {progress}{}", Queued(.handler_queue))]
    Deadline {
        /// What was waited for.
        what: Arc<str>,
        /// How long.
        deadline: Duration,
        /// How far the informer is, and what stands in its way.
        progress: Progress,
        /// Events that the handler has yet to handle, where it was a handler that was waited for.
        handler_queue: Option<usize>,
    },
    /// The informer stopped before.
    #[error("{what} stopped before it was synced: {progress}")]
    Stopped {
        /// What was waited for.
        what: Arc<str>,
        /// How far the informer was.
        progress: Progress,
    },
    /// The handler ended before.
    #[error("{what} ended before it was synced")]
    HandlerEnded {
        /// What was waited for.
        what: Arc<str>,
        /// Why the handler ended.
        source: HandlerEnd,
    },
}

struct Queued<'a>(&'a Option<usize>);

impl fmt::Display for Queued<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(events) => write!(f, "; {events} events wait for the handler"),
            None => Ok(()),
        }
    }
}

impl SyncError {
    /// How far the informer was, where that is the reason.
    #[must_use]
    pub const fn progress(&self) -> Option<&Progress> {
        match self {
            Self::Deadline { progress, .. } | Self::Stopped { progress, .. } => Some(progress),
            Self::HandlerEnded { .. } => None,
        }
    }

    /// True if it was only a matter of time.
    #[must_use]
    pub const fn is_deadline(&self) -> bool {
        matches!(self, Self::Deadline { .. })
    }
}

/// A wait for an informer or a handler to be synced. Await it, with a deadline or without.
///
/// ```no_run
/// # use std::time::Duration;
/// # use informer_shared::{SharedInformer, SyncError};
/// # use k8s_openapi::api::core::v1::Pod;
/// async fn ready(informer: &SharedInformer<Pod>) -> Result<(), SyncError> {
///     informer.synced().deadline(Duration::from_secs(60)).await
/// }
/// ```
#[doc(alias = "WaitForCacheSync")]
pub type Synced = Wait<SyncError>;

/// A wait for the cache to have what is expected: everything up to a resource version, an object, a deletion.
pub type CaughtUp = Wait<CatchUpError>;

/// Why a wait for the cache to catch up failed.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum CatchUpError {
    /// The deadline passed.
    #[error("the cache has not reached {wanted} after {deadline:?}: {progress}")]
    Deadline {
        /// What was waited for.
        wanted: Expectation,
        /// How long.
        deadline: Duration,
        /// How far the informer is, and what stands in its way.
        progress: Progress,
    },
    /// It can never succeed.
    #[error("the cache cannot catch up with {wanted}")]
    Never {
        /// What was waited for.
        wanted: Expectation,
        /// Why.
        source: WaitError,
    },
}

/// How far an informer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct InformerPhase {
    pub(crate) started: bool,
    pub(crate) synced: bool,
    pub(crate) stopped: bool,
}

pub(crate) type ProgressFn = Arc<dyn Fn() -> Progress + Send + Sync>;

/// An informer that is waited for. Keeps nothing of it alive.
#[derive(Clone)]
pub(crate) struct Watched {
    pub(crate) phase: watch::Receiver<InformerPhase>,
    pub(crate) progress: ProgressFn,
}

impl Watched {
    /// The wait for its cache to have the first list.
    pub(crate) fn synced(self) -> Synced {
        let late = self.clone();
        let Self {
            mut phase,
            progress,
        } = self;
        let outcome = async move {
            let end = phase.wait_for(|phase| phase.synced || phase.stopped).await;
            if end.is_ok_and(|phase| phase.synced) {
                return Ok(());
            }
            Err(stopped(progress()))
        };
        Wait::new(outcome, move |deadline| late.deadline_error(deadline))
    }

    /// The error if it has stopped without being synced.
    pub(crate) fn failed(&self) -> Option<SyncError> {
        let phase = *self.phase.borrow();
        (phase.stopped && !phase.synced).then(|| stopped((self.progress)()))
    }

    /// The error of a deadline that passed; `None` if it is synced.
    pub(crate) fn late(&self, deadline: Duration) -> Option<SyncError> {
        let is_synced = self.phase.borrow().synced;
        (!is_synced).then(|| self.deadline_error(deadline))
    }

    fn deadline_error(&self, deadline: Duration) -> SyncError {
        let progress = (self.progress)();
        let what = of_informer(&progress);
        SyncError::Deadline {
            what,
            deadline,
            progress,
            handler_queue: None,
        }
    }
}

pub(crate) fn handler_synced(control: Arc<dyn Control>, progress: ProgressFn) -> Synced {
    let at_deadline = Arc::clone(&control);
    let outcome = async move {
        let mut phase = control.phase();
        let end = phase.wait_for(|phase| phase.synced || phase.ended).await;
        if end.is_ok_and(|phase| phase.synced) {
            return Ok(());
        }
        let source = control.end_reason().unwrap_or(HandlerEnd::InformerStopped);
        Err(SyncError::HandlerEnded {
            what: of_handler(&*control),
            source,
        })
    };
    Wait::new(outcome, move |deadline| {
        let what = of_handler(&*at_deadline);
        let handler_queue = Some(at_deadline.status().queue_depth);
        SyncError::Deadline {
            what,
            deadline,
            progress: progress(),
            handler_queue,
        }
    })
}

fn stopped(progress: Progress) -> SyncError {
    SyncError::Stopped {
        what: of_informer(&progress),
        progress,
    }
}

fn of_informer(progress: &Progress) -> Arc<str> {
    Arc::from(format!("the informer of {}", progress.informer))
}

fn of_handler(control: &dyn Control) -> Arc<str> {
    Arc::from(format!("the handler {:?}", control.status().name))
}
