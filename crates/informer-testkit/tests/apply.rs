//! Server-side apply over HTTP: owners, conflicts, and what a test writes directly.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use http::Method;
use informer_testkit::ApiServer;
use serde_json::{Value, json};

use self::common::{Answer, post, send};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn map(data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": data})
}

async fn apply(server: &ApiServer, query: &str, object: Value) -> Answer {
    let headers = [("content-type", "application/apply-patch+yaml")];
    let target = format!("{MAPS}/c?{query}");
    send(server, Method::PATCH, &target, &headers, object.to_string()).await
}

#[tokio::test]
async fn apply_creates_and_then_removes_what_it_no_longer_names() {
    let server = ApiServer::start().await.unwrap();
    let first = apply(&server, "fieldManager=a", map(json!({"k": "1", "l": "1"}))).await;
    assert_eq!(first.code, 201);
    let entry = &first.json()["metadata"]["managedFields"][0];
    assert_eq!(entry["fieldsV1"], json!({"f:data": {"f:k": {}, "f:l": {}}}));
    let second = apply(&server, "fieldManager=a", map(json!({"l": "1"}))).await;
    assert_eq!(
        (second.code.as_u16(), &second.json()["data"]),
        (200, &json!({"l": "1"}))
    );
}

#[tokio::test]
async fn apply_conflicts_with_the_one_who_created_unless_forced() {
    let server = ApiServer::start().await.unwrap();
    let created = post(
        &server,
        &format!("{MAPS}?fieldManager=maker"),
        map(json!({"k": "1"})),
    )
    .await;
    assert_eq!(created.code, 201);
    let other = || map(json!({"k": "2"}));
    let refused = apply(&server, "fieldManager=a", other()).await;
    assert_eq!(refused.code, 409);
    let status = refused.json();
    assert_eq!(
        status["message"],
        r#"Apply failed with 1 conflict: conflict with "maker" using v1: .data.k"#
    );
    assert_eq!(
        status["details"]["causes"][0]["reason"],
        "FieldManagerConflict"
    );
    let forced = apply(&server, "fieldManager=a&force=true", other()).await;
    assert_eq!(
        (forced.code.as_u16(), &forced.json()["data"]["k"]),
        (200, &json!("2"))
    );
}

#[tokio::test]
async fn apply_without_a_change_writes_nothing() {
    let server = ApiServer::start().await.unwrap();
    let first = apply(&server, "fieldManager=a", map(json!({"k": "1"})))
        .await
        .json();
    let version = server.resource_version();
    let again = apply(&server, "fieldManager=a", map(json!({"k": "1"})))
        .await
        .json();
    assert_eq!(again, first);
    assert_eq!(server.resource_version(), version);
    let dry = apply(&server, "fieldManager=b&dryRun=All", map(json!({"l": "1"}))).await;
    assert_eq!(dry.json()["data"], json!({"k": "1", "l": "1"}));
    assert_eq!(server.resource_version(), version);
}

#[tokio::test]
async fn direct_write_conflicts_once_the_object_was_applied_to() {
    let server = ApiServer::start().await.unwrap();
    server.create("configmaps", map(json!({"k": "1"}))).unwrap();
    let stored = server.get("configmaps", "default", "c").unwrap();
    assert!(stored["metadata"].get("managedFields").is_none());
    assert_eq!(
        apply(&server, "fieldManager=a", map(json!({"k": "1"})))
            .await
            .code,
        200
    );
    server
        .merge_patch("configmaps", "default", "c", json!({"data": {"k": "2"}}))
        .unwrap();
    let refused = apply(&server, "fieldManager=a", map(json!({"k": "1"})))
        .await
        .json();
    assert_eq!(
        refused["message"],
        r#"Apply failed with 1 conflict: conflict with "informer-testkit" using v1: .data.k"#
    );
}

#[tokio::test]
async fn manager_of_a_write_is_named_by_its_client() {
    let server = ApiServer::start().await.unwrap();
    let headers = [
        ("content-type", "application/json"),
        ("user-agent", "kubectl/v1.36.0 (linux/amd64)"),
    ];
    let body = map(json!({"k": "1"})).to_string();
    let created = send(&server, Method::POST, MAPS, &headers, body)
        .await
        .json();
    assert_eq!(
        created["metadata"]["managedFields"][0]["manager"],
        "kubectl"
    );
    let long = format!("fieldManager={}", "x".repeat(129));
    assert_eq!(apply(&server, &long, map(json!({}))).await.code, 422);
}
