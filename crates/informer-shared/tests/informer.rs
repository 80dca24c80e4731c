//! The path of changes: from a cluster to the cache, its indexes and handlers.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use informer_shared::{Event, InformerPhase, QueuePolicy, RecreatedAs, SharedInformer};
use informer_store::{IndexValues, Indexers, ObjectKey};
use k8s_openapi::api::core::v1::ConfigMap;
use support::{
    Cluster, SECONDS, Seen, change_two, informer, received_in_each_order, settle, soon, started,
    until, value_of,
};

// INV-SHARED-1: the cache has a change before a handler receives it.
#[tokio::test(start_paused = true)]
async fn cache_has_a_change_before_a_handler_receives_it() {
    let cluster = Cluster::with(3);
    let informer = informer(&cluster);
    let store = informer.store().clone();
    let behind = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&behind);
    let handler = move |event: Event<ConfigMap>| {
        let stored = store.get(&event.key());
        let fits = match &event {
            Event::Deleted { object, .. } => {
                let version = |o: &ConfigMap| o.metadata.resource_version.clone();
                stored.is_none_or(|stored| version(&stored) > version(object))
            }
            _ => stored.is_some(),
        };
        count.fetch_add(usize::from(!fits), Ordering::Relaxed);
        async {}
    };
    let registration = informer
        .handler()
        .queue(QueuePolicy::Unbounded)
        .register(handler)
        .unwrap();
    started(&informer).await;
    for n in 0..50 {
        cluster.put(&format!("n{n}"), "x");
        settle().await;
    }
    until("all handled", || registration.status().delivered == 53).await;
    assert_eq!(behind.load(Ordering::Relaxed), 0);
}

// INV-SHARED-9, SI6, peers 44, CT8, protocol 3.3 (9), TY2
#[tokio::test(start_paused = true)]
async fn relist_sends_changes_to_all_and_unchanged_objects_to_handlers_with_a_period() {
    let cluster = Cluster::with(3);
    let informer = informer(&cluster);
    let (plain, with_period) = (Seen::new(), Seen::new());
    let _plain = informer.add_handler(plain.clone()).unwrap();
    let period = Duration::from_secs(1_000_000);
    let _with_period = informer
        .handler()
        .resync_period(period)
        .register(with_period.clone())
        .unwrap();
    started(&informer).await;
    until("the first state", || {
        plain.lines().len() == 3 && with_period.lines().len() == 3
    })
    .await;
    plain.take();
    with_period.take();

    cluster.while_away(|cluster| {
        cluster.put("0", "second");
        cluster.delete("1");
        cluster.put("3", "new");
    });
    until("the relist", || with_period.lines().len() == 4).await;
    let mut lines = plain.take();
    lines.sort();
    assert_eq!(lines, ["+3=new", "-1 unknown", "~0=first>second relist"]);
    let mut lines = with_period.take();
    lines.sort();
    assert_eq!(
        lines,
        [
            "+3=new",
            "-1 unknown",
            "=2 relist",
            "~0=first>second relist"
        ]
    );
    assert_eq!(plain.contents(), cluster.contents());
    assert_eq!(cluster.lists(), 2);
}

// INV-SHARED-7, protocol 3.3 (10)
#[tokio::test(start_paused = true)]
async fn recreated_object_is_sent_as_the_option_says() {
    let recreate = |cluster: &Cluster| {
        cluster.while_away(|cluster| {
            cluster.delete("0");
            cluster.put("0", "second");
        });
    };
    let cluster = Cluster::with(1);
    let informer = informer(&cluster);
    let seen = Seen::new();
    let _kept = informer.add_handler(seen.clone()).unwrap();
    started(&informer).await;
    recreate(&cluster);
    until("both", || seen.lines().len() == 3).await;
    assert_eq!(seen.take(), ["+0=first initial", "-0 unknown", "+0=second"]);

    let cluster = Cluster::with(1);
    let builder = SharedInformer::builder(cluster.clone());
    let informer = builder.recreated_as(RecreatedAs::Updated).build().unwrap();
    let seen = Seen::new();
    let _kept = informer.add_handler(seen.clone()).unwrap();
    started(&informer).await;
    recreate(&cluster);
    until("one", || seen.lines().len() == 2).await;
    assert_eq!(seen.take(), ["+0=first initial", "~0=first>second relist"]);
}

// peers 43
#[tokio::test(start_paused = true)]
async fn object_deleted_around_a_relist_does_not_stay() {
    let cluster = Cluster::with(1);
    let informer = informer(&cluster);
    let seen = Seen::new();
    let _kept = informer.add_handler(seen.clone()).unwrap();
    started(&informer).await;
    for n in 0..50 {
        let name = format!("gone-{n}");
        cluster.put(&name, "x");
        cluster.while_away(|cluster| {
            cluster.delete(&name);
        });
        settle().await;
    }
    until("the relist", || seen.contents() == cluster.contents()).await;
    assert_eq!(informer.store().len(), 1);
}

// peers 46
#[tokio::test(start_paused = true)]
async fn object_added_and_deleted_many_times_ends_deleted() {
    let cluster = Cluster::new();
    let informer = informer(&cluster);
    let (coalesced, all) = (Seen::new(), Seen::new());
    let _coalesced = informer.add_handler(coalesced.clone()).unwrap();
    let _all = informer
        .handler()
        .queue(QueuePolicy::Unbounded)
        .register(all.clone())
        .unwrap();
    started(&informer).await;
    for n in 0..2000 {
        cluster.put("x", "x");
        cluster.delete("x");
        if n % 17 == 0 {
            settle().await;
        }
    }
    let last = cluster.bookmark();
    informer
        .wait_until(last.into())
        .deadline(10 * SECONDS)
        .await
        .unwrap();
    settle().await;
    assert!(coalesced.contents().is_empty() && all.contents().is_empty());
    let lines = all.lines();
    let added = lines.iter().filter(|line| line.starts_with('+')).count();
    let deleted = lines.iter().filter(|line| line.starts_with('-')).count();
    assert_eq!(added, deleted);
}

// SI1, S6, TY3
#[tokio::test(start_paused = true)]
async fn indexes_can_be_added_before_and_after_the_start() {
    let cluster = Cluster::with(3);
    let by_value = |name: &str| {
        Indexers::new().index(name, |object: &ConfigMap, values: &mut IndexValues<'_>| {
            values.extend([value_of(object).as_str()]);
        })
    };
    let informer = SharedInformer::builder(cluster.clone())
        .indexers(by_value("early"))
        .build()
        .unwrap();
    started(&informer).await;
    informer.add_indexers(&by_value("late")).unwrap();
    assert!(informer.add_indexers(&by_value("late")).is_err());
    assert_eq!(informer.store().by_index("late", "first").unwrap().len(), 3);
    let last = cluster.put("3", "second");
    informer
        .wait_until(last.into())
        .deadline(10 * SECONDS)
        .await
        .unwrap();
    for index in ["early", "late"] {
        assert_eq!(informer.store().by_index(index, "second").unwrap().len(), 1);
        assert_eq!(informer.store().by_index(index, "first").unwrap().len(), 3);
    }
    assert_eq!(
        informer.store().by_index("namespace", "ns").unwrap().len(),
        4
    );
}

// SI9, CT4, peers 50
#[tokio::test(start_paused = true)]
async fn transform_runs_once_for_each_received_object() {
    let cluster = Cluster::with(2);
    let calls = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&calls);
    let informer = SharedInformer::builder(cluster.clone())
        .transform(move |object: &mut ConfigMap| {
            count.fetch_add(1, Ordering::Relaxed);
            if value_of(object) == "refused" {
                return Err("not this one");
            }
            object.data = Some([("value".to_owned(), "transformed".to_owned())].into());
            Ok(())
        })
        .resync_period(SECONDS)
        .build()
        .unwrap();
    let seen = Seen::new();
    let _kept = informer.add_handler(seen.clone()).unwrap();
    started(&informer).await;
    assert_eq!(calls.load(Ordering::Relaxed), 2);
    tokio::time::sleep(3 * SECONDS + SECONDS / 2).await;
    assert_eq!(
        calls.load(Ordering::Relaxed),
        2,
        "a resync transforms nothing"
    );
    let lines = seen.take();
    assert_eq!(lines.len(), 2 + 3 * 2);
    assert_eq!(
        lines[..2],
        ["+0=transformed initial", "+1=transformed initial"]
    );

    // Refused: the last decodable object stays, and the status says so. Its deletion still applies.
    cluster.put("1", "refused");
    let last = cluster.delete("0");
    informer
        .wait_until(last.into())
        .deadline(10 * SECONDS)
        .await
        .unwrap();
    settle().await;
    assert_eq!(seen.take(), ["-0"]);
    assert_eq!(informer.status().reflector.undecodable, 1);
    assert!(informer.store().snapshot().is_stale("ns/1"));
    let last = cluster.delete("1");
    informer
        .wait_until(last.into())
        .deadline(10 * SECONDS)
        .await
        .unwrap();
    settle().await;
    assert_eq!(seen.take().len(), 1);
    assert!(informer.store().is_empty());
}

// CT9
#[tokio::test(start_paused = true)]
async fn resource_version_of_the_cache_is_that_of_the_last_change() {
    let cluster = Cluster::with(2);
    let informer = informer(&cluster);
    started(&informer).await;
    assert_eq!(informer.store().resource_version(), Some(2.into()));
    let changes: [fn(&Cluster) -> u64; 3] = [
        |cluster| cluster.put("0", "x"),
        |cluster| cluster.delete("1"),
        Cluster::bookmark,
    ];
    for change in changes {
        let version = change(&cluster);
        informer
            .wait_until(version.into())
            .deadline(10 * SECONDS)
            .await
            .unwrap();
        assert_eq!(informer.store().resource_version(), Some(version.into()));
    }
    assert_eq!(informer.store().resource_version(), Some(5.into()));
    assert_eq!(informer.last_sync_resource_version(), Some(5.into()));
}

#[tokio::test(start_paused = true)]
async fn status_shows_informer_and_handlers() {
    let cluster = Cluster::with(3);
    let informer = SharedInformer::builder(cluster.clone())
        .name("maps")
        .build()
        .unwrap();
    let _kept = informer
        .handler()
        .name("one")
        .register(Seen::new())
        .unwrap();
    let status = informer.status();
    assert_eq!(status.phase, InformerPhase::NotStarted);
    assert!(!status.store_synced && !status.handlers_synced);
    started(&informer).await;
    until("the handler", || informer.status().handlers_synced).await;
    cluster.put("0", "second");
    until("the event", || informer.status().handlers[0].delivered == 4).await;
    let status = informer.status();
    assert_eq!((&*status.name, &*status.handlers[0].name), ("maps", "one"));
    assert_eq!(status.phase, InformerPhase::Synced);
    assert!(status.store_synced && status.watching);
    assert_eq!((status.objects, status.applied), (3, 4));
    assert_eq!(status.resource_version, Some(4.into()));
    assert!(status.reflector.last_event_at.is_some() && status.reflector.last_error.is_none());
    assert_eq!(
        (status.handler_queue_depth(), status.queue.queued_keys),
        (0, 0)
    );
    let lister = informer.lister();
    assert!(lister.namespaced("ns").get("0").is_ok());
    let missing = lister.namespaced("ns").get("9").unwrap_err();
    assert!(missing.to_string().contains("maps"), "{missing}");
    assert!(informer.store().contains(&ObjectKey::namespaced("ns", "2")));
    soon(informer.stop()).await.unwrap();
    assert_eq!(informer.status().phase, InformerPhase::Stopped);
    assert!(!informer.status().watching);
    assert_eq!(informer.status().queue.queued_keys, 0);
    assert_eq!(informer.store().len(), 3, "the cache stays readable");
}

// INV-SHARED-16
#[tokio::test(start_paused = true)]
async fn overlaid_object_is_read_at_once_and_sent_to_nobody() {
    let cluster = Cluster::with(1);
    let informer = informer(&cluster);
    let early = Seen::new();
    let builder = informer.handler().resync_period(SECONDS);
    let _early = builder.register(early.clone()).unwrap();
    started(&informer).await;
    let mine = support::config_map("0", "uid-1", 900, "mine");
    let created = support::config_map("new", "uid-9", 3, "mine");
    let later = support::config_map("later", "uid-10", 901, "mine");
    for mine in [mine, created, later] {
        informer.overlay(mine).unwrap();
    }
    assert_eq!(value_of(&informer.store().get("ns/0").unwrap()), "mine");
    assert!(informer.store().contains("ns/new"));

    let late = Seen::new();
    let registration = informer.add_handler(late.clone()).unwrap();
    registration.synced().deadline(10 * SECONDS).await.unwrap();
    assert_eq!(late.lines(), ["+0=first initial"]);
    tokio::time::sleep(SECONDS * 3 / 2).await;
    assert_eq!(early.lines(), ["+0=first initial", "=0 resync"]);

    // The server's next change is sent as a change of what handlers have. A list without an object ends its overlay,
    // unless that is newer.
    cluster.put("0", "second");
    until("the change", || late.lines().len() == 2).await;
    assert_eq!(late.lines()[1], "~0=first>second watch");
    assert!(informer.store().contains("ns/new"));
    cluster.while_away(|cluster| {
        cluster.put("1", "x");
    });
    until("the list", || late.lines().len() == 3).await;
    assert!(!informer.store().contains("ns/new"));
    assert!(informer.store().contains("ns/later"));
    assert_eq!(early.contents(), cluster.contents());
}

// INV-CTRL-5, INV-SHARED-1
#[tokio::test(start_paused = true)]
async fn changes_are_received_in_the_chosen_order() {
    for (order, expected) in received_in_each_order() {
        let cluster = Cluster::new();
        let informer = SharedInformer::builder(cluster.clone())
            .queue_order(order)
            .build()
            .unwrap();
        let (seen, coalesced) = (Seen::new(), Seen::new());
        let _all = informer
            .handler()
            .queue(QueuePolicy::Unbounded)
            .register(seen.clone())
            .unwrap();
        let _coalesced = informer.add_handler(coalesced.clone()).unwrap();
        started(&informer).await;
        until("the watch", || cluster.open_watches() == 1).await;
        change_two(&cluster);
        until("all changes", || seen.lines().len() == expected.len()).await;
        assert_eq!(seen.take(), expected, "{order:?}");
        assert_eq!(coalesced.contents(), cluster.contents());
        cluster.while_away(|cluster| {
            cluster.put("c", "1");
            cluster.delete("a");
        });
        until("the list", || seen.contents() == cluster.contents()).await;
        assert_eq!(seen.take(), ["-a unknown", "+c=1"], "{order:?}");
    }
}
