//! Times the queue on the work that client-go's DeltaFIFO is timed on: pods without known objects, keys made from the
//! objects. Prints one JSON line for each measure; `ns_per_op` is the median of several runs.
//!
//! `delta_fifo_add_pop` is 1,000 adds, then all of them popped and acknowledged, each side in the way its process loop
//! does it: ours as one batch, client-go's DeltaFIFO key by key, as it must. `delta_fifo_add_pop_single` pops and
//! acknowledges key by key here too. Both make the key from the object, as client-go does.
//!
//! `cargo bench -p informer-delta-fifo --bench micro [-- FILTER]`

use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use informer_delta_fifo::{DeltaFifo, DeltaFifoConfig, QueueOrder};
use informer_store::{DeltaSink, ListEnd, ObjectKey, ObjectList};
use k8s_openapi::api::core::v1::{Pod, PodSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

const N: usize = 100_000;

/// How many adds are made before they are popped.
const ROUND: usize = 1000;

/// How long each measure runs, and how many times.
const RUN: Duration = Duration::from_millis(150);
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

fn queue(order: QueueOrder) -> DeltaFifo<Pod> {
    DeltaFifo::new(DeltaFifoConfig::new().order(order))
}

fn add(fifo: &DeltaFifo<Pod>, pod: &Arc<Pod>) {
    fifo.add(ObjectKey::of(&**pod), Arc::clone(pod));
}

/// Pops and acknowledges everything, at most so many keys at a time. Returns how many there were.
fn drain(fifo: &DeltaFifo<Pod>, max: usize) -> usize {
    let mut keys = 0;
    while let Some(batch) = fifo.try_pop_batch(max) {
        for (key, _) in batch.iter() {
            keys += 1;
            black_box(key);
        }
        batch.ack();
    }
    keys
}

struct Bench {
    filter: Option<String>,
    pods: Vec<Arc<Pod>>,
}

impl Bench {
    fn measure(&self, name: &str, operations: usize, work: impl FnMut()) {
        if self
            .filter
            .as_ref()
            .is_none_or(|filter| name.contains(filter.as_str()))
        {
            let ns_per_op = median(operations, work);
            println!("{{\"name\":\"{name}\",\"ns_per_op\":{ns_per_op:.1}}}");
        }
    }

    fn add_pop(&self, name: &str, order: QueueOrder, max: usize) {
        let fifo = queue(order);
        let mut next = self.pods.chunks(ROUND).cycle();
        self.measure(name, ROUND, || {
            for pod in next.next().into_iter().flatten() {
                add(&fifo, pod);
            }
            assert_eq!(drain(&fifo, max), ROUND);
        });
    }

    fn replace(&self, name: &str, order: QueueOrder) {
        self.measure(name, 1, || {
            let fifo = queue(order);
            let mut list = ObjectList::new();
            for pod in &self.pods {
                list.insert(ObjectKey::of(&**pod), Arc::clone(pod));
            }
            fifo.replace(list, ListEnd::new(1.into()));
            assert_eq!(drain(&fifo, ROUND), N);
        });
    }

    /// Two threads add to one queue, each its half of the pods, while this one pops; per add.
    fn two_producers(&self, name: &str) {
        self.measure(name, N, || {
            let fifo = queue(QueueOrder::ByKey);
            let (first, second) = self.pods.split_at(N / 2);
            std::thread::scope(|scope| {
                for half in [first, second] {
                    let fifo = &fifo;
                    scope.spawn(move || half.iter().for_each(|pod| add(fifo, pod)));
                }
                let mut keys = 0;
                while keys < N {
                    keys += drain(&fifo, ROUND);
                    std::thread::yield_now();
                }
            });
        });
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
    bench.add_pop("delta_fifo_add_pop", QueueOrder::ByKey, ROUND);
    bench.add_pop("delta_fifo_add_pop_single", QueueOrder::ByKey, 1);
    bench.add_pop("delta_fifo_in_order_add_pop", QueueOrder::InOrder, ROUND);
    bench.replace("delta_fifo_replace_100k", QueueOrder::ByKey);
    bench.replace("delta_fifo_in_order_replace_100k", QueueOrder::InOrder);
    bench.two_producers("delta_fifo_2_producers");
}
