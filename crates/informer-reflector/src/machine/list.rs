//! Lists: pages, resource versions, and what to do when they fail.

use std::time::Instant;

use informer_store::{ResourceVersion, mutant};
use informer_wire::ListMeta;

use super::Machine;
use super::action::{Action, Fault, Verdict};
use super::failure::{Failure, FailureKind};
use super::state::{Listing, Purpose, State, Then};
use crate::config::FirstList;

/// A server that goes on giving pages without objects is broken.
const MAX_EMPTY_PAGES: u32 = 100;

impl Machine {
    /// One item of the list has come. Says whether it belongs to the list that is coming in.
    #[must_use]
    pub fn handle_list_item(&mut self, now: Instant) -> Verdict {
        let State::Listing(listing) = &mut self.state else {
            return Verdict::Skip;
        };
        listing.last_progress = now;
        listing.items_in_page += 1;
        match listing.purpose {
            Purpose::Sync => Verdict::Collect,
            Purpose::Probe => Verdict::Skip,
        }
    }

    /// The page under way has ended well.
    pub fn handle_list_end(&mut self, now: Instant, meta: &ListMeta) {
        let State::Listing(listing) = &mut self.state else {
            return;
        };
        listing.last_progress = now;
        if listing.page == 1 {
            listing.resource_version.clone_from(&meta.resource_version);
        }
        if listing.purpose == Purpose::Probe {
            self.probe_ended(now);
            return;
        }
        match meta
            .continue_token
            .as_deref()
            .filter(|token| !token.is_empty())
        {
            Some(token) => self.next_page(now, token),
            None => self.list_complete(now),
        }
    }

    /// Lists; `full` means without pages, because those expired.
    pub(super) fn start_list(&mut self, now: Instant, full: bool) {
        let requested = self.list_version();
        let concrete = requested.as_ref().is_some_and(|rv| !rv.is_unset());
        let paged = !full && (!concrete || self.paginated || self.config.page_relists);
        let limit = Some(self.config.page_size).filter(|size| paged && *size > 0);
        let use_known = self.may_use_known();

        let mut options = self.base_options();
        options.resource_version.clone_from(&requested);
        options.limit = limit;
        self.counts.lists += 1;
        self.replacing = true;
        self.actions.push_back(Action::BeginReplace);
        self.actions.push_back(Action::List { options, use_known });
        self.state = State::Listing(Listing {
            requested,
            limit,
            full,
            use_known,
            ..Listing::new(now, Purpose::Sync)
        });
    }

    /// Whether copies that are known need not be read again. The newest state may be older than what we have, and the
    /// server may have given versions that we know to other copies since: then everything is read anew.
    pub(super) const fn may_use_known(&self) -> bool {
        !self.rv_unavailable
    }

    /// Which state a list must have at least.
    fn list_version(&self) -> Option<ResourceVersion> {
        if self.rv_unavailable {
            return None;
        }
        if self.resume.is_none() && !self.synced && self.config.first_list == FirstList::Any {
            return Some(ResourceVersion::new("0"));
        }
        self.resume.clone()
    }

    fn next_page(&mut self, now: Instant, token: &str) {
        let mut options = self.base_options();
        let State::Listing(listing) = &mut self.state else {
            return;
        };
        listing.empty_pages = if listing.items_in_page == 0 {
            listing.empty_pages + 1
        } else {
            0
        };
        if listing.goes_in_circles(token) || listing.empty_pages > MAX_EMPTY_PAGES {
            self.notice_fault(Fault::Protocol("the pages of a list lead nowhere"));
            self.fail(now, None, Then::Sync);
            return;
        }
        if listing.page == 1
            && listing
                .requested
                .as_ref()
                .is_some_and(ResourceVersion::is_unset)
        {
            self.paginated = true;
        }
        listing.page = listing.page.saturating_add(1);
        listing.items_in_page = 0;
        listing.answered = false;
        // Neither the resource version nor its match may stand beside a token, which holds both.
        options.limit = listing.limit;
        options.continue_token = Some(token.to_owned());
        if mutant!("reflector-version-beside-token") {
            options.resource_version.clone_from(&self.resume);
        }
        let use_known = listing.use_known;
        self.actions.push_back(Action::List { options, use_known });
    }

    fn list_complete(&mut self, now: Instant) {
        let State::Listing(listing) = &mut self.state else {
            return;
        };
        let got = listing.resource_version.take();
        let requested = listing.requested.take();
        if self.take_snapshot(now, requested.as_ref(), got) {
            self.start_watch(now);
        }
    }

    pub(super) fn list_failed(&mut self, now: Instant, failure: Failure) {
        let State::Listing(listing) = &self.state else {
            return;
        };
        if listing.purpose == Purpose::Probe {
            self.fail(now, failure.retry_after, Then::Watch);
            return;
        }
        if listing.page > 1 && mutant!("reflector-take-broken-list") {
            self.list_complete(now);
            return;
        }
        let asked_version = listing.requested.is_some();
        let full = listing.full;
        match failure.kind {
            FailureKind::Expired if listing.page > 1 && full => {
                // It gives pages unasked and cannot keep them: nothing but time helps.
                self.fail(now, failure.retry_after, Then::Sync);
            }
            FailureKind::Expired if listing.page > 1 => {
                self.leave();
                self.attempts = self.attempts.saturating_add(1);
                self.start_list(now, true);
            }
            FailureKind::Expired | FailureKind::TooLarge if asked_version => {
                self.leave();
                self.attempts = self.attempts.saturating_add(1);
                self.rv_unavailable = !mutant!("reflector-keep-too-large");
                self.start_list(now, full);
            }
            kind => {
                // It may be the version itself that the server cannot read.
                self.rv_unavailable |= kind == FailureKind::Unsupported && asked_version;
                self.fail(now, failure.retry_after, Then::Sync);
            }
        }
    }

    /// The stream of a page ended before the page did.
    pub(super) fn list_cut_short(&mut self, now: Instant) {
        self.notice_fault(Fault::Protocol("a page of a list broke off before its end"));
        self.list_failed(now, Failure::new(FailureKind::Transport));
    }

    pub(super) fn list_timed_out(&mut self, now: Instant) {
        let State::Listing(listing) = &self.state else {
            return;
        };
        let what = if listing.answered {
            "progress in a list"
        } else {
            "answer to a list"
        };
        let limit = self.config.request_timeout;
        self.notice_fault(Fault::Timeout { what, limit });
        self.list_failed(now, Failure::new(FailureKind::Timeout));
    }

    /// Asks for the newest state in the cheapest way, to see whether the server went back in time.
    pub(super) fn start_probe(&mut self, now: Instant) {
        let mut options = self.base_options();
        options.limit = Some(1);
        self.actions.push_back(Action::List {
            options,
            use_known: false,
        });
        self.state = State::Listing(Listing::new(now, Purpose::Probe));
    }

    fn probe_ended(&mut self, now: Instant) {
        let State::Listing(listing) = &mut self.state else {
            return;
        };
        let newest = listing.resource_version.take();
        let rewound = match (&newest, &self.resume) {
            (Some(newest), Some(resume)) => newest.is_older_than(resume),
            _ => false,
        };
        self.leave();
        if rewound {
            self.rv_unavailable = true;
            self.start_sync(now);
        } else {
            self.silence.false_alarm();
            self.start_watch(now);
        }
    }
}
