//! Between the reflector and the server: judges the requests, their order and their rate.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_core::Stream;
use informer_reflector::{ListEvent, ListRequest, ListWatchError, ListerWatcher};
use informer_testkit::{MemoryList, MemoryListerWatcher, MemoryWatch};
use informer_wire::{ListOptions, ResourceVersionMatch, WatchEvent};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::chaos::Chaos;
use crate::object::Item;
use crate::row::Place;
use crate::trace::{Trace, holds, note};
use crate::versions::Versions;

/// At most so many requests in a minute, pages that follow another not counted.
const REQUESTS_A_MINUTE: usize = 40;

/// The first time that a watch is silent, it is closed after this, or a fifth more.
const FIRST_SILENCE: Duration = Duration::from_secs(70);

/// A source whose requests are judged. Clones share the state.
#[derive(Clone)]
pub(crate) struct Checked {
    inner: MemoryListerWatcher<Item>,
    versions: Versions,
    shared: Arc<Mutex<State>>,
    chaos: Chaos,
    trace: Trace,
    selector: Option<&'static str>,
}

#[derive(Default)]
struct State {
    /// Requests and streams that are alive; there may be one.
    alive: u32,
    times: VecDeque<Instant>,
    lists: u64,
    watches: u64,
    /// The phase of the open watch: `true` before the end of its initial events.
    within: Option<bool>,
    stopped: bool,
    highest_rate: usize,
    /// When the open watch last received something.
    received_at: Option<Instant>,
    /// A bookmark was received, or a watch was silent for long: from then on, longer silences may be normal.
    knows_silence: bool,
}

impl State {
    /// Judges a stream that is closed: a silence before the first bookmark ended soon enough.
    fn judge_silence(&mut self, chaos: &Chaos, trace: &Trace) {
        let Some(silent) = self.received_at.take().map(|at| at.elapsed()) else {
            return;
        };
        if self.knows_silence || silent < FIRST_SILENCE {
            return;
        }
        self.knows_silence = true;
        holds!(
            trace,
            silent < FIRST_SILENCE.mul_f64(1.2) + Duration::from_secs(1),
            "silent for {silent:?} before any bookmark"
        );
        chaos.tally(|tally| tally.event("silence before bookmarks"));
    }
}

impl Checked {
    pub(crate) fn new(
        inner: MemoryListerWatcher<Item>,
        versions: Versions,
        chaos: Chaos,
        trace: Trace,
        selector: Option<&'static str>,
    ) -> Self {
        Self {
            inner,
            versions,
            shared: Arc::default(),
            chaos,
            trace,
            selector,
        }
    }

    /// Lists and watches so far.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let state = self.shared.lock();
        (state.lists, state.watches)
    }

    pub(crate) fn highest_rate(&self) -> usize {
        self.shared.lock().highest_rate
    }

    /// Whether a request or stream is alive.
    pub(crate) fn is_busy(&self) -> bool {
        self.shared.lock().alive > 0
    }

    /// Where trouble within a stream would meet the client now.
    pub(crate) fn within(&self) -> Option<Place> {
        self.shared.lock().within.map(|initial| match initial {
            true => Place::WithinStream,
            false => Place::WithinWatch,
        })
    }

    /// From now on no request may be sent.
    pub(crate) fn stop(&self) {
        self.shared.lock().stopped = true;
    }

    fn begin(&self, place: Place, options: &ListOptions) -> Alive {
        note!(self.trace, "{} {:?}", place.name(), options.query_pairs());
        self.judge(place, options);
        let mut state = self.shared.lock();
        holds!(self.trace, !state.stopped, "a request after the stop");
        state.alive += 1;
        holds!(
            self.trace,
            state.alive == 1,
            "{} requests are alive",
            state.alive
        );
        match place {
            Place::List | Place::NextPage => state.lists += 1,
            _ => state.watches += 1,
        }
        if place != Place::NextPage {
            self.judge_rate(&mut state);
        }
        Alive {
            state: Arc::clone(&self.shared),
            chaos: self.chaos.clone(),
            trace: self.trace.clone(),
        }
    }

    /// Ends a run that has failed: a client that sends requests without end would never let the clock advance.
    async fn end_if_broken(&self) {
        if self.trace.verdict().is_err() {
            std::future::pending::<()>().await;
        }
    }

    fn judge_rate(&self, state: &mut State) {
        let now = Instant::now();
        if let Some(until) = self.chaos.take_not_before() {
            holds!(
                self.trace,
                now >= until,
                "a request {:?} before the server's retry-after",
                until - now
            );
        }
        state.times.push_back(now);
        while state
            .times
            .front()
            .is_some_and(|first| now - *first > Duration::from_secs(60))
        {
            state.times.pop_front();
        }
        state.highest_rate = state.highest_rate.max(state.times.len());
        holds!(
            self.trace,
            state.times.len() <= REQUESTS_A_MINUTE,
            "{} requests in a minute",
            state.times.len()
        );
    }

    /// The rules of the protocol (3.3: 21).
    fn judge(&self, place: Place, options: &ListOptions) {
        let trace = &self.trace;
        holds!(
            trace,
            options.label_selector.as_deref() == self.selector,
            "another selector"
        );
        let version = options.resource_version.as_ref();
        match place {
            Place::NextPage => {
                holds!(trace, version.is_none(), "a version beside a token");
                holds!(
                    trace,
                    options.resource_version_match.is_none(),
                    "a match beside a token"
                );
            }
            Place::List => {
                holds!(
                    trace,
                    options.resource_version_match.is_none(),
                    "a match in a list"
                );
                holds!(trace, !options.allow_watch_bookmarks, "bookmarks in a list");
            }
            Place::Stream => {
                let not_older = Some(ResourceVersionMatch::NotOlderThan);
                holds!(
                    trace,
                    options.resource_version_match == not_older,
                    "a stream without its match"
                );
                holds!(
                    trace,
                    options.allow_watch_bookmarks,
                    "a stream without bookmarks"
                );
            }
            _ => {
                holds!(
                    trace,
                    options.allow_watch_bookmarks,
                    "a watch without bookmarks"
                );
                holds!(
                    trace,
                    options.resource_version_match.is_none(),
                    "a match in a watch"
                );
            }
        }
        if !matches!(place, Place::List | Place::NextPage) {
            let timeout = options.timeout.unwrap_or_default().as_secs();
            holds!(
                trace,
                (300..600).contains(&timeout),
                "a watch for {timeout} s"
            );
        }
    }
}

/// A request or stream that is open.
struct Alive {
    state: Arc<Mutex<State>>,
    chaos: Chaos,
    trace: Trace,
}

impl Drop for Alive {
    fn drop(&mut self) {
        let mut state = self.state.lock();
        state.alive -= 1;
        state.judge_silence(&self.chaos, &self.trace);
        state.within = None;
    }
}

impl ListerWatcher for Checked {
    type Object = Item;
    type List = CheckedStream<MemoryList<Item>>;
    type Watch = CheckedStream<MemoryWatch<Item>>;

    async fn list(&self, mut request: ListRequest<Item>) -> Result<Self::List, ListWatchError> {
        let place = match request.options.continue_token {
            Some(_) => Place::NextPage,
            None => Place::List,
        };
        let alive = self.begin(place, &request.options);
        self.end_if_broken().await;
        assert!(!self.chaos.panics(place), "{}", crate::run::ON_PURPOSE);
        self.versions.ask(&mut request.options);
        let inner = self.inner.list(request).await?;
        Ok(CheckedStream {
            inner,
            versions: self.versions.clone(),
            alive,
            trace: self.trace.clone(),
        })
    }

    async fn watch(&self, options: ListOptions) -> Result<Self::Watch, ListWatchError> {
        self.watch_list(ListRequest::new(options)).await
    }

    async fn watch_list(
        &self,
        mut request: ListRequest<Item>,
    ) -> Result<Self::Watch, ListWatchError> {
        let initial = request.options.send_initial_events == Some(true);
        let place = if initial { Place::Stream } else { Place::Watch };
        let alive = self.begin(place, &request.options);
        self.end_if_broken().await;
        assert!(!self.chaos.panics(place), "{}", crate::run::ON_PURPOSE);
        self.versions.ask(&mut request.options);
        let inner = self.inner.watch_list(request).await?;
        let mut state = alive.state.lock();
        state.within = Some(initial);
        state.received_at = Some(Instant::now());
        drop(state);
        Ok(CheckedStream {
            inner,
            versions: self.versions.clone(),
            alive,
            trace: self.trace.clone(),
        })
    }
}

/// A list or watch that is open.
pub(crate) struct CheckedStream<S> {
    inner: S,
    versions: Versions,
    alive: Alive,
    trace: Trace,
}

impl Stream for CheckedStream<MemoryList<Item>> {
    type Item = Result<ListEvent<Item>, ListWatchError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut next = Pin::new(&mut self.inner).poll_next(context);
        if let Poll::Ready(Some(Ok(event))) = &mut next {
            self.versions.list_event(event);
        }
        next
    }
}

impl Stream for CheckedStream<MemoryWatch<Item>> {
    type Item = Result<WatchEvent<Item>, ListWatchError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut next = Pin::new(&mut self.inner).poll_next(context);
        if let Poll::Ready(Some(Ok(event))) = &mut next {
            self.versions.watch_event(event);
        }
        if next.is_ready() {
            self.alive.state.lock().received_at = Some(Instant::now());
        }
        match &next {
            Poll::Ready(Some(Ok(WatchEvent::Bookmark {
                resource_version,
                initial_events_end,
            }))) => {
                note!(self.trace, "bookmark {resource_version}");
                let mut state = self.alive.state.lock();
                state.knows_silence |= !initial_events_end;
                if *initial_events_end {
                    state.within = Some(false);
                }
            }
            Poll::Ready(Some(Err(error))) => note!(self.trace, "stream: {}", error.chain()),
            Poll::Ready(Some(Ok(WatchEvent::Error(status)))) => {
                note!(self.trace, "stream: {status}")
            }
            Poll::Ready(None) => note!(self.trace, "stream ended"),
            _ => {}
        }
        next
    }
}
