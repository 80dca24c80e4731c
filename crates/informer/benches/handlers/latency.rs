//! How long an event takes from its bytes to the handler, at 10,000 events a second.
//!
//! Each event is due at its own moment, whatever became of those before it. The sender has a thread of its own, which
//! shares the processors with the informer and may wake late, and then sends all that is due at once. So times are
//! told twice: from when the bytes were there, and (`due_…`) from when they were due, with the sender's lateness.

use std::sync::Arc;
use std::time::{Duration, Instant};

use informer::http::HttpListerWatcher;
use informer::{
    Client, Compact, Event, FromWire, ListMode, Object, QueuePolicy, ReflectorConfig,
    SharedInformer, StaticResource,
};
use k8s_openapi::api::core::v1::Pod;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::measure::{Line, quantile};
use crate::pacer::{Schedule, Watches, in_process, over_loopback};
use crate::pods::{Format, LISTED, PODS, Pods};
use crate::runtime;

const RATE: u64 = 10_000;
const SECONDS: u64 = 10;
const LIMIT_US: u64 = 1000;

type Connect = fn(&Arc<Pods>, Format) -> (Client, Watches);

pub(crate) fn run(wants: &dyn Fn(&str) -> bool) {
    for (path, connect) in [
        ("in_process", in_process as Connect),
        ("loopback", over_loopback),
    ] {
        for format in [Format::Protobuf, Format::Json] {
            let name = |form: &str| format!("latency_{path}_{}_{form}", format.name());
            let (compact, typed) = (name("compact"), name("typed"));
            if wants(&compact) {
                measure::<Compact<Pod>>(&compact, format, connect);
            }
            if wants(&typed) {
                measure::<Pod>(&typed, format, connect);
            }
        }
    }
}

/// When the handler was called with each update.
#[derive(Default)]
struct Heard {
    at: Mutex<Vec<(u64, Instant)>>,
    all: Notify,
}

fn measure<K>(name: &str, format: Format, connect: Connect)
where
    K: Object + FromWire + StaticResource,
{
    let runtime = runtime();
    let pods = Arc::new(Pods::new(format));
    let heard = Arc::new(Heard::default());
    let updates = RATE * SECONDS;
    heard.at.lock().reserve(updates as usize);
    let (client, watches) = {
        let _inside = runtime.enter();
        connect(&pods, format)
    };
    let informer = runtime.block_on(informer::<K>(client, &heard, updates));
    let mut pipe = watches.next();
    // Nothing of the start is left to do then.
    let begin = Instant::now() + Duration::from_millis(500);
    let gap = Duration::from_secs(1) / RATE as u32;
    let schedule = Schedule {
        begin,
        gap,
        updates,
    };
    let late = schedule.send(&pods, |update| pipe.send(update));
    let all = runtime.block_on(async {
        let all = tokio::time::timeout(Duration::from_secs(30), heard.all.notified());
        let all = all.await.is_ok();
        informer.stop().await.expect("nothing failed");
        all
    });
    let heard = heard.at.lock();
    assert!(all, "{} of {updates} updates were heard of", heard.len());
    let after_due = |(number, at): &(u64, Instant)| {
        let due = schedule.due(*number);
        at.duration_since(due).as_nanos() as u64
    };
    let after_sent = |heard: &(u64, Instant)| {
        let late = late[heard.0 as usize - 1];
        after_due(heard).saturating_sub(late)
    };
    let us = quantiles(heard.iter().map(after_sent).collect());
    let due = quantiles(heard.iter().map(after_due).collect());
    let late = quantiles(late.clone());
    Line::new(name)
        .about("p50_us", us(0.5))
        .about("p99_us", us(0.99))
        .about("p99_9_us", us(0.999))
        .about("max_us", us(1.0))
        .about("due_p50_us", due(0.5))
        .about("due_p99_us", due(0.99))
        .about("due_max_us", due(1.0))
        .about("sent_late_p99_us", late(0.99))
        .with("limit_p99_us", LIMIT_US)
        .with("events_per_second", RATE)
        .with("events", heard.len())
        .with("event_bytes", pods.average())
        .print();
}

/// The quantiles of times in nanoseconds, in microseconds.
fn quantiles(mut times: Vec<u64>) -> impl Fn(f64) -> f64 {
    times.sort_unstable();
    move |share| quantile(&times, share) as f64 / 1000.0
}

/// An informer with a handler that hears of every update.
async fn informer<K>(client: Client, heard: &Arc<Heard>, updates: u64) -> SharedInformer<K>
where
    K: Object + FromWire + StaticResource,
{
    let config = ReflectorConfig::default().list_mode(ListMode::List);
    let informer = SharedInformer::builder(HttpListerWatcher::<K>::all(client))
        .reflector_config(config)
        .max_deltas(None)
        .build()
        .expect("no indexes clash");
    let heard = Arc::clone(heard);
    let handler = move |event: Event<K>| {
        let at = Instant::now();
        let version = event.object().resource_version();
        let version = version.and_then(|version| version.as_u64());
        let number = version.expect("a number") - LISTED;
        if number > 0 {
            heard.at.lock().push((number, at));
        }
        if number == updates {
            heard.all.notify_one();
        }
        std::future::ready(())
    };
    let handler = informer
        .handler()
        .queue(QueuePolicy::Unbounded)
        .register(handler);
    handler.expect("it has not stopped");
    informer.start().expect("it was not started before");
    informer.synced().await.expect("it syncs");
    assert_eq!(informer.store().len(), PODS);
    informer
}
