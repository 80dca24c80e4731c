//! Handlers of an informer: early and late ones, of every kind and queue policy.

mod support;

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use informer_shared::{Event, HandlerFns, QueuePolicy, SharedInformer};
use k8s_openapi::api::core::v1::ConfigMap;
use parking_lot::Mutex;
use support::{Cluster, SECONDS, Seen, informer, line, settle, soon, started, until, value_of};

// INV-SHARED-1, INV-SHARED-5
#[tokio::test]
async fn handlers_of_every_kind_receive_the_first_list_and_then_changes() {
    let cluster = Cluster::with(2);
    let informer = informer(&cluster);
    let (a, b, c) = (Seen::new(), Seen::new(), Seen::new());
    let by_closure = {
        let c = c.clone();
        move |event: Event<ConfigMap>| {
            c.note(&event);
            async {}
        }
    };
    let registrations = [
        informer.add_handler(a.clone()).unwrap(),
        informer.add_blocking_handler(b.clone()).unwrap(),
        informer.add_handler(by_closure).unwrap(),
    ];
    let mut stream = informer.events().unwrap();
    assert!(!registrations[0].has_synced());
    informer.start().unwrap();
    for registration in &registrations {
        registration.synced().deadline(10 * SECONDS).await.unwrap();
    }
    let initial = ["+0=first initial", "+1=first initial"];
    assert_eq!(a.take(), initial);
    assert_eq!(b.take(), initial);
    assert_eq!(c.take(), initial);

    cluster.put("2", "new");
    cluster.put("0", "second");
    cluster.delete("1");
    let expected = ["+2=new", "~0=first>second watch", "-1"];
    until("three more", || {
        [&a, &b, &c].iter().all(|seen| seen.lines().len() == 3)
    })
    .await;
    assert_eq!(a.take(), expected);
    assert_eq!(b.take(), expected);
    assert_eq!(c.take(), expected);
    let mut streamed = Vec::new();
    for _ in 0..2 {
        streamed.push(line(&soon(stream.next()).await.unwrap()));
    }
    // The stream was not polled meanwhile: its events were coalesced, each key in its place.
    assert_eq!(streamed, ["+0=second initial", "+2=new"]);
}

// INV-SHARED-8, SI18, protocol 3.3 (8)
#[tokio::test(start_paused = true)]
async fn late_handler_starts_from_the_cache_and_misses_nothing() {
    let cluster = Cluster::with(2);
    let informer = informer(&cluster);
    started(&informer).await;
    let late = Seen::new();
    let registration = informer.add_handler(late.clone()).unwrap();
    assert!(!registration.has_synced());
    cluster.put("0", "second");
    cluster.put("2", "new");
    registration.synced().deadline(10 * SECONDS).await.unwrap();
    until("live events", || late.lines().len() == 4).await;
    let lines = late.take();
    assert_eq!(lines[..2], ["+0=first initial", "+1=first initial"]);
    assert_eq!(lines[2..], ["~0=first>second watch", "+2=new"]);
    assert_eq!(late.contents(), cluster.contents());
}

// protocol 3.3 (7), (8); SI14
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn handlers_added_and_removed_during_changes_receive_a_legal_history() {
    let cluster = Cluster::with(20);
    let informer = informer(&cluster);
    started(&informer).await;
    let writer = {
        let cluster = cluster.clone();
        tokio::spawn(async move {
            for n in 0..2000_usize {
                let name = (n * 7 % 40).to_string();
                match cluster.contents().contains_key(&name) {
                    true if n % 3 == 0 => cluster.delete(&name),
                    _ => cluster.put(&name, &n.to_string()),
                };
                if n % 50 == 0 {
                    tokio::task::yield_now().await;
                }
            }
        })
    };
    let mut kept = Vec::new();
    for n in 0..100 {
        let seen = Seen::new();
        let builder = informer.handler();
        let registration = match n % 3 {
            0 => builder.register(seen.clone()),
            1 => builder.queue(QueuePolicy::Unbounded).register(seen.clone()),
            _ => builder.register_blocking(seen.clone()),
        };
        kept.push((seen, registration.unwrap()));
        if n % 2 == 0 {
            let (left, registration) = kept.swap_remove(n % kept.len());
            soon(registration.remove()).await.unwrap();
            let received = left.lines().len();
            tokio::task::yield_now().await;
            assert_eq!(left.lines().len(), received, "an event after its removal");
        }
        tokio::task::yield_now().await;
    }
    soon(writer).await.unwrap();
    for (seen, registration) in &kept {
        registration.synced().deadline(30 * SECONDS).await.unwrap();
        until("the state of the cluster", || {
            seen.contents() == cluster.contents()
        })
        .await;
    }
    assert_eq!(informer.store().len(), cluster.contents().len());
    assert_eq!(informer.status().handlers.len(), kept.len());
}

// TY1
#[tokio::test]
async fn missing_functions_do_nothing() {
    let cluster = Cluster::with(2);
    let informer = informer(&cluster);
    let called = Arc::new(Mutex::new(Vec::new()));
    let note = |what: &'static str| {
        let called = Arc::clone(&called);
        move || called.lock().push(what)
    };
    let (added, updated, deleted) = (note("added"), note("updated"), note("deleted"));
    let registrations = [
        informer.add_handler(HandlerFns::new()).unwrap(),
        informer
            .add_handler(HandlerFns::new().on_added(move |_, _| added()))
            .unwrap(),
        informer
            .add_handler(HandlerFns::new().on_updated(move |_, _, _| updated()))
            .unwrap(),
        informer
            .add_blocking_handler(HandlerFns::new().on_deleted(move |_, _| deleted()))
            .unwrap(),
    ];
    started(&informer).await;
    for registration in &registrations {
        registration.synced().deadline(10 * SECONDS).await.unwrap();
    }
    cluster.put("0", "second");
    cluster.delete("1");
    until("all handled", || called.lock().len() == 4).await;
    settle().await;
    let mut called = called.lock().clone();
    called.sort_unstable();
    assert_eq!(called, ["added", "added", "deleted", "updated"]);
}

// TY1
#[tokio::test(start_paused = true)]
async fn filter_selects_objects() {
    let cluster = Cluster::with(2);
    let informer = informer(&cluster);
    let (seen, streamed) = (Seen::new(), Seen::new());
    let is_first = |object: &ConfigMap| value_of(object) == "first";
    let not_one = |object: &ConfigMap| object.metadata.name.as_deref() != Some("1");
    let _kept = informer
        .handler()
        .filter(is_first)
        .filter(not_one)
        .register(seen.clone())
        .unwrap();
    let mut stream = informer
        .handler()
        .filter(is_first)
        .filter(not_one)
        .stream()
        .unwrap();
    started(&informer).await;
    settle().await;
    cluster.put("0", "second");
    settle().await;
    cluster.put("0", "first");
    settle().await;
    // The state at its deletion does not match, but the one that the handler has does.
    cluster.put("0", "first");
    cluster.put("0", "other");
    let last = cluster.delete("0");
    informer
        .wait_until(last.into())
        .deadline(10 * SECONDS)
        .await
        .unwrap();
    settle().await;
    let lines = seen.take();
    assert_eq!(lines[..3], ["+0=first initial", "-0", "+0=first"]);
    assert_eq!(lines.last().map(String::as_str), Some("-0"));
    assert!(seen.contents().is_empty());
    soon(informer.stop()).await.unwrap();
    while let Some(event) = soon(stream.next()).await {
        streamed.note(&event);
    }
    assert!(
        streamed.lines().is_empty(),
        "all of it cancelled out, or was dropped"
    );
}

// SI12, SI13, SI10
#[tokio::test(start_paused = true)]
async fn handler_added_twice_has_two_registrations() {
    let cluster = Cluster::with(1);
    let informer = informer(&cluster);
    let seen = [Seen::new(), Seen::new()];
    let first = informer.add_handler(seen[0].clone()).unwrap();
    let second = informer.add_handler(seen[0].clone()).unwrap();
    let other = informer.add_handler(seen[1].clone()).unwrap();
    drop(second.scoped());
    started(&informer).await;
    first.synced().deadline(10 * SECONDS).await.unwrap();
    other.synced().deadline(10 * SECONDS).await.unwrap();
    assert_eq!(informer.status().handlers.len(), 2);
    drop(first.scoped());
    cluster.put("1", "x");
    until("the other", || seen[1].lines().len() == 2).await;
    assert_eq!(seen[0].lines().len(), 1);
    assert_eq!(informer.status().handlers.len(), 1);
}

// INV-SHARED-3, INV-SHARED-17, peers 60, 61, protocol 3.3 (20)
#[tokio::test(start_paused = true)]
async fn stuck_handler_delays_nobody_and_ends_at_the_right_state() {
    let cluster = Cluster::with(10);
    let informer = informer(&cluster);
    let (gate, opened) = tokio::sync::watch::channel(false);
    let stuck = Seen::new();
    let handler = {
        let stuck = stuck.clone();
        move |event: Event<ConfigMap>| {
            let (mut opened, stuck) = (opened.clone(), stuck.clone());
            async move {
                let _ = opened.wait_for(|open| *open).await;
                stuck.note(&event);
            }
        }
    };
    let stuck_registration = informer.add_handler(handler).unwrap();
    let quick = Seen::new();
    let _quick = informer.add_handler(quick.clone()).unwrap();
    started(&informer).await;
    for n in 0..20_000_usize {
        let name = (n % 20).to_string();
        match n % 5 {
            4 if cluster.contents().contains_key(&name) => cluster.delete(&name),
            _ => cluster.put(&name, &n.to_string()),
        };
        if n % 100 == 0 {
            settle().await;
        }
    }
    until("the quick one", || quick.contents() == cluster.contents()).await;
    let status = stuck_registration.status();
    assert!(status.queue_depth <= 20, "{status:?}");
    assert!(!status.synced && status.lag >= Duration::ZERO);
    assert!(stuck.lines().is_empty());
    assert_eq!(
        (cluster.lists(), cluster.watches_opened()),
        (1, 1),
        "the watch went on"
    );
    gate.send_replace(true);
    until("the stuck one", || stuck.contents() == cluster.contents()).await;
    assert!(stuck.lines().len() <= 2 * 21);
    assert!(stuck_registration.has_synced());
    assert!(stuck_registration.status().coalesced > 10_000);
}

#[tokio::test(start_paused = true)]
async fn every_step_is_received_without_coalescing() {
    let cluster = Cluster::with(1);
    let builder = SharedInformer::builder(cluster.clone()).max_deltas(None);
    let informer = builder.build().unwrap();
    let seen = Seen::new();
    let builder = informer.handler().queue(QueuePolicy::Unbounded);
    let _kept = builder.register(seen.clone()).unwrap();
    started(&informer).await;
    settle().await;
    // All at once, so that the watch is ahead of the cache.
    let mut last = 0;
    for n in 0..200 {
        last = cluster.put("0", &n.to_string());
    }
    informer
        .wait_until(last.into())
        .deadline(10 * SECONDS)
        .await
        .unwrap();
    settle().await;
    assert_eq!(seen.lines().len(), 201);
    assert_eq!(seen.contents(), cluster.contents());
}
