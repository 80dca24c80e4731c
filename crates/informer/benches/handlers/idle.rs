//! What 200 idle informers of one process hold beside their objects.
//!
//! The API server is a process of its own, so that all that is counted here is the client's.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use informer::http::HttpListerWatcher;
use informer::{Client, Event, ListerWatcher, Object, Registration, SharedInformer};
use informer_testkit::{ApiServer, Workload};
use k8s_openapi::api::core::v1::Pod;

use crate::feed::Feed;
use crate::measure::{Line, Process, heap};
use crate::runtime;

/// The environment variable that makes this program the API server.
pub(crate) const SERVES: &str = "INFORMER_BENCH_SERVES";

const INFORMERS: usize = 200;
const PODS: usize = 2000;
const LIMIT: usize = 256 * 1024;

pub(crate) fn run(wants: &dyn Fn(&str) -> bool) {
    let in_memory = |objects| move |_: usize| Feed::of(objects);
    if wants("idle_in_memory_empty") {
        measure("idle_in_memory_empty", in_memory(0));
    }
    if wants("idle_in_memory") {
        measure("idle_in_memory", in_memory(PODS as u64 / INFORMERS as u64));
    }
    for (name, namespaces) in [("idle_http_empty", "empty"), ("idle_http", "team")] {
        if wants(name) {
            let server = Server::start();
            let client = Client::anonymous(&server.url).expect("a URL");
            measure(name, |number| {
                HttpListerWatcher::<Pod>::namespaced(
                    client.clone(),
                    format!("{namespaces}-{number}"),
                )
            });
        }
    }
}

fn measure<L>(name: &str, source: impl Fn(usize) -> L)
where
    L: ListerWatcher,
    L::Object: Clone,
{
    runtime().block_on(async {
        // What is made once for all is made by the first.
        let _first = synced(vec![Idle::start(source(0))]).await;
        let (heap_before, process_before) = (heap(), Process::now());
        let informers = (0..INFORMERS).map(|number| Idle::start(source(number)));
        let informers = synced(informers.collect()).await;
        let (heap_after, process_after) = (heap(), Process::now());
        let objects = size_of_objects(&informers);
        let held = heap_after - heap_before;
        let rss = process_after.rss_bytes as i64 - process_before.rss_bytes as i64;
        let each = |bytes: i64| bytes / INFORMERS as i64;
        Line::new(name)
            .with("bytes", each(held - objects))
            .with("limit_bytes", LIMIT)
            .with("objects_bytes", each(objects))
            .with("rss_bytes", each(rss - objects))
            .with("informers", INFORMERS)
            .print();
    });
}

/// An informer with one handler.
struct Idle<K: Object> {
    informer: SharedInformer<K>,
    _registration: Registration,
}

impl<K: Object> Idle<K> {
    fn start(source: impl ListerWatcher<Object = K>) -> Self {
        let informer = SharedInformer::builder(source).build();
        let informer = informer.expect("no indexes clash");
        let registration = informer.add_handler(|_: Event<K>| async {});
        informer.start().expect("it was not started before");
        Self {
            informer,
            _registration: registration.expect("it has not stopped"),
        }
    }
}

/// Waits until all are synced, watch, and have nothing left to do.
async fn synced<K: Object>(informers: Vec<Idle<K>>) -> Vec<Idle<K>> {
    for idle in &informers {
        idle.informer.synced().await.expect("it syncs");
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    informers
}

/// What copies of all objects take.
fn size_of_objects<K: Object + Clone>(informers: &[Idle<K>]) -> i64 {
    let stores = informers.iter().map(|idle| idle.informer.store());
    let objects: Vec<Arc<K>> = stores.flat_map(|store| store.list()).collect();
    let mut copies = Vec::with_capacity(objects.len());
    let before = heap();
    copies.extend(objects.iter().map(|object| Arc::new(K::clone(object))));
    heap() - before
}

/// The API server. Dropping it ends the process.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    fn start() -> Self {
        let program = std::env::current_exe().expect("this program has a path");
        let mut child = Command::new(program)
            .env(SERVES, "")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("this program can be started");
        let mut url = String::new();
        let output = child.stdout.take().expect("a pipe");
        BufReader::new(output)
            .read_line(&mut url)
            .expect("it says where it listens");
        let url = url.trim().to_owned();
        Self { child, url }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It ends with its input.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// Serves pods until the input ends.
pub(crate) fn serve() {
    runtime().block_on(async {
        let server = ApiServer::start().await.expect("a port is free");
        let mut workload = Workload::new().pods(PODS).namespaces(INFORMERS);
        workload.fill(&server).expect("a server takes pods");
        let mut output = std::io::stdout().lock();
        writeln!(output, "{}", server.url()).expect("someone reads");
        output.flush().expect("someone reads");
        let ended = tokio::task::spawn_blocking(|| {
            let _ = std::io::stdin().read(&mut [0]);
        });
        let _ = ended.await;
    });
}
