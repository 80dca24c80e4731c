//! Which of the reflector's reports are told, and how often.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use informer::client::Error;
use informer::reflector::{ListWatchError, Report};

/// After so long without a failure a reason counts as new again. Longer than the longest wait between two tries, so that
/// a failure that only pauses is told once.
const HEALTHY: Duration = Duration::from_secs(120);
/// How many different reasons are remembered. A server may put a number into each of its messages.
const MAX_REASONS: usize = 1_000;

/// Something to tell.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// It may heal.
    Reason(String),
    /// The caller must change something.
    Hopeless(String),
}

/// Remembers the reasons that were told.
#[derive(Debug, Default)]
pub(crate) struct Troubles {
    told: HashSet<String>,
    last: Option<Instant>,
}

impl Troubles {
    /// What to tell of a report: each reason of a failure once, until requests have gone well for a while.
    ///
    /// A list that goes well between two watches that are refused is no health: each would be told again.
    pub(crate) fn tell(&mut self, now: Instant, report: &Report<'_>) -> Option<Trouble> {
        let error = match report {
            Report::Failed { error, .. } => error,
            // Not an error: the next request is another one.
            Report::FellBack { .. } => return None,
            _ => return Some(Trouble::Reason(report.to_string())),
        };
        if let Some(reason) = hopeless(error) {
            return Some(Trouble::Hopeless(reason));
        }
        let healthy = self
            .last
            .replace(now)
            .is_some_and(|last| now.duration_since(last) >= HEALTHY);
        if healthy || self.told.len() >= MAX_REASONS {
            self.told.clear();
        }
        let is_new = self.told.insert(error.chain().to_string());
        is_new.then(|| Trouble::Reason(report.to_string()))
    }
}

/// Why the request itself is wrong, so that no later try can go well: it cannot even be sent, as with a selector too long
/// for a URL, or HTTP 400, as for an unknown field of a selector.
fn hopeless(error: &ListWatchError) -> Option<String> {
    if let ListWatchError::Other(source) = error
        && let Some(error @ Error::Request { .. }) = source.downcast_ref::<Error>()
    {
        return Some(format!(
            "the request cannot be sent; check selectors and options: {error}"
        ));
    }
    let status = error.status().filter(|status| status.code == 400)?;
    Some(format!(
        "the API server refuses the request; check selectors and options: {}",
        status.message
    ))
}

#[cfg(test)]
mod tests {
    use informer::reflector::Operation;
    use informer::wire::Status;

    use super::*;

    fn tell(troubles: &mut Troubles, now: Instant, code: u16, attempts: u32) -> Option<Trouble> {
        let error = ListWatchError::status_error(Status::failure(code, "", format!("no {code}")));
        let report = Report::Failed {
            during: Operation::Watch,
            error: &error,
            attempts,
            retry_in: Duration::ZERO,
        };
        troubles.tell(now, &report)
    }

    #[test]
    fn a_reason_is_told_once_though_other_requests_go_well_between() {
        let mut troubles = Troubles::default();
        let mut now = Instant::now();
        assert!(tell(&mut troubles, now, 403, 1).is_some());
        for _ in 0..10 {
            now += Duration::from_secs(60);
            // The first failure since a list that went well.
            assert_eq!(tell(&mut troubles, now, 403, 1), None);
        }
        assert!(tell(&mut troubles, now, 503, 2).is_some());
        now += HEALTHY;
        assert!(tell(&mut troubles, now, 403, 1).is_some());
    }

    #[test]
    fn only_a_wrong_request_is_hopeless() {
        let mut troubles = Troubles::default();
        for code in [401, 403, 404, 410, 429, 500, 503, 504] {
            let told = tell(&mut troubles, Instant::now(), code, 1);
            assert!(matches!(told, Some(Trouble::Reason(_))), "{code}");
        }
        let told = tell(&mut troubles, Instant::now(), 400, 1);
        assert!(matches!(told, Some(Trouble::Hopeless(_))));
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut troubles = Troubles::default();
        let now = Instant::now();
        for number in 0..2 * MAX_REASONS {
            let error = ListWatchError::status_error(Status::failure(500, "", number.to_string()));
            let report = Report::Failed {
                during: Operation::List,
                error: &error,
                attempts: 1,
                retry_in: Duration::ZERO,
            };
            troubles.tell(now, &report);
        }
        assert!(troubles.told.len() <= MAX_REASONS);
    }
}
