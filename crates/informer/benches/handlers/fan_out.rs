//! What the delivery of an event to a handler costs, with one handler and with a thousand.
//!
//! Updates come in rounds: the next one is sent when every handler has handled the last. A round of one event is the
//! worst case, since every handler is woken for it. `own_…` is without the event's way to the cache, which handlers
//! share: what each handler adds to the first one's round, of a thousand and of a few.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::StreamExt as _;
use informer::{Event, Registration, SharedInformer};
use tokio::runtime::Runtime;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::feed::{Feed, Thing};
use crate::measure::{Line, heap, median};
use crate::runtime;

const OBJECTS: u64 = 1000;
const HANDLERS: usize = 1000;
const FEW: usize = 9;
const ROUNDS: [u64; 2] = [100, 1];
const RUNS: usize = 50;
const AT_LEAST: Duration = Duration::from_secs(1);

pub(crate) fn run(wants: &dyn Fn(&str) -> bool) {
    for kind in [Kind::Async, Kind::Blocking, Kind::Stream] {
        let name = format!("fan_out_{}", kind.name());
        if wants(&name) {
            measure(&name, kind);
        }
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Async,
    Blocking,
    /// Each polled by a task of its own.
    Stream,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Async => "async",
            Self::Blocking => "blocking",
            Self::Stream => "stream",
        }
    }
}

fn measure(name: &str, kind: Kind) {
    let runtime = runtime();
    let feed = Feed::of(OBJECTS);
    let informer = runtime.block_on(feed.informer());
    let bench = Bench {
        runtime: &runtime,
        feed,
        informer,
        kind,
    };
    // The first handlers make room that is kept for the next.
    drop(bench.add(HANDLERS));
    bench.settle();
    let before = heap();
    for events in ROUNDS {
        let [one, few, many] = [1, FEW, HANDLERS].map(|handlers| bench.round(handlers, events));
        let each = |round: f64, handlers: usize| round / (events as f64 * handlers as f64);
        let (own, own_of_few) = (each(many - one, HANDLERS - 1), each(few - one, FEW - 1));
        Line::new(&format!("{name}_{events}_at_once"))
            .about("ns_per_op", each(many, HANDLERS))
            .about("ns_per_op_of_one", each(one, 1))
            .about("own_ns_per_op", own)
            .about("own_ns_per_op_of_few", own_of_few)
            .about("own_times_that_of_few", own / own_of_few)
            .with("limit_times", 3)
            .print();
    }
    bench.settle();
    Line::new(&format!("{name}_removed"))
        .with("bytes_more", heap() - before)
        .print();
}

struct Bench<'a> {
    runtime: &'a Runtime,
    feed: Feed,
    informer: SharedInformer<Thing>,
    kind: Kind,
}

/// Handlers, and what they have done together.
struct Handlers {
    progress: Arc<Progress>,
    registrations: Vec<Registration>,
    streams: JoinSet<()>,
}

/// Counts the handlers that have heard of the last event.
struct Progress {
    last: AtomicU64,
    left: AtomicUsize,
    done: Notify,
}

impl Progress {
    fn handle(&self, event: &Event<Thing>) {
        let is_last = event.object().version() == self.last.load(Ordering::Acquire);
        if is_last && self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.done.notify_one();
        }
    }
}

impl Bench<'_> {
    /// In nanoseconds.
    fn round(&self, handlers: usize, events: u64) -> f64 {
        let added = self.add(handlers);
        let progress = &*added.progress;
        let took = median(RUNS, AT_LEAST, || {
            progress.left.store(handlers, Ordering::Release);
            // Said before it is sent.
            progress.last.fetch_add(events, Ordering::AcqRel);
            self.feed.send(events);
            self.runtime.block_on(progress.done.notified());
        });
        drop(added);
        self.settle();
        took.as_nanos() as f64
    }

    /// Handlers that have heard of all that is cached.
    fn add(&self, count: usize) -> Handlers {
        let _inside = self.runtime.enter();
        let progress = Arc::new(Progress {
            last: AtomicU64::new(self.feed.send(0)),
            left: AtomicUsize::new(usize::MAX),
            done: Notify::new(),
        });
        let mut handlers = Handlers {
            progress: Arc::clone(&progress),
            registrations: Vec::new(),
            streams: JoinSet::new(),
        };
        for _ in 0..count {
            let progress = Arc::clone(&progress);
            handlers.add(&self.informer, self.kind, progress);
        }
        self.runtime.block_on(async {
            for registration in &handlers.registrations {
                registration.synced().await.expect("it goes on");
            }
            while self.informer.status().handlers.iter().any(|h| !h.synced) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        });
        handlers
    }

    /// Waits until the handlers that were dropped have ended.
    fn settle(&self) {
        self.runtime.block_on(async {
            let is_over = || self.informer.status().handlers.is_empty();
            while !is_over() || crate::measure::Process::now().threads > 16 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        });
    }
}

impl Handlers {
    fn add(&mut self, informer: &SharedInformer<Thing>, kind: Kind, progress: Arc<Progress>) {
        let running = "it has not stopped";
        match kind {
            Kind::Async => {
                let handler = move |event: Event<Thing>| {
                    progress.handle(&event);
                    std::future::ready(())
                };
                self.registrations
                    .push(informer.add_handler(handler).expect(running));
            }
            Kind::Blocking => {
                let handler = move |event: Event<Thing>| progress.handle(&event);
                self.registrations
                    .push(informer.add_blocking_handler(handler).expect(running));
            }
            Kind::Stream => {
                let mut events = informer.events().expect(running);
                self.streams.spawn(async move {
                    while let Some(event) = events.next().await {
                        progress.handle(&event);
                    }
                });
            }
        }
    }
}
