//! Watches over HTTP: what comes, when it ends, and what ends it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::time::Duration;

use http::Method;
use http_body_util::BodyExt;
use informer_testkit::{ApiServer, StreamEnd, status};
use serde_json::{Value, json};
use tokio::time::timeout;

use self::common::{Next, PATIENCE, Watch, brief, event, get, open, send_json};

const PODS: &str = "/api/v1/pods";

fn pod(name: &str, app: &str) -> Value {
    json!({"metadata": {"name": name, "labels": {"app": app}}})
}

fn label(server: &ApiServer, name: &str, app: &str) -> u64 {
    let patch = json!({"metadata": {"labels": {"app": app}}});
    server.merge_patch("pods", "default", name, patch).unwrap();
    server.resource_version()
}

async fn server() -> ApiServer {
    ApiServer::builder()
        .create_namespaces(true)
        .bookmark_period(Duration::from_millis(30))
        .start()
        .await
        .unwrap()
}

// FS1
#[tokio::test]
async fn watch_follows_a_list_without_gap() {
    let server = server().await;
    server.create("pods", pod("a", "x")).unwrap();
    let list = get(&server, PODS).await.json();
    let revision = list["metadata"]["resourceVersion"]
        .as_str()
        .unwrap()
        .to_owned();
    let at: u64 = revision.parse().unwrap();
    server.create("pods", pod("b", "x")).unwrap();
    let mut watch = Watch::open(
        &server,
        &format!("{PODS}?watch=1&resourceVersion={revision}"),
    )
    .await;
    label(&server, "a", "y");
    server.delete("pods", "default", "b").unwrap();
    assert_eq!(watch.brief().await, event("ADDED", "b", at + 1));
    assert_eq!(watch.brief().await, event("MODIFIED", "a", at + 2));
    assert_eq!(watch.brief().await, event("DELETED", "b", at + 3));
    assert!(watch.is_quiet().await);
}

#[tokio::test]
async fn methods_and_requests_share_the_objects() {
    let server = server().await;
    let mut watch = Watch::open(&server, "/apis/apps/v1/deployments?watch=true").await;
    let path = "/apis/apps/v1/namespaces/web/deployments";
    let deployment = json!({"metadata": {"name": "d"}, "spec": {"replicas": 1}});
    assert_eq!(
        send_json(&server, Method::POST, path, deployment)
            .await
            .code,
        201
    );
    let added = watch.event().await;
    assert_eq!(added["type"], "ADDED");
    assert_eq!(added["object"]["kind"], "Deployment");
    assert_eq!(added["object"]["apiVersion"], "apps/v1");
    assert_eq!(
        added["object"],
        server.get("deployments", "web", "d").unwrap()
    );
}

#[tokio::test]
async fn selector_turns_changes_into_added_and_deleted() {
    let server = server().await;
    server.create("pods", pod("a", "x")).unwrap();
    server.create("pods", pod("b", "y")).unwrap();
    let path = format!("{PODS}?watch=1&labelSelector=app%3Dx");
    let mut watch = Watch::open(&server, &path).await;
    assert_eq!(watch.brief().await.1, "a");
    let left = label(&server, "a", "y");
    let deleted = watch.event().await;
    assert_eq!(brief(&deleted), event("DELETED", "a", left));
    assert_eq!(
        deleted["object"]["metadata"]["labels"]["app"], "x",
        "the content is the old one"
    );
    label(&server, "a", "z");
    let entered = label(&server, "b", "x");
    assert_eq!(watch.brief().await, event("ADDED", "b", entered));
}

#[tokio::test]
async fn field_selector_selects_one_object() {
    let server = server().await;
    let path = "/api/v1/namespaces/default/pods?watch=1&fieldSelector=metadata.name%3Da";
    let mut watch = Watch::open(&server, path).await;
    server.create("pods", pod("b", "x")).unwrap();
    server.create("pods", pod("a", "x")).unwrap();
    assert_eq!(watch.brief().await.1, "a");
}

#[tokio::test]
async fn deleted_event_has_its_own_revision_and_the_last_content() {
    let server = server().await;
    let created = server.create("pods", pod("a", "x")).unwrap();
    let revision: u64 = created["metadata"]["resourceVersion"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    let mut watch = Watch::open(
        &server,
        &format!("{PODS}?watch=1&resourceVersion={revision}"),
    )
    .await;
    server
        .create("configmaps", json!({"metadata": {"name": "c"}}))
        .unwrap();
    server.delete("pods", "default", "a").unwrap();
    let mut deleted = watch.event().await;
    assert_eq!(brief(&deleted), event("DELETED", "a", revision + 2));
    deleted["object"]["metadata"]["resourceVersion"] =
        created["metadata"]["resourceVersion"].clone();
    assert_eq!(deleted["object"], created);
}

#[tokio::test]
async fn streaming_list_goes_on_after_initial_events_end() {
    let server = server().await;
    for name in ["b", "a", "c"] {
        server.create("pods", pod(name, "x")).unwrap();
    }
    let path = format!(
        "{PODS}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    );
    let mut watch = Watch::open(&server, &path).await;
    for name in ["a", "b", "c"] {
        assert_eq!(
            watch.brief().await.1,
            name,
            "initial events are sorted by key"
        );
    }
    let marker = watch.event().await;
    assert_eq!(
        brief(&marker),
        event("BOOKMARK", "", server.resource_version())
    );
    assert_eq!(
        marker["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"],
        "true"
    );
    // A quiet watch has bookmarks, and they follow the revision of the whole cluster.
    server
        .create("configmaps", json!({"metadata": {"name": "c"}}))
        .unwrap();
    let revision = server.resource_version();
    while watch.brief().await != event("BOOKMARK", "", revision) {}
    label(&server, "a", "y");
    loop {
        match watch.brief().await {
            (kind, ..) if kind == "BOOKMARK" => {}
            other => return assert_eq!(other, event("MODIFIED", "a", revision + 1)),
        }
    }
}

#[tokio::test]
async fn watch_without_bookmarks_has_no_bookmark() {
    let server = server().await;
    server.create("pods", pod("a", "x")).unwrap();
    let path = format!("{PODS}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan");
    let mut watch = Watch::open(&server, &path).await;
    assert_eq!(watch.brief().await.1, "a");
    assert!(watch.is_quiet().await);
}

#[tokio::test]
async fn watch_of_events_has_no_bookmark_but_initial_events_end() {
    let server = server().await;
    let path = "/api/v1/events?watch=1&resourceVersion=0&allowWatchBookmarks=true";
    let mut watch = Watch::open(&server, path).await;
    let marker = watch.event().await;
    assert_eq!(
        marker["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"],
        "true"
    );
    assert!(watch.is_quiet().await);
}

#[tokio::test]
async fn server_without_streaming_lists_refuses_them() {
    let server = ApiServer::builder()
        .streaming_lists(false)
        .start()
        .await
        .unwrap();
    server.create("pods", pod("a", "x")).unwrap();
    let path = format!(
        "{PODS}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    );
    let answer = get(&server, &path).await;
    assert_eq!(answer.code, 422);
    assert!(
        answer
            .text()
            .contains("unless the WatchList feature gate is enabled")
    );
    let path = format!("{PODS}?watch=1&resourceVersion=0&allowWatchBookmarks=true");
    let mut watch = Watch::open(&server, &path).await;
    assert_eq!(watch.brief().await.1, "a");
    assert!(watch.is_quiet().await);
}

#[tokio::test]
async fn watch_ends_cleanly_at_its_timeout_after_a_bookmark() {
    let server = ApiServer::start().await.unwrap();
    let path =
        format!("{PODS}?watch=1&resourceVersion=5&allowWatchBookmarks=true&timeoutSeconds=1");
    let events = Watch::open(&server, &path).await.rest().await;
    assert_eq!(
        events.iter().map(brief).collect::<Vec<_>>(),
        [event("BOOKMARK", "", 5)]
    );
}

// FS1
#[tokio::test]
async fn compaction_expires_old_revisions_and_keeps_open_watches() {
    let server = server().await;
    let mut watch = Watch::open(&server, &format!("{PODS}?watch=1")).await;
    server.create("pods", pod("a", "x")).unwrap();
    let old = server.resource_version();
    server.create("pods", pod("b", "x")).unwrap();
    server.compact();
    let current = server.resource_version();
    let expired = Watch::open(&server, &format!("{PODS}?watch=1&resourceVersion={old}")).await;
    assert_eq!(expired.code, 200);
    let events = expired.rest().await;
    assert_eq!(events.len(), 1);
    assert_eq!(events[0]["type"], "ERROR");
    assert_eq!(events[0]["object"]["code"], 410);
    assert_eq!(
        events[0]["object"]["message"],
        format!("too old resource version: {old} ({current})")
    );
    assert_eq!(watch.brief().await.1, "a");
    assert_eq!(watch.brief().await.1, "b");
}

#[tokio::test]
async fn history_limit_counts_changes_of_one_resource() {
    let server = ApiServer::start().await.unwrap();
    server.set_history_limit(2);
    server.create("pods", pod("a", "x")).unwrap();
    let first = server.resource_version();
    for n in 0..10 {
        server
            .create("configmaps", json!({"metadata": {"name": format!("c{n}")}}))
            .unwrap();
    }
    label(&server, "a", "y");
    label(&server, "a", "z");
    let list = |revision| format!("{PODS}?resourceVersion={revision}&resourceVersionMatch=Exact");
    assert_eq!(get(&server, &list(first)).await.code, 200);
    label(&server, "a", "x");
    assert_eq!(get(&server, &list(first)).await.code, 410);
}

#[tokio::test]
async fn open_watches_end_in_each_way() {
    let server = server().await;
    let path = format!("{PODS}?watch=1&resourceVersion=5");
    for (end, last) in [
        (StreamEnd::Clean, Next::End),
        (StreamEnd::Cut, Next::Broken),
    ] {
        let mut watch = Watch::open(&server, &path).await;
        assert!(watch.is_quiet().await);
        server.end_watches(end);
        assert_eq!(watch.next().await, last);
    }
    let watch = Watch::open(&server, &path).await;
    server.end_watches(StreamEnd::Error(status::too_old(5, 9)));
    let events = watch.rest().await;
    assert_eq!(events[0]["type"], "ERROR");
    let mut watch = Watch::open(&server, &path).await;
    server.drop_watches();
    assert_eq!(watch.next().await, Next::End);
    let mut watch = Watch::open(&server, &path).await;
    assert!(
        watch.is_quiet().await,
        "a new watch is not ended by what was before"
    );
}

#[tokio::test]
async fn shutdown_ends_watches_cleanly_and_returns_the_cluster() {
    let server = server().await;
    server.create("pods", pod("a", "x")).unwrap();
    let (revision, port) = (server.resource_version(), server.address().port());
    let mut watch = Watch::open(
        &server,
        &format!("{PODS}?watch=1&resourceVersion={revision}"),
    )
    .await;
    let cluster = timeout(PATIENCE, server.shutdown()).await.unwrap();
    assert_eq!(watch.next().await, Next::End);
    let server = ApiServer::builder()
        .cluster(cluster)
        .port(port)
        .start()
        .await
        .unwrap();
    server.create("pods", pod("b", "x")).unwrap();
    let mut watch = Watch::open(
        &server,
        &format!("{PODS}?watch=1&resourceVersion={revision}"),
    )
    .await;
    assert_eq!(watch.brief().await, event("ADDED", "b", revision + 1));
}

#[tokio::test]
async fn dropping_the_server_ends_everything_it_runs() {
    let server = server().await;
    let mut watch = Watch::open(&server, &format!("{PODS}?watch=1&resourceVersion=5")).await;
    let address = server.address();
    drop(server);
    assert_ne!(watch.next().await, Next::Event(Value::Null));
    let closed = async { while tokio::net::TcpStream::connect(address).await.is_ok() {} };
    timeout(PATIENCE, closed).await.unwrap();
}

#[tokio::test]
async fn watch_is_ended_only_when_its_client_does_not_read() {
    let server = ApiServer::builder()
        .slow_watches(20, Duration::from_millis(50))
        .start()
        .await
        .unwrap();
    let path = format!("{PODS}?watch=1&resourceVersion=5");
    let slow = open(&server, Method::GET, &path, &[], "").await.unwrap();
    let mut reading = Watch::open(&server, &path).await;
    let reader = tokio::spawn(async move {
        let mut seen = 0;
        while seen < 250 {
            assert_eq!(reading.brief().await.0, "ADDED");
            seen += 1;
        }
        reading
    });
    // Far more than the sockets between the two hold.
    let filling = "x".repeat(100_000);
    for n in 0..250 {
        let pod =
            json!({"metadata": {"name": format!("p{n}"), "annotations": {"filling": filling}}});
        server.create("pods", pod).unwrap();
        tokio::task::yield_now().await;
    }
    let mut reading = timeout(PATIENCE * 3, reader).await.unwrap().unwrap();
    tokio::time::sleep(Duration::from_millis(500)).await;
    let body = timeout(PATIENCE * 3, slow.into_body().collect())
        .await
        .unwrap()
        .unwrap()
        .to_bytes();
    assert!(body.ends_with(b"}\n"), "the end is clean");
    let lines = body.iter().filter(|byte| **byte == b'\n').count();
    assert!(lines < 250, "it was ended before it had everything");
    server.create("pods", pod("last", "x")).unwrap();
    assert_eq!(reading.brief().await.1, "last");
}

#[tokio::test]
async fn table_watch_sends_rows() {
    let server = server().await;
    let headers = [("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")];
    let mut watch = Watch::open_with(&server, &format!("{PODS}?watch=1"), &headers).await;
    server.create("pods", pod("a", "x")).unwrap();
    let event = watch.event().await;
    assert_eq!(event["object"]["kind"], "Table");
    assert_eq!(event["object"]["rows"][0]["cells"][0], "a");
    assert_eq!(
        event["object"]["rows"][0]["object"]["metadata"]["name"],
        "a"
    );
}
