//! When to list by streaming, and what to do when that fails.

use std::time::{Duration, Instant};

use super::Machine;
use super::action::Action;
use super::class::ErrorClass;
use super::state::{State, Then};
use crate::config::ListMode;
use crate::report::Report;

/// After so many streaming lists in a row that failed inside the server, fell silent or ended before their initial events
/// did, they do not work here.
const MAX_DOUBTS: u32 = 3;

/// What is remembered of streaming lists.
#[derive(Debug)]
pub(super) struct Streaming {
    /// The source can do them, as far as it knows.
    supported: bool,
    /// The server cannot; remembered for good.
    refused: bool,
    /// The next time the whole state is fetched, list.
    list_next: bool,
    /// How many in a row failed in a way that may be temporary.
    pub(super) doubts: u32,
}

impl Streaming {
    pub(super) const fn new(supported: bool) -> Self {
        Self {
            supported,
            refused: false,
            list_next: false,
            doubts: 0,
        }
    }

    /// Whether the whole state is fetched by streaming now.
    pub(super) fn is_next(&mut self, mode: ListMode) -> bool {
        let list = std::mem::take(&mut self.list_next);
        mode != ListMode::List && self.supported && !self.refused && !list
    }
}

impl Machine {
    pub(super) fn streaming_list_failed(
        &mut self,
        now: Instant,
        class: ErrorClass,
        asked: Option<Duration>,
    ) {
        let State::Watching(watching) = &self.state else {
            return;
        };
        let (opened, asked_version) = (watching.opened.is_some(), watching.requested.is_some());
        match class {
            ErrorClass::Expired | ErrorClass::TooLarge if asked_version => {
                self.retry.newest_only = true;
                self.fetch_again(now);
            }
            ErrorClass::Busy
            | ErrorClass::Refused
            | ErrorClass::NotFound
            | ErrorClass::Expired
            | ErrorClass::TooLarge => self.wait_failed(now, asked, Then::List),
            ErrorClass::Transport | ErrorClass::Timeout if opened => self.stream_unended(now),
            ErrorClass::Unsupported => self.fall_back(now, "the server refuses them"),
            ErrorClass::Internal => self.doubt(now, asked, "the server fails at them"),
            ErrorClass::Transport
            | ErrorClass::Timeout
            | ErrorClass::Unavailable
            | ErrorClass::Other => {
                self.streaming.list_next = true;
                self.wait_failed(now, asked, Then::List);
            }
        }
    }

    /// A streaming list ended before its initial events did: what it brought is worth nothing.
    pub(super) fn stream_unended(&mut self, now: Instant) {
        self.streaming.doubts += 1;
        if self.streaming.doubts >= MAX_DOUBTS {
            self.fall_back(now, "their initial events do not end");
        } else {
            self.wait_failed(now, None, Then::List);
        }
    }

    /// The failure may be temporary, or the server cannot stream: lists, and streams the next time unless this has
    /// happened too often.
    pub(super) fn doubt(&mut self, now: Instant, asked: Option<Duration>, reason: &'static str) {
        self.streaming.doubts += 1;
        if self.streaming.doubts >= MAX_DOUBTS && asked.is_none() {
            return self.fall_back(now, reason);
        }
        self.streaming.list_next = true;
        if asked.is_some() {
            self.wait_failed(now, asked, Then::List);
        } else {
            self.fetch_again(now);
        }
    }

    /// Lists, now and (in mode `Auto`) from now on.
    fn fall_back(&mut self, now: Instant, reason: &'static str) {
        self.streaming.doubts = 0;
        self.streaming.list_next = true;
        self.streaming.refused |= self.config.list_mode == ListMode::Auto;
        self.actions
            .push_back(Action::Report(Report::FellBack { reason }));
        self.fetch_again(now);
    }
}
