//! Namespaces, custom resource definitions and scopes over HTTP.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use http::Method;
use informer_testkit::{ApiServer, ResourceType};
use serde_json::{Value, json};

use self::common::{Watch, delete, get, patch, post, put, send};

const PODS: &str = "/api/v1/namespaces/web/pods";
const WIDGETS: &str = "/apis/demo.example/v1/namespaces/web/widgets";

async fn server() -> ApiServer {
    let widgets = ResourceType::new("demo.example", "v1", "Widget", "widgets");
    ApiServer::builder()
        .create_namespaces(true)
        .resource(widgets)
        .start()
        .await
        .unwrap()
}

#[tokio::test]
async fn namespace_is_deleted_with_its_contents() {
    let server = server().await;
    post(&server, PODS, json!({"metadata": {"name": "a"}})).await;
    post(
        &server,
        WIDGETS,
        json!({"apiVersion": "demo.example/v1", "kind": "Widget", "metadata": {"name": "w", "finalizers": ["x/y"]}}),
    )
    .await;
    let marked = delete(&server, "/api/v1/namespaces/web").await.json();
    assert_eq!(marked["status"]["phase"], "Terminating");
    assert_eq!(get(&server, &format!("{PODS}/a")).await.code, 404);
    let refused = post(&server, PODS, json!({"metadata": {"name": "b"}})).await;
    assert_eq!(refused.code, 403);
    assert!(refused.text().contains("because it is being terminated"));
    let done = json!({"metadata": {"finalizers": []}});
    patch(&server, &format!("{WIDGETS}/w"), "merge", done).await;
    assert_eq!(get(&server, "/api/v1/namespaces/web").await.code, 404);
    assert_eq!(
        post(&server, PODS, json!({"metadata": {"name": "b"}}))
            .await
            .code,
        201
    );
}

#[tokio::test]
async fn requests_find_or_make_their_namespace_as_set() {
    let pod = || json!({"metadata": {"name": "a", "namespace": "web"}});
    let server = ApiServer::start().await.unwrap();
    let answer = post(&server, PODS, pod()).await;
    assert_eq!(answer.code, 404);
    assert_eq!(answer.json()["message"], "namespaces \"web\" not found");
    server.create("pods", pod()).unwrap();
    assert_eq!(
        server.get("namespaces", "", "web").unwrap()["status"]["phase"],
        "Active"
    );

    let builder = ApiServer::builder().create_namespaces(true);
    let server = builder.start().await.unwrap();
    assert_eq!(post(&server, PODS, pod()).await.code, 201);
}

#[tokio::test]
async fn definition_adds_and_removes_a_resource() {
    let server = ApiServer::start().await.unwrap();
    let gadgets = "/apis/demo.example/v1/gadgets";
    assert_eq!(get(&server, gadgets).await.code, 404);
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let size = json!({"type": "object", "properties": {"size": {"type": "integer"}}});
    let schema =
        json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": size, "status": any}}});
    let definition = json!({
        "metadata": {"name": "gadgets.demo.example"},
        "spec": {
            "group": "demo.example",
            "scope": "Cluster",
            "names": {"kind": "Gadget", "plural": "gadgets", "shortNames": ["gd"]},
            "versions": [
                {"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                 "selectableFields": [{"jsonPath": ".spec.size"}], "schema": schema},
                {"name": "v2", "served": true, "storage": false, "schema": schema},
                {"name": "v3", "served": false, "storage": false, "schema": schema},
            ],
        },
    });
    let mut bad = definition.clone();
    bad["metadata"]["name"] = "gadget".into();
    assert_eq!(post(&server, definitions, bad).await.code, 422);
    assert_eq!(
        post(&server, definitions, json!({"metadata": {"name": "x"}}))
            .await
            .code,
        422
    );
    let created = post(&server, definitions, definition).await;
    assert_eq!(created.code, 201);
    assert_eq!(
        created.json()["status"]["conditions"][1]["type"],
        "Established"
    );
    for (name, size) in [("a", 1), ("b", 2)] {
        let gadget = json!({"metadata": {"name": name}, "spec": {"size": size}});
        let mut gadget = gadget;
        gadget["apiVersion"] = "demo.example/v1".into();
        gadget["kind"] = "Gadget".into();
        assert_eq!(post(&server, gadgets, gadget).await.code, 201);
    }
    let selected = get(&server, &format!("{gadgets}?fieldSelector=spec.size%3D2"))
        .await
        .json();
    assert_eq!(selected["items"].as_array().unwrap().len(), 1);
    // Both versions show the same objects.
    let second = get(&server, "/apis/demo.example/v2/gadgets/a").await.json();
    assert_eq!(second["apiVersion"], "demo.example/v2");
    assert_eq!(
        get(&server, "/apis/demo.example/v3/gadgets").await.code,
        404
    );
    let revision = server.resource_version();
    let watch = Watch::open(
        &server,
        &format!("{gadgets}?watch=1&resourceVersion={revision}"),
    )
    .await;
    assert_eq!(
        delete(&server, &format!("{definitions}/gadgets.demo.example"))
            .await
            .code,
        200
    );
    let kinds: Vec<Value> = watch
        .rest()
        .await
        .iter()
        .map(|event| event["type"].clone())
        .collect();
    assert_eq!(kinds, ["DELETED", "DELETED"], "then the stream ends");
    assert_eq!(get(&server, gadgets).await.code, 404);
}

#[tokio::test]
async fn namespaced_and_cluster_scoped_paths_are_distinct() {
    let server = server().await;
    for path in [
        "/api/v1/namespaces/web/nodes",
        "/api/v1/pods/a",
        "/api/v1/namespaces/web/nodes/n",
        "/apis/apps/v1/pods",
        "/api/v2/pods",
    ] {
        assert_eq!(get(&server, path).await.code, 404, "{path}");
    }
    assert_eq!(
        post(&server, "/api/v1/pods", json!({"metadata": {"name": "a"}}))
            .await
            .code,
        404
    );
    assert_eq!(
        send(&server, Method::OPTIONS, PODS, &[], "").await.code,
        405
    );
    assert_eq!(put(&server, PODS, json!({})).await.code, 405);
}
