//! A whole list is received: whether to accept it, and what it says of the server.

use std::time::Instant;

use informer_store::{ListEnd, ResourceVersion};

use super::Machine;
use super::action::Action;
use crate::error::ListWatchError;
use crate::report::Report;

impl Machine {
    /// Decides about a list that is complete: the only place that knows whether it is acceptable and whether it is a
    /// rewind. Returns `false` if it was refused and another is requested.
    pub(super) fn accept_list(
        &mut self,
        now: Instant,
        requested: Option<&ResourceVersion>,
        got: Option<ResourceVersion>,
    ) -> bool {
        let got = got.filter(|version| !version.is_unset());
        let older = match (&got, &self.resume) {
            (Some(got), Some(resume)) => got.is_older_than(resume),
            _ => false,
        };
        if older && requested.is_some() {
            // It was to be "not older than": only the newest state can tell whether the server's versions went back.
            self.retry.newest_only = true;
            let error = ListWatchError::Protocol("list is older than requested");
            self.failed(now, error, |machine| machine.fetch_again(now));
            return false;
        }
        if let (true, Some(from), Some(to)) = (older, self.resume.clone(), got.clone()) {
            self.counts.rewinds += 1;
            self.actions
                .push_back(Action::Report(Report::Rewound { from, to }));
        }
        let version = got.clone().unwrap_or_else(|| ResourceVersion::new(""));
        let end = ListEnd::new(version).rewind(older);
        self.actions.push_back(Action::FinishList(end));
        self.resume = got;
        self.retry.list_accepted();
        if !std::mem::replace(&mut self.synced, true) {
            self.start_resyncs(now);
        }
        self.plan_relist(now);
        true
    }

    /// Plans the next list that is due although nothing is wrong; not all reflectors at once.
    fn plan_relist(&mut self, now: Instant) {
        self.relist_at = self.config.relist_period.map(|period| {
            let spread = period.mul_f64(0.1 * self.rng.f64());
            now + period + spread
        });
    }
}
