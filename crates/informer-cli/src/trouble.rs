//! Filters the reflector's reports: which are printed, and how often.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use informer::client::Error;
use informer::reflector::{ListWatchError, Report};

/// After so long without a failure a reason counts as new again. Longer than the longest backoff, so that a lasting
/// failure is printed once.
const HEALTHY: Duration = Duration::from_secs(120);
/// How many different reasons are remembered. A server may put a number into each of its messages.
const MAX_REASONS: usize = 1_000;

/// A failure to print.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// A later request may succeed.
    Reason(String),
    /// The caller must change something: no later request can succeed.
    Hopeless(String),
}

/// The reasons that were printed.
#[derive(Debug, Default)]
pub(crate) struct Troubles {
    printed: HashSet<String>,
    last: Option<Instant>,
}

impl Troubles {
    /// Returns what to print of a report: each reason of a failure once, until requests have succeeded for a while.
    ///
    /// A list that succeeds between two refused watches does not count: each refusal would be printed again.
    pub(crate) fn filter(&mut self, now: Instant, report: &Report) -> Option<Trouble> {
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
        if healthy || self.printed.len() >= MAX_REASONS {
            self.printed.clear();
        }
        let is_new = self.printed.insert(error.chain());
        is_new.then(|| Trouble::Reason(report.to_string()))
    }
}

/// Returns why no later request can succeed, if so: the request cannot be sent, as with a selector too long for a URL, or
/// the server responds with 400, as for an unknown field of a selector.
fn hopeless(error: &ListWatchError) -> Option<String> {
    if let ListWatchError::Other(source) = error
        && let Some(error @ Error::Request { .. }) = source.downcast_ref::<Error>()
    {
        return Some(format!(
            "cannot send the request; check selectors and options: {error}"
        ));
    }
    let status = error.status().filter(|status| status.code == 400)?;
    Some(format!(
        "the API server refused the request; check selectors and options: {}",
        status.message
    ))
}

#[cfg(test)]
mod tests {
    use informer::reflector::Operation;
    use informer::wire::Status;

    use super::*;

    fn filter(troubles: &mut Troubles, now: Instant, code: u16, attempts: u32) -> Option<Trouble> {
        let error = ListWatchError::status_error(Status::failure(code, "", format!("no {code}")));
        let report = Report::Failed {
            during: Operation::Watch,
            error,
            attempts,
            retry_in: Duration::ZERO,
        };
        troubles.filter(now, &report)
    }

    #[test]
    fn reason_is_printed_once_although_other_requests_succeed() {
        let mut troubles = Troubles::default();
        let mut now = Instant::now();
        assert!(filter(&mut troubles, now, 403, 1).is_some());
        for _ in 0..10 {
            now += Duration::from_secs(60);
            // The first failure since a list that went well.
            assert_eq!(filter(&mut troubles, now, 403, 1), None);
        }
        assert!(filter(&mut troubles, now, 503, 2).is_some());
        now += HEALTHY;
        assert!(filter(&mut troubles, now, 403, 1).is_some());
    }

    #[test]
    fn bad_request_alone_is_hopeless() {
        let mut troubles = Troubles::default();
        for code in [401, 403, 404, 410, 429, 500, 503, 504] {
            let printed = filter(&mut troubles, Instant::now(), code, 1);
            assert!(matches!(printed, Some(Trouble::Reason(_))), "{code}");
        }
        let printed = filter(&mut troubles, Instant::now(), 400, 1);
        assert!(matches!(printed, Some(Trouble::Hopeless(_))));
    }

    #[test]
    fn remembered_reasons_are_bounded() {
        let mut troubles = Troubles::default();
        let now = Instant::now();
        for number in 0..2 * MAX_REASONS {
            let error = ListWatchError::status_error(Status::failure(500, "", number.to_string()));
            let report = Report::Failed {
                during: Operation::List,
                error,
                attempts: 1,
                retry_in: Duration::ZERO,
            };
            troubles.filter(now, &report);
        }
        assert!(troubles.printed.len() <= MAX_REASONS);
    }
}
