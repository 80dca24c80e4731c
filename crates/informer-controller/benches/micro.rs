//! Times what a controller adds to an event: from a watch in memory to the end of the reconcile that it leads to, and the
//! same to a bare handler. client-go's informer, work queue and worker do the same work. Prints one JSON line for each
//! measure; `ns_per_op` is for one event, the median of several runs.
//!
//! `cargo bench -p informer-controller --bench micro [-- FILTER]`

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::{Stream, stream};
use informer_controller::{Action, Controller, EventSource};
use informer_reflector::{ListWatch, ListWatchError};
use informer_shared::{HandlerFns, SharedInformer};
use informer_wire::{Decoded, ListMeta, ListOptions, WatchEvent};
use k8s_openapi::api::core::v1::{Pod, PodSpec};
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

const PODS: usize = 1_000;
/// How long each measure runs, and how many times.
const RUN_TIME: Duration = Duration::from_millis(300);
const RUNS: usize = 9;

type Pods = mpsc::UnboundedSender<Pod>;
/// Something was done for one event.
type Done = mpsc::UnboundedSender<()>;

fn main() {
    let filter = std::env::args()
        .skip(1)
        .find(|argument| !argument.starts_with("--"));
    // As Go's scheduler has.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    for (end, is_reconcile) in [("reconcile", true), ("handler", false)] {
        for (pace, at_once) in [("burst", PODS), ("single", 1)] {
            let name = format!("event_to_{end}_{pace}");
            if filter
                .as_ref()
                .is_none_or(|filter| name.contains(&**filter))
            {
                let measured = runtime.spawn(measure(is_reconcile, at_once));
                let median = runtime.block_on(measured).expect("no panic");
                println!(r#"{{"name":"{name}","ns_per_op":{median:.1}}}"#);
            }
        }
    }
}

/// The median time of an event, when so many of different pods come at once.
async fn measure(is_reconcile: bool, at_once: usize) -> f64 {
    let (send, events) = mpsc::unbounded_channel();
    let (done, mut all_done) = mpsc::unbounded_channel();
    let stop = CancellationToken::new();
    let informer = informer(events);
    let working = if is_reconcile {
        reconcile(&informer, done, stop.clone())
    } else {
        handle(&informer, done)
    };
    let running = tokio::spawn({
        let stop = stop.clone();
        async move { informer.run(stop).await }
    });
    // The first list leads to as much.
    wait(&mut all_done, PODS).await;

    let mut version = PODS;
    let mut runs = Vec::with_capacity(RUNS);
    for _ in 0..RUNS {
        let (mut spent, mut events) = (Duration::ZERO, 0);
        while spent < RUN_TIME {
            let pods: Vec<Pod> = (0..at_once)
                .map(|i| pod((version + i) % PODS, version + i))
                .collect();
            version += at_once;
            let began = Instant::now();
            push(&send, pods);
            wait(&mut all_done, at_once).await;
            spent += began.elapsed();
            events += at_once;
        }
        runs.push(spent.as_nanos() as f64 / events as f64);
    }
    stop.cancel();
    working.abort();
    running.abort();
    runs.sort_by(f64::total_cmp);
    runs[RUNS / 2]
}

fn push(send: &Pods, pods: Vec<Pod>) {
    for pod in pods {
        send.send(pod).expect("the watch goes on");
    }
}

async fn wait(done: &mut mpsc::UnboundedReceiver<()>, count: usize) {
    for _ in 0..count {
        done.recv().await.expect("somebody works");
    }
}

/// One worker, which reads the object.
fn reconcile(
    informer: &SharedInformer<Pod>,
    done: Done,
    stop: CancellationToken,
) -> tokio::task::JoinHandle<()> {
    let controller = Controller::new("bench")
        .watch(EventSource::objects(informer))
        .expect("it has not stopped");
    let store = informer.store().clone();
    tokio::spawn(async move {
        let reconcile = move |key: informer_controller::ReconcileRequest| {
            black_box(store.get(&*key));
            let _ = done.send(());
            std::future::ready(Ok(Action::Done))
        };
        controller.run(&stop, reconcile).await.expect("it goes on");
    })
}

fn handle(informer: &SharedInformer<Pod>, done: Done) -> tokio::task::JoinHandle<()> {
    let listed = done.clone();
    let handler = HandlerFns::new()
        .on_added(move |_, _| {
            let _ = listed.send(());
        })
        .on_updated(move |_, new: Arc<Pod>, _| {
            black_box(new);
            let _ = done.send(());
        });
    informer.add_handler(handler).expect("it has not stopped");
    tokio::spawn(std::future::pending())
}

/// Lists the pods, then watches what is sent.
fn informer(events: mpsc::UnboundedReceiver<Pod>) -> SharedInformer<Pod> {
    let events = Arc::new(Mutex::new(Some(events)));
    let list = |_: ListOptions| {
        let pods = (0..PODS).map(|i| pod(i, i)).collect::<Vec<_>>();
        let meta = ListMeta::at((PODS as u64).into());
        async move { Ok::<_, ListWatchError>((pods, meta)) }
    };
    let watch = move |_: ListOptions| {
        let events = events.lock().take();
        async move { Ok::<_, ListWatchError>(watch(events)) }
    };
    SharedInformer::builder(ListWatch::new(list, watch))
        .build()
        .expect("no indexes")
}

fn watch(
    events: Option<mpsc::UnboundedReceiver<Pod>>,
) -> impl Stream<Item = Result<WatchEvent<Pod>, ListWatchError>> {
    let mut events = events.expect("there is one watch");
    stream::poll_fn(move |context| {
        events
            .poll_recv(context)
            .map(|pod| pod.map(|pod| Ok(WatchEvent::Modified(Decoded::Object(pod)))))
    })
}

/// The pods of e2e/clientgo.
fn pod(number: usize, version: usize) -> Pod {
    let mut pod = Pod::default();
    pod.metadata.name = Some(format!(
        "app-{:03}-{:010x}-{number:05}",
        number % 200,
        (number % 200) * 7919
    ));
    pod.metadata.namespace = Some(format!("ns-{:02}", number % 20));
    pod.metadata.resource_version = Some((version + 1).to_string());
    let labels = [("app", (number % 200).to_string()), ("tier", "web".into())];
    pod.metadata.labels = Some(labels.map(|(key, value)| (key.into(), value)).into());
    pod.spec = Some(PodSpec {
        node_name: Some(format!("node-{:04}", number % 500)),
        ..PodSpec::default()
    });
    pod
}
