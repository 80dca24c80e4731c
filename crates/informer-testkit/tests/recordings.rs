//! Answers compared with those of a real API server, recorded byte for byte.
//!
//! The server is brought to the state and the revision of the recording; then the recorded request
//! is sent, and the answer must be the same text, or, for objects whose nested keys a real server
//! writes in the order of its Go types, the same JSON with the same order of the outer keys.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fmt;
use std::path::Path;

use http::Method;
use informer_testkit::{ApiServer, RequestMatcher, ResourceType, status};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use self::common::{Answer, get, send};

/// One recorded exchange.
struct Recording {
    path: String,
    accept: String,
    code: u16,
    content_type: String,
    body: String,
}

fn recording(name: &str) -> Recording {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings");
    let request = std::fs::read_to_string(folder.join(format!("{name}.request"))).unwrap();
    let response = std::fs::read(folder.join(format!("{name}.response"))).unwrap();
    let header = |text: &str, name: &str| {
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(&format!("{name}: ")));
        line.unwrap_or_default().trim().to_owned()
    };
    let split = response.windows(4).position(|w| w == b"\r\n\r\n").unwrap();
    let head = std::str::from_utf8(&response[..split]).unwrap();
    let body = &response[split + 4..];
    let body = if head.contains("chunked") {
        unchunk(body)
    } else {
        body.to_vec()
    };
    Recording {
        path: request.split(' ').nth(1).unwrap().to_owned(),
        accept: header(&request, "Accept"),
        code: head.split(' ').nth(1).unwrap().parse().unwrap(),
        content_type: header(head, "Content-Type"),
        body: String::from_utf8(body).unwrap(),
    }
}

fn unchunk(mut framed: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let line = framed.windows(2).position(|w| w == b"\r\n").unwrap();
        let size =
            usize::from_str_radix(std::str::from_utf8(&framed[..line]).unwrap(), 16).unwrap();
        if size == 0 {
            return body;
        }
        body.extend_from_slice(&framed[line + 2..][..size]);
        framed = &framed[line + 2 + size + 2..];
    }
}

/// A server whose revision is this one, and which holds nothing but the standard namespaces.
async fn empty_at(revision: u64) -> ApiServer {
    ApiServer::builder()
        .first_revision(revision - 4)
        .start()
        .await
        .unwrap()
}

/// The seven pods of the recorded namespace, at their recorded revisions.
async fn with_pods() -> ApiServer {
    // The standard namespaces and the recorded one come before the first pod.
    let server = empty_at(100_672).await;
    server
        .create("namespaces", json!({"metadata": {"name": "rec"}}))
        .unwrap();
    let list: Value = serde_json::from_str(&recording("list-json").body).unwrap();
    for pod in list["items"].as_array().unwrap() {
        create(&server, "pods", pod);
    }
    assert_eq!(server.resource_version(), 100_680);
    server
}

async fn with_widgets() -> ApiServer {
    let server = ApiServer::builder()
        .first_revision(100_692)
        .resource(ResourceType::new("demo.example", "v1", "Widget", "widgets"))
        .start()
        .await
        .unwrap();
    server
        .create("namespaces", json!({"metadata": {"name": "rec"}}))
        .unwrap();
    let list: Value = serde_json::from_str(&recording("cr-list").body).unwrap();
    for widget in list["items"].as_array().unwrap() {
        create(&server, "widgets", widget);
    }
    server
}

fn create(server: &ApiServer, resource: &str, recorded: &Value) {
    let mut object = recorded.clone();
    object["metadata"]
        .as_object_mut()
        .unwrap()
        .remove("resourceVersion");
    let created = server.create(resource, object).unwrap();
    assert_eq!(
        created["metadata"]["resourceVersion"],
        recorded["metadata"]["resourceVersion"]
    );
}

/// Moves the revision on without touching what is listed.
fn advance_to(server: &ApiServer, revision: u64) {
    while server.resource_version() < revision {
        let object = json!({"metadata": {"generateName": "filler-", "namespace": "default"}});
        server.create("configmaps", object).unwrap();
    }
}

async fn replay(server: &ApiServer, recording: &Recording) -> Answer {
    let headers = [("accept", recording.accept.as_str())];
    let answer = send(server, Method::GET, &recording.path, &headers, "").await;
    assert_eq!(answer.code.as_u16(), recording.code, "{}", answer.text());
    assert_eq!(
        answer.headers["content-type"],
        recording.content_type.as_str()
    );
    answer
}

/// The server gives new UIDs and times, as it must; the rest has to be equal.
fn without_identity(text: &str) -> Value {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(object) => {
                object.remove("uid");
                object.remove("creationTimestamp");
                object.values_mut().for_each(strip);
            }
            Value::Array(entries) => entries.iter_mut().for_each(strip),
            _ => {}
        }
    }
    let mut value = serde_json::from_str(text).unwrap();
    strip(&mut value);
    value
}

/// A JSON object whose members keep their order.
struct Members(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Ordered;
        impl<'de> Visitor<'de> for Ordered {
            type Value = Members;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Ordered)
    }
}

/// The keys of an object in order, and those of `metadata`, `object` and the items inside it.
fn outer_order(text: &str) -> Vec<String> {
    let Members(members) = serde_json::from_str(text).unwrap();
    let mut order = Vec::new();
    for (key, value) in members {
        let inside = match key.as_str() {
            "metadata" | "object" => outer_order(value.get()),
            "items" => {
                let items: Vec<Box<RawValue>> = serde_json::from_str(value.get()).unwrap();
                items
                    .iter()
                    .flat_map(|item| outer_order(item.get()))
                    .collect()
            }
            _ => Vec::new(),
        };
        order.push(key.clone());
        order.extend(inside.into_iter().map(|below| format!("{key}.{below}")));
    }
    order
}

fn assert_same_object(ours: &str, recorded: &str) {
    assert_eq!(without_identity(ours), without_identity(recorded));
    assert_eq!(outer_order(ours), outer_order(recorded));
}

fn assert_same_events(ours: &str, recorded: &[&str]) {
    let ours: Vec<&str> = ours.lines().collect();
    for (ours, recorded) in ours.iter().zip(recorded) {
        assert_same_object(ours, recorded);
    }
    assert_eq!(ours.len(), recorded.len());
}

#[tokio::test]
async fn list_errors_are_as_recorded() {
    for (name, revision) in [
        ("list-400-field", 100_680),
        ("list-400-label", 100_680),
        ("list-400-rv", 100_680),
        ("list-404", 100_680),
        ("list-continue-bad-400", 100_680),
        ("list-continue-with-match-422", 100_680),
        ("list-continue-with-rv-400", 100_680),
        ("list-empty", 100_680),
        ("list-rv-too-large-504", 100_680),
        ("list-continue-expired-410", 100_680),
        ("list-exact-410", 100_680),
    ] {
        let server = empty_at(revision).await;
        server.compact_to(100_200);
        let recording = recording(name);
        assert_eq!(
            replay(&server, &recording).await.text(),
            recording.body.trim_end(),
            "{name}"
        );
    }
}

#[tokio::test]
async fn watch_errors_are_as_recorded() {
    for (name, revision) in [
        ("watch-410", 100_692),
        ("watch-bad-rv", 100_684),
        ("watch-sendinitial-422", 100_684),
        ("watchlist-rv-too-large", 100_684),
    ] {
        let server = empty_at(revision).await;
        server.compact_to(100_200);
        let recording = recording(name);
        let answer = replay(&server, &recording).await;
        assert_eq!(
            answer.text().trim_end(),
            recording.body.trim_end(),
            "{name}"
        );
    }
}

#[tokio::test]
async fn retry_after_is_in_the_headers_too() {
    let server = empty_at(100_680).await;
    let answer = replay(&server, &recording("list-rv-too-large-504")).await;
    assert_eq!(answer.headers["retry-after"], "1");
}

#[tokio::test]
async fn missing_or_wrong_token_is_refused_as_recorded() {
    let server = ApiServer::builder().token("canary").start().await.unwrap();
    let recording = recording("list-401");
    assert_eq!(
        replay(&server, &recording).await.text(),
        recording.body.trim_end()
    );
    for (authorization, code) in [
        ("Bearer canary", 200),
        ("bearer canary", 200),
        ("Bearer wrong", 401),
        ("canary", 401),
    ] {
        let headers = [("authorization", authorization)];
        let answer = send(&server, Method::GET, &recording.path, &headers, "").await;
        assert_eq!(answer.code, code, "{authorization}");
    }
    assert!(!format!("{server:?} {:?}", server.requests()).contains("canary"));
}

#[tokio::test]
async fn a_scripted_403_reads_as_recorded() {
    let server = ApiServer::start().await.unwrap();
    let recording = recording("list-403");
    let forbidden = status::forbidden("viewer", "list", "", "pods", "rec");
    server.fail_next(RequestMatcher::any(), forbidden);
    assert_eq!(
        replay(&server, &recording).await.text(),
        recording.body.trim_end()
    );
}

#[tokio::test]
async fn lists_of_a_built_in_kind_are_as_recorded() {
    let server = with_pods().await;
    for name in [
        "list-json",
        "list-page1",
        "list-page2",
        "list-page3",
        "list-metadata-json",
    ] {
        let recording = recording(name);
        let answer = replay(&server, &recording).await;
        assert_same_object(answer.text(), recording.body.trim_end());
    }
}

#[tokio::test]
async fn lists_of_a_custom_resource_are_as_recorded() {
    let server = with_widgets().await;
    for name in ["cr-list", "cr-list-page1"] {
        let recording = recording(name);
        let answer = replay(&server, &recording).await;
        assert_same_object(answer.text(), recording.body.trim_end());
    }
}

#[tokio::test]
async fn streaming_list_of_a_custom_resource_is_as_recorded() {
    let server = with_widgets().await;
    let mut recording = recording("cr-watchlist");
    recording.path = recording
        .path
        .replace("timeoutSeconds=4", "timeoutSeconds=1");
    let answer = replay(&server, &recording).await;
    let recorded: Vec<&str> = recording.body.lines().collect();
    // Ours has one more bookmark before the end; the recorded stream ended before its first.
    let ours: Vec<&str> = answer.text().lines().take(recorded.len()).collect();
    assert_same_events(&ours.join("\n"), &recorded);
}

/// With the resource version 0 or none, a watch begins with the state; with bookmarks there is an
/// end marker nobody asked for.
#[tokio::test]
async fn initial_events_are_as_recorded() {
    for (name, lines) in [
        ("watch-rv0", 8),
        ("watch-rv-unset", 7),
        ("watchlist-json", 8),
    ] {
        let server = with_pods().await;
        advance_to(&server, 100_684);
        let mut recording = recording(name);
        recording.path = recording
            .path
            .replace("timeoutSeconds=6", "timeoutSeconds=1");
        let answer = replay(&server, &recording).await;
        let recorded: Vec<&str> = recording.body.lines().take(lines).collect();
        let ours: Vec<&str> = answer.text().lines().take(lines).collect();
        assert_same_events(&ours.join("\n"), &recorded);
    }
}

#[tokio::test]
async fn watch_from_the_future_is_silent_as_recorded() {
    let server = empty_at(100_684).await;
    let mut recording = recording("watch-rv-future-silent");
    recording.path = recording
        .path
        .replace("timeoutSeconds=5", "timeoutSeconds=1");
    assert_eq!(replay(&server, &recording).await.text(), recording.body);
}

/// The recorded changes, seen through a label selector and as metadata only: pod-0 changes, pod-7
/// comes, pod-1 leaves the selection, pod-2 is deleted, pod-1 comes back.
#[tokio::test]
async fn watch_events_are_as_recorded() {
    for name in ["watch-selector-json", "watch-metadata-json"] {
        let server = with_pods().await;
        advance_to(&server, 100_684);
        make_recorded_changes(&server);
        let mut recording = recording(name);
        recording.path = recording
            .path
            .replace("timeoutSeconds=6", "timeoutSeconds=1");
        let answer = replay(&server, &recording).await;
        // A pod on a node is marked before it goes; here it goes at once, without the mark.
        let recorded: Vec<String> = recording
            .body
            .lines()
            .filter(|line| {
                !line.contains("BOOKMARK") && !line.contains(r#"resourceVersion":"100688"#)
            })
            .map(without_deletion_mark)
            .collect();
        let ours: Vec<&str> = answer
            .text()
            .lines()
            .filter(|line| !line.contains("BOOKMARK"))
            .collect();
        let recorded: Vec<&str> = recorded.iter().map(String::as_str).collect();
        assert_same_events(&ours.join("\n"), &recorded);
    }
}

fn without_deletion_mark(line: &str) -> String {
    let Some(start) = line.find("\"deletionTimestamp\"") else {
        return line.to_owned();
    };
    let end = start + line[start..].find("\"labels\"").unwrap();
    format!("{}{}", &line[..start], &line[end..]).replace("\"generation\":2", "\"generation\":1")
}

fn make_recorded_changes(server: &ApiServer) {
    // Managed fields are kept by whoever writes, so the recorded ones are written too.
    let recorded = recording("watch-metadata-json").body;
    let at = |revision: &str| -> Value {
        let line = recorded
            .lines()
            .find(|line| line.contains(revision))
            .unwrap();
        let event: Value = serde_json::from_str(line).unwrap();
        let metadata = &event["object"]["metadata"];
        json!({"metadata": {
            "labels": metadata["labels"],
            "managedFields": metadata["managedFields"],
        }})
    };
    let patch = |name: &str, revision: &str| {
        server
            .merge_patch("pods", "rec", name, at(revision))
            .unwrap();
    };
    patch("pod-0", "100685");
    let selector = recording("watch-selector-json").body;
    let added = selector
        .lines()
        .find(|line| line.contains("100686"))
        .unwrap();
    let added: Value = serde_json::from_str(added).unwrap();
    create(server, "pods", &added["object"]);
    patch("pod-1", "100687");
    advance_to(server, 100_688);
    server.delete("pods", "rec", "pod-2").unwrap();
    advance_to(server, 100_690);
    patch("pod-1", "100691");
}

#[tokio::test]
async fn unknown_media_type_is_refused_with_indented_json() {
    let server = ApiServer::builder().protobuf(false).start().await.unwrap();
    for accept in [
        "application/x-unknown",
        "application/vnd.kubernetes.protobuf",
    ] {
        let headers = [("accept", accept)];
        let answer = send(&server, Method::GET, "/api/v1/pods", &headers, "").await;
        assert_eq!(answer.code, 406);
        assert_eq!(answer.json()["reason"], "NotAcceptable");
        assert!(
            answer
                .text()
                .starts_with("{\n  \"kind\": \"Status\",\n  \"apiVersion\"")
        );
    }
    assert_eq!(get(&server, "/api/v1/pods").await.code, 200);
}
