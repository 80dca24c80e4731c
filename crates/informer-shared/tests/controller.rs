//! The controller and the plain informer: what client-go's tests of them assert (CT1–CT11), and what failures do.

mod support;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use informer_delta_fifo::{Batch, Config, Delta, DeltaFifo, KeyDeltas, Order};
use informer_reflector::ReflectorConfig;
use informer_shared::{
    BoxError, Controller, ControllerConfig, Event, EventHandler, Failures, Informer, Process,
    ProcessEach, RecreatedAs, RunError,
};
use informer_store::{IndexValues, Indexers, Object, ObjectKey, Store};
use k8s_openapi::api::core::v1::ConfigMap;
use parking_lot::Mutex;
use support::{
    Cluster, SECONDS, Seen, change_two, line, soon, told_in_each_order, until, value_of,
};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

type Running = JoinHandle<Result<(), RunError>>;

fn key(name: &str) -> ObjectKey {
    ObjectKey::namespaced("ns", name)
}

/// A handler that fails while it is told to, for some names.
#[derive(Clone, Default)]
struct Picky {
    heard: Arc<Mutex<Vec<String>>>,
    refused: Arc<Mutex<Vec<&'static str>>>,
    refusals: Arc<AtomicUsize>,
}

impl EventHandler<ConfigMap> for Picky {
    async fn handle(&mut self, event: Event<ConfigMap>) -> Result<(), BoxError> {
        let name = event.object().name().to_owned();
        if self.refused.lock().iter().any(|refused| *refused == name) {
            self.refusals.fetch_add(1, Ordering::Relaxed);
            return Err(format!("{name} is refused").into());
        }
        self.heard.lock().push(line(&event));
        Ok(())
    }
}

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

/// One change, so that a watch cannot resume from before it.
fn another(cluster: &Cluster) {
    cluster.put("another", "1");
}

async fn ended(stop: &CancellationToken, run: Running) {
    stop.cancel();
    soon(run).await.expect("no panic").expect("it ends well");
}

fn values(store: &Store<ConfigMap>) -> BTreeMap<String, String> {
    let objects = store.list();
    let named = objects.iter().map(|o| (o.name().to_owned(), value_of(o)));
    named.collect()
}

// CT1, INV-SHARED-1: changes from three threads while it runs; in the end all agree.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plain_informer_follows_writers_on_three_threads() {
    let cluster = Cluster::with(5);
    let seen = Seen::new();
    let informer = Informer::builder(cluster.clone(), seen.clone())
        .build()
        .unwrap();
    let (store, monitor) = (informer.store().clone(), informer.monitor());
    assert!(!monitor.has_synced());
    let stop = CancellationToken::new();
    let run = tokio::spawn(informer.run(stop.clone()));
    soon(monitor.synced()).await.unwrap();
    let threads: Vec<_> = (0..3_usize)
        .map(|thread| {
            let cluster = cluster.clone();
            std::thread::spawn(move || {
                for round in 0..100_usize {
                    let name = format!("t{thread}-{}", round % 7);
                    if round % 3 == 2 && cluster.contents().contains_key(&name) {
                        cluster.delete(&name);
                    } else {
                        cluster.put(&name, &round.to_string());
                    }
                }
            })
        })
        .collect();
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
    until("all agree", || {
        seen.contents() == cluster.contents() && values(&store) == cluster.contents()
    })
    .await;
    ended(&stop, run).await;
    assert!(monitor.has_synced(), "it stays so");
    assert!(values(&store) == cluster.contents(), "it stays readable");
    let stopped = store.wait_until(&u64::MAX.into()).await;
    assert!(stopped.is_err(), "nobody waits for ever");
}

// CT2: whatever happens before and after the first list, only a step from one value to the next is told, and repeats.
#[tokio::test(start_paused = true)]
async fn only_steps_that_were_made_are_told() {
    let cluster = Cluster::new();
    for n in 0..20 {
        cluster.put(&n.to_string(), "from");
    }
    let steps = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&steps);
    let handler = move |event: Event<ConfigMap>| {
        if let Event::Updated { old, new, .. } = &event {
            log.lock().push((value_of(old), value_of(new)));
        }
        async {}
    };
    let informer = Informer::builder(cluster.clone(), handler)
        .resync_period(SECONDS)
        .build()
        .unwrap();
    let stop = CancellationToken::new();
    let store = informer.store().clone();
    let run = tokio::spawn(informer.run(stop.clone()));
    for n in 0..20 {
        cluster.put(&n.to_string(), "to");
        tokio::task::yield_now().await;
    }
    until("all are there", || values(&store) == cluster.contents()).await;
    ended(&stop, run).await;
    let legal = [("from", "to"), ("to", "to"), ("from", "from")];
    for (old, new) in steps.lock().iter() {
        assert!(
            legal.contains(&(old.as_str(), new.as_str())),
            "{old} to {new}"
        );
    }
}

// CT3, INV-CTRL-1: the caller of `run` gets a handler's panic; the batch is not lost, and nothing waits for ever.
#[tokio::test(start_paused = true)]
async fn a_panic_of_the_handler_reaches_the_caller_of_run() {
    let cluster = Cluster::with(1);
    let fail = |event: &Event<ConfigMap>| -> () { panic!("at {}", event.key()) };
    let handler = move |event: Event<ConfigMap>| async move { fail(&event) };
    let informer = Informer::builder(cluster, handler).build().unwrap();
    let (store, monitor) = (informer.store().clone(), informer.monitor());
    let run = informer.run(CancellationToken::new());
    let panic = soon(std::panic::AssertUnwindSafe(run).catch_unwind())
        .await
        .unwrap_err();
    assert_eq!(
        panic.downcast_ref::<String>().map(String::as_str),
        Some("at ns/0")
    );
    assert_eq!(monitor.status().queue.returned_batches, 1);
    assert!(!monitor.has_synced());
    assert!(store.wait_until(&u64::MAX.into()).await.is_err());
}

// CT4, CT5: what is stored and told is transformed, once, by resyncs too.
#[tokio::test(start_paused = true)]
async fn a_transform_is_seen_everywhere_and_done_once() {
    let cluster = Cluster::with(1);
    let seen = Seen::new();
    let transform = |object: &mut ConfigMap| {
        let value = format!("{}!", value_of(object));
        object.data = Some([("value".to_owned(), value)].into());
        Ok::<(), std::convert::Infallible>(())
    };
    let informer = Informer::builder(cluster.clone(), seen.clone())
        .transform(transform)
        .resync_period(10 * SECONDS)
        .build()
        .unwrap();
    let (store, monitor) = (informer.store().clone(), informer.monitor());
    let stop = CancellationToken::new();
    let run = tokio::spawn(informer.run(stop.clone()));
    soon(monitor.synced()).await.unwrap();
    tokio::time::sleep(25 * SECONDS).await;
    assert_eq!(seen.take(), ["+0=first! initial", "=0 resync", "=0 resync"]);
    assert_eq!(value_of(&store.get(&key("0")).unwrap()), "first!");
    cluster.put("0", "second");
    cluster.delete("0");
    until("it is gone", || store.is_empty()).await;
    let told = seen.take();
    // They may have come in one batch: then the chain is short, not joined.
    assert_eq!(told, ["~0=first!>second! watch", "-0"]);
    ended(&stop, run).await;
}

// DF9: deletions carry transformed objects too, those that a list infers once transformed.
#[tokio::test(start_paused = true)]
async fn deletions_carry_transformed_objects() {
    let cluster = Cluster::with(2);
    let ends = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&ends);
    let handler = move |event: Event<ConfigMap>| {
        if let Event::Deleted { object, .. } = &event {
            log.lock()
                .push(format!("{}={}", object.name(), value_of(object)));
        }
        async {}
    };
    let transform = |object: &mut ConfigMap| {
        let value = format!("{}!", value_of(object));
        object.data = Some([("value".to_owned(), value)].into());
        Ok::<(), std::convert::Infallible>(())
    };
    let informer = Informer::builder(cluster.clone(), handler)
        .transform(transform)
        .build()
        .unwrap();
    let monitor = informer.monitor();
    let stop = CancellationToken::new();
    let run = tokio::spawn(informer.run(stop.clone()));
    soon(monitor.synced()).await.unwrap();
    cluster.delete("0");
    until("the first end", || ends.lock().len() == 1).await;
    cluster.while_away(|cluster| {
        cluster.delete("1");
    });
    until("the second end", || ends.lock().len() == 2).await;
    assert_eq!(*ends.lock(), ["0=first!", "1=first!"]);
    ended(&stop, run).await;
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
    let stop = CancellationToken::new();
    let run = tokio::spawn(controller.run(stop.clone()));
    soon(monitor.synced()).await.unwrap();
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
    ended(&stop, run).await;

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
    let stop = CancellationToken::new();
    let run = tokio::spawn(controller.run(stop.clone()));
    soon(monitor.synced()).await.unwrap();
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
    ended(&stop, run).await;
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
        let monitor = controller.monitor();
        let stop = CancellationToken::new();
        let run = tokio::spawn(controller.run(stop.clone()));
        soon(monitor.synced()).await.unwrap();
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
        ended(&stop, run).await;
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

// INV-CTRL-5: of every informer the queue's order can be chosen.
#[tokio::test(start_paused = true)]
async fn a_plain_informer_tells_changes_in_the_order_that_was_chosen() {
    for (order, expected) in told_in_each_order() {
        let cluster = Cluster::new();
        let seen = Seen::new();
        let informer = Informer::builder(cluster.clone(), seen.clone())
            .queue_order(order)
            .build()
            .unwrap();
        let monitor = informer.monitor();
        let stop = CancellationToken::new();
        let run = tokio::spawn(informer.run(stop.clone()));
        soon(monitor.synced()).await.unwrap();
        until("the watch", || cluster.open_watches() == 1).await;
        change_two(&cluster);
        until("all changes", || seen.lines().len() == expected.len()).await;
        assert_eq!(seen.take(), expected, "{order:?}");
        ended(&stop, run).await;
    }
}

// CT8, INV-CTRL-3: events missed while the watch was away are told by the list, once, and not as initial.
#[tokio::test(start_paused = true)]
async fn what_was_missed_is_told_once_and_not_as_initial() {
    let cluster = Cluster::with(2);
    let seen = Seen::new();
    let informer = Informer::builder(cluster.clone(), seen.clone())
        .build()
        .unwrap();
    let monitor = informer.monitor();
    let stop = CancellationToken::new();
    let run = tokio::spawn(informer.run(stop.clone()));
    soon(monitor.synced()).await.unwrap();
    seen.take();
    cluster.while_away(|cluster| {
        cluster.put("0", "second");
        cluster.put("new", "first");
        cluster.delete("1");
    });
    until("three events", || seen.lines().len() == 3).await;
    let all = ["-1 unknown", "~0=first>second relist", "+new=first"];
    assert_eq!(seen.take(), all);
    ended(&stop, run).await;
}

// CT9, CT10: the store's version follows updates, deletes and bookmarks; objects without one leave it where it was.
#[tokio::test(start_paused = true)]
async fn the_stores_version_follows_what_was_applied() {
    let cluster = Cluster::with(1);
    let informer = Informer::builder(cluster.clone(), Seen::new())
        .build()
        .unwrap();
    let (store, monitor) = (informer.store().clone(), informer.monitor());
    let stop = CancellationToken::new();
    let run = tokio::spawn(informer.run(stop.clone()));
    soon(monitor.synced()).await.unwrap();
    let update = cluster.put("0", "second");
    soon(store.wait_until(&update.into())).await.unwrap();
    assert_eq!(store.resource_version(), Some(update.into()));
    let deletion = cluster.delete("0");
    soon(store.wait_until(&deletion.into())).await.unwrap();
    assert!(store.is_empty());
    assert_eq!(store.resource_version(), Some(deletion.into()));
    assert_eq!(monitor.last_sync_resource_version(), Some(deletion.into()));
    ended(&stop, run).await;

    let cluster = Cluster::with(1);
    let listed = 1_u64;
    let forget = |object: &mut ConfigMap| {
        object.metadata.resource_version = None;
        Ok::<(), std::convert::Infallible>(())
    };
    let informer = Informer::builder(cluster.clone(), Seen::new())
        .transform(forget)
        .build()
        .unwrap();
    let (store, monitor) = (informer.store().clone(), informer.monitor());
    let stop = CancellationToken::new();
    let run = tokio::spawn(informer.run(stop.clone()));
    soon(monitor.synced()).await.unwrap();
    cluster.put("0", "second");
    until("it is stored", || values(&store) == cluster.contents()).await;
    assert_eq!(store.resource_version(), Some(listed.into()));
    let bookmark = cluster.bookmark();
    soon(store.wait_until(&bookmark.into())).await.unwrap();
    ended(&stop, run).await;
}

// CT11, P7: what a deletion tells names its object, known to the end or not; a new life ends the old one.
#[tokio::test(start_paused = true)]
async fn deletions_name_their_object() {
    for (how, expected) in [
        (RecreatedAs::DeletedAndAdded, vec!["-ns/0 unknown", "+ns/0"]),
        (RecreatedAs::Updated, vec!["~ns/0"]),
    ] {
        let cluster = Cluster::with(1);
        let lines = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&lines);
        let handler = move |event: Event<ConfigMap>| {
            log.lock().push(match &event {
                Event::Deleted {
                    final_state_unknown: true,
                    ..
                } => format!("-{} unknown", event.key()),
                Event::Deleted { .. } => format!("-{}", event.key()),
                Event::Updated { .. } => format!("~{}", event.key()),
                _ => format!("+{}", event.key()),
            });
            async {}
        };
        let informer = Informer::builder(cluster.clone(), handler)
            .recreated_as(how)
            .build()
            .unwrap();
        let monitor = informer.monitor();
        let stop = CancellationToken::new();
        let run = tokio::spawn(informer.run(stop.clone()));
        soon(monitor.synced()).await.unwrap();
        lines.lock().clear();
        cluster.while_away(|cluster| {
            cluster.delete("0");
            cluster.put("0", "again");
        });
        until("the new life", || lines.lock().len() >= expected.len()).await;
        assert_eq!(*lines.lock(), expected);
        cluster.delete("0");
        until("the end", || {
            lines.lock().last().is_some_and(|line| line == "-ns/0")
        })
        .await;
        ended(&stop, run).await;
    }
}

// INV-CTRL-2: errors of the handler are counted, told, and repaired by the next list, deletions too.
#[tokio::test(start_paused = true)]
async fn what_the_handler_failed_at_is_told_again_by_the_next_list() {
    let cluster = Cluster::with(3);
    let handler = Picky::default();
    *handler.refused.lock() = vec!["1", "2"];
    let hooked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&hooked);
    let informer = Informer::builder(cluster.clone(), handler.clone())
        .on_error(move |_, _| {
            count.fetch_add(1, Ordering::Relaxed);
        })
        .build()
        .unwrap();
    let monitor = informer.monitor();
    let stop = CancellationToken::new();
    let run = tokio::spawn(informer.run(stop.clone()));
    soon(monitor.synced()).await.unwrap();
    assert_eq!(*handler.heard.lock(), ["+0=first initial"]);
    // The deletion fails too.
    cluster.delete("2");
    until("three failures", || monitor.status().failures == 3).await;
    assert_eq!(hooked.load(Ordering::Relaxed), 3);
    assert_eq!(monitor.status().failing, 2);
    handler.refused.lock().clear();
    cluster.while_away(another);
    until("both are told", || monitor.status().failing == 0).await;
    ended(&stop, run).await;
    assert_eq!(handler.refusals.load(Ordering::Relaxed), 3);
    assert_eq!(monitor.status().repaired, 2);
    let mut heard = handler.heard.lock().split_off(1);
    heard.sort();
    // A deletion is told as it was, an object that is there as an update that changes nothing.
    assert_eq!(heard, ["+another=1", "-2", "=1 relist"]);
}

// peers 44: an object that changed while disconnected is told exactly once to a handler without resync.
// A list's unchanged objects reach a handler that asks for resyncs only (INV-SHARED-9).
#[tokio::test(start_paused = true)]
async fn unchanged_objects_of_a_list_reach_a_handler_with_resync_only() {
    for (period, expected) in [
        (Duration::ZERO, vec!["~0=first>second relist"]),
        (3600 * SECONDS, vec!["~0=first>second relist", "=1 relist"]),
    ] {
        let cluster = Cluster::with(2);
        let seen = Seen::new();
        let informer = Informer::builder(cluster.clone(), seen.clone())
            .resync_period(period)
            .build()
            .unwrap();
        let monitor = informer.monitor();
        let stop = CancellationToken::new();
        let run = tokio::spawn(informer.run(stop.clone()));
        soon(monitor.synced()).await.unwrap();
        seen.take();
        cluster.while_away(|cluster| {
            cluster.put("0", "second");
        });
        until("a second list", || {
            cluster.lists() == 2 && cluster.open_watches() == 1
        })
        .await;
        until("it is told", || seen.lines().len() >= expected.len()).await;
        assert_eq!(seen.take(), expected);
        ended(&stop, run).await;
    }
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
    let stop = CancellationToken::new();
    let run = tokio::spawn(controller.run(stop.clone()));
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
    ended(&stop, run).await;
}

// NewIndexerInformer, and a clash of indexes.
#[tokio::test(start_paused = true)]
async fn a_plain_informer_keeps_indexes() {
    let by_value = || {
        Indexers::new().index(
            "value",
            |object: &ConfigMap, values: &mut IndexValues<'_>| {
                values.push(&value_of(object));
            },
        )
    };
    let cluster = Cluster::with(2);
    let informer = Informer::builder(cluster, Seen::new())
        .indexers(by_value())
        .build()
        .unwrap();
    let (store, monitor) = (informer.store().clone(), informer.monitor());
    let lister = informer.lister("configmaps");
    assert!(lister.get("ns/0").is_err());
    let stop = CancellationToken::new();
    let run = tokio::spawn(informer.run(stop.clone()));
    soon(monitor.synced()).await.unwrap();
    assert_eq!(store.by_index("value", "first").unwrap().len(), 2);
    assert_eq!(store.by_index("namespace", "ns").unwrap().len(), 2);
    ended(&stop, run).await;
}
