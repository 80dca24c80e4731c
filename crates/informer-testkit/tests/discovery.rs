//! Discovery, health and the documents that `kubectl` asks for.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use http::Method;
use informer_testkit::{ApiServer, ResourceType};
use serde_json::{Value, json};

use self::common::{get, send};

async fn server() -> ApiServer {
    let widgets = ResourceType::new("demo.example", "v1", "Widget", "widgets")
        .short_names(["wg"])
        .with_status();
    ApiServer::builder()
        .resource(widgets)
        .start()
        .await
        .unwrap()
}

fn named<'a>(list: &'a Value, key: &str, name: &str) -> &'a Value {
    list.as_array()
        .unwrap()
        .iter()
        .find(|entry| entry[key] == name)
        .unwrap()
}

#[tokio::test]
async fn health_and_version_are_served() {
    let server = server().await;
    for path in ["/healthz", "/livez", "/readyz", "/readyz/ping"] {
        let answer = get(&server, path).await;
        assert_eq!((answer.code.as_u16(), answer.text()), (200, "ok"), "{path}");
    }
    assert_eq!(get(&server, "/version").await.json()["major"], "1");
    assert_eq!(get(&server, "/nothing").await.code, 404);
    assert_eq!(
        send(&server, Method::POST, "/version", &[], "").await.code,
        405
    );
}

#[tokio::test]
async fn legacy_discovery_names_groups_and_resources() {
    let server = server().await;
    assert_eq!(get(&server, "/api").await.json()["versions"], json!(["v1"]));
    let groups = get(&server, "/apis").await.json();
    let demo = named(&groups["groups"], "name", "demo.example");
    assert_eq!(demo["preferredVersion"]["groupVersion"], "demo.example/v1");
    assert_eq!(
        get(&server, "/apis/demo.example").await.json()["kind"],
        "APIGroup"
    );
    let core = get(&server, "/api/v1").await.json();
    let pods = named(&core["resources"], "name", "pods");
    assert_eq!(
        (&pods["kind"], &pods["namespaced"]),
        (&json!("Pod"), &json!(true))
    );
    assert!(pods["verbs"].as_array().unwrap().contains(&json!("watch")));
    assert_eq!(
        named(&core["resources"], "name", "pods/status")["kind"],
        "Pod"
    );
    let demo = get(&server, "/apis/demo.example/v1").await.json();
    assert_eq!(
        named(&demo["resources"], "name", "widgets")["shortNames"],
        json!(["wg"])
    );
    for path in ["/apis/none.example", "/apis/none.example/v1", "/api/v2"] {
        assert_eq!(get(&server, path).await.code, 404, "{path}");
    }
}

#[tokio::test]
async fn aggregated_discovery_is_served_on_request() {
    let server = server().await;
    let accept =
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";
    for (path, group, resource) in [("/api", "", "pods"), ("/apis", "demo.example", "widgets")] {
        let answer = send(&server, Method::GET, path, &[("accept", accept)], "").await;
        assert_eq!(
            answer.headers["content-type"],
            "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
        );
        let list = answer.json();
        assert_eq!(list["kind"], "APIGroupDiscoveryList");
        let group = list["items"]
            .as_array()
            .unwrap()
            .iter()
            .find(|entry| entry["metadata"]["name"] == group)
            .unwrap();
        let found = named(&group["versions"][0]["resources"], "resource", resource);
        assert_eq!(found["scope"], "Namespaced");
        named(&found["subresources"], "subresource", "status");
    }
}

/// What `kubectl` looks for before it sends `fieldValidation`: a patch of the kind that takes it.
#[tokio::test]
async fn openapi_has_the_field_validation_parameter() {
    let server = server().await;
    let index = get(&server, "/openapi/v3").await.json();
    let url = index["paths"]["apis/demo.example/v1"]["serverRelativeURL"]
        .as_str()
        .unwrap();
    let document = get(&server, url).await.json();
    let path = "/apis/demo.example/v1/namespaces/{namespace}/widgets/{name}";
    let patch = &document["paths"][path]["patch"];
    assert_eq!(
        patch["x-kubernetes-group-version-kind"],
        json!({"group": "demo.example", "version": "v1", "kind": "Widget"})
    );
    assert_eq!(
        named(&patch["parameters"], "name", "fieldValidation")["in"],
        "query"
    );
    assert_eq!(get(&server, "/openapi/v2").await.code, 404);
}

#[tokio::test]
async fn table_has_the_columns_of_kubectl() {
    let server = server().await;
    server
        .create(
            "pods",
            json!({
                "metadata": {"name": "a", "namespace": "web"},
                "spec": {"containers": [{"name": "x"}, {"name": "y"}], "nodeName": "n1"},
                "status": {"phase": "Running", "containerStatuses": [
                    {"ready": true, "restartCount": 2}, {"ready": false, "restartCount": 1},
                ]},
            }),
        )
        .unwrap();
    let headers = [(
        "accept",
        "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
    )];
    let table = send(&server, Method::GET, "/api/v1/pods", &headers, "")
        .await
        .json();
    assert_eq!(table["kind"], "Table");
    let names: Vec<&Value> = table["columnDefinitions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| &c["name"])
        .collect();
    assert_eq!(
        names,
        [
            "Name",
            "Ready",
            "Status",
            "Restarts",
            "Age",
            "IP",
            "Node",
            "Nominated Node",
            "Readiness Gates"
        ]
    );
    let cells = &table["rows"][0]["cells"];
    assert_eq!(
        [
            &cells[0], &cells[1], &cells[2], &cells[3], &cells[5], &cells[6]
        ],
        ["a", "1/2", "Running", "3", "<none>", "n1"]
    );
    assert_eq!(table["rows"][0]["object"]["metadata"]["namespace"], "web");
    server
        .create("widgets", json!({"metadata": {"name": "w"}}))
        .unwrap();
    let path = "/apis/demo.example/v1/widgets";
    let table = send(&server, Method::GET, path, &headers, "").await.json();
    assert_eq!(table["columnDefinitions"].as_array().unwrap().len(), 2);
    assert_eq!(table["rows"][0]["cells"][0], "w");
}

#[tokio::test]
async fn kubeconfig_has_the_server_and_the_token() {
    let server = ApiServer::builder()
        .token("a \"quoted\": token")
        .start()
        .await
        .unwrap();
    let config = server.kubeconfig();
    assert!(config.contains(&format!("server: \"{}\"", server.url())));
    assert!(config.contains(r#"token: "a \"quoted\": token""#));
}
