//! What a reflector reports, logs and counts while it runs.

use std::time::{Duration, Instant};

use informer_store::DeltaSink;

use super::run::Driver;
use crate::error::ListWatchError;
use crate::lister_watcher::ListerWatcher;
use crate::machine::ErrorClass;
use crate::report::{Operation, Report};
use crate::status::ReflectorPhase;

/// A list that takes longer than this is worth a warning.
const SLOW_LIST: Duration = Duration::from_secs(10);

/// When the steps of a list were taken.
#[derive(Debug, Default)]
pub(super) struct ListTimes {
    begun: Option<Instant>,
    answered: Option<Instant>,
}

impl ListTimes {
    pub(super) const fn begin(now: Instant) -> Self {
        Self {
            begun: Some(now),
            answered: None,
        }
    }

    pub(super) fn answered(&mut self, now: Instant) {
        self.answered.get_or_insert(now);
    }
}

impl<L: ListerWatcher, S: DeltaSink<L::Object>> Driver<L, S> {
    pub(super) fn log_list(&self, decoded: Instant, resource_version: &str) {
        let applied = self.now();
        let begun = self.list_times.begun.unwrap_or(decoded);
        let answered = self.list_times.answered.unwrap_or(begun);
        let took = applied.duration_since(begun);
        self.metrics.listed(took);
        let answered_ms = millis(answered.duration_since(begun));
        let decoded_ms = millis(decoded.duration_since(answered));
        let applied_ms = millis(applied.duration_since(decoded));
        macro_rules! log {
            ($level:ident, $what:literal) => {
                tracing::$level!(resource_version, answered_ms, decoded_ms, applied_ms, $what)
            };
        }
        if took > SLOW_LIST {
            log!(warn, "slow list");
        } else {
            log!(debug, "listed");
        }
    }

    pub(super) fn report(&mut self, report: &Report) {
        match report {
            Report::Failed {
                during,
                error,
                attempts,
                retry_in,
            } => {
                if self.note_failure(*during, error, *attempts, *retry_in) {
                    return;
                }
            }
            Report::FellBack { .. } => tracing::info!("{report}"),
            Report::Rewound { from, to } => {
                tracing::warn!(%from, %to, "the API server's resource versions went back");
            }
            report => tracing::warn!("{report}"),
        }
        self.hooks.report(report);
    }

    /// Takes a failure into log, status and metrics. Returns `true` if it repeats that the server does not have the
    /// resource.
    fn note_failure(
        &mut self,
        during: Operation,
        error: &ListWatchError,
        attempts: u32,
        retry_in: Duration,
    ) -> bool {
        let not_found = ErrorClass::from(error) == ErrorClass::NotFound;
        let repeated = std::mem::replace(&mut self.not_found, not_found) && not_found;
        let text = error.chain();
        let retry_in_ms = millis(retry_in);
        if repeated {
            tracing::debug!(%during, error = %text, attempts, retry_in_ms, "still not found");
        } else {
            tracing::warn!(%during, error = %text, attempts, retry_in_ms, "list or watch failed");
        }
        let now = self.now();
        self.status.send_modify(|status| {
            status.last_error = Some(text.into());
            status.last_error_at = Some(now);
        });
        self.status_due = true;
        self.metrics.failed(during);
        repeated
    }

    pub(super) fn publish_status(&mut self) {
        self.status_due = false;
        self.status_at = self.now();
        let machine = &self.machine;
        let counts = machine.counts();
        let (undecodable, unknown) = (&self.undecodable, &self.unknown);
        let last_event_at = self.last_event_at;
        self.status.send_modify(|status| {
            status.phase = machine.phase();
            status.synced = machine.is_synced();
            status.attempts = machine.attempts();
            status.retry_at = machine.retry_at();
            status.resource_version = machine.resource_version().cloned();
            status.last_event_at = last_event_at;
            status.lists = counts.lists;
            status.watches = counts.watches;
            status.rewinds = counts.rewinds;
            status.undecodable = undecodable.count();
            status.undecodable_total = undecodable.total();
            status.unknown_events = unknown.total();
        });
        self.metrics.publish(&self.status.borrow());
    }
}

impl<L: ListerWatcher, S: DeltaSink<L::Object>> Drop for Driver<L, S> {
    fn drop(&mut self) {
        self.io.close();
        self.publish_status();
        self.metrics.stopped();
        self.status.send_modify(|status| {
            status.phase = ReflectorPhase::Stopped;
            status.retry_at = None;
        });
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
