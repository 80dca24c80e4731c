//! Watches and streaming lists: opening them, and their events.

use std::time::{Duration, Instant};

use informer_store::ResourceVersion;
use informer_wire::ResourceVersionMatch;

use super::Machine;
use super::action::{Action, EventMeta, EventType, Route};
use super::state::{Initial, State, Then, Watching};
use crate::error::ListWatchError;

impl Machine {
    /// A watch event was received. Returns where it goes; an event for the sink has moved the resume version.
    #[must_use]
    pub fn handle_event(&mut self, now: Instant, event: &EventMeta) -> Route {
        let State::Watching(watching) = &mut self.state else {
            return Route::Skip;
        };
        // One of those that come every minute: the end of the initial events says nothing of them.
        let bookmark = matches!(
            event.event_type,
            EventType::Bookmark {
                initial_events_end: false
            }
        );
        if watching.initial.is_none() {
            let gap = now.duration_since(watching.last_frame);
            self.silence.frame(gap, bookmark);
            self.retry.attempts = 0;
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
        self.open_watch(now, true);
    }

    fn open_watch(&mut self, now: Instant, initial: bool) {
        let requested = self
            .resume
            .clone()
            .filter(|_| !(initial && self.retry.newest_only));
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
                reuse: self.may_reuse(),
            }
        } else {
            Action::Watch { options }
        });
        self.state = State::Watching(Watching {
            unordered: !initial && requested.is_none(),
            requested,
            requested_at: now,
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
        let least = self.config.timeouts.watch.as_secs();
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

    /// An initial event of a streaming list. Its version moves nothing, for objects come in no order.
    fn initial_event(&mut self, now: Instant, event: &EventMeta) -> Route {
        let State::Watching(Watching {
            initial: Some(initial),
            ..
        }) = &mut self.state
        else {
            return Route::Skip;
        };
        match event.event_type {
            EventType::Added => initial.last_added = now,
            EventType::Bookmark {
                initial_events_end: true,
            } => {
                self.initial_events_ended(now, event.resource_version.clone());
                return Route::Skip;
            }
            // Of any object, also of one that was received before.
            EventType::Modified | EventType::Deleted if !event.keyed => {
                return self.event_of_any_object(now);
            }
            EventType::Modified | EventType::Deleted | EventType::Bookmark { .. } => {
                initial.live_sign.get_or_insert(now);
            }
            EventType::Unknown => {}
        }
        match event.event_type {
            EventType::Added | EventType::Modified | EventType::Deleted if event.keyed => {
                Route::Collect
            }
            _ => Route::Skip,
        }
    }

    fn initial_events_ended(&mut self, now: Instant, got: Option<ResourceVersion>) {
        let State::Watching(watching) = &mut self.state else {
            return;
        };
        let requested = watching.requested.clone();
        if !self.accept_list(now, requested.as_ref(), got) {
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

    /// An event of a watch, behind its initial events if it had any.
    fn live_event(&mut self, now: Instant, event: &EventMeta) -> Route {
        let version = event
            .resource_version
            .as_ref()
            .filter(|version| !version.is_unset());
        match event.event_type {
            EventType::Unknown => Route::Skip,
            EventType::Bookmark { .. } => self.bookmark(version),
            EventType::Added | EventType::Modified | EventType::Deleted if !event.keyed => {
                self.event_of_any_object(now)
            }
            event_type => self.change(event_type, version),
        }
    }

    /// A change came without a key: only a list tells of which object.
    fn event_of_any_object(&mut self, now: Instant) -> Route {
        let error = ListWatchError::Protocol("watch event without an object of the kind");
        self.failed(now, error, |machine| {
            machine.wait_failed(now, None, Then::List);
        });
        Route::Skip
    }

    fn bookmark(&mut self, version: Option<&ResourceVersion>) -> Route {
        let (Some(version), State::Watching(watching)) = (version, &mut self.state) else {
            return Route::Skip;
        };
        watching.unordered = false;
        if self.is_behind(version) {
            return Route::Skip;
        }
        if self.resume.as_ref() != Some(version) {
            self.progressed();
        }
        self.resume = Some(version.clone());
        Route::Apply
    }

    fn change(&mut self, event_type: EventType, version: Option<&ResourceVersion>) -> Route {
        let State::Watching(watching) = &mut self.state else {
            return Route::Skip;
        };
        watching.unordered &= event_type == EventType::Added;
        let unordered = watching.unordered;
        if version.is_some_and(|version| self.is_behind(version)) {
            // Versions need not rise from object to object; the sink knows those of this one.
            return Route::Apply;
        }
        if let Some(version) = version.filter(|_| !unordered) {
            self.resume = Some(version.clone());
        }
        self.progressed();
        Route::Apply
    }

    /// Whether a version is known to be older than the one to resume from, which never moves back.
    fn is_behind(&self, version: &ResourceVersion) -> bool {
        self.resume
            .as_ref()
            .is_some_and(|resume| version.is_older_than(resume))
    }

    fn progressed(&mut self) {
        if let State::Watching(watching) = &mut self.state {
            watching.progressed = true;
        }
        self.retry.progressed();
    }
}
