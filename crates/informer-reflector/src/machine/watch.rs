//! Watches and streaming lists: their events, their ends, and what to do when they fail.

use std::time::{Duration, Instant};

use informer_store::{ResourceVersion, mutant};
use informer_wire::ResourceVersionMatch;

use super::Machine;
use super::action::{Action, EventKind, EventMeta, Fault, Notice, Verdict};
use super::failure::{Failure, FailureKind};
use super::state::{INITIAL_PROGRESS, Initial, State, Then, Watching};
use crate::config::ListMode;

/// After so many streaming lists that ended without their end marker, list.
const MAX_UNMARKED: u32 = 3;
/// After so many streaming lists in a row that failed inside the server or fell silent, they do not work here.
const MAX_DOUBTS: u32 = 3;
/// A watch that lived for longer than this and brought something is followed by another at once.
const SHORT_LIFE: Duration = Duration::from_secs(1);
/// A watch that lived for this long was in order, even if it brought nothing.
const GOOD_LIFE: Duration = Duration::from_secs(10);
/// After so many watches in a row that closed at once with nothing, the version they start from is in doubt.
const MAX_EMPTY_CLOSES: u32 = 2;

impl Machine {
    /// An event of the watch has come. Says what to do with it.
    #[must_use]
    pub fn handle_event(&mut self, now: Instant, event: &EventMeta) -> Verdict {
        self.pending = None;
        let State::Watching(watching) = &mut self.state else {
            return Verdict::Skip;
        };
        let bookmark = matches!(event.kind, EventKind::Bookmark { .. });
        if watching.initial.is_none() {
            self.silence
                .frame(now.duration_since(watching.last_frame), bookmark);
            self.attempts = 0;
        }
        watching.last_frame = now;
        watching.frames += 1;
        if watching.initial.is_some() {
            self.initial_event(now, event)
        } else {
            self.live_event(now, event)
        }
    }

    pub(super) fn start_watch(&mut self, now: Instant) {
        self.open_watch(now, false);
    }

    pub(super) fn start_streaming_list(&mut self, now: Instant) {
        self.counts.lists += 1;
        self.replacing = true;
        self.actions.push_back(Action::BeginReplace);
        self.open_watch(now, true);
    }

    fn open_watch(&mut self, now: Instant, initial: bool) {
        let requested = self
            .resume
            .clone()
            .filter(|_| !(initial && self.rv_unavailable));
        let timeout = self.watch_timeout();
        let mut options = self
            .base_options()
            .allow_watch_bookmarks(true)
            .timeout(timeout);
        options.resource_version.clone_from(&requested);
        if initial {
            options = options
                .send_initial_events(true)
                .resource_version_match(ResourceVersionMatch::NotOlderThan);
        }
        self.counts.watches += 1;
        self.actions.push_back(if initial {
            Action::StreamingList {
                options,
                use_known: self.may_use_known(),
            }
        } else {
            Action::Watch { options }
        });
        self.state = State::Watching(Watching {
            unordered: !initial && requested.is_none(),
            requested,
            asked_at: now,
            timeout,
            opened: None,
            last_frame: now,
            frames: 0,
            progressed: false,
            initial: initial.then_some(Initial {
                last_added: now,
                live_sign: None,
            }),
        });
    }

    /// Between the least time and twice that, in whole seconds.
    fn watch_timeout(&mut self) -> Duration {
        let least = self.config.watch_timeout.as_secs();
        Duration::from_secs(least + self.rng.u64(0..least.max(1)))
    }

    pub(super) fn watch_opened(&mut self, now: Instant) {
        let State::Watching(watching) = &mut self.state else {
            return;
        };
        if watching.opened.is_some() {
            return;
        }
        watching.opened = Some(now);
        watching.last_frame = now;
        match &mut watching.initial {
            Some(initial) => initial.last_added = now,
            None => self.backoff.healthy(now),
        }
    }

    /// An event of the first state of a streaming list. Its version says nothing, for objects come in no order.
    fn initial_event(&mut self, now: Instant, event: &EventMeta) -> Verdict {
        let State::Watching(Watching {
            initial: Some(initial),
            ..
        }) = &mut self.state
        else {
            return Verdict::Skip;
        };
        match event.kind {
            EventKind::Added => {
                initial.last_added = now;
                if mutant!("reflector-advance-by-first-state") {
                    self.resume.clone_from(&event.resource_version);
                }
            }
            EventKind::Bookmark {
                initial_events_end: true,
            } => {
                self.initial_events_ended(now, event.resource_version.clone());
                return Verdict::Skip;
            }
            EventKind::Modified | EventKind::Deleted | EventKind::Bookmark { .. } => {
                initial.live_sign.get_or_insert(now);
            }
            EventKind::Unknown => {}
        }
        match event.kind {
            EventKind::Added | EventKind::Modified | EventKind::Deleted if event.named => {
                Verdict::Collect
            }
            _ => Verdict::Skip,
        }
    }

    fn initial_events_ended(&mut self, now: Instant, got: Option<ResourceVersion>) {
        let State::Watching(watching) = &mut self.state else {
            return;
        };
        let requested = watching.requested.clone();
        if !self.take_snapshot(now, requested.as_ref(), got) {
            return;
        }
        self.streaming.doubts = 0;
        self.backoff.healthy(now);
        // The same stream goes on as a watch.
        let unordered = self.resume.is_none();
        if let State::Watching(watching) = &mut self.state {
            watching.initial = None;
            watching.progressed = true;
            watching.unordered = unordered;
        }
    }

    /// An event of a watch whose first state is behind it.
    fn live_event(&mut self, now: Instant, event: &EventMeta) -> Verdict {
        let version = event.resource_version.as_ref().filter(|rv| !rv.is_unset());
        match event.kind {
            EventKind::Unknown => Verdict::Skip,
            EventKind::Bookmark { .. } => self.bookmark(version),
            EventKind::Added | EventKind::Modified | EventKind::Deleted if !event.named => {
                self.notice_fault(Fault::Protocol("an event's object has no name"));
                self.fail(now, None, Then::Sync);
                Verdict::Skip
            }
            kind => self.change(kind, version),
        }
    }

    fn bookmark(&mut self, version: Option<&ResourceVersion>) -> Verdict {
        let (Some(version), State::Watching(watching)) = (version, &mut self.state) else {
            return Verdict::Skip;
        };
        watching.unordered = false;
        if self
            .resume
            .as_ref()
            .is_some_and(|resume| version.is_older_than(resume))
        {
            return Verdict::Skip;
        }
        if self.resume.as_ref() != Some(version) {
            watching.progressed = true;
            self.made_progress();
        }
        self.pending = Some(version.clone());
        if let (true, Some(at)) = (
            mutant!("reflector-advance-beyond-bookmark"),
            version.as_u64(),
        ) {
            self.pending = Some((at + 1).into());
        }
        Verdict::Apply
    }

    fn change(&mut self, kind: EventKind, version: Option<&ResourceVersion>) -> Verdict {
        let State::Watching(watching) = &mut self.state else {
            return Verdict::Skip;
        };
        watching.unordered &= kind == EventKind::Added;
        let unordered = watching.unordered;
        match (version, &self.resume) {
            (Some(version), Some(resume)) if version.is_older_than(resume) => {
                return Verdict::ApplyIfNewer;
            }
            (Some(version), _) if !unordered => self.pending = Some(version.clone()),
            _ => {}
        }
        watching.progressed = true;
        self.made_progress();
        Verdict::Apply
    }

    /// The server gives what it should: earlier failures say nothing any more.
    fn made_progress(&mut self) {
        self.empty_closes = 0;
        self.internal_errors.clear();
    }

    /// A watch ended as watches do: resume, after a wait if it brought nothing.
    pub(super) fn watch_ended(&mut self, now: Instant) {
        let State::Watching(watching) = &self.state else {
            return;
        };
        let lived = watching
            .opened
            .map_or(Duration::ZERO, |opened| now.duration_since(opened));
        let progressed = watching.progressed;
        if mutant!("reflector-relist-after-good-end") {
            self.leave();
            self.wait(now, None, Then::Sync);
            return;
        }
        if mutant!("reflector-no-wait-after-empty-watch") {
            self.rewatch(now);
            return;
        }
        if lived >= GOOD_LIFE || (progressed && lived > SHORT_LIFE) {
            self.empty_closes = 0;
            self.rewatch(now);
            return;
        }
        if progressed {
            self.leave();
            self.wait(now, None, Then::Watch);
            return;
        }
        self.notice_fault(Fault::Protocol("a watch ended at once and brought nothing"));
        self.empty_closes += 1;
        let then = if self.empty_closes >= MAX_EMPTY_CLOSES {
            self.empty_closes = 0;
            self.distrust_version();
            Then::Sync
        } else {
            Then::Watch
        };
        self.fail(now, None, then);
    }

    /// A watch ended after a good life: opens the next one at once. One that was silent all its life may be from the
    /// future, as in [`watch_silent`](Self::watch_silent).
    fn rewatch(&mut self, now: Instant) {
        self.leave();
        let silent_for = match &self.state {
            State::Watching(Watching {
                opened: Some(opened),
                frames: 0,
                ..
            }) => now.duration_since(*opened),
            _ => Duration::ZERO,
        };
        if !self.never_lists && self.silence.ended_silent(silent_for) && self.resume.is_some() {
            self.start_probe(now);
        } else if self.resume.is_some() {
            self.start_watch(now);
        } else {
            self.wait(now, None, Then::Sync);
        }
    }

    pub(super) fn watch_failed(&mut self, now: Instant, failure: Failure) {
        let State::Watching(watching) = &self.state else {
            return;
        };
        let opened = watching.opened.is_some();
        let asked = failure.retry_after;
        match failure.kind {
            FailureKind::Expired => {
                self.distrust_version();
                self.fail(now, asked, Then::Sync);
            }
            FailureKind::TooLarge => {
                self.rv_unavailable = !mutant!("reflector-keep-too-large");
                if self.backoff.fail(now) {
                    self.leave();
                    self.attempts = self.attempts.saturating_add(1);
                    self.start_sync(now);
                } else {
                    self.fail(now, asked, Then::Sync);
                }
            }
            FailureKind::Transport | FailureKind::Timeout if opened => self.watch_ended(now),
            FailureKind::Busy
            | FailureKind::Refused
            | FailureKind::Transport
            | FailureKind::Timeout => self.fail(now, asked, Then::Watch),
            FailureKind::Internal | FailureKind::Unavailable
                if self
                    .internal_errors
                    .allows(now, self.config.internal_error_retries) =>
            {
                self.fail(now, asked, Then::Watch);
            }
            FailureKind::Internal
            | FailureKind::Unavailable
            | FailureKind::Unsupported
            | FailureKind::Other => self.fail(now, asked, Then::Sync),
        }
    }

    pub(super) fn streaming_list_failed(&mut self, now: Instant, failure: Failure) {
        let State::Watching(watching) = &self.state else {
            return;
        };
        let (opened, asked_version) = (watching.opened.is_some(), watching.requested.is_some());
        let asked = failure.retry_after;
        match failure.kind {
            FailureKind::Expired | FailureKind::TooLarge if asked_version => {
                self.rv_unavailable = !mutant!("reflector-keep-too-large");
                self.leave();
                self.attempts = self.attempts.saturating_add(1);
                self.start_sync(now);
            }
            FailureKind::Busy
            | FailureKind::Refused
            | FailureKind::Expired
            | FailureKind::TooLarge => self.fail(now, asked, Then::Sync),
            FailureKind::Transport | FailureKind::Timeout if opened => self.stream_unmarked(now),
            FailureKind::Unsupported => {
                self.attempts = self.attempts.saturating_add(1);
                self.fall_back(now, "the server refuses them");
            }
            FailureKind::Internal => {
                self.attempts = self.attempts.saturating_add(1);
                self.doubt(now, asked, "the server fails at them");
            }
            FailureKind::Transport
            | FailureKind::Timeout
            | FailureKind::Unavailable
            | FailureKind::Other => {
                self.streaming.list_next = true;
                self.fail(now, asked, Then::Sync);
            }
        }
    }

    /// A streaming list ended before its first state was complete: what came of it is worth nothing.
    pub(super) fn stream_unmarked(&mut self, now: Instant) {
        self.streaming.unmarked += 1;
        if self.streaming.unmarked >= MAX_UNMARKED {
            self.fall_back(now, "they end before the first state is complete");
        } else {
            self.notice_fault(Fault::Protocol(
                "a streaming list ended without its end marker",
            ));
            self.fail(now, None, Then::Sync);
        }
    }

    /// It may be trouble of the server that passes, or the server cannot stream: lists, and streams the next time
    /// unless this has happened too often.
    fn doubt(&mut self, now: Instant, asked: Option<Duration>, reason: &'static str) {
        self.streaming.doubts += 1;
        if self.streaming.doubts >= MAX_DOUBTS && asked.is_none() {
            self.fall_back(now, reason);
            return;
        }
        self.streaming.list_next = true;
        self.leave();
        if asked.is_some() {
            self.wait(now, asked, Then::Sync);
        } else {
            self.start_sync(now);
        }
    }

    /// Lists, now and (in mode auto) from now on.
    fn fall_back(&mut self, now: Instant, reason: &'static str) {
        self.streaming.unmarked = 0;
        self.streaming.doubts = 0;
        self.streaming.list_next = true;
        self.streaming.refused |= self.config.list_mode == ListMode::Auto;
        self.notice(Notice::FellBack { reason });
        self.leave();
        self.start_sync(now);
    }

    pub(super) fn watch_timed_out(&mut self, now: Instant) {
        let State::Watching(watching) = &self.state else {
            return;
        };
        let Some(opened) = watching.opened else {
            let limit = self.config.request_timeout;
            self.notice_fault(Fault::Timeout {
                what: "answer to a watch",
                limit,
            });
            self.handle_error(now, Failure::new(FailureKind::Timeout));
            return;
        };
        let overdue = watching.end(opened) <= now;
        if watching.initial.is_some() {
            let (what, limit) = ("progress in a streaming list", INITIAL_PROGRESS);
            self.notice_fault(Fault::Timeout { what, limit });
            self.doubt(now, None, "they make no progress");
        } else if overdue {
            self.rewatch(now);
        } else {
            self.watch_silent(now);
        }
    }

    /// A watch that should have brought a bookmark by now is silent: resume, and if that is silent too, see
    /// whether the server went back in time (a watch from the future is accepted and stays silent).
    fn watch_silent(&mut self, now: Instant) {
        let limit = self.silence.limit();
        self.notice_fault(Fault::Timeout {
            what: "event or bookmark",
            limit,
        });
        let State::Watching(watching) = &self.state else {
            return;
        };
        if watching.frames > 0 {
            self.silence.fell_silent();
        }
        self.silence.gave_up();
        self.attempts = self.attempts.saturating_add(1);
        self.rewatch(now);
    }
}
