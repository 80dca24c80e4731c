//! The states between which the machine moves.

use std::time::{Duration, Instant};

use informer_store::{ResourceVersion, mutant};

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
    /// Get the whole state.
    Sync,
    /// Resume the watch.
    Watch,
}

/// A list under way.
#[derive(Debug)]
pub(super) struct Listing {
    pub(super) purpose: Purpose,
    /// The resource version that the first page asked for.
    pub(super) requested: Option<ResourceVersion>,
    pub(super) limit: Option<u32>,
    /// The list has no pages because its pages expired.
    pub(super) full: bool,
    /// Copies that the sink knows may be left undecoded.
    pub(super) use_known: bool,
    pub(super) answered: bool,
    pub(super) last_progress: Instant,
    pub(super) page: u32,
    pub(super) items_in_page: u64,
    /// How many pages without items came in a row.
    pub(super) empty_pages: u32,
    /// A token from before, kept to see whether it comes again.
    pub(super) token: Option<String>,
    /// The resource version of the first page, which is the list's.
    pub(super) resource_version: Option<ResourceVersion>,
}

/// What a list is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To replace what is in the sink.
    Sync,
    /// To see whether the server went back in time.
    Probe,
}

impl Listing {
    /// The first page of a list, asked for now.
    pub(super) const fn new(now: Instant, purpose: Purpose) -> Self {
        Self {
            purpose,
            requested: None,
            limit: None,
            full: false,
            use_known: false,
            answered: false,
            last_progress: now,
            page: 1,
            items_in_page: 0,
            empty_pages: 0,
            token: None,
            resource_version: None,
        }
    }

    /// Whether the next page was asked for before. Keeping the token of each page whose number is a power of two
    /// finds circles of any length.
    pub(super) fn goes_in_circles(&mut self, token: &str) -> bool {
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
}

/// A watch under way.
#[derive(Debug)]
pub(super) struct Watching {
    pub(super) requested: Option<ResourceVersion>,
    pub(super) asked_at: Instant,
    /// After this time the server was asked to end it.
    pub(super) timeout: Duration,
    pub(super) opened: Option<Instant>,
    /// When the last frame came; when it was opened, before the first one.
    pub(super) last_frame: Instant,
    pub(super) frames: u64,
    /// The resume version moved or an event was applied.
    pub(super) progressed: bool,
    /// The present state comes as ADDED events in no order, so their versions say nothing.
    pub(super) unordered: bool,
    /// The first state of a streaming list has not ended.
    pub(super) initial: Option<Initial>,
}

/// The first state of a streaming list, on its way.
#[derive(Debug)]
pub(super) struct Initial {
    /// When the last object came; when the watch was opened, before the first one.
    pub(super) last_added: Instant,
    /// When something came that is no part of a first state.
    pub(super) live_sign: Option<Instant>,
}

/// How long the first state may be without progress.
pub(super) const INITIAL_PROGRESS: Duration = Duration::from_secs(30);
/// How long the end marker may be missing after frames of an ordinary watch came.
const MARKER_AFTER_LIVE_SIGN: Duration = Duration::from_secs(60);
/// By how much a server may overstay the end that it was asked for.
const END_MARGIN: Duration = Duration::from_secs(30);

impl Watching {
    /// When to lose patience.
    pub(super) fn deadline(&self, opening: Duration, silence: Duration) -> Instant {
        let Some(opened) = self.opened else {
            let never = mutant!("reflector-wait-for-ever-for-a-watch");
            return self.asked_at + if never { opening * 10_000 } else { opening };
        };
        let end = self.end(opened);
        if let Some(initial) = &self.initial {
            return initial.deadline().min(end);
        }
        end.min(self.last_frame + silence)
    }

    /// When the server must have ended the watch.
    pub(super) fn end(&self, opened: Instant) -> Instant {
        opened + self.timeout + END_MARGIN
    }
}

impl Initial {
    pub(super) fn deadline(&self) -> Instant {
        let progress = self.last_added + INITIAL_PROGRESS;
        self.live_sign
            .map_or(progress, |sign| progress.min(sign + MARKER_AFTER_LIVE_SIGN))
    }
}

/// Counts internal errors that follow each other closely.
#[derive(Debug, Default)]
pub(super) struct RetryWindow {
    count: u32,
    last: Option<Instant>,
}

/// Errors further apart have nothing to do with each other.
const RETRY_WINDOW_GAP: Duration = Duration::from_secs(60);

impl RetryWindow {
    /// One more error: true while they are at most `allowed`.
    pub(super) fn allows(&mut self, now: Instant, allowed: u32) -> bool {
        let related = self
            .last
            .is_some_and(|last| now.duration_since(last) < RETRY_WINDOW_GAP);
        self.count = if related {
            self.count.saturating_add(1)
        } else {
            1
        };
        self.last = Some(now);
        if self.count <= allowed {
            return true;
        }
        *self = Self::default();
        false
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}
