//! The kinds of handlers: a type, a closure, functions for each event type, a blocking one, a stream.

use std::sync::Arc;
use std::time::Duration;

use futures_core::Stream;
use informer_shared::{
    BlockingEventHandler, BoxError, Event, EventHandler, EventStream, HandlerBuilder, HandlerFns,
    HandlerStatus, Registration, RunError,
};
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::judge::{Judge, Mood};
use crate::object::Item;
use crate::run::ON_PURPOSE;

/// The kind of a handler.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    Async,
    Closure,
    Functions,
    Blocking,
    Stream,
}

impl Kind {
    pub(super) const ALL: &'static [Self] = &[
        Self::Async,
        Self::Closure,
        Self::Functions,
        Self::Blocking,
        Self::Stream,
    ];

    /// Whether a call of it lasts.
    pub(super) const fn takes_time(self) -> bool {
        !matches!(self, Self::Functions)
    }

    pub(super) const fn can_fail(self) -> bool {
        !matches!(self, Self::Stream)
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Async => "an async handler",
            Self::Closure => "a closure",
            Self::Functions => "functions",
            Self::Blocking => "a blocking handler",
            Self::Stream => "a stream",
        }
    }
}

/// A handler's place in the informer.
pub(super) enum Place {
    Registered(Registration),
    /// A task reads the stream, which is shared for its status.
    Stream {
        stream: Arc<Mutex<EventStream<Item>>>,
        task: JoinHandle<()>,
        leave: Option<oneshot::Sender<()>>,
    },
}

impl Place {
    pub(super) fn status(&self) -> HandlerStatus {
        match self {
            Self::Registered(registration) => registration.status(),
            Self::Stream { stream, .. } => stream.lock().status(),
        }
    }

    pub(super) async fn leave(self, wait: bool) {
        match self {
            Self::Registered(registration) => {
                // Removed from here on, whether or not anyone waits.
                let removed = registration.remove();
                if wait {
                    let _ = removed.await;
                }
            }
            Self::Stream {
                stream,
                task,
                leave,
            } => {
                // An error: it has ended by itself.
                let _ = leave.map(|leave| leave.send(()));
                drop(stream);
                if wait {
                    let _ = task.await;
                }
            }
        }
    }

    /// Whether a removal can wait for the running call: a stream has none.
    pub(super) const fn is_awaited(&self) -> bool {
        matches!(self, Self::Registered(_))
    }

    /// Waits until a stream has been read to its end, or leaves it where its reader is stuck.
    pub(super) async fn taken(&mut self, stuck: bool) {
        if let Self::Stream { task, leave, .. } = self {
            if stuck {
                leave.take();
            }
            let _ = task.await;
        }
    }
}

/// Adds a handler of this kind.
pub(super) fn register(
    kind: Kind,
    builder: HandlerBuilder<Item>,
    judge: Judge,
) -> Result<Place, RunError> {
    let registration = match kind {
        Kind::Async => builder.register(Async(judge))?,
        Kind::Closure => builder.register(closure(judge))?,
        Kind::Functions => builder.register(functions(judge))?,
        Kind::Blocking => {
            let judge = Arc::new(Mutex::new(judge));
            let pauses = Arc::clone(&judge);
            builder.register_blocking_in_task(Blocking(judge), move || pauses.lock().pause())?
        }
        Kind::Stream => return Ok(follow(builder.stream()?, judge)),
    };
    Ok(Place::Registered(registration))
}

impl Mood {
    fn outcome(self) -> Result<(), BoxError> {
        match self {
            Self::Good => Ok(()),
            Self::Fails => Err("a bad day".into()),
            Self::Panics => panic!("{ON_PURPOSE}"),
        }
    }
}

pub(super) struct Async(pub(super) Judge);

impl EventHandler<Item> for Async {
    async fn handle(&mut self, event: Event<Item>) -> Result<(), BoxError> {
        self.0.begin(event);
        let pause = self.0.pause();
        if pause > Duration::ZERO {
            sleep(pause).await;
        }
        self.0.end().outcome()
    }
}

fn closure(judge: Judge) -> impl EventHandler<Item> {
    let judge = Arc::new(Mutex::new(judge));
    move |event: Event<Item>| {
        let judge = Arc::clone(&judge);
        async move {
            let pause = {
                let mut judge = judge.lock();
                judge.begin(event);
                judge.pause()
            };
            sleep(pause).await;
            let mood = judge.lock().end();
            mood.outcome()
        }
    }
}

/// One call each, with no time in it: they are no futures.
fn functions(judge: Judge) -> HandlerFns<Item> {
    let judge = Arc::new(Mutex::new(judge));
    let received = move |event: Event<Item>| {
        let mood = {
            let mut judge = judge.lock();
            judge.begin(event);
            judge.end()
        };
        mood.outcome()
    };
    let (added, updated, deleted) = (received.clone(), received.clone(), received);
    HandlerFns::new()
        .on_added(move |object, initial| added(Event::Added { object, initial }))
        .on_updated(move |old, new, cause| updated(Event::Updated { old, new, cause }))
        .on_deleted(move |object, final_state_unknown| {
            deleted(Event::Deleted {
                object,
                final_state_unknown,
            })
        })
}

struct Blocking(Arc<Mutex<Judge>>);

impl BlockingEventHandler<Item> for Blocking {
    fn handle(&mut self, event: Event<Item>) -> Result<(), BoxError> {
        let mood = {
            let mut judge = self.0.lock();
            judge.begin(event);
            judge.end()
        };
        mood.outcome()
    }
}

/// Reads a stream until it ends, or it is left.
fn follow(stream: EventStream<Item>, mut judge: Judge) -> Place {
    let stream = Arc::new(Mutex::new(stream));
    let (leave, mut left) = oneshot::channel();
    let events = Arc::downgrade(&stream);
    let take = async move {
        let next = || {
            std::future::poll_fn(|context| match events.upgrade() {
                Some(stream) => std::pin::Pin::new(&mut *stream.lock()).poll_next(context),
                None => std::task::Poll::Ready(None),
            })
        };
        // It is not read at first.
        sleep(judge.pause()).await;
        while let Some(event) = next().await {
            judge.begin(event);
            sleep(judge.pause()).await;
            // A stream has no failures.
            let _ = judge.end();
        }
    };
    let task = tokio::spawn(async move {
        tokio::select! {
            biased;
            _ = &mut left => {}
            () = take => {}
        }
    });
    Place::Stream {
        stream,
        task,
        leave: Some(leave),
    }
}
