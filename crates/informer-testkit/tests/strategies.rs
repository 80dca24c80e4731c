//! What kube-apiserver refuses, creates and counts for each kind: compared with one of version 1.36.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod common;

use common::open;
use http::Method;
use http_body_util::BodyExt;
use informer_testkit::ApiServer;
use serde_json::{Value, json};

const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";

async fn send(
    server: &ApiServer,
    method: Method,
    path: &str,
    media: &str,
    body: &Value,
) -> (u16, Value) {
    let headers = [("content-type", media), ("accept", "application/json")];
    let answer = open(server, method, path, &headers, body.to_string())
        .await
        .unwrap();
    let code = answer.status().as_u16();
    let bytes = answer.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
}

async fn server() -> ApiServer {
    let builder = ApiServer::builder().create_namespaces(true);
    builder.start().await.unwrap()
}

#[tokio::test]
async fn object_that_is_being_deleted_takes_no_new_finalizer() {
    let server = server().await;
    let map =
        json!({"metadata": {"namespace": "n", "name": "m", "finalizers": ["a.b/c", "a.b/e"]}});
    server.create("configmaps", map).unwrap();
    server.delete("configmaps", "n", "m").unwrap();
    let path = "/api/v1/namespaces/n/configmaps/m";
    let more = json!({"metadata": {"finalizers": ["a.b/c", "a.b/d"]}});
    let (code, said) = send(&server, Method::PATCH, path, MERGE, &more).await;
    assert_eq!((code, &said["reason"]), (422, &json!("Invalid")), "{said}");
    let cause = &said["details"]["causes"][0];
    assert_eq!(cause["field"], "metadata.finalizers");
    assert_eq!(cause["reason"], "FieldValueForbidden");
    let message = "Forbidden: no new finalizers can be added if the object is being deleted, \
                   found new finalizers []string{\"a.b/d\"}";
    assert_eq!(cause["message"], message);
    // One may go.
    let less = json!({"metadata": {"finalizers": ["a.b/e"]}});
    assert_eq!(
        send(&server, Method::PATCH, path, MERGE, &less).await.0,
        200
    );
}

#[tokio::test]
async fn some_kinds_are_replaced_in_a_named_version_only() {
    let server = server().await;
    let meta = json!({"namespace": "n", "name": "l"});
    for (resource, group, is_unconditional) in [
        ("leases", "apis/coordination.k8s.io/v1", false),
        ("poddisruptionbudgets", "apis/policy/v1", false),
        ("configmaps", "api/v1", true),
        ("deployments", "apis/apps/v1", true),
    ] {
        let object = json!({"metadata": meta, "spec": {}});
        server.create(resource, object.clone()).unwrap();
        let path = format!("/{group}/namespaces/n/{resource}/l");
        let (code, said) = send(&server, Method::PUT, &path, JSON, &object).await;
        assert_eq!(code, if is_unconditional { 200 } else { 422 }, "{said}");
        let stored = server.get(resource, "n", "l").unwrap();
        assert_eq!(
            send(&server, Method::PUT, &path, JSON, &stored).await.0,
            200
        );
    }
}

#[tokio::test]
async fn some_kinds_are_created_by_a_replace() {
    let server = server().await;
    let object = json!({"metadata": {"namespace": "n", "name": "l"}});
    for (resource, group, expected) in [
        ("leases", "apis/coordination.k8s.io/v1", 201),
        ("services", "api/v1", 201),
        ("roles", "apis/rbac.authorization.k8s.io/v1", 201),
        ("configmaps", "api/v1", 404),
    ] {
        let path = format!("/{group}/namespaces/n/{resource}/l");
        let (code, said) = send(&server, Method::PUT, &path, JSON, &object).await;
        assert_eq!(code, expected, "{said}");
    }
    let of_another = json!({"metadata": {"namespace": "n", "name": "k", "uid": "u"}});
    let path = "/apis/coordination.k8s.io/v1/namespaces/n/leases/k";
    let (code, said) = send(&server, Method::PUT, path, JSON, &of_another).await;
    assert_eq!((code, &said["reason"]), (409, &json!("Conflict")), "{said}");
}

#[tokio::test]
async fn generations_are_counted_for_the_kinds_that_have_them() {
    let server = server().await;
    for (resource, has_generation) in [
        ("services", false),
        ("leases", false),
        ("persistentvolumeclaims", false),
        ("deployments", true),
        ("pods", true),
        ("networkpolicies", true),
    ] {
        let object = json!({"metadata": {"namespace": "n", "name": "x"}, "spec": {"a": 1}});
        server.create(resource, object).unwrap();
        let patch = json!({"spec": {"a": 2}});
        let changed = server.merge_patch(resource, "n", "x", patch).unwrap();
        let expected = if has_generation {
            json!(2)
        } else {
            Value::Null
        };
        assert_eq!(changed["metadata"]["generation"], expected, "{resource}");
    }
}

#[tokio::test]
async fn generated_names_have_63_characters_at_most() {
    let server = server().await;
    let base = "x".repeat(80);
    let map = json!({"metadata": {"namespace": "n", "generateName": base}});
    let (code, made) = send(
        &server,
        Method::POST,
        "/api/v1/namespaces/n/configmaps",
        JSON,
        &map,
    )
    .await;
    assert_eq!(code, 201, "{made}");
    let name = made["metadata"]["name"].as_str().unwrap();
    assert_eq!(name.len(), 63);
    assert!(name.starts_with(&"x".repeat(58)) && made["metadata"]["generateName"] == base.as_str());
}
