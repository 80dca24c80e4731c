//! Waits for informers, handlers and the cache: they end in time, and with a reason where they fail.

mod support;

use std::time::Duration;

use informer_reflector::ReflectorPhase;
use informer_shared::{Event, InformerPhase, WaitError};
use informer_store::Expectation;
use k8s_openapi::api::core::v1::ConfigMap;
use support::{Cluster, SECONDS, Seen, another, informer, settle, soon, started, until};

// INV-SHARED-13, peers 67
#[tokio::test(start_paused = true)]
async fn deadline_names_what_was_waited_for() {
    let cluster = Cluster::with(1);
    cluster.fail_lists(Some(403));
    let informer = informer(&cluster);
    let handler = informer
        .handler()
        .name("mine")
        .register(Seen::new())
        .unwrap();
    let error = informer.synced().deadline(SECONDS).await.unwrap_err();
    assert!(error.to_string().contains("call `start`"), "{error}");
    informer.start().unwrap();
    let error = informer.synced().deadline(20 * SECONDS).await.unwrap_err();
    assert!(error.is_deadline());
    let reason = error.not_synced().unwrap();
    assert_eq!(reason.phase, InformerPhase::Syncing);
    assert!(reason.attempts > 1, "{error}");
    let last_error = reason.last_error.as_deref();
    assert!(last_error.unwrap().contains("refused with 403"), "{error}");
    assert!(error.to_string().contains("refused with 403"), "{error}");
    assert!(
        error
            .to_string()
            .starts_with("informer of ConfigMap not synced within 20s: "),
        "{error}"
    );
    let error = handler.synced().deadline(SECONDS).await.unwrap_err();
    assert!(error.to_string().contains("\"mine\""), "{error}");
    assert!(error.to_string().contains("403"), "{error}");

    cluster.fail_lists(None);
    informer.synced().deadline(120 * SECONDS).await.unwrap();
    handler.synced().deadline(SECONDS).await.unwrap();
}

// INV-SHARED-13: a resource that the server does not have, or has no more, is a state of its own.
#[tokio::test(start_paused = true)]
async fn resource_that_the_server_does_not_have_is_named() {
    let cluster = Cluster::with(1);
    cluster.fail_lists(Some(404));
    let informer = informer(&cluster);
    informer.start().unwrap();
    let error = informer.synced().deadline(20 * SECONDS).await.unwrap_err();
    let text = "the server does not have this resource; ";
    assert!(error.to_string().contains(text), "{error}");
    assert_eq!(
        error.not_synced().unwrap().reflector,
        ReflectorPhase::NotFound
    );
    cluster.fail_lists(None);
    informer.synced().deadline(120 * SECONDS).await.unwrap();
    assert!(informer.not_synced().is_none());
    // Its CRD is deleted. The waits between requests are short again after two good minutes.
    tokio::time::sleep(150 * SECONDS).await;
    cluster.fail_lists(Some(404));
    cluster.while_away(another);
    until("the list", || {
        informer.status().reflector.phase == ReflectorPhase::NotFound
    })
    .await;
    assert_eq!(informer.store().len(), 1, "the cache stays");
}

// INV-SHARED-13, INV-SHARED-5, peers 57, WS1
#[tokio::test(start_paused = true)]
async fn cache_is_synced_early_and_a_slow_handler_after_its_last_call() {
    let cluster = Cluster::with(1000);
    let informer = informer(&cluster);
    let slow = |_: Event<ConfigMap>| tokio::time::sleep(Duration::from_millis(10));
    let slow = informer.add_handler(slow).unwrap();
    let begin = tokio::time::Instant::now();
    started(&informer).await;
    assert!(begin.elapsed() < SECONDS);
    let error = slow.synced().deadline(SECONDS).await.unwrap_err();
    assert!(
        error
            .to_string()
            .contains("events are queued for the handler"),
        "{error}"
    );
    assert!(!informer.status().handlers_synced);
    tokio::time::sleep(SECONDS * 89 / 10 - begin.elapsed()).await;
    assert!(!slow.has_synced());
    slow.synced().deadline(2 * SECONDS).await.unwrap();
    assert_eq!(slow.status().delivered, 1000);
    assert!(begin.elapsed() >= 10 * SECONDS);
}

// INV-SHARED-5, protocol 3.3 (11)
#[tokio::test(start_paused = true)]
async fn empty_collection_syncs_informer_and_handlers() {
    let cluster = Cluster::new();
    let informer = informer(&cluster);
    let early = informer.add_handler(Seen::new()).unwrap();
    started(&informer).await;
    early.synced().deadline(SECONDS).await.unwrap();
    let late = informer.add_handler(Seen::new()).unwrap();
    late.synced().deadline(SECONDS).await.unwrap();
}

// INV-SHARED-13, WS1, WS2
#[tokio::test(start_paused = true)]
async fn wait_ends_when_it_can_never_succeed() {
    let cluster = Cluster::new();
    cluster.hang();
    let informer = informer(&cluster);
    let handler = informer.add_handler(Seen::new()).unwrap();
    informer.start().unwrap();
    let of_informer = tokio::spawn(informer.synced().into_future());
    let of_handler = tokio::spawn(handler.synced().into_future());
    let of_version = tokio::spawn(informer.wait_until(7.into()).into_future());
    settle().await;
    soon(informer.stop()).await.unwrap();
    let error = soon(of_informer).await.unwrap().unwrap_err();
    assert!(matches!(error, WaitError::Stopped { .. }), "{error}");
    let error = soon(of_handler).await.unwrap().unwrap_err();
    assert!(matches!(error, WaitError::HandlerEnded { .. }), "{error}");
    let error = soon(of_version).await.unwrap().unwrap_err();
    assert!(matches!(error, WaitError::Never { .. }), "{error}");
}

// INV-SHARED-14
#[tokio::test(start_paused = true)]
async fn own_write_is_read_after_a_wait_for_its_version() {
    let cluster = Cluster::with(1);
    let informer = informer(&cluster);
    let seen = Seen::new();
    let _kept = informer.add_handler(seen.clone()).unwrap();
    started(&informer).await;
    let version = cluster.put("0", "mine");
    informer.wait_until(version.into()).await.unwrap();
    let stored = informer.store().get("ns/0").unwrap();
    assert_eq!(support::value_of(&stored), "mine");

    let error = informer
        .wait_until(99.into())
        .deadline(SECONDS)
        .await
        .unwrap_err();
    assert!(matches!(error, WaitError::Deadline { .. }));
    assert!(error.to_string().contains("99"), "{error}");
    let error = informer.wait_until("opaque".into()).await.unwrap_err();
    assert!(matches!(error, WaitError::Never { .. }), "{error}");
    until("the handler", || seen.lines().len() == 2).await;
}

// INV-SHARED-14
#[tokio::test(start_paused = true)]
async fn own_object_is_waited_for_until_it_or_its_deletion_is_cached() {
    let cluster = Cluster::with(1);
    let informer = informer(&cluster);
    started(&informer).await;
    let before = informer.store().get("ns/0").unwrap();
    let version = cluster.put("0", "mine");
    let uid = before.metadata.uid.clone().unwrap();
    let answer = support::config_map("0", &uid, version, "mine");
    let written = Expectation::written(&answer).unwrap();
    informer.wait_for(written).deadline(SECONDS).await.unwrap();
    let stored = informer.store().get("ns/0").unwrap();
    assert_eq!(support::value_of(&stored), "mine");

    let deleted = Expectation::deleted(&answer).unwrap();
    let error = informer
        .wait_for(deleted.clone())
        .deadline(SECONDS)
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains("the deletion of ns/0"),
        "{error}"
    );
    cluster.delete("0");
    informer.wait_for(deleted).deadline(SECONDS).await.unwrap();
    assert!(informer.store().is_empty());

    let mut opaque = support::config_map("0", &uid, 1, "");
    opaque.metadata.resource_version = Some("opaque".into());
    let opaque = Expectation::written(&opaque).unwrap();
    let error = informer.wait_for(opaque).await.unwrap_err();
    assert!(matches!(error, WaitError::Never { .. }), "{error}");
}

// INV-SHARED-14, peers 70: the watch lags, and the next thing that comes is a list.
#[tokio::test(start_paused = true)]
async fn wait_for_a_write_ends_once_it_is_received_by_watch_or_list() {
    let cluster = Cluster::with(1);
    let informer = informer(&cluster);
    started(&informer).await;
    cluster.fail_lists(Some(500));
    let mut written = Vec::new();
    cluster.while_away(|cluster| {
        // One that stays, and one that is deleted before it is received.
        written.push(("0", cluster.put("0", "mine")));
        written.push(("short", cluster.put("short", "mine")));
        cluster.delete("short");
    });
    let waits = written.iter().map(|(name, version)| {
        let answer = support::config_map(name, "any", *version, "mine");
        let expected = Expectation::written(&answer).unwrap();
        let by_object = tokio::spawn(informer.wait_for(expected).into_future());
        let by_version = tokio::spawn(informer.wait_until((*version).into()).into_future());
        [by_object, by_version]
    });
    let waits: Vec<_> = waits.flatten().collect();
    tokio::time::sleep(2 * SECONDS).await;
    assert!(waits.iter().all(|wait| !wait.is_finished()));
    cluster.fail_lists(None);
    for wait in waits {
        soon(wait).await.unwrap().unwrap();
    }
    let stored = informer.store().get("ns/0").unwrap();
    assert_eq!(support::value_of(&stored), "mine");
    assert_eq!(informer.store().len(), 1);
}

// WS1: a wait that succeeds at once does so within no time.
#[tokio::test(start_paused = true)]
async fn wait_that_succeeds_at_once_needs_no_time() {
    let informer = informer(&Cluster::with(1));
    started(&informer).await;
    informer.synced().deadline(Duration::ZERO).await.unwrap();
    let wait = informer.synced();
    drop(informer);
    settle().await;
    soon(wait).await.unwrap();
}
