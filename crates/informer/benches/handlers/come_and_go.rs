//! Handlers that are added and removed, again and again: what they leave behind.

use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use informer::{Event, SharedInformer};
use tokio::runtime::Handle;

use crate::feed::{Feed, Thing};
use crate::measure::{Line, Process, heap};
use crate::runtime;

const OBJECTS: u64 = 10;
const CYCLES: u32 = 100_000;
const WARM_UP: u32 = 1000;

pub(crate) fn run(wants: &dyn Fn(&str) -> bool) {
    for (name, kind) in [
        ("come_and_go_async", Kind::Async),
        ("come_and_go_dropped", Kind::Dropped),
        ("come_and_go_blocking", Kind::Blocking),
        ("come_and_go_stream", Kind::Stream),
    ] {
        if wants(name) {
            runtime().block_on(measure(name, kind));
        }
    }
}

#[derive(Clone, Copy)]
enum Kind {
    /// Synced, then removed, which is waited for.
    Async,
    /// Dropped at once; it may never run.
    Dropped,
    Blocking,
    Stream,
}

async fn measure(name: &str, kind: Kind) {
    let feed = Feed::of(OBJECTS);
    let informer = feed.informer().await;
    cycles(&informer, kind, WARM_UP).await;
    let tasks = || Handle::current().metrics().num_alive_tasks() as i64;
    let threads = || Process::now().threads as i64;
    let before = (heap(), tasks(), threads());
    let start = Instant::now();
    cycles(&informer, kind, CYCLES).await;
    let took = start.elapsed();
    assert!(informer.status().handlers.is_empty());
    Line::new(name)
        .about("ns_per_op", took.as_nanos() as f64 / f64::from(CYCLES))
        .with("bytes_more", heap() - before.0)
        .with("tasks_more", tasks() - before.1)
        .with("threads_more", threads() - before.2)
        .print();
    informer.stop().await.expect("nothing failed");
}

async fn cycles(informer: &SharedInformer<Thing>, kind: Kind, count: u32) {
    for _ in 0..count {
        cycle(informer, kind).await;
    }
    // What ends by itself has ended then.
    tokio::time::sleep(Duration::from_millis(500)).await;
}

async fn cycle(informer: &SharedInformer<Thing>, kind: Kind) {
    let running = "it has not stopped";
    let registration = match kind {
        Kind::Async => informer.add_handler(|_: Event<Thing>| async {}),
        Kind::Blocking => informer.add_blocking_handler(|_: Event<Thing>| {}),
        Kind::Dropped => {
            drop(
                informer
                    .add_handler(|_: Event<Thing>| async {})
                    .expect(running),
            );
            return tokio::task::yield_now().await;
        }
        Kind::Stream => {
            let events = informer.events().expect(running);
            let heard = events.take(OBJECTS as usize).count().await;
            assert_eq!(heard, OBJECTS as usize);
            return;
        }
    };
    let registration = registration.expect(running);
    registration.synced().await.expect("it goes on");
    registration
        .remove()
        .await
        .expect("it is called outside of handlers");
}
