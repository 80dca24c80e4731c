//! The plain informer: what client-go's tests of it assert (CT1 to CT5, CT8 to CT11), and what failures do.

mod support;

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use informer_shared::{BoxError, Event, EventHandler, Informer, RecreatedAs};
use informer_store::{IndexValues, Indexers, Object};
use k8s_openapi::api::core::v1::ConfigMap;
use parking_lot::Mutex;
use support::running::{start, synced};
use support::{
    Cluster, SECONDS, Seen, another, change_two, key, line, soon, told_in_each_order, until,
    value_of, values,
};
use tokio_util::sync::CancellationToken;

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

/// A handler, and what it noted of the events.
fn noting<T: Send + 'static>(
    note: fn(&Event<ConfigMap>) -> Option<T>,
) -> (Arc<Mutex<Vec<T>>>, impl EventHandler<ConfigMap>) {
    let notes = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&notes);
    let handler = move |event: Event<ConfigMap>| {
        log.lock().extend(note(&event));
        std::future::ready(())
    };
    (notes, handler)
}

/// A transform that shows in the value.
fn exclaim(object: &mut ConfigMap) -> Result<(), Infallible> {
    let value = format!("{}!", value_of(object));
    object.data = Some([("value".to_owned(), value)].into());
    Ok(())
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
    let running = synced(&monitor, |stop| informer.run(stop)).await;
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
    running.end().await;
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
    let (steps, handler) = noting(|event| match event {
        Event::Updated { old, new, .. } => Some((value_of(old), value_of(new))),
        _ => None,
    });
    let informer = Informer::builder(cluster.clone(), handler)
        .resync_period(SECONDS)
        .build()
        .unwrap();
    let store = informer.store().clone();
    let running = start(|stop| informer.run(stop));
    for n in 0..20 {
        cluster.put(&n.to_string(), "to");
        tokio::task::yield_now().await;
    }
    until("all are there", || values(&store) == cluster.contents()).await;
    running.end().await;
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
    let informer = Informer::builder(cluster.clone(), seen.clone())
        .transform(exclaim)
        .resync_period(10 * SECONDS)
        .build()
        .unwrap();
    let (store, monitor) = (informer.store().clone(), informer.monitor());
    let running = synced(&monitor, |stop| informer.run(stop)).await;
    tokio::time::sleep(25 * SECONDS).await;
    assert_eq!(seen.take(), ["+0=first! initial", "=0 resync", "=0 resync"]);
    assert_eq!(value_of(&store.get(&key("0")).unwrap()), "first!");
    cluster.put("0", "second");
    cluster.delete("0");
    until("it is gone", || store.is_empty()).await;
    let told = seen.take();
    // They may have come in one batch: then the chain is short, not joined.
    assert_eq!(told, ["~0=first!>second! watch", "-0"]);
    running.end().await;
}

// DF9: deletions carry transformed objects too, those that a list infers once transformed.
#[tokio::test(start_paused = true)]
async fn deletions_carry_transformed_objects() {
    let cluster = Cluster::with(2);
    let (ends, handler) = noting(|event| match event {
        Event::Deleted { object, .. } => Some(format!("{}={}", object.name(), value_of(object))),
        _ => None,
    });
    let informer = Informer::builder(cluster.clone(), handler)
        .transform(exclaim)
        .build()
        .unwrap();
    let running = synced(&informer.monitor(), |stop| informer.run(stop)).await;
    cluster.delete("0");
    until("the first end", || ends.lock().len() == 1).await;
    cluster.while_away(|cluster| {
        cluster.delete("1");
    });
    until("the second end", || ends.lock().len() == 2).await;
    assert_eq!(*ends.lock(), ["0=first!", "1=first!"]);
    running.end().await;
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
        let running = synced(&informer.monitor(), |stop| informer.run(stop)).await;
        until("the watch", || cluster.open_watches() == 1).await;
        change_two(&cluster);
        until("all changes", || seen.lines().len() == expected.len()).await;
        assert_eq!(seen.take(), expected, "{order:?}");
        running.end().await;
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
    let running = synced(&informer.monitor(), |stop| informer.run(stop)).await;
    seen.take();
    cluster.while_away(|cluster| {
        cluster.put("0", "second");
        cluster.put("new", "first");
        cluster.delete("1");
    });
    until("three events", || seen.lines().len() == 3).await;
    let all = ["-1 unknown", "~0=first>second relist", "+new=first"];
    assert_eq!(seen.take(), all);
    running.end().await;
}

// CT9, CT10: the store's version follows updates, deletes and bookmarks; objects without one leave it where it was.
#[tokio::test(start_paused = true)]
async fn the_stores_version_follows_what_was_applied() {
    let cluster = Cluster::with(1);
    let informer = Informer::builder(cluster.clone(), Seen::new())
        .build()
        .unwrap();
    let (store, monitor) = (informer.store().clone(), informer.monitor());
    let running = synced(&monitor, |stop| informer.run(stop)).await;
    let update = cluster.put("0", "second");
    soon(store.wait_until(&update.into())).await.unwrap();
    assert_eq!(store.resource_version(), Some(update.into()));
    let deletion = cluster.delete("0");
    soon(store.wait_until(&deletion.into())).await.unwrap();
    assert!(store.is_empty());
    assert_eq!(store.resource_version(), Some(deletion.into()));
    assert_eq!(monitor.last_sync_resource_version(), Some(deletion.into()));
    running.end().await;

    let cluster = Cluster::with(1);
    let listed = 1_u64;
    let forget = |object: &mut ConfigMap| {
        object.metadata.resource_version = None;
        Ok::<(), Infallible>(())
    };
    let informer = Informer::builder(cluster.clone(), Seen::new())
        .transform(forget)
        .build()
        .unwrap();
    let (store, monitor) = (informer.store().clone(), informer.monitor());
    let running = synced(&monitor, |stop| informer.run(stop)).await;
    cluster.put("0", "second");
    until("it is stored", || values(&store) == cluster.contents()).await;
    assert_eq!(store.resource_version(), Some(listed.into()));
    let bookmark = cluster.bookmark();
    soon(store.wait_until(&bookmark.into())).await.unwrap();
    running.end().await;
}

// CT11, P7: what a deletion tells names its object, known to the end or not; a new life ends the old one.
#[tokio::test(start_paused = true)]
async fn deletions_name_their_object() {
    for (how, expected) in [
        (RecreatedAs::DeletedAndAdded, vec!["-ns/0 unknown", "+ns/0"]),
        (RecreatedAs::Updated, vec!["~ns/0"]),
    ] {
        let cluster = Cluster::with(1);
        let (lines, handler) = noting(|event| {
            Some(match event {
                Event::Deleted {
                    final_state_unknown: true,
                    ..
                } => format!("-{} unknown", event.key()),
                Event::Deleted { .. } => format!("-{}", event.key()),
                Event::Updated { .. } => format!("~{}", event.key()),
                _ => format!("+{}", event.key()),
            })
        });
        let informer = Informer::builder(cluster.clone(), handler)
            .recreated_as(how)
            .build()
            .unwrap();
        let running = synced(&informer.monitor(), |stop| informer.run(stop)).await;
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
        running.end().await;
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
    let running = synced(&monitor, |stop| informer.run(stop)).await;
    assert_eq!(*handler.heard.lock(), ["+0=first initial"]);
    // The deletion fails too.
    cluster.delete("2");
    until("three failures", || monitor.status().failures == 3).await;
    assert_eq!(hooked.load(Ordering::Relaxed), 3);
    assert_eq!(monitor.status().failing, 2);
    handler.refused.lock().clear();
    cluster.while_away(another);
    until("both are told", || monitor.status().failing == 0).await;
    running.end().await;
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
        let running = synced(&informer.monitor(), |stop| informer.run(stop)).await;
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
        running.end().await;
    }
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
    let running = synced(&monitor, |stop| informer.run(stop)).await;
    assert_eq!(store.by_index("value", "first").unwrap().len(), 2);
    assert_eq!(store.by_index("namespace", "ns").unwrap().len(), 2);
    running.end().await;
}
