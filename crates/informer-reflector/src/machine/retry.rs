//! What is remembered of failed requests.

use std::time::{Duration, Instant};

use informer_store::ResourceVersion;

/// Internal errors further apart have nothing to do with each other.
const ERROR_GAP: Duration = Duration::from_secs(60);

/// What is remembered of failed requests until something goes well.
#[derive(Debug, Default)]
pub(super) struct Retry {
    /// How many requests failed.
    pub(super) attempts: u32,
    /// The server refused the resume version for a list: request the newest state.
    pub(super) newest_only: bool,
    /// Where a watch could not start. A second time at the same version, the version itself is at fault.
    distrusted: Option<ResourceVersion>,
    /// How many watches in a row ended at once and empty.
    pub(super) empty_ends: u32,
    /// How many internal errors followed each other closely, and the last.
    internal_errors: (u32, Option<Instant>),
    /// The server does not have the resource.
    pub(super) not_found: bool,
}

impl Retry {
    pub(super) const fn failed(&mut self) {
        self.attempts = self.attempts.saturating_add(1);
    }

    pub(super) const fn list_accepted(&mut self) {
        self.newest_only = false;
        self.empty_ends = 0;
        self.attempts = 0;
    }

    /// A watch moved on: earlier failures of watches have nothing to do with later ones.
    pub(super) fn progressed(&mut self) {
        self.empty_ends = 0;
        self.internal_errors = (0, None);
    }

    /// Counts one more internal error. Returns `true` while they are at most `allowed`.
    pub(super) fn allows_internal_error(&mut self, now: Instant, allowed: u32) -> bool {
        let (count, last) = self.internal_errors;
        let related = last.is_some_and(|last| now.duration_since(last) < ERROR_GAP);
        let count = if related { count.saturating_add(1) } else { 1 };
        let allows = count <= allowed;
        self.internal_errors = if allows {
            (count, Some(now))
        } else {
            (0, None)
        };
        allows
    }

    /// A watch cannot start at this version. The first time, a list that is not older helps; if that leads to the same
    /// version again, only the newest state does.
    pub(super) fn distrust(&mut self, version: Option<&ResourceVersion>) {
        if self.distrusted.is_some() && self.distrusted.as_ref() == version {
            self.newest_only = true;
        }
        self.distrusted = version.cloned();
    }
}
