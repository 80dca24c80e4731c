//! Requests that are answered from objects or from nothing: scales, evictions, bindings, reviews, tokens.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{get, patch, post, send};
use http::Method;
use informer_testkit::{ApiServer, protobuf};
use serde_json::{Value, json};

const PODS: &str = "/api/v1/namespaces/web/pods";

async fn server() -> ApiServer {
    ApiServer::builder().start().await.unwrap()
}

fn pod(name: &str, phase: &str) -> Value {
    json!({
        "metadata": {"name": name, "namespace": "web", "labels": {"app": "x"}},
        "status": {"phase": phase},
    })
}

#[tokio::test]
async fn scale_of_a_custom_resource_is_where_its_definition_says() {
    let server = server().await;
    let definition = json!({
        "metadata": {"name": "gears.demo.example"},
        "spec": {
            "group": "demo.example",
            "scope": "Namespaced",
            "names": {"plural": "gears", "kind": "Gear", "categories": ["all"]},
            "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}, "scale": {
                "specReplicasPath": ".spec.size",
                "statusReplicasPath": ".status.now",
                "labelSelectorPath": ".status.selector",
            }}}],
        },
    });
    server
        .create("customresourcedefinitions", definition)
        .unwrap();
    let gear = json!({
        "metadata": {"name": "g", "namespace": "web"},
        "spec": {"size": 2},
        "status": {"now": 1, "selector": "app=x"},
    });
    server.create("gears", gear).unwrap();
    let path = "/apis/demo.example/v1/namespaces/web/gears/g";
    let scale = format!("{path}/scale");
    let read = get(&server, &scale).await.json();
    assert_eq!(read["spec"], json!({"replicas": 2}));
    assert_eq!(read["status"], json!({"replicas": 1, "selector": "app=x"}));
    let wanted = json!({"spec": {"replicas": 5}});
    assert_eq!(patch(&server, &scale, "merge", wanted).await.code, 200);
    let gear = get(&server, path).await.json();
    assert_eq!(gear["spec"], json!({"size": 5}));
    assert_eq!(gear["status"]["now"], 1);
    let negative = json!({"spec": {"replicas": -1}});
    let refused = patch(&server, &scale, "merge", negative).await;
    assert_eq!(refused.code, 422);
    assert!(refused.text().contains(".spec.size"), "{}", refused.text());
    let resources = get(&server, "/apis/demo.example/v1").await.json();
    let resources = resources["resources"].as_array().unwrap();
    let named = |name: &str| resources.iter().find(|one| one["name"] == name).unwrap();
    assert_eq!(named("gears/scale")["kind"], "Scale");
    assert_eq!(named("gears")["categories"], json!(["all"]));
}

#[tokio::test]
async fn scale_is_a_table_or_protobuf_on_request() {
    let server = server().await;
    let set = json!({"metadata": {"name": "s", "namespace": "web"}, "spec": {"replicas": 3}});
    server.create("replicasets", set).unwrap();
    let path = "/apis/apps/v1/namespaces/web/replicasets/s/scale";
    let accept = [("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")];
    let table = send(&server, Method::GET, path, &accept, "").await.json();
    assert_eq!(table["rows"][0]["cells"][1], 3);
    let accept = [("accept", protobuf::MEDIA_TYPE)];
    let scale = send(&server, Method::GET, path, &accept, "").await;
    let expected = protobuf::object(&get(&server, path).await.json()).unwrap();
    assert_eq!(scale.body, expected);
}

#[tokio::test]
async fn eviction_spends_the_disruption_budget() {
    let server = server().await;
    for name in ["a", "b"] {
        server.create("pods", pod(name, "Running")).unwrap();
    }
    let budget = json!({
        "metadata": {"name": "b", "namespace": "web"},
        "spec": {"selector": {"matchLabels": {"app": "x"}}},
        "status": {"disruptionsAllowed": 1, "observedGeneration": 1},
    });
    server.create("poddisruptionbudgets", budget).unwrap();
    let evict = async |name: &str, query: &str| {
        let eviction =
            json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}});
        post(&server, &format!("{PODS}/{name}/eviction{query}"), eviction).await
    };
    assert_eq!(evict("a", "?dryRun=All").await.code, 201);
    assert_eq!(get(&server, &format!("{PODS}/a")).await.code, 200);
    assert_eq!(evict("a", "").await.code, 201);
    assert_eq!(get(&server, &format!("{PODS}/a")).await.code, 404);
    let refused = evict("b", "").await;
    assert_eq!(refused.code, 429);
    assert_eq!(
        refused.json()["details"]["causes"][0]["reason"],
        "DisruptionBudget"
    );
    assert_eq!(get(&server, &format!("{PODS}/b")).await.code, 200);
    // A pod that does not run is not protected.
    server.create("pods", pod("c", "Pending")).unwrap();
    assert_eq!(evict("c", "").await.code, 201);
}

#[tokio::test]
async fn binding_gives_a_pod_its_node_once() {
    let server = server().await;
    server.create("pods", pod("a", "Pending")).unwrap();
    let bind = async |node: &str| {
        let binding = json!({"metadata": {"name": "a"}, "target": {"kind": "Node", "name": node}});
        post(&server, &format!("{PODS}/a/binding"), binding)
            .await
            .code
    };
    assert_eq!(bind("n1").await, 201);
    let bound = get(&server, &format!("{PODS}/a")).await.json();
    assert_eq!(bound["spec"]["nodeName"], "n1");
    assert_eq!(bound["status"]["conditions"][0]["type"], "PodScheduled");
    assert_eq!(bind("n2").await, 409);
}

#[tokio::test]
async fn whoever_is_let_in_may_do_everything() {
    let server = ApiServer::builder().token("t").start().await.unwrap();
    let headers = [
        ("authorization", "Bearer t"),
        ("content-type", "application/json"),
    ];
    let review = async |path: &str, spec: Value| {
        let body = json!({ "spec": spec }).to_string();
        let answer = send(&server, Method::POST, path, &headers, body).await;
        assert_eq!(answer.code, 201, "{path}");
        answer.json()["status"].clone()
    };
    let access = json!({"resourceAttributes": {"verb": "delete", "resource": "nodes"}});
    let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    assert_eq!(review(path, access).await["allowed"], true);
    let path = "/apis/authentication.k8s.io/v1/tokenreviews";
    assert_eq!(
        review(path, json!({"token": "t"})).await["authenticated"],
        true
    );
    assert!(review(path, json!({"token": "u"})).await["authenticated"].is_null());
    let path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
    let rules = review(path, json!({"namespace": "web"})).await;
    assert_eq!(rules["resourceRules"][0]["verbs"], json!(["*"]));
    let account = json!({"metadata": {"name": "robot", "namespace": "web"}});
    server.create("serviceaccounts", account).unwrap();
    let path = "/api/v1/namespaces/web/serviceaccounts/robot/token";
    assert!(review(path, json!({})).await["token"].is_string());
}

#[tokio::test]
async fn protobuf_bodies_are_taken_unless_there_is_no_protobuf() {
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}});
    let body = protobuf::object(&map).unwrap();
    let path = "/api/v1/namespaces/web/configmaps";
    let headers = [("content-type", protobuf::MEDIA_TYPE)];
    for (spoken, code) in [(true, 201), (false, 415)] {
        let server = ApiServer::builder()
            .protobuf(spoken)
            .create_namespaces(true)
            .start()
            .await
            .unwrap();
        let answer = send(&server, Method::POST, path, &headers, body.clone()).await;
        assert_eq!(answer.code, code);
        if spoken {
            assert_eq!(answer.json()["data"]["k"], "v");
            let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": "other"}});
            let options = protobuf::object(&options).unwrap();
            let path = format!("{path}/a");
            let refused = send(&server, Method::DELETE, &path, &headers, options).await;
            assert_eq!(refused.code, 409);
        }
    }
}
