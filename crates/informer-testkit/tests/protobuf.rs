//! What the server says in protobuf is what it says in JSON.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{PATIENCE, get, open, send};
use http::Method;
use http_body_util::BodyExt as _;
use informer_testkit::{ApiServer, ResourceType};
use informer_wire::{
    DecodeOptions, Decoded, ListDecoder, Status, WatchDecoder, WatchEvent, WireFormat,
    decode_object,
};
use serde_json::{Value, json};

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const ONLY: &[(&str, &str)] = &[("accept", PROTOBUF)];
const EITHER: &[(&str, &str)] = &[(
    "accept",
    "application/vnd.kubernetes.protobuf,application/json",
)];

async fn server() -> ApiServer {
    let widgets = ResourceType::new("demo.example", "v1", "Widget", "widgets");
    let server = ApiServer::builder()
        .resource(widgets)
        .start()
        .await
        .unwrap();
    for name in ["a", "b"] {
        let pod = json!({
            "metadata": { "name": name, "namespace": "shop", "labels": { "app": "x" } },
            "spec": { "containers": [{ "name": "c", "image": "i", "ports": [{ "containerPort": 1 }], "resources": {} }] },
            "status": { "phase": "Running", "startTime": "2026-01-02T03:04:05Z" },
        });
        server.create("pods", pod).unwrap();
    }
    let widget = json!({ "metadata": { "name": "w", "namespace": "shop" }, "spec": { "size": 1 } });
    server.create("widgets", widget).unwrap();
    server
}

fn options() -> DecodeOptions {
    DecodeOptions::default().keep_managed_fields(true)
}

fn decode_list(format: WireFormat, body: &[u8]) -> (Vec<Value>, Option<String>) {
    let mut decoder = ListDecoder::new(format, options());
    decoder.push(body);
    let mut items = Vec::new();
    while let Some(item) = decoder.next() {
        let Decoded::Object(item) = item.unwrap() else {
            panic!("not an object")
        };
        items.push(item);
    }
    let end = decoder.finish().unwrap();
    (
        items,
        end.resource_version.map(|version| version.to_string()),
    )
}

#[tokio::test]
async fn lists_and_objects_are_equal_in_both_formats() {
    let server = server().await;
    let json = get(&server, "/api/v1/pods").await;
    let protobuf = send(&server, Method::GET, "/api/v1/pods", ONLY, "").await;
    assert_eq!(protobuf.headers["content-type"], PROTOBUF);
    assert!(protobuf.body.starts_with(b"k8s\0"));
    let expected = decode_list(WireFormat::Json, &json.body);
    assert_eq!(expected.0.len(), 2);
    assert_eq!(decode_list(WireFormat::Protobuf, &protobuf.body), expected);

    let path = "/api/v1/namespaces/shop/pods/a";
    let protobuf = send(&server, Method::GET, path, EITHER, "").await;
    assert_eq!(protobuf.headers["content-type"], PROTOBUF);
    let read: Value = decode_object(WireFormat::Protobuf, &protobuf.body, &options()).unwrap();
    assert_eq!(read, get(&server, path).await.json());
}

/// An object is written in protobuf once, and again only when it has changed.
#[tokio::test]
async fn encoded_message_is_of_the_objects_version() {
    let server = server().await;
    let list = async || {
        send(&server, Method::GET, "/api/v1/pods", ONLY, "")
            .await
            .body
    };
    let first = list().await;
    assert_eq!(list().await, first);
    for round in 0..3 {
        let labels = json!({"metadata": {"labels": {"round": round.to_string()}}});
        server.merge_patch("pods", "shop", "a", labels).unwrap();
        let json = get(&server, "/api/v1/pods").await;
        let expected = decode_list(WireFormat::Json, &json.body);
        let protobuf = decode_list(WireFormat::Protobuf, &list().await);
        assert_eq!(protobuf, expected, "round {round}");
    }
    // A deletion sends the last state at another version.
    let before = server.resource_version();
    server.delete("pods", "shop", "a").unwrap();
    let path = format!("/api/v1/pods?watch=true&resourceVersion={before}");
    let protobuf = events(&server, &path, PROTOBUF, 1).await;
    assert!(protobuf[0].starts_with("DELETED "), "{protobuf:?}");
    assert_eq!(
        protobuf,
        events(&server, &path, "application/json", 1).await
    );
}

#[tokio::test]
async fn list_of_many_chunks_is_equal_in_both_formats() {
    let server = server().await;
    for name in 0..200 {
        let text = "x".repeat(10 * name);
        let map = json!({"metadata": {"name": format!("m{name}"), "namespace": "shop"}, "data": {"text": text}});
        server.create("configmaps", map).unwrap();
    }
    let json = get(&server, "/api/v1/configmaps").await;
    let protobuf = send(&server, Method::GET, "/api/v1/configmaps", ONLY, "").await;
    assert!(protobuf.body.len() > 200_000);
    let expected = decode_list(WireFormat::Json, &json.body);
    assert_eq!(expected.0.len(), 200);
    assert_eq!(decode_list(WireFormat::Protobuf, &protobuf.body), expected);
}

#[tokio::test]
async fn pages_have_continue_tokens() {
    let server = server().await;
    let page = send(&server, Method::GET, "/api/v1/pods?limit=1", ONLY, "").await;
    let mut decoder = ListDecoder::<Value>::new(WireFormat::Protobuf, options());
    decoder.push(&page.body);
    while decoder.next().is_some() {}
    let end = decoder.finish().unwrap();
    assert_eq!(end.remaining_item_count, Some(1));
    let token = end.continue_token.unwrap();
    let path = format!("/api/v1/pods?limit=1&continue={token}");
    let page = send(&server, Method::GET, &path, ONLY, "").await;
    assert_eq!(decode_list(WireFormat::Protobuf, &page.body).0.len(), 1);
}

/// The first events of a watch.
async fn events(server: &ApiServer, path: &str, accept: &str, count: usize) -> Vec<String> {
    let headers = [("accept", accept)];
    let response = open(server, Method::GET, path, &headers, "").await.unwrap();
    let content_type = response.headers()["content-type"].to_str().unwrap();
    let format = WireFormat::from_content_type(content_type).unwrap();
    assert_eq!(
        content_type.ends_with(";stream=watch"),
        format == WireFormat::Protobuf
    );
    let mut body = response.into_body();
    let mut decoder = WatchDecoder::<Value>::new(format, options());
    let mut events = Vec::new();
    while events.len() < count {
        let frame = tokio::time::timeout(PATIENCE, body.frame()).await.unwrap();
        let Some(frame) = frame else { break };
        decoder.push(frame.unwrap().data_ref().unwrap());
        while let Some(event) = decoder.next() {
            events.push(match event.unwrap() {
                WatchEvent::Added(Decoded::Object(pod)) => format!("ADDED {pod}"),
                WatchEvent::Modified(Decoded::Object(pod)) => format!("MODIFIED {pod}"),
                WatchEvent::Deleted(Decoded::Object(pod)) => format!("DELETED {pod}"),
                WatchEvent::Bookmark {
                    resource_version,
                    initial_events_end,
                } => format!("BOOKMARK {resource_version} {initial_events_end}"),
                WatchEvent::Error(status) => format!("ERROR {status}"),
                _ => panic!("an event of another kind"),
            });
        }
    }
    events
}

#[tokio::test]
async fn watches_are_equal_in_both_formats() {
    let server = server().await;
    let from = server.resource_version();
    server
        .merge_patch(
            "pods",
            "shop",
            "a",
            json!({ "status": { "phase": "Failed" } }),
        )
        .unwrap();
    server.delete("pods", "shop", "b").unwrap();
    let changes = format!("/api/v1/pods?watch=1&resourceVersion={from}");
    let stream = "/api/v1/pods?watch=1&sendInitialEvents=true&allowWatchBookmarks=true\
                  &resourceVersionMatch=NotOlderThan";
    for (path, count) in [
        (&*changes, 2),
        (stream, 2),
        ("/api/v1/pods?watch=1&resourceVersion=0", 1),
    ] {
        let expected = events(&server, path, "application/json", count).await;
        assert_eq!(expected.len(), count, "{expected:?}");
        assert_eq!(events(&server, path, PROTOBUF, count).await, expected);
    }
}

#[tokio::test]
async fn errors_are_in_the_requested_format() {
    let server = server().await;
    server.compact();
    let path = "/api/v1/pods?watch=1&resourceVersion=1";
    let sent = events(&server, path, PROTOBUF, 1).await;
    assert!(
        sent[0].starts_with("ERROR") && sent[0].contains("410"),
        "{sent:?}"
    );

    let path = "/api/v1/namespaces/shop/pods/none";
    let answer = send(&server, Method::GET, path, EITHER, "").await;
    assert_eq!(answer.code, 404);
    assert_eq!(answer.headers["content-type"], PROTOBUF);
    let status = Status::from_response(404, Some(PROTOBUF), &answer.body);
    assert!(status.is_not_found(), "{status:?}");
}

#[tokio::test]
async fn metadata_is_served_in_protobuf_for_every_kind() {
    let server = server().await;
    for path in ["/api/v1/pods", "/apis/demo.example/v1/widgets"] {
        let accept = |media| format!("{media};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1");
        let (protobuf, json) = (accept(PROTOBUF), accept("application/json"));
        let protobuf = send(&server, Method::GET, path, &[("accept", &protobuf)], "").await;
        assert_eq!(protobuf.headers["content-type"], PROTOBUF);
        let json = send(&server, Method::GET, path, &[("accept", &json)], "").await;
        let expected = decode_list(WireFormat::Json, &json.body);
        assert!(!expected.0.is_empty());
        assert_eq!(decode_list(WireFormat::Protobuf, &protobuf.body), expected);
    }
}

#[tokio::test]
async fn kind_without_message_is_served_in_json_or_refused() {
    let server = server().await;
    let path = "/apis/demo.example/v1/widgets";
    let answer = send(&server, Method::GET, path, EITHER, "").await;
    assert_eq!(answer.headers["content-type"], "application/json");
    let answer = send(&server, Method::GET, path, ONLY, "").await;
    assert_eq!(answer.code, 406);

    let old = ApiServer::builder().protobuf(false).start().await.unwrap();
    let answer = send(&old, Method::GET, "/api/v1/pods", EITHER, "").await;
    assert_eq!(answer.headers["content-type"], "application/json");
    let answer = send(&old, Method::GET, "/api/v1/pods", ONLY, "").await;
    assert_eq!(answer.code, 406);
    assert_eq!(answer.json()["reason"], "NotAcceptable");
}
