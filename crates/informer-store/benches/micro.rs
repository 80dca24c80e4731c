//! Times the store on the work that client-go's indexer is timed on: 100,000 pods, an index by namespace and one by
//! node. Prints one JSON line for each measure; `ns_per_op` is the median of several runs.
//!
//! `cargo bench -p informer-store --bench micro [-- FILTER]`

use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use informer_store::{IndexValues, LabelSelector, ObjectKey, ResourceVersion, Snapshot, Store};
use k8s_openapi::api::core::v1::{Pod, PodSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

const N: usize = 100_000;

/// A stride that visits every object, far from the last one.
const STRIDE: usize = 7919;

/// How long each measure runs, and how many times.
const RUN: Duration = Duration::from_millis(120);
const RUNS: usize = 9;

fn pod(i: usize) -> Arc<Pod> {
    let labels = BTreeMap::from([
        ("app".to_owned(), (i % 200).to_string()),
        ("tier".to_owned(), "web".to_owned()),
    ]);
    Arc::new(Pod {
        metadata: ObjectMeta {
            name: Some(format!(
                "app-{:03}-{:010x}-{i:05}",
                i % 200,
                (i % 200) * 7919
            )),
            namespace: Some(format!("ns-{:02}", i % 20)),
            resource_version: Some(i.to_string()),
            labels: Some(labels),
            ..ObjectMeta::default()
        },
        spec: Some(PodSpec {
            node_name: Some(format!("node-{:04}", i % 500)),
            ..PodSpec::default()
        }),
        status: None,
    })
}

fn empty() -> Store<Pod> {
    let store = Store::new();
    store.add_namespace_index().expect("new");
    let node = |pod: &Pod, values: &mut IndexValues<'_>| {
        values.extend(pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()));
    };
    store.add_index("node", node).expect("new");
    store
}

fn filled(pods: &[Arc<Pod>]) -> Store<Pod> {
    let store = empty();
    store
        .replace(pods.iter().cloned(), ResourceVersion::from(1))
        .expect("names");
    store
}

/// Runs `work`, which does the given number of operations a call, for a while, again and again; the median of the
/// times an operation took.
fn median(operations: usize, mut work: impl FnMut()) -> f64 {
    work();
    let mut runs: Vec<f64> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            let mut calls = 0;
            while calls == 0 || start.elapsed() < RUN {
                work();
                calls += 1;
            }
            start.elapsed().as_nanos() as f64 / (calls * operations) as f64
        })
        .collect();
    runs.sort_by(f64::total_cmp);
    runs[RUNS / 2]
}

fn report(name: &str, ns_per_op: f64) {
    println!("{{\"name\":\"{name}\",\"ns_per_op\":{ns_per_op:.1}}}");
}

struct Bench {
    filter: Option<String>,
    pods: Vec<Arc<Pod>>,
}

impl Bench {
    fn measure(&self, name: &str, operations: usize, work: impl FnMut()) {
        if self.wants(name) {
            report(name, median(operations, work));
        }
    }

    fn wants(&self, name: &str) -> bool {
        self.filter
            .as_ref()
            .is_none_or(|filter| name.contains(filter.as_str()))
    }

    fn writes(&self) {
        let pods = &self.pods;
        self.measure("indexer_insert", N, || {
            let store = empty();
            for pod in pods {
                store.add(Arc::clone(pod)).expect("named");
            }
            drop(black_box(store));
        });
        let store = filled(pods);
        let mut i = 0;
        self.measure("indexer_update", 1000, || {
            for _ in 0..1000 {
                store
                    .update(Arc::clone(&pods[i * STRIDE % N]))
                    .expect("named");
                i += 1;
            }
        });
        self.measure("indexer_update_batch_64_snapshot", 64, || {
            let snapshot = store.snapshot();
            transaction(&store, pods, &mut i);
            drop(snapshot);
        });
        self.measure("indexer_replace_100k", 1, || {
            store
                .replace(pods.iter().cloned(), ResourceVersion::from(1))
                .expect("named");
        });
        self.measure("indexer_update_one_snapshot", 1, || {
            let snapshot = store.snapshot();
            store
                .update(Arc::clone(&pods[i * STRIDE % N]))
                .expect("named");
            i += 1;
            drop(snapshot);
        });
    }

    fn gets(&self) {
        let store = filled(&self.pods);
        let snapshot = store.snapshot();
        let keys: Vec<ObjectKey> = store.keys();
        let texts: Vec<&str> = keys.iter().map(ObjectKey::as_str).collect();
        let mut i = 0;
        self.measure("indexer_get", 1000, || {
            for _ in 0..1000 {
                black_box(snapshot.get(texts[i * STRIDE % N]));
                i += 1;
            }
        });
        self.measure("indexer_get_arc", 1000, || {
            for _ in 0..1000 {
                black_box(store.get(texts[i * STRIDE % N]));
                i += 1;
            }
        });
        if self.wants("indexer_get_2_threads") {
            let stop = AtomicBool::new(false);
            std::thread::scope(|scope| {
                scope.spawn(|| get_until(&stop, &snapshot, &texts));
                let ns = median(1000, || {
                    for _ in 0..1000 {
                        black_box(snapshot.get(texts[i * STRIDE % N]));
                        i += 1;
                    }
                });
                stop.store(true, Ordering::Relaxed);
                // As Go counts it: two threads share the operations.
                report("indexer_get_2_threads", ns / 2.0);
            });
        }
    }

    fn lists(&self) {
        let store = filled(&self.pods);
        let nodes: Vec<String> = (0..500).map(|i| format!("node-{i:04}")).collect();
        let mut i = 0;
        self.measure("indexer_by_index_200", 1, || {
            black_box(store.by_index("node", &nodes[i % 500]).expect("added"));
            i += 1;
        });
        self.measure("indexer_by_index_200_visit", 1, || {
            let snapshot = store.snapshot();
            for pod in snapshot
                .visit_index("node", &nodes[i % 500])
                .expect("added")
            {
                black_box(pod);
            }
            i += 1;
        });
        self.measure("indexer_list_100k", 1, || drop(black_box(store.list())));
        self.measure("indexer_list_100k_visit", 1, || {
            for pod in store.snapshot().objects() {
                black_box(pod);
            }
        });
        let selector: LabelSelector = "app=7".parse().expect("valid");
        self.measure("indexer_list_selector_100k", 1, || {
            black_box(store.snapshot().select(&selector).count());
        });
        self.measure("snapshot", 1000, || {
            for _ in 0..1000 {
                black_box(store.snapshot());
            }
        });
    }

    /// The median time of a transaction, alone and while another thread lists.
    fn batches_beside_a_lister(&self) {
        if !self.wants("indexer_batch_64_alone") && !self.wants("indexer_batch_64_beside_lister") {
            return;
        }
        let store = filled(&self.pods);
        let mut i = 0;
        report(
            "indexer_batch_64_alone",
            median_batch(&store, &self.pods, &mut i),
        );
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    black_box(store.list());
                }
            });
            report(
                "indexer_batch_64_beside_lister",
                median_batch(&store, &self.pods, &mut i),
            );
            stop.store(true, Ordering::Relaxed);
        });
    }
}

fn median_batch(store: &Store<Pod>, pods: &[Arc<Pod>], i: &mut usize) -> f64 {
    let mut times: Vec<u128> = (0..10_000)
        .map(|_| {
            let start = Instant::now();
            transaction(store, pods, i);
            start.elapsed().as_nanos()
        })
        .collect();
    times.sort_unstable();
    times[times.len() / 2] as f64
}

fn transaction(store: &Store<Pod>, pods: &[Arc<Pod>], i: &mut usize) {
    let mut transaction = store.transaction();
    for _ in 0..64 {
        transaction
            .add(Arc::clone(&pods[*i * STRIDE % N]))
            .expect("named");
        *i += 1;
    }
    transaction.commit();
}

fn get_until(stop: &AtomicBool, snapshot: &Snapshot<Pod>, texts: &[&str]) {
    let mut i = N / 2;
    while !stop.load(Ordering::Relaxed) {
        for _ in 0..1000 {
            black_box(snapshot.get(texts[i * STRIDE % N]));
            i += 1;
        }
    }
}

fn main() {
    let filter = std::env::args()
        .skip(1)
        .find(|argument| !argument.starts_with("--"));
    let bench = Bench {
        filter,
        pods: (0..N).map(pod).collect(),
    };
    bench.writes();
    bench.gets();
    bench.lists();
    bench.batches_beside_a_lister();
}
