//! The status of a process loop, and the waits for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use informer_reflector::ReflectorStatus;
use tokio::sync::watch;

use super::source::Source;
use crate::wait::{InformerPhase, NotSynced, Wait, WaitError};

/// A snapshot of a process loop's status.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ProcessLoopStatus {
    /// Where the loop stands.
    pub phase: InformerPhase,
    /// `true` if the first list was applied. It stays true.
    pub synced: bool,
    /// Number of batches applied since the start.
    pub batches: u64,
    /// Number of keys in them.
    pub keys: u64,
    /// How often a key could not be applied, since the start.
    pub failures: u64,
    /// Number of keys that failed when they were last tried and are requeued.
    pub failing: usize,
    /// Number of keys that failed and were applied later, since the start.
    pub repaired: u64,
    /// Number of keys that failed too often and were given up, since the start.
    pub given_up: u64,
    /// The last key that could not be applied, and why, with all causes in one line.
    pub last_error: Option<Arc<str>>,
}

/// A view of a process loop that keeps nothing of it alive. It ends when the loop is dropped, run or not.
#[derive(Clone)]
pub(crate) struct Watched {
    /// What is watched, for errors: `informer` or `process loop`.
    kind: &'static str,
    pub(crate) name: Arc<str>,
    pub(crate) status: watch::Receiver<ProcessLoopStatus>,
    pub(crate) reflector: watch::Receiver<ReflectorStatus>,
    waits_for_slot: Arc<AtomicBool>,
}

impl Watched {
    /// Makes the status of a loop over this source, and a view of it.
    pub(crate) fn new(
        kind: &'static str,
        name: Arc<str>,
        source: &Source,
    ) -> (watch::Sender<ProcessLoopStatus>, Self) {
        let (sender, status) = watch::channel(ProcessLoopStatus::default());
        let watched = Self {
            kind,
            name,
            status,
            reflector: source.status.clone(),
            waits_for_slot: Arc::clone(&source.waits_for_slot),
        };
        (sender, watched)
    }

    pub(crate) fn phase(&self) -> InformerPhase {
        let phase = self.status.borrow().phase;
        match phase {
            InformerPhase::Syncing if self.waits_for_slot.load(Ordering::Relaxed) => {
                InformerPhase::WaitingForStartSlot
            }
            phase => phase,
        }
    }

    pub(crate) fn is_synced(&self) -> bool {
        self.status.borrow().synced
    }

    pub(crate) fn not_synced(&self) -> NotSynced {
        let phase = self.phase();
        let reflector = self.reflector.borrow();
        NotSynced {
            informer: Arc::clone(&self.name),
            phase,
            reflector: reflector.phase,
            attempts: reflector.attempts,
            last_error: reflector.last_error.clone(),
            handler_queue: None,
        }
    }

    /// Makes the wait for the first list to be applied.
    pub(crate) fn synced(mut self) -> Wait {
        let late = self.clone();
        let outcome = async move {
            let is_over = |status: &ProcessLoopStatus| {
                status.synced || status.phase == InformerPhase::Stopped
            };
            let end = self.status.wait_for(is_over).await;
            let is_synced = end.is_ok_and(|status| status.synced);
            if is_synced {
                Ok(())
            } else {
                Err(self.stopped())
            }
        };
        Wait::new(outcome, move |deadline| late.late(deadline))
    }

    /// Makes the error of a deadline that passed.
    pub(crate) fn late(&self, deadline: Duration) -> WaitError {
        WaitError::Deadline {
            unmet: self.unmet(),
            deadline,
            reason: self.not_synced(),
        }
    }

    fn unmet(&self) -> Arc<str> {
        Arc::from(format!("{} of {} not synced", self.kind, self.name))
    }

    /// Makes the error of a loop that stopped without being synced.
    pub(crate) fn stopped(&self) -> WaitError {
        WaitError::Stopped {
            unmet: self.unmet(),
            reason: self.not_synced(),
        }
    }
}
