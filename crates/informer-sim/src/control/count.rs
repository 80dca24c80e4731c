//! How often each kind of trouble of the controllers' simulation struck, over many seeds.

use std::collections::BTreeMap;
use std::fmt;

/// Counts of what happened.
#[derive(Debug, Clone, Default)]
pub struct Counts {
    times: BTreeMap<&'static str, u64>,
    most: BTreeMap<&'static str, u64>,
}

impl Counts {
    pub(super) fn add(&mut self, what: &'static str, times: u64) {
        *self.times.entry(what).or_default() += times;
    }

    pub(super) fn most(&mut self, what: &'static str, many: u64) {
        let most = self.most.entry(what).or_default();
        *most = many.max(*most);
    }

    /// Adds the counts of another run.
    pub fn merge(&mut self, other: &Self) {
        for (what, times) in &other.times {
            self.add(what, *times);
        }
        for (what, many) in &other.most {
            self.most(what, *many);
        }
    }

    /// What should happen in a thousand seeds, and never did.
    #[must_use]
    pub fn never_came(&self) -> Vec<String> {
        let missing = EXPECTED
            .iter()
            .filter(|what| !self.times.contains_key(*what));
        missing.map(|what| (*what).to_owned()).collect()
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (what, count) in self.times.iter().chain(&self.most) {
            writeln!(f, "{what:<40}{count:>12}")?;
        }
        Ok(())
    }
}

/// Everything that must have struck.
const EXPECTED: &[&str] = &[
    "429 with Retry-After",
    "500",
    "503",
    "409",
    "answer lost",
    "cache behind",
    "changed",
    "clock jumps",
    "connection refused",
    "controller ended",
    "crash",
    "created",
    "delay",
    "deleted",
    "disconnect",
    "freeze beyond the lease",
    "freeze within the lease",
    "held open",
    "late effect",
    "leader crashed",
    "leader frozen",
    "leadership lost",
    "lease deleted",
    "lease emptied",
    "lease stolen",
    "lease touched",
    "outage of one",
    "reconcile fails",
    "reconcile hangs",
    "reconcile panics",
    "requeue",
    "requeue after",
    "source panics",
    "stop and start",
    "terms",
    "watches cut",
    "write under a lease that others wrote",
];
