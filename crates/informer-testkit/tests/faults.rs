//! Scripted misbehaviour, as a client sees it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::time::{Duration, Instant};

use http::Method;
use http_body_util::BodyExt;
use informer_testkit::{Answer, ApiServer, Fault, RequestMatcher, Status, Verb, status};
use serde_json::json;
use tokio::time::timeout;

use self::common::{Next, PATIENCE, Watch, get, open, send};

const PODS: &str = "/api/v1/pods";

async fn with_pods(count: usize) -> ApiServer {
    let server = ApiServer::start().await.unwrap();
    for n in 0..count {
        server
            .create("pods", json!({"metadata": {"name": format!("pod-{n:04}")}}))
            .unwrap();
    }
    server
}

fn lists() -> RequestMatcher {
    RequestMatcher::verb(Verb::List).resource("pods")
}

#[tokio::test]
async fn scripted_answer_replaces_the_true_one_as_often_as_set() {
    let server = with_pods(1).await;
    let busy = Answer::text(429, "Too many requests").header("Retry-After", "7");
    server.fail(lists(), busy, 2);
    for _ in 0..2 {
        let answer = get(&server, PODS).await;
        assert_eq!(
            (answer.code.as_u16(), answer.text()),
            (429, "Too many requests")
        );
        assert_eq!(answer.headers["retry-after"], "7");
        assert_eq!(answer.headers["content-type"], "text/plain; charset=utf-8");
    }
    assert!(server.faults_used_up());
    assert_eq!(get(&server, PODS).await.code, 200);
}

#[tokio::test]
async fn status_fault_is_json_with_retry_after() {
    let server = with_pods(1).await;
    let status = Status::failure(503, "ServiceUnavailable", "down").with_retry_after(3);
    server.fail_after(lists(), 1, status, 1);
    assert_eq!(get(&server, PODS).await.code, 200, "the first one passes");
    let answer = get(&server, PODS).await;
    assert_eq!(answer.code, 503);
    assert_eq!(answer.headers["retry-after"], "3");
    assert_eq!(answer.json()["reason"], "ServiceUnavailable");
}

#[tokio::test]
async fn error_event_is_the_only_event_of_its_watch() {
    let server = with_pods(3).await;
    let watches = RequestMatcher::verb(Verb::Watch);
    server.fail_next(watches, Fault::ErrorEvent(status::expired("too old")));
    let watch = Watch::open(&server, &format!("{PODS}?watch=1")).await;
    assert_eq!(watch.code, 200);
    let events = watch.rest().await;
    assert_eq!(events.len(), 1);
    assert_eq!(
        (&events[0]["type"], &events[0]["object"]["code"]),
        (&json!("ERROR"), &json!(410))
    );
}

#[tokio::test]
async fn cut_breaks_the_connection_within_the_body() {
    // One list with a Content-Length, one in chunks.
    for count in [1, 500] {
        let server = with_pods(count).await;
        server.fail_next(lists(), Fault::Cut { after: 100 });
        let response = open(&server, Method::GET, PODS, &[], "").await.unwrap();
        assert_eq!(response.status(), 200);
        let mut body = response.into_body();
        let mut received = Vec::new();
        let broken = loop {
            match timeout(PATIENCE, body.frame()).await.unwrap() {
                Some(Ok(frame)) => received.extend_from_slice(frame.data_ref().unwrap()),
                other => break other,
            }
        };
        assert!(broken.is_some_and(|end| end.is_err()));
        assert_eq!(received.len(), 100);
    }
}

#[tokio::test]
async fn early_end_looks_complete() {
    for count in [1, 500] {
        let server = with_pods(count).await;
        server.fail_next(lists(), Fault::End { after: 100 });
        let answer = get(&server, PODS).await;
        assert_eq!(answer.body.len(), 100);
    }
    let server = with_pods(1).await;
    server.fail_next(RequestMatcher::verb(Verb::Watch), Fault::End { after: 50 });
    let response = open(&server, Method::GET, &format!("{PODS}?watch=1"), &[], "")
        .await
        .unwrap();
    let body = timeout(PATIENCE, response.into_body().collect())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(body.to_bytes().len(), 50, "a clean end within an event");
}

#[tokio::test]
async fn stall_keeps_the_connection_open() {
    let server = with_pods(1).await;
    server.fail_next(RequestMatcher::verb(Verb::Watch), Fault::Stall { after: 0 });
    let mut watch = Watch::open(&server, &format!("{PODS}?watch=1")).await;
    assert_eq!(watch.code, 200, "headers do come");
    assert!(watch.is_quiet().await);
    server
        .create("pods", json!({"metadata": {"name": "new"}}))
        .unwrap();
    assert!(watch.is_quiet().await);
    timeout(PATIENCE, server.shutdown())
        .await
        .expect("a stalled stream does not hold the server");
    assert_ne!(watch.next().await, Next::Event(json!(null)));
}

#[tokio::test]
async fn hold_open_sends_no_headers() {
    let server = with_pods(1).await;
    server.fail_next(lists(), Fault::HoldOpen);
    let held = timeout(
        Duration::from_millis(200),
        open(&server, Method::GET, PODS, &[], ""),
    );
    assert!(held.await.is_err());
    assert_eq!(get(&server, PODS).await.code, 200);
    server.fail_next(lists(), Fault::HoldOpen);
    let held = open(&server, Method::GET, PODS, &[], "");
    tokio::pin!(held);
    assert!(
        timeout(Duration::from_millis(100), &mut held)
            .await
            .is_err()
    );
    assert!(server.faults_used_up(), "it is the held one");
}

#[tokio::test]
async fn delay_precedes_the_true_response() {
    let server = with_pods(1).await;
    server.fail_next(lists(), Fault::Delay(Duration::from_millis(150)));
    let start = Instant::now();
    let answer = get(&server, PODS).await;
    assert!(start.elapsed() >= Duration::from_millis(150));
    assert_eq!(answer.json()["items"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn disconnect_sends_no_response() {
    let server = with_pods(1).await;
    server.fail_next(RequestMatcher::any().path(PODS), Fault::Disconnect);
    assert!(open(&server, Method::GET, PODS, &[], "").await.is_err());
    assert_eq!(get(&server, PODS).await.code, 200);
}

#[tokio::test]
async fn requests_are_logged_without_credentials() {
    let server = with_pods(0).await;
    let path =
        "/apis/apps/v1/namespaces/web/deployments?watch=true&labelSelector=a%3Db&timeoutSeconds=1";
    let headers = [
        ("user-agent", "tester/1.0"),
        ("accept", "application/json"),
        ("authorization", "Bearer canary"),
    ];
    send(&server, Method::GET, path, &headers, "").await;
    get(&server, "/version").await;
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    let watch = &requests[0];
    assert_eq!((watch.method.as_str(), watch.verb), ("GET", Verb::Watch));
    assert_eq!(watch.path, "/apis/apps/v1/namespaces/web/deployments");
    assert_eq!(
        (watch.group.as_str(), watch.resource.as_str()),
        ("apps", "deployments")
    );
    assert_eq!(watch.namespace, "web");
    assert_eq!(watch.query_value("labelSelector"), Some("a=b"));
    assert_eq!(
        (watch.user_agent.as_str(), watch.accept.as_str()),
        ("tester/1.0", "application/json")
    );
    assert_eq!(requests[1].verb, Verb::Other);
    assert!(!format!("{requests:?}").contains("canary"));
    server.clear_requests();
    assert!(server.requests().is_empty());
}
