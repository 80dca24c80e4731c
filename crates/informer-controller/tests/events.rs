//! Events that a recorder writes to an API server in memory.

mod support;

use std::time::Duration;

use informer_controller::{EventRecorder, EventType, ObjectReference, RecorderError};
use informer_testkit::{ApiServer, Fault, RequestMatcher, Status, Verb};
use informer_wire::StaticResource;
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::json;
use support::{LIMIT, map, server, shop, until};

#[tokio::test]
async fn events_are_written_and_repetitions_counted_in_series() {
    let (server, client) = server().await;
    server.create("configmaps", map("m")).expect("new");
    let stored: ConfigMap =
        serde_json::from_value(server.get("configmaps", "shop", "m").expect("there"))
            .expect("a map");
    let regarding = ObjectReference::of(&ConfigMap::resource(), &stored);
    let period = Duration::from_secs(3600);
    let recorder = EventRecorder::with_series_period(client, "example.org/test", "one", period)
        .expect("good names");
    // The first write meets a server that is busy.
    server.fail_next(
        RequestMatcher::verb(Verb::Create),
        Fault::from(Status::failure(503, "ServiceUnavailable", "busy")),
    );
    for _ in 0..5 {
        recorder.record(
            &regarding,
            EventType::Warning,
            "Failed",
            "Try",
            "the disk is full",
        );
    }
    recorder.record(
        &regarding,
        EventType::Normal,
        "Worked",
        "Try",
        &"long".repeat(1000),
    );
    recorder.flush(LIMIT).await.expect("in time");
    let events = || {
        server
            .list("events.events.k8s.io", "shop")
            .or_else(|_| server.list("events", "shop"))
            .expect("listed")
    };
    let find = |reason: &str| {
        events()
            .into_iter()
            .find(|event| event["reason"] == reason)
            .expect(reason)
    };
    let failed = find("Failed");
    assert_eq!(failed["series"]["count"], 5);
    assert_eq!(
        failed["regarding"]["uid"].as_str(),
        stored.metadata.uid.as_deref()
    );
    assert_eq!(
        (&failed["type"], &failed["action"]),
        (&json!("Warning"), &json!("Try"))
    );
    assert_eq!(failed["reportingController"], "example.org/test");
    assert_eq!(find("Worked")["note"].as_str().map(str::len), Some(1024));
    assert_eq!(events().len(), 2);
    // An event that has expired on the server is created again by the next repetition but one.
    let name = failed["metadata"]["name"].as_str().expect("named");
    server
        .delete("events.events.k8s.io", "shop", name)
        .or_else(|_| server.delete("events", "shop", name))
        .expect("there");
    for _ in 0..2 {
        recorder.record(&regarding, EventType::Warning, "Failed", "Try", "again");
        recorder.flush(LIMIT).await.expect("in time");
    }
    assert_eq!(find("Failed")["note"], "again");
    assert_eq!(recorder.dropped(), 0);
    server.shutdown().await;
}

fn reference(name: &str) -> ObjectReference {
    let mut map = ConfigMap::default();
    map.metadata.name = Some(name.to_owned());
    map.metadata.namespace = Some("shop".to_owned());
    ObjectReference::of(&ConfigMap::resource(), &map)
}

// The limit of one event is its own: not the time for which others had all permits.
#[tokio::test(start_paused = true)]
async fn event_that_waits_for_a_permit_keeps_its_time() {
    let server = ApiServer::builder().create_namespaces(true).in_memory();
    shop(&server);
    let recorder =
        EventRecorder::new(server.client(), "example.org/test", "one").expect("good names");
    // Three rounds of all permits, each as long as a request may take.
    server.fail(RequestMatcher::verb(Verb::Create), Fault::HoldOpen, 24);
    for number in 0..25 {
        let about = reference(&format!("m{number}"));
        recorder.record(&about, EventType::Normal, "Seen", "Look", "words");
    }
    let hour = Duration::from_secs(3600);
    recorder.flush(hour).await.expect("in time");
    let events = server.list("events.events.k8s.io", "default");
    let events = events
        .into_iter()
        .chain(server.list("events.events.k8s.io", "shop"));
    assert_eq!(events.flatten().count(), 25, "{} failed", recorder.failed());
}

// An event that a server throttles for long holds up no other, nor the end of the program.
#[tokio::test]
async fn throttled_event_holds_up_no_other() {
    let (server, client) = server().await;
    let recorder = EventRecorder::new(client, "example.org/test", "one").expect("good names");
    let busy = Status::failure(429, "TooManyRequests", "slow down").with_retry_after(300);
    server.fail_next(RequestMatcher::verb(Verb::Create), Fault::from(busy));
    let record = |name: &str| {
        recorder.record(&reference(name), EventType::Normal, "Seen", "Look", "words");
    };
    record("first");
    until("it is throttled", || server.faults_used_up()).await;
    record("second");
    let events = || server.list("events.events.k8s.io", "shop").expect("listed");
    until("the second", || events().len() == 1).await;
    let flushed = recorder.flush(Duration::from_millis(100)).await;
    let limit = Duration::from_millis(100);
    assert_eq!(flushed, Err(RecorderError::NotFlushed { limit }));
    assert_eq!((recorder.failed(), recorder.dropped()), (0, 0));
    server.shutdown().await;
}

#[tokio::test]
async fn events_that_are_refused_are_counted() {
    let (server, client) = server().await;
    let recorder = EventRecorder::new(client, "example.org/test", "one").expect("good names");
    let denied = Status::failure(403, "Forbidden", "no");
    server.fail_next(RequestMatcher::verb(Verb::Create), Fault::from(denied));
    let (claim, volume) = (reference("claim"), reference("volume"));
    recorder.record(&claim, EventType::Normal, "Seen", "Look", "words");
    recorder.flush(LIMIT).await.expect("in time");
    assert_eq!(recorder.failed(), 1);
    recorder.record(&claim, EventType::Normal, "", "Look", "words");
    assert_eq!(recorder.failed(), 2);
    // The next is an event like any other, here with a second object.
    recorder.record_related(&claim, &volume, EventType::Normal, "Seen", "Look", "words");
    recorder.flush(LIMIT).await.expect("in time");
    let events = server.list("events.events.k8s.io", "shop").expect("listed");
    assert_eq!(events.len(), 1);
    assert_eq!(events[0]["related"]["name"], "volume");
    assert_eq!(recorder.failed(), 2);
    server.shutdown().await;
}

// The answer to a create was lost, and it is made again.
#[tokio::test]
async fn event_that_exists_after_a_lost_answer_is_written() {
    let (server, client) = server().await;
    let recorder = EventRecorder::new(client, "example.org/test", "one").expect("good names");
    let exists = Status::failure(409, "AlreadyExists", "there already");
    let busy = Status::failure(503, "ServiceUnavailable", "busy");
    let create = || RequestMatcher::verb(Verb::Create);
    server.fail_next(create(), Fault::from(busy));
    server.fail_next(create(), Fault::from(exists));
    recorder.record(&reference("a"), EventType::Normal, "Seen", "Look", "words");
    recorder.flush(LIMIT).await.expect("in time");
    assert_eq!(recorder.failed(), 0);
    assert!(server.faults_used_up());
    server.shutdown().await;
}
