//! A whole state has arrived: whether to take it, and what it tells of the server.

use std::time::Instant;

use informer_store::{ReplaceEnd, ResourceVersion, mutant};

use super::Machine;
use super::action::{Action, Fault, Notice};

impl Machine {
    /// Hands a whole state over. False if it was not taken and another is on its way.
    pub(super) fn take_snapshot(
        &mut self,
        now: Instant,
        requested: Option<&ResourceVersion>,
        got: Option<ResourceVersion>,
    ) -> bool {
        let got = got.filter(|rv| !rv.is_unset());
        let older = match (&got, &self.resume) {
            (Some(got), Some(resume)) => got.is_older_than(resume),
            _ => false,
        };
        if older && requested.is_some() {
            // Asked for "not older than", the server gave something older: ask for the newest state.
            self.notice_fault(Fault::Protocol("a list is older than was asked for"));
            self.rv_unavailable = true;
            self.leave();
            self.start_sync(now);
            return false;
        }
        self.finish_replace(got, older);
        self.plan_relist(now);
        true
    }

    fn finish_replace(&mut self, got: Option<ResourceVersion>, rewind: bool) {
        if let (true, Some(from), Some(to)) = (rewind, self.resume.clone(), got.clone()) {
            self.counts.rewinds += 1;
            self.notice(Notice::Rewound { from, to });
        }
        let version = got.clone().unwrap_or_else(|| ResourceVersion::new(""));
        self.replacing = false;
        self.actions.push_back(Action::FinishReplace(
            ReplaceEnd::new(version).rewind(rewind && !mutant!("reflector-forget-rewind")),
        ));
        self.resume = got;
        self.pending = None;
        self.synced = true;
        self.rv_unavailable = false;
        self.streaming.unmarked = 0;
        self.empty_closes = 0;
        self.attempts = 0;
    }

    /// The next list that is due although nothing is wrong; not all reflectors at once.
    fn plan_relist(&mut self, now: Instant) {
        self.next_relist = self.config.relist_period.map(|period| {
            let spread = period.mul_f64(0.1 * self.rng.f64());
            now + period + spread
        });
    }

    /// A watch cannot start at the resume version. The first time, a list that is not older helps; if that leads
    /// to the same version again, only the newest state can.
    pub(super) fn distrust_version(&mut self) {
        if self.distrusted.is_some() && self.distrusted == self.resume {
            self.rv_unavailable = true;
        }
        self.distrusted.clone_from(&self.resume);
    }
}
