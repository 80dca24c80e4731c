//! The states between which the machine moves.

use std::time::{Duration, Instant};

use informer_store::ResourceVersion;

use super::silence::Silence;
use crate::config::Timeouts;

#[derive(Debug)]
pub(super) enum State {
    Start,
    /// Waiting before the next request.
    Waiting {
        until: Instant,
        then: Then,
    },
    Listing(Listing),
    Watching(Watching),
}

/// What follows a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    /// Fetch the whole state.
    List,
    /// Resume the watch.
    Watch,
}

/// An open list.
#[derive(Debug)]
pub(super) struct Listing {
    /// It only sees whether the server's resource versions went back, and replaces nothing.
    pub(super) probe: bool,
    /// The resource version that the first page requested.
    pub(super) requested: Option<ResourceVersion>,
    pub(super) limit: Option<u32>,
    /// The list has no pages because its pages expired.
    pub(super) full: bool,
    /// Whether objects that the sink has in the same version may be taken from there.
    pub(super) reuse: bool,
    pub(super) answered: bool,
    pub(super) last_progress: Instant,
    pub(super) page: u32,
    pub(super) items_in_page: u64,
    /// How many pages in a row had no items.
    pub(super) empty_pages: u32,
    /// An earlier continue token, kept to see whether it is repeated.
    pub(super) token: Option<String>,
    /// The resource version of the first page, which is the list's.
    pub(super) resource_version: Option<ResourceVersion>,
}

impl Listing {
    /// The first page of a list, requested now.
    pub(super) const fn new(now: Instant, probe: bool) -> Self {
        Self {
            probe,
            requested: None,
            limit: None,
            full: false,
            reuse: false,
            answered: false,
            last_progress: now,
            page: 1,
            items_in_page: 0,
            empty_pages: 0,
            token: None,
            resource_version: None,
        }
    }

    /// Whether the next page was requested before. Keeping the token of each page whose number is a power of two
    /// finds circles of any length.
    pub(super) fn repeats(&mut self, token: &str) -> bool {
        let again = self.token.as_deref() == Some(token);
        if self.page.is_power_of_two() {
            self.token = Some(token.to_owned());
        }
        again
    }

    pub(super) const fn opened(&mut self, now: Instant) {
        self.answered = true;
        self.last_progress = now;
    }

    pub(super) const fn limit(&self, timeouts: &Timeouts) -> Duration {
        if self.answered {
            timeouts.progress
        } else {
            timeouts.answer
        }
    }
}

/// An open watch.
#[derive(Debug)]
pub(super) struct Watching {
    pub(super) requested: Option<ResourceVersion>,
    pub(super) requested_at: Instant,
    /// The server was asked to end it after this time.
    pub(super) timeout: Duration,
    pub(super) opened: Option<Instant>,
    /// When the last event was received; before the first one, when the watch was opened.
    pub(super) last_frame: Instant,
    pub(super) frames: u64,
    /// The resume version moved or an event was routed to the sink.
    pub(super) progressed: bool,
    /// The whole state comes as ADDED events in no order, so their versions move nothing.
    pub(super) unordered: bool,
    /// The initial events of a streaming list have not ended.
    pub(super) initial: Option<Initial>,
}

/// The initial events of a streaming list.
#[derive(Debug)]
pub(super) struct Initial {
    /// When the last object was received; before the first one, when the watch was opened.
    pub(super) last_added: Instant,
    /// When an event was received that is no initial one.
    pub(super) live_sign: Option<Instant>,
}

/// How long the bookmark that ends the initial events may be missing after events of an ordinary watch.
const END_AFTER_LIVE_SIGN: Duration = Duration::from_secs(60);
/// How much later than requested the server may end a watch.
const END_MARGIN: Duration = Duration::from_secs(30);

impl Watching {
    /// When the watch is given up.
    pub(super) fn deadline(&self, timeouts: &Timeouts, silence: &Silence) -> Instant {
        let Some(opened) = self.opened else {
            return self.requested_at + silence.opening_limit();
        };
        let end = self.end(opened);
        match &self.initial {
            Some(initial) => initial.deadline(timeouts.progress).min(end),
            None => end.min(self.last_frame + silence.limit()),
        }
    }

    /// When the server must have ended the watch.
    pub(super) fn end(&self, opened: Instant) -> Instant {
        opened + self.timeout + END_MARGIN
    }
}

impl Initial {
    fn deadline(&self, limit: Duration) -> Instant {
        let progress = self.last_added + limit;
        self.live_sign
            .map_or(progress, |sign| progress.min(sign + END_AFTER_LIVE_SIGN))
    }
}
