//! A shared informer with one handler, client-go's `NewInformer`: what its tests assert (CT1 to CT5, CT8 to CT11).

mod support;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use informer_shared::{Event, EventHandler, QueuePolicy, RecreatedAs, SharedInformer};
use informer_store::Object;
use k8s_openapi::api::core::v1::ConfigMap;
use parking_lot::Mutex;
use support::{Cluster, SECONDS, Seen, key, settle, soon, started, until, value_of, values};

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

/// An informer of the cluster with one handler that receives every change.
async fn with_handler(
    builder: informer_shared::SharedInformerBuilder<Cluster>,
    handler: impl EventHandler<ConfigMap>,
) -> SharedInformer<ConfigMap> {
    let informer = builder.build().expect("no indexes clash");
    let builder = informer.handler().queue(QueuePolicy::Unbounded);
    let registration = builder.register(handler).expect("not stopped");
    started(&informer).await;
    soon(registration.synced()).await.expect("it is synced");
    informer
}

/// A transform that shows in the value.
fn exclaim(object: &mut ConfigMap) -> Result<(), Infallible> {
    let value = format!("{}!", value_of(object));
    object.data = Some([("value".to_owned(), value)].into());
    Ok(())
}

// CT1, INV-SHARED-1: changes from three threads while it runs; in the end all agree.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn informer_follows_writers_on_three_threads() {
    let cluster = Cluster::with(5);
    let seen = Seen::new();
    let informer = with_handler(SharedInformer::builder(cluster.clone()), seen.clone()).await;
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
        seen.contents() == cluster.contents() && values(informer.store()) == cluster.contents()
    })
    .await;
    soon(informer.stop()).await.unwrap();
    assert!(informer.has_synced(), "it stays so");
    assert!(
        values(informer.store()) == cluster.contents(),
        "the cache stays readable"
    );
    let stopped = informer.store().wait_until(&u64::MAX.into()).await;
    assert!(stopped.is_err(), "no wait lasts for ever");
}

// CT2: whatever happens before and after the first list, only a step from one value to the next is sent, and repeats.
#[tokio::test(start_paused = true)]
async fn only_steps_that_were_made_are_received() {
    let cluster = Cluster::new();
    for n in 0..20 {
        cluster.put(&n.to_string(), "from");
    }
    let (steps, handler) = noting(|event| match event {
        Event::Updated { old, new, .. } => Some((value_of(old), value_of(new))),
        Event::Added { .. } | Event::Deleted { .. } => None,
    });
    let builder = SharedInformer::builder(cluster.clone()).resync_period(SECONDS);
    let informer = builder.build().unwrap();
    informer.add_handler(handler).unwrap();
    informer.start().unwrap();
    for n in 0..20 {
        cluster.put(&n.to_string(), "to");
        tokio::task::yield_now().await;
    }
    until("all are cached", || {
        values(informer.store()) == cluster.contents()
    })
    .await;
    tokio::time::sleep(3 * SECONDS).await;
    soon(informer.stop()).await.unwrap();
    let legal = [("from", "to"), ("to", "to"), ("from", "from")];
    assert!(steps.lock().len() >= 40, "two resyncs");
    for (old, new) in steps.lock().iter() {
        assert!(
            legal.contains(&(old.as_str(), new.as_str())),
            "{old} to {new}"
        );
    }
}

// CT4, CT5: what is cached and sent is transformed, once, by resyncs too.
#[tokio::test(start_paused = true)]
async fn transform_is_seen_everywhere_and_runs_once() {
    let cluster = Cluster::with(1);
    let seen = Seen::new();
    let builder = SharedInformer::builder(cluster.clone())
        .transform(exclaim)
        .resync_period(10 * SECONDS);
    let informer = with_handler(builder, seen.clone()).await;
    tokio::time::sleep(25 * SECONDS).await;
    assert_eq!(seen.take(), ["+0=first! initial", "=0 resync", "=0 resync"]);
    assert_eq!(
        value_of(&informer.store().get(&key("0")).unwrap()),
        "first!"
    );
    cluster.put("0", "second");
    cluster.delete("0");
    until("it is deleted", || informer.store().is_empty()).await;
    settle().await;
    // They may be one batch: its deltas are few, so not coalesced.
    assert_eq!(seen.take(), ["~0=first!>second! watch", "-0"]);
}

// DF9: deletions carry transformed objects too, those that a list infers once transformed.
#[tokio::test(start_paused = true)]
async fn deletions_carry_transformed_objects() {
    let cluster = Cluster::with(2);
    let (ends, handler) = noting(|event| match event {
        Event::Deleted { object, .. } => Some(format!("{}={}", object.name(), value_of(object))),
        Event::Added { .. } | Event::Updated { .. } => None,
    });
    let builder = SharedInformer::builder(cluster.clone()).transform(exclaim);
    let _informer = with_handler(builder, handler).await;
    cluster.delete("0");
    until("the first deletion", || ends.lock().len() == 1).await;
    cluster.while_away(|cluster| {
        cluster.delete("1");
    });
    until("the second deletion", || ends.lock().len() == 2).await;
    assert_eq!(*ends.lock(), ["0=first!", "1=first!"]);
}

// CT8, INV-CTRL-3: events missed while nothing was watched are sent by the list, once, and not as initial.
#[tokio::test(start_paused = true)]
async fn missed_events_are_received_once_and_not_as_initial() {
    let cluster = Cluster::with(2);
    let seen = Seen::new();
    let _informer = with_handler(SharedInformer::builder(cluster.clone()), seen.clone()).await;
    seen.take();
    cluster.while_away(|cluster| {
        cluster.put("0", "second");
        cluster.put("new", "first");
        cluster.delete("1");
    });
    until("three events", || seen.lines().len() == 3).await;
    let all = ["-1 unknown", "~0=first>second relist", "+new=first"];
    assert_eq!(seen.take(), all);
}

// CT9, CT10: the cache's version follows updates, deletes and bookmarks, also where a transform drops objects' versions.
#[tokio::test(start_paused = true)]
async fn resource_version_follows_what_was_applied() {
    let cluster = Cluster::with(1);
    let forget = |object: &mut ConfigMap| {
        object.metadata.resource_version = None;
        Ok::<(), Infallible>(())
    };
    for builder in [
        SharedInformer::builder(cluster.clone()),
        SharedInformer::builder(cluster.clone()).transform(forget),
    ] {
        let informer = with_handler(builder, Seen::new()).await;
        let store = informer.store();
        let changes: [fn(&Cluster) -> u64; 4] = [
            |cluster| cluster.put("0", "second"),
            |cluster| cluster.delete("0"),
            |cluster| cluster.put("0", "first"),
            Cluster::bookmark,
        ];
        for change in changes {
            let version = change(&cluster);
            soon(informer.wait_until(version.into())).await.unwrap();
            assert_eq!(store.resource_version(), Some(version.into()));
            assert_eq!(informer.last_sync_resource_version(), Some(version.into()));
        }
    }
}

// CT11, P7: a deletion names its object, whether its final state is known or not; a new UID ends the old object.
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
                Event::Added { .. } => format!("+{}", event.key()),
            })
        });
        let builder = SharedInformer::builder(cluster.clone()).recreated_as(how);
        let _informer = with_handler(builder, handler).await;
        lines.lock().clear();
        cluster.while_away(|cluster| {
            cluster.delete("0");
            cluster.put("0", "again");
        });
        until("the new object", || lines.lock().len() >= expected.len()).await;
        assert_eq!(*lines.lock(), expected);
        cluster.delete("0");
        until("the deletion", || {
            lines.lock().last().is_some_and(|line| line == "-ns/0")
        })
        .await;
    }
}

// peers 44: an object that changed while disconnected is sent exactly once to a handler without resync.
// A list's unchanged objects reach a handler with a resync period only (INV-SHARED-9).
#[tokio::test(start_paused = true)]
async fn unchanged_objects_of_a_list_reach_a_handler_with_a_period_only() {
    for (period, expected) in [
        (Duration::ZERO, vec!["~0=first>second relist"]),
        (3600 * SECONDS, vec!["~0=first>second relist", "=1 relist"]),
    ] {
        let cluster = Cluster::with(2);
        let seen = Seen::new();
        let builder = SharedInformer::builder(cluster.clone()).resync_period(period);
        let _informer = with_handler(builder, seen.clone()).await;
        seen.take();
        cluster.while_away(|cluster| {
            cluster.put("0", "second");
        });
        until("a second list", || {
            cluster.lists() == 2 && cluster.open_watches() == 1
        })
        .await;
        until("its events", || seen.lines().len() >= expected.len()).await;
        settle().await;
        assert_eq!(seen.take(), expected);
    }
}
