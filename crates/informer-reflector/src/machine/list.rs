//! Lists: pages, resource versions, and what to do when they fail.

use std::time::{Duration, Instant};

use informer_store::ResourceVersion;
use informer_wire::ListMeta;

use super::Machine;
use super::action::{Action, Route};
use super::class::ErrorClass;
use super::state::{Listing, State, Then};
use crate::error::ListWatchError;

/// A server that goes on sending pages without objects is broken.
const MAX_EMPTY_PAGES: u32 = 100;

impl Machine {
    /// An item of the list was received. Returns where it goes.
    #[must_use]
    pub fn handle_list_item(&mut self, now: Instant) -> Route {
        let State::Listing(listing) = &mut self.state else {
            return Route::Skip;
        };
        listing.last_progress = now;
        listing.items_in_page += 1;
        if listing.probe {
            Route::Skip
        } else {
            Route::Collect
        }
    }

    /// The page ended well.
    pub fn handle_list_end(&mut self, now: Instant, meta: &ListMeta) {
        let State::Listing(listing) = &mut self.state else {
            return;
        };
        listing.last_progress = now;
        if listing.page == 1 {
            listing.resource_version.clone_from(&meta.resource_version);
        }
        if listing.probe {
            return self.probe_ended(now);
        }
        match meta.continue_token.as_deref() {
            Some(token) if !token.is_empty() => self.next_page(now, token),
            _ => self.list_complete(now),
        }
    }

    /// Starts a list; a `full` one has no pages, because those expired.
    pub(super) fn start_list(&mut self, now: Instant, full: bool) {
        let requested = self.list_version();
        let concrete = requested
            .as_ref()
            .is_some_and(|version| !version.is_unset());
        let paged = !full && (!concrete || self.paginated || self.config.page_relists);
        let limit = Some(self.config.page_size).filter(|size| paged && *size > 0);
        let reuse = self.may_reuse();

        let mut options = self.base_options();
        options.resource_version.clone_from(&requested);
        options.limit = limit;
        self.counts.lists += 1;
        self.actions.push_back(Action::List { options, reuse });
        self.state = State::Listing(Listing {
            requested,
            limit,
            full,
            reuse,
            ..Listing::new(now, false)
        });
    }

    /// Whether objects that the sink has in the same version need not be decoded. The newest state may be a rewind, where
    /// the server may have given known versions to other objects: then everything is decoded.
    pub(super) const fn may_reuse(&self) -> bool {
        !self.retry.newest_only
    }

    /// Whether the open request receives a list for the sink.
    pub(super) const fn receives_list(&self) -> bool {
        match &self.state {
            State::Listing(listing) => !listing.probe,
            State::Watching(watching) => watching.initial.is_some(),
            _ => false,
        }
    }

    /// The resource version than which a list must not be older.
    fn list_version(&self) -> Option<ResourceVersion> {
        if self.retry.newest_only {
            return None;
        }
        if self.resume.is_none() && !self.synced && self.config.first_list_from_cache {
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
        if listing.repeats(token) || listing.empty_pages > MAX_EMPTY_PAGES {
            let error =
                ListWatchError::Protocol("continue token repeated, or too many empty pages");
            return self.failed(now, error, |machine| {
                machine.wait_failed(now, None, Then::List);
            });
        }
        let any_state = listing
            .requested
            .as_ref()
            .is_some_and(ResourceVersion::is_unset);
        self.paginated |= listing.page == 1 && any_state;
        listing.page = listing.page.saturating_add(1);
        listing.items_in_page = 0;
        listing.answered = false;
        // Neither the resource version nor its match may stand beside a token, which holds both.
        options.limit = listing.limit;
        options.continue_token = Some(token.to_owned());
        let reuse = listing.reuse;
        self.actions.push_back(Action::List { options, reuse });
    }

    fn list_complete(&mut self, now: Instant) {
        let State::Listing(listing) = &mut self.state else {
            return;
        };
        let got = listing.resource_version.take();
        let requested = listing.requested.take();
        if self.accept_list(now, requested.as_ref(), got) {
            self.start_watch(now);
        }
    }

    pub(super) fn list_failed(&mut self, now: Instant, class: ErrorClass, asked: Option<Duration>) {
        let State::Listing(listing) = &self.state else {
            return;
        };
        if listing.probe {
            return self.wait_failed(now, asked, Then::Watch);
        }
        let asked_version = listing.requested.is_some();
        let full = listing.full;
        match class {
            // A full one that has pages all the same, which the server cannot keep: only time helps.
            ErrorClass::Expired if listing.page > 1 && full => {
                self.wait_failed(now, asked, Then::List);
            }
            ErrorClass::Expired if listing.page > 1 => self.list_again(now, true),
            ErrorClass::Expired | ErrorClass::TooLarge if asked_version => {
                self.retry.newest_only = true;
                self.list_again(now, full);
            }
            class => {
                // It may be the version itself that the server cannot parse.
                self.retry.newest_only |= class == ErrorClass::Unsupported && asked_version;
                self.wait_failed(now, asked, Then::List);
            }
        }
    }

    fn list_again(&mut self, now: Instant, full: bool) {
        self.leave();
        self.retry.failed();
        self.start_list(now, full);
    }

    pub(super) fn list_timed_out(&mut self, now: Instant) {
        let State::Listing(listing) = &self.state else {
            return;
        };
        let what = if listing.answered {
            "object"
        } else {
            "response"
        };
        let limit = listing.limit(&self.config.timeouts);
        self.handle_error(now, ListWatchError::Timeout { what, limit });
    }

    /// Requests the newest state in the cheapest way, to see whether the server's resource versions went back.
    pub(super) fn start_probe(&mut self, now: Instant) {
        let mut options = self.base_options();
        options.limit = Some(1);
        self.actions.push_back(Action::List {
            options,
            reuse: false,
        });
        self.state = State::Listing(Listing::new(now, true));
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
            self.retry.newest_only = true;
            self.fetch(now);
        } else {
            self.silence.false_alarm();
            self.start_watch(now);
        }
    }
}
