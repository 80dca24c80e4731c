//! The task of one watch: it moves a cursor on and writes the events into the response.
//!
//! # Cancellation
//! The task ends by itself when the client goes, the time is up, the server stops, or the watcher
//! is too slow. Only whole events are handed over, so a clean end never cuts one.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use super::body::{Body, Broken};
use crate::encode::{self, CHUNK, Encoding};
use crate::model::{Pull, StoredObject, WatchCursor, WatchEvent, WatchEventType, WatchStart};
use crate::server::StreamEnd;
use crate::shared::{Shared, WatchesEnd};
use crate::signal::Listener;

/// The most events taken from the model at once.
const BATCH: usize = 256;

/// The most chunks between the task and the connection.
const CHANNEL: usize = 2;

/// The time before its deadline at which a watch gets a last bookmark.
const LAST_BOOKMARK: Duration = Duration::from_secs(2);

/// Starts the task and returns the body that it feeds.
pub(super) fn open(
    shared: Arc<Shared>,
    replica: usize,
    start: WatchStart,
    encoding: Encoding,
    bookmarks: bool,
    timeout: Duration,
) -> Body {
    let (chunks, body) = mpsc::channel(CHANNEL);
    let deadline = Instant::now() + timeout;
    let wants_bookmarks = bookmarks && start.cursor.resource().has_watch_cache();
    let mut feed = Feed {
        chunks,
        encoding,
        cursor: start.cursor,
        last_bookmark: deadline - LAST_BOOKMARK.min(timeout / 2),
        next_bookmark: None,
        replica,
        shared,
    };
    if wants_bookmarks {
        feed.plan_bookmark(Instant::now());
    }
    // Before the task runs: a caller that knows the watch to be open can end it.
    let ends = feed.shared.end_watches.listen();
    let initial = Initial {
        objects: start.initial,
        end: start.initial_end,
    };
    tokio::spawn(run(feed, initial, ends, deadline));
    Body::watch(body)
}

/// The initial events.
struct Initial {
    objects: Vec<Arc<StoredObject>>,
    end: Option<u64>,
}

async fn run(mut feed: Feed, initial: Initial, mut ends: Listener<WatchesEnd>, deadline: Instant) {
    let shared = feed.shared.clone();
    let (chunks, replica) = (feed.chunks.clone(), feed.replica);
    let format = feed.encoding.format;
    let end = tokio::select! {
        // A watch that has to end sends no later events, however late this task runs.
        biased;
        end = must_end(&mut ends, replica) => end,
        () = shared.shutdown.cancelled() => StreamEnd::Clean,
        () = chunks.closed() => StreamEnd::Clean,
        () = sleep_until(deadline) => StreamEnd::Clean,
        _ = feed.run(initial) => StreamEnd::Clean,
    };
    let last = match end {
        StreamEnd::Clean => return,
        StreamEnd::Error(status) => Ok(encode::error_event(&status, format)),
        StreamEnd::Cut => Err(Broken),
        StreamEnd::Silence => {
            tokio::select! {
                // Either is the end.
                biased;
                () = shared.shutdown.cancelled() => {}
                () = chunks.closed() => {}
            }
            return;
        }
    };
    // Whoever does not read does not get it, and the time for waiting is limited.
    let _ = tokio::time::timeout(shared.settings.slow_watch_grace, chunks.send(last)).await;
}

/// Waits until the watches of this replica have to end.
async fn must_end(ends: &mut Listener<WatchesEnd>, replica: usize) -> StreamEnd {
    loop {
        ends.changed().await;
        let end = ends.see();
        if end.replica.is_none_or(|only| only == replica) {
            return end.how;
        }
    }
}

/// The reason for the end; the stream ends cleanly in each case.
enum Stop {
    ClientGone,
    TooSlow,
    Overtaken,
    Unregistered,
}

struct Feed {
    shared: Arc<Shared>,
    replica: usize,
    chunks: mpsc::Sender<Result<Bytes, Broken>>,
    encoding: Encoding,
    cursor: WatchCursor,
    next_bookmark: Option<Instant>,
    last_bookmark: Instant,
}

impl Feed {
    async fn run(&mut self, initial: Initial) -> Result<(), Stop> {
        let mut written = self.shared.written.listen();
        let added = initial.objects.into_iter().map(WatchEvent::initial);
        self.send_events(added).await?;
        if let Some(revision) = initial.end {
            self.send_bookmark(revision, true).await?;
        }
        loop {
            written.see();
            let pull = self.pull();
            let more = match pull {
                Pull::Overtaken => return Err(Stop::Overtaken),
                Pull::Unregistered => return Err(Stop::Unregistered),
                Pull::Events { events, more } => {
                    // Behind events there may be the removal of the resource.
                    let more = more || !events.is_empty();
                    self.send_events(events.into_iter()).await?;
                    more
                }
            };
            if !more {
                self.send_due_bookmark().await?;
                self.wait(&mut written).await;
            }
        }
    }

    /// Returns what this watch's replica has seen since the last time.
    fn pull(&mut self) -> Pull {
        let view = self.shared.replicas.lock().view(self.replica);
        let cluster = self.shared.cluster.lock();
        cluster.pull_seen(view, &mut self.cursor, BATCH)
    }

    /// Waits until something was written or a bookmark is due.
    async fn wait(&self, written: &mut Listener<u64>) {
        let bookmark = async {
            match self.next_bookmark {
                Some(due) => sleep_until(due).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            // Always in the same order, so that a simulation can be repeated.
            biased;
            () = written.changed() => {}
            () = bookmark => {}
        }
    }

    async fn send_events(&self, events: impl Iterator<Item = WatchEvent>) -> Result<(), Stop> {
        let mut chunk = Vec::new();
        let encoding = self.encoding.at(self.shared.clock.now());
        for event in events {
            encode::event(self.cursor.resource(), &event, encoding, &mut chunk);
            if chunk.len() >= CHUNK {
                self.send(std::mem::take(&mut chunk).into()).await?;
            }
        }
        if chunk.is_empty() {
            return Ok(());
        }
        self.send(chunk.into()).await
    }

    fn plan_bookmark(&mut self, now: Instant) {
        let regular = now + self.shared.settings.bookmark_period;
        let last = Some(self.last_bookmark).filter(|last| *last > now);
        self.next_bookmark = Some(last.map_or(regular, |last| last.min(regular)));
    }

    async fn send_due_bookmark(&mut self) -> Result<(), Stop> {
        let now = Instant::now();
        if self.next_bookmark.is_none_or(|due| due > now) {
            return Ok(());
        }
        self.plan_bookmark(now);
        match self.cursor.bookmark() {
            Some(revision) => self.send_bookmark(revision, false).await,
            None => Ok(()),
        }
    }

    async fn send_bookmark(&self, revision: u64, ends_initial: bool) -> Result<(), Stop> {
        let resource = self.cursor.resource();
        self.send(encode::bookmark(
            resource,
            revision,
            ends_initial,
            self.encoding,
        ))
        .await
    }

    /// Sends a chunk. A client that reads nothing is given up after a while if too many events are queued for it.
    async fn send(&self, chunk: Bytes) -> Result<(), Stop> {
        let grace = self.shared.settings.slow_watch_grace;
        loop {
            match tokio::time::timeout(grace, self.chunks.reserve()).await {
                Ok(Ok(place)) => {
                    place.send(Ok(chunk));
                    return Ok(());
                }
                Ok(Err(_)) => return Err(Stop::ClientGone),
                Err(_) => {
                    let limit = self.shared.settings.watch_buffer;
                    if self.shared.cluster.lock().is_behind(&self.cursor, limit) {
                        return Err(Stop::TooSlow);
                    }
                }
            }
        }
    }
}

impl WatchEvent {
    fn initial(object: Arc<StoredObject>) -> Self {
        let revision = object.revision();
        Self {
            event_type: WatchEventType::Added,
            object,
            revision,
        }
    }
}
