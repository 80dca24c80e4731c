//! The controller: what client-go's tests of it assert (CT6, CT7), and what failures do.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use informer_delta_fifo::{Batch, Config, Delta, DeltaFifo, KeyDeltas, Order};
use informer_reflector::ReflectorConfig;
use informer_shared::{Controller, ControllerConfig, Failures, Process, ProcessEach};
use informer_store::{ObjectKey, Store};
use k8s_openapi::api::core::v1::ConfigMap;
use parking_lot::Mutex;
use support::running::{start, synced};
use support::{Cluster, SECONDS, another, key, soon, until, value_of, values};

/// A process that writes a store key by key by what is there, and fails for some names.
fn writer(
    store: &Store<ConfigMap>,
    refused: &Arc<Mutex<Vec<&'static str>>>,
    log: &Arc<Mutex<Vec<String>>>,
) -> impl Process<ConfigMap> + use<> {
    let (store, refused, log) = (store.clone(), Arc::clone(refused), Arc::clone(log));
    ProcessEach::new(move |deltas: KeyDeltas<'_, ConfigMap>, _initial: bool| {
        let name = deltas.key().name().to_owned();
        if refused.lock().iter().any(|refused| *refused == name) {
            return Err(format!("{name} is refused"));
        }
        for delta in deltas.deltas() {
            match delta {
                Delta::Deleted(_) => {
                    if remove(&store, deltas.key()) {
                        log.lock().push(format!("-{name}"));
                    }
                }
                Delta::SetAside(_) => {}
                other => {
                    let Some(object) = other.into_object() else {
                        continue;
                    };
                    let value = value_of(&object);
                    let old = store.get(deltas.key()).map(|old| value_of(&old));
                    put(&store, deltas.key(), object);
                    match old {
                        None => log.lock().push(format!("+{name}={value}")),
                        Some(old) if old != value => log.lock().push(format!("~{name}={value}")),
                        Some(_) => {}
                    }
                }
            }
        }
        Ok(())
    })
}

fn put(store: &Store<ConfigMap>, key: &ObjectKey, object: Arc<ConfigMap>) {
    let mut batch = store.begin_batch();
    batch.upsert(key.clone(), object);
    batch.commit();
}

fn remove(store: &Store<ConfigMap>, key: &ObjectKey) -> bool {
    let mut batch = store.begin_batch();
    let was_there = batch.remove(key).is_some();
    batch.commit();
    was_there
}

// CT6, P6, INV-CTRL-2: keys that fail are counted, told and named; the others are applied.
#[tokio::test(start_paused = true)]
async fn failing_keys_of_a_batch_touch_no_other() {
    let cluster = Cluster::with(4);
    let store = Store::new();
    let refused = Arc::new(Mutex::new(vec!["1", "3"]));
    let log = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::new(Mutex::new(Vec::new()));
    let hook = Arc::clone(&told);
    let config = ControllerConfig::new(
        DeltaFifo::new(store.clone()),
        cluster.clone(),
        writer(&store, &refused, &log),
    )
    .on_error(move |key, error| hook.lock().push(format!("{key}: {error}")));
    let controller = Controller::new(config);
    let monitor = controller.monitor();
    let running = synced(&monitor, |stop| controller.run(stop)).await;
    assert_eq!(log.lock().as_slice(), ["+0=first", "+2=first"]);
    assert_eq!(
        told.lock().as_slice(),
        ["ns/1: 1 is refused", "ns/3: 3 is refused"]
    );
    let status = monitor.status();
    assert_eq!((status.batches, status.keys), (1, 4));
    assert_eq!(
        (status.failures, status.failing, status.repaired),
        (2, 2, 0)
    );
    assert_eq!(status.last_error.as_deref(), Some("ns/3: 3 is refused"));

    // The next list repairs them, unchanged as they are; also a deletion that failed.
    *refused.lock() = vec!["0"];
    log.lock().clear();
    cluster.delete("0");
    until("the deletion failed", || monitor.status().failures == 3).await;
    refused.lock().clear();
    cluster.while_away(another);
    until("all is repaired", || monitor.status().failing == 0).await;
    assert_eq!(
        log.lock().as_slice(),
        ["-0", "+1=first", "+3=first", "+another=1"]
    );
    assert_eq!(monitor.status().repaired, 3);
    assert_eq!(values(&store), cluster.contents());
    running.end().await;

    let mut failures = Failures::new();
    failures.push(key("a"), "one");
    failures.push(key("b"), "two");
    assert_eq!(
        failures.to_string(),
        "2 keys could not be applied, the first is ns/a"
    );
    assert!(std::error::Error::source(&failures).is_some());
    assert!(Failures::new().into_result().is_ok());
}

// client-go's RetryOnError with AddIfNotPresent: tried again at once, before newer changes of the key.
#[tokio::test(start_paused = true)]
async fn a_key_that_fails_is_tried_again_if_asked_for() {
    let cluster = Cluster::with(3);
    let store = Store::new();
    let refused = Arc::new(Mutex::new(vec!["1"]));
    let log = Arc::new(Mutex::new(Vec::new()));
    let queue = DeltaFifo::new(store.clone());
    let config = ControllerConfig::new(queue, cluster.clone(), writer(&store, &refused, &log));
    let controller = Controller::new(config.retry_on_error(true));
    let monitor = controller.monitor();
    let running = synced(&monitor, |stop| controller.run(stop)).await;
    until("it was tried many times", || monitor.status().failures > 5).await;
    cluster.put("1", "second");
    cluster.put("2", "second");
    until("others go on", || {
        values(&store)
            .get("2")
            .is_some_and(|value| value == "second")
    })
    .await;
    refused.lock().clear();
    until("it is repaired", || monitor.status().repaired == 1).await;
    let all = ["+0=first", "+2=first", "~2=second", "+1=first", "~1=second"];
    assert_eq!(log.lock().as_slice(), all);
    let tries = monitor.status().queue.returned_keys;
    tokio::time::sleep(60 * SECONDS).await;
    assert_eq!(monitor.status().queue.returned_keys, tries);
    // Failing for ever does not keep it from stopping.
    *refused.lock() = vec!["0"];
    cluster.put("0", "third");
    until("it fails again", || monitor.status().failing == 1).await;
    running.end().await;
}

// CT7, P3, INV-CTRL-4: the same history and store in both orders; what a list lacks is deleted first.
#[tokio::test(start_paused = true)]
async fn a_list_makes_the_same_history_in_both_orders() {
    let mut histories = Vec::new();
    for order in [Order::ByKey, Order::InOrder] {
        let cluster = Cluster::new();
        for name in ["a", "b", "c"] {
            cluster.put(name, "1");
        }
        let store = Store::new();
        let log = Arc::new(Mutex::new(Vec::new()));
        let queue =
            DeltaFifo::with_config(&Config::new().known_objects(store.clone()).order(order));
        let process = writer(&store, &Arc::default(), &log);
        let controller = Controller::new(ControllerConfig::new(queue, cluster.clone(), process));
        let running = synced(&controller.monitor(), |stop| controller.run(stop)).await;
        cluster.while_away(|cluster| {
            cluster.delete("a");
            cluster.put("b", "2");
            cluster.put("c", "2");
            cluster.put("d", "2");
        });
        until("the second list", || values(&store) == cluster.contents()).await;
        cluster.while_away(|cluster| {
            for name in ["b", "c", "d"] {
                cluster.delete(name);
            }
        });
        until("the empty list", || store.is_empty()).await;
        running.end().await;
        let mut history = log.lock().clone();
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

// should-resync is asked, and the settings of the reflector are passed on.
#[tokio::test(start_paused = true)]
async fn a_controller_asks_whether_to_resync_and_passes_settings_on() {
    let cluster = Cluster::with(1);
    let store = Store::new();
    let reminders = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&reminders);
    let (target, wanted) = (store.clone(), Arc::new(AtomicBool::new(false)));
    let process = move |batch: &Batch<ConfigMap>| {
        for deltas in batch.iter() {
            for delta in deltas {
                match delta {
                    Delta::Sync(_) => {
                        count.fetch_add(1, Ordering::Relaxed);
                    }
                    other => {
                        if let Some(object) = other.into_object() {
                            put(&target, &ObjectKey::of(&*object), object);
                        }
                    }
                }
            }
        }
        Ok::<(), Failures>(())
    };
    let ask = Arc::clone(&wanted);
    let failures = Arc::new(AtomicUsize::new(0));
    let heard = Arc::clone(&failures);
    let config = ControllerConfig::new(DeltaFifo::new(store), cluster.clone(), process)
        .name("maps")
        .full_resync_period(10 * SECONDS)
        .should_resync(move || ask.load(Ordering::Relaxed))
        .watch_error_handler(move |_: &informer_reflector::Report<'_>| {
            heard.fetch_add(1, Ordering::Relaxed);
        })
        .reflector_config(ReflectorConfig::default().label_selector("app=shop"));
    assert!(format!("{config:?}").contains("maps"));
    let controller = Controller::new(config);
    let monitor = controller.monitor();
    cluster.fail_lists(Some(500));
    let running = start(|stop| controller.run(stop));
    until("the list failed", || failures.load(Ordering::Relaxed) > 0).await;
    cluster.fail_lists(None);
    soon(monitor.synced()).await.unwrap();
    tokio::time::sleep(35 * SECONDS).await;
    assert_eq!(reminders.load(Ordering::Relaxed), 0, "nobody wanted one");
    wanted.store(true, Ordering::Relaxed);
    tokio::time::sleep(20 * SECONDS).await;
    assert_eq!(reminders.load(Ordering::Relaxed), 2);
    let options = cluster.last_options().unwrap();
    assert_eq!(options.label_selector.as_deref(), Some("app=shop"));
    running.end().await;
}
