//! The process loop: what client-go's tests of its controller assert (CT6, CT7), what failures lead to, and how waits end.

mod support;

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::FutureExt;
use informer_delta_fifo::{Batch, Delta, DeltaFifo, DeltaFifoConfig, Deltas};
use informer_reflector::{Reflector, ReflectorConfig};
use informer_shared::{
    FailedKeys, InformerPhase, Process, ProcessLoop, QueueOrder, RunError, WaitError,
};
use informer_store::{ObjectKey, Store};
use k8s_openapi::api::core::v1::ConfigMap;
use parking_lot::Mutex;
use support::running::{start, synced};
use support::{Cluster, SECONDS, another, key, settle, soon, until, value_of, values};
use tokio_util::sync::CancellationToken;

type Log = Arc<Mutex<Vec<String>>>;
type Refused = Arc<Mutex<Vec<&'static str>>>;

/// A process that writes a store key by key, by what it holds, and fails for some names.
#[derive(Clone, Default)]
struct Writer {
    store: Store<ConfigMap>,
    refused: Refused,
    log: Log,
}

impl Process<ConfigMap> for Writer {
    async fn process(&mut self, batch: &Batch<ConfigMap>) -> Result<(), FailedKeys> {
        let mut failed = FailedKeys::new();
        for (key, deltas) in batch.iter() {
            let name = key.name();
            if self.refused.lock().contains(&name) {
                failed.push(key.clone(), format!("{name} is refused"));
                continue;
            }
            self.write(key, deltas);
        }
        failed.into_result()
    }
}

impl Writer {
    fn write(&self, key: &ObjectKey, deltas: &Deltas<ConfigMap>) {
        let name = key.name();
        for delta in deltas {
            let Some(object) = delta.object() else {
                continue;
            };
            let mut transaction = self.store.transaction();
            if delta.is_deleted() {
                if transaction.remove(key).is_some() {
                    self.log.lock().push(format!("-{name}"));
                }
            } else {
                let value = value_of(object);
                match transaction.upsert(key.clone(), Arc::clone(object)) {
                    None => self.log.lock().push(format!("+{name}={value}")),
                    Some(old) if value_of(&old) == value => {}
                    Some(_) => self.log.lock().push(format!("~{name}={value}")),
                }
            }
            transaction.commit();
        }
    }

    fn queue(&self, order: QueueOrder) -> DeltaFifo<ConfigMap> {
        DeltaFifo::new(
            DeltaFifoConfig::new()
                .known(self.store.clone())
                .order(order),
        )
    }

    fn run_on(&self, cluster: &Cluster) -> ProcessLoop<ConfigMap, Self> {
        process_loop(self.queue(QueueOrder::ByKey), cluster, self.clone())
    }

    fn log(&self) -> Vec<String> {
        self.log.lock().clone()
    }
}

fn process_loop<P: Process<ConfigMap>>(
    queue: DeltaFifo<ConfigMap>,
    cluster: &Cluster,
    process: P,
) -> ProcessLoop<ConfigMap, P> {
    let reflector = Reflector::new(cluster.clone(), Arc::new(queue.clone()));
    ProcessLoop::new(queue, reflector, process)
}

// CT6, P6, INV-CTRL-2: keys that fail are counted, reported and named; the others are applied.
#[tokio::test(start_paused = true)]
async fn failing_keys_affect_no_others() {
    let (cluster, writer) = (Cluster::with(4), Writer::default());
    *writer.refused.lock() = vec!["1", "3"];
    let reported = Log::default();
    let hook = Arc::clone(&reported);
    let process_loop = writer
        .run_on(&cluster)
        .retries(0)
        .on_error(move |key, error| {
            hook.lock().push(format!("{key}: {error}"));
            panic!("in the hook");
        });
    let running = synced(process_loop).await;
    assert_eq!(writer.log(), ["+0=first", "+2=first"]);
    assert_eq!(
        reported.lock().as_slice(),
        ["ns/1: 1 is refused", "ns/3: 3 is refused"]
    );
    let status = running.status();
    assert_eq!((status.batches, status.keys), (1, 4));
    assert_eq!(
        (status.failures, status.given_up, status.failing),
        (2, 2, 0)
    );
    assert_eq!(status.last_error.as_deref(), Some("ns/3: 3 is refused"));

    // The next list repairs them, unchanged as they are; also a deletion that failed.
    *writer.refused.lock() = vec!["0"];
    writer.log.lock().clear();
    cluster.delete("0");
    until("the deletion failed", || running.status().failures == 3).await;
    writer.refused.lock().clear();
    cluster.while_away(another);
    until("all is repaired", || {
        values(&writer.store) == cluster.contents()
    })
    .await;
    assert_eq!(writer.log(), ["-0", "+1=first", "+3=first", "+another=1"]);
    running.end().await;
}

// INV-CTRL-2, client-go's RetryOnError with AddIfNotPresent: tried again before newer changes of the key.
#[tokio::test(start_paused = true)]
async fn failed_key_is_requeued_with_backoff() {
    let (cluster, writer) = (Cluster::with(3), Writer::default());
    *writer.refused.lock() = vec!["1"];
    let queue = writer.queue(QueueOrder::ByKey);
    let process_loop = process_loop(queue.clone(), &cluster, writer.clone());
    let running = synced(process_loop).await;
    until("it was tried many times", || running.status().failures > 5).await;
    assert_eq!(running.status().failing, 1);
    cluster.put("1", "second");
    cluster.put("2", "second");
    until("others go on", || {
        values(&writer.store)
            .get("2")
            .is_some_and(|value| value == "second")
    })
    .await;
    writer.refused.lock().clear();
    until("it is repaired", || running.status().repaired == 1).await;
    let all = ["+0=first", "+2=first", "~2=second", "+1=first", "~1=second"];
    assert_eq!(writer.log(), all);
    let tries = queue.stats().requeued_keys;
    tokio::time::sleep(60 * SECONDS).await;
    assert_eq!(queue.stats().requeued_keys, tries);
    assert_eq!(running.status().failing, 0);
    // Failing for ever does not keep it from stopping.
    *writer.refused.lock() = vec!["0"];
    cluster.put("0", "third");
    until("it fails again", || running.status().failing == 1).await;
    running.end().await;
}

// INV-CTRL-2, INV-FIFO-13: a process that failed at an object may have applied a part of it.
#[tokio::test(start_paused = true)]
async fn process_that_failed_at_an_object_receives_its_deletion() {
    let cluster = Cluster::with(1);
    let deltas = Log::default();
    let log = Arc::clone(&deltas);
    let process = move |batch: &Batch<ConfigMap>| {
        let mut failed = FailedKeys::new();
        for (key, deltas) in batch.iter().filter(|(key, _)| key.name() == "new") {
            let types = deltas.iter().map(Delta::type_name);
            log.lock().push(types.collect::<Vec<_>>().join(", "));
            if !deltas.newest().is_deleted() {
                failed.push(key.clone(), "half done");
            }
        }
        failed.into_result()
    };
    let queue = DeltaFifo::new(DeltaFifoConfig::new().known(Store::new()));
    let running = synced(process_loop(queue, &cluster, process)).await;
    cluster.put("new", "1");
    until("it failed", || running.status().failing == 1).await;
    cluster.delete("new");
    until("it is deleted", || running.status().failing == 0).await;
    assert_eq!(running.status().repaired, 1);
    let last = deltas.lock().last().cloned();
    assert_eq!(last.as_deref(), Some("Added, Deleted"));
    running.end().await;
}

// INV-CTRL-2: what fails for ever is given up, so that it keeps no memory, and is repaired by its next change.
#[tokio::test(start_paused = true)]
async fn key_that_fails_for_ever_is_given_up_until_its_next_change() {
    let (cluster, writer) = (Cluster::with(3), Writer::default());
    let queue = writer.queue(QueueOrder::ByKey);
    let process_loop = process_loop(queue.clone(), &cluster, writer.clone());
    let running = synced(process_loop).await;
    *writer.refused.lock() = vec!["0", "1"];
    cluster.delete("0");
    cluster.put("1", "second");
    tokio::time::sleep(20 * SECONDS).await;
    let status = running.status();
    assert_eq!((status.given_up, status.failing), (2, 0));
    assert_eq!(status.failures, 2 * 16, "once, and fifteen times again");
    assert_eq!(
        (queue.stats().queued_keys, queue.stats().in_flight_keys),
        (0, 0)
    );
    writer.refused.lock().clear();
    cluster.put("1", "third");
    until("it is repaired", || values(&writer.store)["1"] == "third").await;
    running.end().await;
}

// INV-CTRL-2: an object that is deleted before it could be applied.
#[tokio::test(start_paused = true)]
async fn failing_key_whose_object_is_deleted_is_tried_until_it_succeeds() {
    for order in [QueueOrder::ByKey, QueueOrder::InOrder] {
        let (cluster, writer) = (Cluster::with(1), Writer::default());
        let process_loop = process_loop(writer.queue(order), &cluster, writer.clone());
        let running = synced(process_loop.retries(u32::MAX)).await;
        *writer.refused.lock() = vec!["early"];
        cluster.put("early", "first");
        until("it fails", || running.status().failing == 1).await;
        cluster.delete("early");
        // The process may have applied a part of it, so it receives the deletion, at which it fails, too.
        tokio::time::sleep(20 * SECONDS).await;
        assert_eq!(running.status().failing, 1);
        writer.refused.lock().clear();
        until("it is applied", || running.status().failing == 0).await;
        running.end().await;
    }
}

/// Has something to do between two batches, and then no more.
struct Tidy {
    writer: Writer,
    rounds: Arc<AtomicUsize>,
}

impl Process<ConfigMap> for Tidy {
    async fn process(&mut self, batch: &Batch<ConfigMap>) -> Result<(), FailedKeys> {
        self.writer.process(batch).await
    }

    async fn between(&mut self) -> Result<(), RunError> {
        self.rounds.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

// A process that has done all that there is between two batches keeps the loop from nothing.
#[tokio::test(start_paused = true)]
async fn what_is_done_between_two_batches_may_end() {
    let (cluster, writer) = (Cluster::with(2), Writer::default());
    let rounds = Arc::default();
    let tidy = Tidy {
        writer: writer.clone(),
        rounds: Arc::clone(&rounds),
    };
    let running = synced(process_loop(
        writer.queue(QueueOrder::ByKey),
        &cluster,
        tidy,
    ))
    .await;
    cluster.put("0", "second");
    until("the change", || values(&writer.store) == cluster.contents()).await;
    tokio::time::sleep(SECONDS).await;
    let batches = running.status().batches as usize;
    assert_eq!(rounds.load(Ordering::Relaxed), batches + 1);
    running.end().await;
}

#[test]
fn failed_keys_name_the_first_key_and_its_error() {
    let mut failed = FailedKeys::new();
    assert!(FailedKeys::new().into_result().is_ok());
    failed.push(key("a"), "one");
    failed.push(key("b"), "two");
    assert_eq!(
        failed.to_string(),
        "cannot apply deltas of ns/a and 1 others"
    );
    let source = std::error::Error::source(&failed).expect("a source");
    assert_eq!(source.to_string(), "one");
    assert_eq!((failed.len(), failed.iter().count()), (2, 2));
}

// CT7, P3, INV-CTRL-4: the same history and store in both orders; what a list lacks is deleted first.
#[tokio::test(start_paused = true)]
async fn list_makes_the_same_history_in_both_orders() {
    let mut histories = Vec::new();
    for order in [QueueOrder::ByKey, QueueOrder::InOrder] {
        let (cluster, writer) = (Cluster::new(), Writer::default());
        for name in ["a", "b", "c"] {
            cluster.put(name, "1");
        }
        let process_loop = process_loop(writer.queue(order), &cluster, writer.clone());
        let running = synced(process_loop).await;
        cluster.while_away(|cluster| {
            cluster.delete("a");
            cluster.put("b", "2");
            cluster.put("c", "2");
            cluster.put("d", "2");
        });
        until("the second list", || {
            values(&writer.store) == cluster.contents()
        })
        .await;
        cluster.while_away(|cluster| {
            for name in ["b", "c", "d"] {
                cluster.delete(name);
            }
        });
        until("the empty list", || writer.store.is_empty()).await;
        running.end().await;
        let mut history = writer.log();
        // The order of deletions is open.
        history[7..].sort();
        histories.push(history);
    }
    let expected = [
        "+a=1", "+b=1", "+c=1", "-a", "~b=2", "~c=2", "+d=2", "-b", "-c", "-d",
    ];
    assert_eq!(histories[0], expected);
    assert_eq!(histories[1], expected);
}

// FullResyncPeriod, WatchErrorHandler, transform and selectors are settings of the loop's reflector.
#[tokio::test(start_paused = true)]
async fn settings_of_listing_and_resyncs_are_the_reflectors() {
    let (cluster, writer) = (Cluster::with(1), Writer::default());
    let (resyncs, reports) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (count, reported) = (Arc::clone(&resyncs), Arc::clone(&reports));
    let queue = writer.queue(QueueOrder::ByKey);
    let reflector = Reflector::new(cluster.clone(), Arc::new(queue.clone()))
        .config(ReflectorConfig::default().label_selector("app=shop"))
        .unwrap()
        .resync_period(10 * SECONDS)
        .transform(|object: &mut ConfigMap| {
            object.data = Some([("value".to_owned(), "transformed".to_owned())].into());
            Ok::<(), Infallible>(())
        })
        .watch_error_handler(move |_: &informer_reflector::Report| {
            reported.fetch_add(1, Ordering::Relaxed);
        });
    let target = writer.clone();
    let process = move |batch: &Batch<ConfigMap>| -> Result<(), FailedKeys> {
        for (key, deltas) in batch.iter() {
            let syncs = deltas.iter().filter(|d| matches!(d, Delta::Sync(_)));
            assert!(batch.is_resync() || syncs.clone().count() == 0);
            count.fetch_add(syncs.count(), Ordering::Relaxed);
            target.write(key, deltas);
        }
        Ok(())
    };
    let process_loop = ProcessLoop::new(queue, reflector, process).name("maps");
    assert!(format!("{process_loop:?}").contains("maps"));
    let is_synced = process_loop.synced();
    cluster.fail_lists(Some(500));
    let running = start(process_loop);
    until("the list failed", || reports.load(Ordering::Relaxed) > 0).await;
    assert_eq!(running.status().phase, InformerPhase::Syncing);
    cluster.fail_lists(None);
    soon(is_synced).await.unwrap();
    assert_eq!(running.status().phase, InformerPhase::Synced);
    tokio::time::sleep(25 * SECONDS).await;
    assert_eq!(resyncs.load(Ordering::Relaxed), 2);
    let options = cluster.last_options().unwrap();
    assert_eq!(options.label_selector.as_deref(), Some("app=shop"));
    assert_eq!(values(&writer.store)["0"], "transformed");
    running.end().await;
}

/// A process that never returns.
struct Stuck(Arc<AtomicUsize>);

impl Process<ConfigMap> for Stuck {
    async fn process(&mut self, _: &Batch<ConfigMap>) -> Result<(), FailedKeys> {
        self.0.fetch_add(1, Ordering::Relaxed);
        std::future::pending().await
    }
}

// INV-SHARED-13: the loop ended before it was synced.
#[tokio::test(start_paused = true)]
async fn wait_ends_when_the_loop_stops_within_its_first_batch() {
    let calls = Arc::new(AtomicUsize::new(0));
    let queue = DeltaFifo::default();
    let process_loop = process_loop(queue.clone(), &Cluster::with(1), Stuck(Arc::clone(&calls)));
    let (first, second) = (process_loop.synced(), process_loop.synced());
    let waiting = tokio::spawn(first.into_future());
    let mut running = start(process_loop);
    until("the first batch", || calls.load(Ordering::Relaxed) == 1).await;
    let mut status = running.status.clone();
    running.status.mark_unchanged();
    running.end().await;
    let error = soon(waiting).await.unwrap().unwrap_err();
    assert!(matches!(error, WaitError::Stopped { .. }), "{error}");
    let text = "process loop of objects not synced before it stopped: ";
    assert!(error.to_string().starts_with(text), "{error}");
    assert!(soon(second).await.is_err());
    let end = soon(status.wait_for(|status| status.synced)).await;
    assert!(end.is_err(), "the sender is dropped with the loop");
    assert!(queue.is_closed() && soon(queue.synced()).await.is_err());
    assert_eq!(queue.stats().requeued_batches, 1);
}

// INV-SHARED-13: one that is dropped without having run.
#[tokio::test(start_paused = true)]
async fn wait_ends_when_the_loop_never_ran() {
    let queue = DeltaFifo::default();
    let process_loop = process_loop(queue.clone(), &Cluster::with(1), Writer::default());
    let (wait, status) = (process_loop.synced(), process_loop.status());
    let waiting = tokio::spawn(wait.into_future());
    settle().await;
    assert_eq!(status.borrow().phase, InformerPhase::NotStarted);
    drop(process_loop);
    let error = soon(waiting).await.unwrap().unwrap_err();
    assert!(matches!(error, WaitError::Stopped { .. }), "{error}");
    assert_eq!(status.borrow().phase, InformerPhase::Stopped);
    assert!(queue.is_closed());

    // The same for a run that is dropped before it was polled, and for a deadline.
    let process_loop =
        self::process_loop(DeltaFifo::default(), &Cluster::with(1), Writer::default());
    let error = process_loop.synced().deadline(SECONDS).await.unwrap_err();
    assert!(
        error.to_string().contains("call `start` or `run`"),
        "{error}"
    );
    let wait = process_loop.synced();
    drop(process_loop.run(CancellationToken::new()));
    assert!(soon(wait).await.is_err());
}

// CT3, INV-CTRL-1: the caller of `run` gets a panic of the process; the batch is not lost, and no wait lasts for ever.
#[tokio::test(start_paused = true)]
async fn panic_of_the_process_reaches_the_caller_of_run() {
    let queue = DeltaFifo::default();
    let process = |batch: &Batch<ConfigMap>| -> Result<(), FailedKeys> {
        panic!("with {} keys", batch.len())
    };
    let process_loop = process_loop(queue.clone(), &Cluster::with(1), process);
    let wait = process_loop.synced();
    let run = process_loop.run(CancellationToken::new());
    let panic = soon(std::panic::AssertUnwindSafe(run).catch_unwind())
        .await
        .unwrap_err();
    assert_eq!(
        panic.downcast_ref::<String>().map(String::as_str),
        Some("with 1 keys")
    );
    assert_eq!(queue.stats().requeued_batches, 1);
    assert!(!queue.has_synced());
    assert!(soon(wait).await.is_err());
}

/// A process that ends its loop.
struct Ending;

impl Process<ConfigMap> for Ending {
    async fn process(&mut self, _: &Batch<ConfigMap>) -> Result<(), FailedKeys> {
        Ok(())
    }

    async fn between(&mut self) -> Result<(), RunError> {
        tokio::time::sleep(SECONDS).await;
        Err(RunError::Stopped)
    }
}

#[tokio::test(start_paused = true)]
async fn process_can_end_its_loop_and_a_closed_queue_does() {
    let cluster = Cluster::with(1);
    let process_loop = process_loop(DeltaFifo::default(), &cluster, Ending);
    let end = soon(process_loop.run(CancellationToken::new())).await;
    assert!(matches!(end, Err(RunError::Stopped)), "{end:?}");
    assert_eq!(cluster.open_watches(), 0);

    let writer = Writer::default();
    let queue = writer.queue(QueueOrder::ByKey);
    let running = synced(self::process_loop(queue.clone(), &cluster, writer)).await;
    queue.close();
    running.end().await;
}
