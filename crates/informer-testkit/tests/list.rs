//! Lists over HTTP: what each resource version means, with and without a limit, and paging.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use informer_testkit::ApiServer;
use serde_json::{Value, json};

use self::common::get;

const PODS: &str = "/api/v1/pods";

/// Three pods; then one more and a change of the first.
async fn server() -> (ApiServer, u64, u64) {
    let server = ApiServer::start().await.unwrap();
    for name in ["a", "b", "c"] {
        server
            .create("pods", json!({"metadata": {"name": name}}))
            .unwrap();
    }
    let then = server.resource_version();
    server
        .create("pods", json!({"metadata": {"name": "d"}}))
        .unwrap();
    let patch = json!({"metadata": {"labels": {"changed": "yes"}}});
    server.merge_patch("pods", "default", "a", patch).unwrap();
    let now = server.resource_version();
    (server, then, now)
}

/// Code, resource version, names, and whether there is another page.
async fn list(server: &ApiServer, query: &str) -> (u16, u64, String, bool) {
    let answer = get(server, &format!("{PODS}?{query}")).await;
    let body = answer.json();
    let names: Vec<&str> = body["items"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|pod| pod["metadata"]["name"].as_str().unwrap())
        .collect();
    let revision = body["metadata"]["resourceVersion"]
        .as_str()
        .unwrap_or("0")
        .parse()
        .unwrap();
    let more = body["metadata"]["continue"].is_string();
    (answer.code.as_u16(), revision, names.concat(), more)
}

#[tokio::test]
async fn resource_versions_mean_what_they_mean_to_a_real_server() {
    let (server, then, now) = server().await;
    let future = now + 1;
    let ok = |revision: u64, names: &str, more: bool| (200, revision, names.to_owned(), more);
    let refused = |code: u16| (code, 0, String::new(), false);
    for (query, expected) in [
        (String::new(), ok(now, "abcd", false)),
        ("limit=2".to_owned(), ok(now, "ab", true)),
        ("resourceVersion=0".to_owned(), ok(now, "abcd", false)),
        // The watch cache gives everything at once.
        (
            "resourceVersion=0&limit=2".to_owned(),
            ok(now, "abcd", false),
        ),
        (format!("resourceVersion={then}"), ok(now, "abcd", false)),
        // A limit without a match means exactly that version.
        (
            format!("resourceVersion={then}&limit=2"),
            ok(then, "ab", true),
        ),
        (
            format!("resourceVersion={then}&limit=9"),
            ok(then, "abc", false),
        ),
        (
            format!("resourceVersion={then}&resourceVersionMatch=NotOlderThan"),
            ok(now, "abcd", false),
        ),
        (
            format!("resourceVersion={then}&resourceVersionMatch=NotOlderThan&limit=3"),
            ok(now, "abc", true),
        ),
        (
            format!("resourceVersion={then}&resourceVersionMatch=Exact"),
            ok(then, "abc", false),
        ),
        (
            "resourceVersion=0&resourceVersionMatch=NotOlderThan".to_owned(),
            ok(now, "abcd", false),
        ),
        (format!("resourceVersion={future}"), refused(504)),
        (format!("resourceVersion={future}&limit=1"), refused(504)),
        (
            format!("resourceVersion={future}&resourceVersionMatch=Exact"),
            refused(504),
        ),
        ("resourceVersionMatch=Exact".to_owned(), refused(422)),
        (
            "resourceVersion=0&resourceVersionMatch=Exact".to_owned(),
            refused(422),
        ),
        (
            format!("resourceVersion={now}&resourceVersionMatch=Newest"),
            refused(422),
        ),
        ("sendInitialEvents=true".to_owned(), refused(422)),
        ("resourceVersion=-1".to_owned(), refused(400)),
        (
            "resourceVersion=99999999999999999999999".to_owned(),
            refused(400),
        ),
        ("limit=many".to_owned(), refused(400)),
        ("limit=-5".to_owned(), ok(now, "abcd", false)),
        ("limit=0".to_owned(), ok(now, "abcd", false)),
    ] {
        assert_eq!(list(&server, &query).await, expected, "{query}");
    }
    server.compact();
    for query in [
        format!("resourceVersion={then}&limit=2"),
        format!("resourceVersion={then}&resourceVersionMatch=Exact"),
    ] {
        assert_eq!(list(&server, &query).await, refused(410), "{query}");
    }
    let expected = ok(now, "abcd", false);
    assert_eq!(
        list(&server, &format!("resourceVersion={then}")).await,
        expected
    );
}

/// Only the cache retries: a future revision asked for exactly comes from etcd.
#[tokio::test]
async fn too_large_resource_version_has_a_retry_after() {
    let (server, _, now) = server().await;
    let path = format!("{PODS}?resourceVersion={}", now + 1);
    assert_eq!(
        get(&server, &path).await.json()["details"]["retryAfterSeconds"],
        1
    );
    let exact = get(&server, &format!("{path}&resourceVersionMatch=Exact")).await;
    assert!(exact.json()["details"].get("retryAfterSeconds").is_none());
    assert!(exact.headers.get("retry-after").is_none());
}

#[tokio::test]
async fn list_of_events_is_limited_at_version_zero() {
    let server = ApiServer::start().await.unwrap();
    for name in ["a", "b"] {
        server
            .create("events", json!({"metadata": {"name": name}}))
            .unwrap();
    }
    let list = get(&server, "/api/v1/events?resourceVersion=0&limit=1")
        .await
        .json();
    assert_eq!(list["items"].as_array().unwrap().len(), 1);
    assert_eq!(list["metadata"]["remainingItemCount"], 1);
}

#[tokio::test]
async fn expired_page_offers_the_rest_as_it_is_now() {
    let (server, ..) = server().await;
    let first = get(&server, &format!("{PODS}?limit=1")).await.json();
    let token = |list: &Value| list["metadata"]["continue"].as_str().unwrap().to_owned();
    server.delete("pods", "default", "b").unwrap();
    let next = format!("{PODS}?limit=1&continue={}", token(&first));
    let second = get(&server, &next).await.json();
    assert_eq!(
        second["items"][0]["metadata"]["name"], "b",
        "a page shows the snapshot"
    );
    server.compact();
    let expired = get(&server, &next).await;
    assert_eq!(expired.code, 410);
    let rest = format!("{PODS}?continue={}", token(&expired.json()));
    let rest = get(&server, &rest).await.json();
    let names: Vec<&Value> = rest["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|pod| &pod["metadata"]["name"])
        .collect();
    assert_eq!(names, ["c", "d"]);
    assert_eq!(
        rest["metadata"]["resourceVersion"],
        server.resource_version().to_string()
    );
}

#[tokio::test]
async fn list_of_many_chunks_is_received_whole() {
    let server = ApiServer::start().await.unwrap();
    let filling = "ü".repeat(1000);
    for n in 0..500 {
        let pod = json!({"metadata": {"name": format!("p{n:03}"), "annotations": {"f": filling}}});
        server.create("pods", pod).unwrap();
    }
    let answer = get(&server, PODS).await;
    assert!(
        answer.headers.get("content-length").is_none(),
        "it is streamed"
    );
    let items = answer.json()["items"].as_array().unwrap().clone();
    assert_eq!(items.len(), 500);
    assert!(items.is_sorted_by_key(|pod| pod["metadata"]["name"].as_str().unwrap().to_owned()));
    let selected = get(
        &server,
        &format!("{PODS}?fieldSelector=metadata.name%3Dp007"),
    )
    .await;
    assert!(
        selected.headers.get("content-length").is_none(),
        "longer than 2 KiB"
    );
    assert_eq!(selected.json()["items"].as_array().unwrap().len(), 1);
    assert!(
        selected.json()["metadata"]
            .get("remainingItemCount")
            .is_none()
    );
}
