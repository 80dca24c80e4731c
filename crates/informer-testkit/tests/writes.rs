//! Creates, replaces, patches and deletes over HTTP, with the rules of a real server.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use http::Method;
use informer_testkit::{ApiServer, ResourceType};
use serde_json::json;

use self::common::{Answer, Watch, delete, get, patch, post, put, send, send_json};

const PODS: &str = "/api/v1/namespaces/web/pods";
const WIDGETS: &str = "/apis/demo.example/v1/namespaces/web/widgets";

async fn server() -> ApiServer {
    let widgets = ResourceType::new("demo.example", "v1", "Widget", "widgets").with_status();
    ApiServer::builder()
        .create_namespaces(true)
        .resource(widgets)
        .start()
        .await
        .unwrap()
}

#[tokio::test]
async fn create_fills_in_metadata() {
    let server = server().await;
    let pod = json!({"metadata": {"generateName": "p-"}, "spec": {"nodeName": "n"}});
    let answer = post(&server, PODS, pod).await;
    assert_eq!(answer.code, 201);
    let pod = answer.json();
    let metadata = &pod["metadata"];
    assert!(metadata["name"].as_str().unwrap().starts_with("p-"));
    assert_eq!(metadata["name"].as_str().unwrap().len(), 7);
    assert_eq!(metadata["namespace"], "web");
    assert_eq!(metadata["generation"], 1);
    assert!(
        metadata["creationTimestamp"]
            .as_str()
            .unwrap()
            .ends_with('Z')
    );
    let uid = metadata["uid"].as_str().unwrap();
    assert_eq!((uid.len(), &uid[14..15]), (36, "4"), "a UUID of version 4");
    assert!("89ab".contains(&uid[19..20]), "of variant 1");
    assert_eq!(pod["kind"], "Pod");
    assert_eq!(
        server.get("namespaces", "", "web").unwrap()["status"]["phase"],
        "Active"
    );
}

#[tokio::test]
async fn invalid_create_is_refused() {
    let server = server().await;
    post(&server, PODS, json!({"metadata": {"name": "a"}})).await;
    let before = server.resource_version();
    for (body, code, message) in [
        (
            json!({"metadata": {"name": "a"}}),
            409,
            r#"pods "a" already exists"#,
        ),
        (
            json!({"metadata": {}}),
            422,
            r#"Pod "" is invalid: metadata.name: Required value: name or generateName is required"#,
        ),
        (json!({"metadata": {"name": "a/b"}}), 422, "Invalid value"),
        (
            json!({"metadata": {"name": "b", "namespace": "other"}}),
            400,
            "does not match the namespace",
        ),
        (
            json!({"metadata": {"name": "b"}, "kind": "Node"}),
            400,
            "cannot be handled as a Pod",
        ),
        (
            json!({"metadata": {"name": "b", "resourceVersion": "1"}}),
            500,
            "should not be set",
        ),
        (
            json!({"metadata": 5}),
            400,
            "cannot unmarshal number into Go struct field Pod.metadata",
        ),
        (json!([]), 400, "cannot unmarshal array into Go value"),
    ] {
        let answer = post(&server, PODS, body.clone()).await;
        assert_eq!(answer.code, code, "{body}");
        let status = answer.json();
        assert!(
            status["message"].as_str().unwrap().contains(message),
            "{status}"
        );
        assert_eq!(status["code"], code);
    }
    let text = send(
        &server,
        Method::POST,
        PODS,
        &[("content-type", "text/plain")],
        "x",
    )
    .await;
    assert_eq!(text.code, 415);
    let broken = send(
        &server,
        Method::POST,
        PODS,
        &[("content-type", "application/json")],
        "{",
    )
    .await;
    assert_eq!(broken.code, 400);
    let large = "x".repeat(4 * 1024 * 1024);
    let large = send(
        &server,
        Method::POST,
        PODS,
        &[("content-type", "application/json")],
        large,
    )
    .await;
    assert_eq!(large.code, 413);
    assert_eq!(server.resource_version(), before);
}

#[tokio::test]
async fn odd_values_in_odd_places_do_not_panic() {
    let server = server().await;
    for (n, body) in [
        json!({"status": 5}),
        json!({"status": [1]}),
        json!({"status": {"phase": {"x": 1}}, "spec": "text"}),
    ]
    .into_iter()
    .enumerate()
    {
        let mut body = body;
        body["metadata"] = json!({"name": format!("p{n}"), "labels": [1], "finalizers": 3});
        assert!(server.create("pods", body.clone()).is_ok());
        body["metadata"]["name"] = format!("n{n}").into();
        assert!(server.create("namespaces", body).is_ok());
        assert_eq!(
            delete(&server, &format!("/api/v1/namespaces/n{n}"))
                .await
                .code,
            200
        );
        let root = json!([{"op": "replace", "path": "", "value": 5}]);
        let path = format!("/api/v1/namespaces/default/pods/p{n}");
        for path in [path.clone(), format!("{path}/status")] {
            assert_eq!(patch(&server, &path, "json", root.clone()).await.code, 422);
        }
    }
}

#[tokio::test]
async fn replace_of_an_outdated_version_conflicts() {
    let server = server().await;
    let mut pod = post(&server, PODS, json!({"metadata": {"name": "a"}}))
        .await
        .json();
    let path = format!("{PODS}/a");
    pod["metadata"]["labels"] = json!({"x": "1"});
    let newer = put(&server, &path, pod.clone()).await;
    assert_eq!(newer.code, 200);
    let stale = put(&server, &path, pod.clone()).await;
    assert_eq!(stale.code, 409);
    assert_eq!(stale.json()["reason"], "Conflict");
    assert_eq!(
        stale.json()["message"],
        "Operation cannot be fulfilled on pods \"a\": the object has been modified; please apply your changes to the latest version and try again"
    );
    let mut other = newer.json();
    other["metadata"]["uid"] = "another".into();
    assert_eq!(put(&server, &path, other).await.code, 409);
    pod["metadata"]
        .as_object_mut()
        .unwrap()
        .remove("resourceVersion");
    assert_eq!(
        put(&server, &path, pod.clone()).await.code,
        200,
        "without a version anything goes"
    );
    assert_eq!(put(&server, &format!("{PODS}/b"), pod).await.code, 400);
    let missing = json!({"metadata": {"name": "b"}});
    assert_eq!(put(&server, &format!("{PODS}/b"), missing).await.code, 404);
}

#[tokio::test]
async fn custom_resource_is_replaced_only_with_resource_version() {
    let server = server().await;
    let widget = json!({"apiVersion": "demo.example/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 1}});
    assert_eq!(post(&server, WIDGETS, widget.clone()).await.code, 201);
    let answer = put(&server, &format!("{WIDGETS}/w"), widget).await;
    assert_eq!(answer.code, 422);
    assert!(answer.text().contains("must be specified for an update"));
}

#[tokio::test]
async fn write_without_change_keeps_the_resource_version() {
    let server = server().await;
    let pod = post(&server, PODS, json!({"metadata": {"name": "a"}}))
        .await
        .json();
    let before = server.resource_version();
    assert_eq!(
        put(&server, &format!("{PODS}/a"), pod.clone()).await.json(),
        pod
    );
    assert_eq!(
        patch(&server, &format!("{PODS}/a"), "merge", json!({}))
            .await
            .json(),
        pod
    );
    assert_eq!(server.resource_version(), before);
}

#[tokio::test]
async fn generation_counts_changes_of_the_spec() {
    let server = server().await;
    post(
        &server,
        WIDGETS,
        json!({"apiVersion": "demo.example/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 1}}),
    )
    .await;
    let path = format!("{WIDGETS}/w");
    let generation = |answer: Answer| answer.json()["metadata"]["generation"].clone();
    let label = json!({"metadata": {"labels": {"a": "b"}}});
    assert_eq!(generation(patch(&server, &path, "merge", label).await), 1);
    let size = json!({"spec": {"size": 2}});
    assert_eq!(generation(patch(&server, &path, "merge", size).await), 2);
    let status = json!({"status": {"ready": true}});
    assert_eq!(
        generation(patch(&server, &format!("{path}/status"), "merge", status).await),
        2
    );
    let config = server
        .create("configmaps", json!({"metadata": {"name": "c"}, "data": {}}))
        .unwrap();
    assert!(config["metadata"].get("generation").is_none());
}

#[tokio::test]
async fn status_is_written_by_its_subresource_only() {
    let server = server().await;
    let widget = json!({"apiVersion": "demo.example/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 1}, "status": {"ready": true}});
    let created = post(&server, WIDGETS, widget).await.json();
    assert!(created.get("status").is_none(), "a create has no status");
    let path = format!("{WIDGETS}/w");
    let both = json!({"spec": {"size": 2}, "status": {"ready": true}});
    let main = patch(&server, &path, "merge", both.clone()).await.json();
    assert_eq!(
        (&main["spec"]["size"], main.get("status")),
        (&json!(2), None)
    );
    let both =
        json!({"spec": {"size": 3}, "status": {"ready": true}, "metadata": {"labels": {"a": "b"}}});
    let status = patch(&server, &format!("{path}/status"), "merge", both)
        .await
        .json();
    assert_eq!(
        (&status["spec"]["size"], &status["status"]["ready"]),
        (&json!(2), &json!(true))
    );
    assert!(status["metadata"].get("labels").is_none());
    assert_eq!(get(&server, &format!("{path}/status")).await.json(), status);
    assert_eq!(get(&server, &format!("{path}/scale")).await.code, 404);
    server
        .create("configmaps", json!({"metadata": {"name": "c"}}))
        .unwrap();
    let none = "/api/v1/namespaces/default/configmaps/c/status";
    assert_eq!(get(&server, none).await.code, 404);
}

#[tokio::test]
async fn every_type_of_patch_works() {
    let server = server().await;
    let pod =
        json!({"metadata": {"name": "a"}, "spec": {"containers": [{"name": "x", "image": "1"}]}});
    post(&server, PODS, pod).await;
    let path = format!("{PODS}/a");
    let second = json!({"spec": {"containers": [{"name": "y"}]}});
    let patched = patch(&server, &path, "strategic-merge", second)
        .await
        .json();
    assert_eq!(
        patched["spec"]["containers"],
        json!([{"name": "y"}, {"name": "x", "image": "1"}])
    );
    let operations = json!([{"op": "remove", "path": "/spec/containers/0"}]);
    let patched = patch(&server, &path, "json", operations).await.json();
    assert_eq!(
        patched["spec"]["containers"],
        json!([{"name": "x", "image": "1"}])
    );
    let stale = json!({"metadata": {"resourceVersion": "1", "labels": {"a": "b"}}});
    assert_eq!(patch(&server, &path, "merge", stale).await.code, 409);
    let renamed = json!({"metadata": {"name": "b", "uid": null}});
    let kept = patch(&server, &path, "merge", renamed).await.json();
    assert_eq!(
        (
            &kept["metadata"]["name"],
            kept["metadata"]["uid"].is_string()
        ),
        (&json!("a"), true)
    );
    assert_eq!(patch(&server, &path, "unknown", json!({})).await.code, 415);
    assert_eq!(
        patch(&server, &format!("{PODS}/none"), "merge", json!({}))
            .await
            .code,
        404
    );
}

#[tokio::test]
async fn dry_run_answers_and_changes_nothing() {
    let server = server().await;
    let a = post(&server, PODS, json!({"metadata": {"name": "a"}})).await;
    let mut a = a.json();
    let before = server.resource_version();
    let path = format!("{PODS}/a?dryRun=All");

    let b = json!({"metadata": {"name": "b"}});
    let created = post(&server, &format!("{PODS}?dryRun=All"), b).await;
    assert_eq!(created.code, 201);
    let label = json!({"metadata": {"labels": {"a": "b"}}});
    let patched = patch(&server, &path, "merge", label.clone()).await.json();
    assert_eq!(patched["metadata"]["labels"]["a"], "b");
    a["metadata"]["labels"] = label["metadata"]["labels"].clone();
    let replaced = send_json(&server, Method::PUT, &path, a).await.json();
    assert_eq!(replaced["metadata"]["labels"]["a"], "b");
    for path in [&path, &format!("{PODS}?dryRun=All")] {
        assert_eq!(delete(&server, path).await.code, 200);
        let body = json!({"dryRun": ["All"]});
        let path = path.strip_suffix("?dryRun=All").unwrap();
        let answer = send_json(&server, Method::DELETE, path, body).await;
        assert_eq!(answer.code, 200);
    }
    assert_eq!(server.resource_version(), before);
}

/// As kube-apiserver does.
#[tokio::test]
async fn delete_ignores_the_query_beside_a_body() {
    let server = server().await;
    let body = json!({"apiVersion": "v1", "kind": "DeleteOptions"});
    let path = format!("{PODS}/a?dryRun=All&uid=other");
    let collection = format!("{PODS}?dryRun=All");
    for (path, body) in [
        (&path, json!({})),
        (&path, body.clone()),
        (&collection, body),
    ] {
        post(&server, PODS, json!({"metadata": {"name": "a"}})).await;
        let answer = send_json(&server, Method::DELETE, path, body).await;
        assert_eq!(answer.code, 200, "{path}");
        assert!(server.list("pods", "").unwrap().is_empty(), "{path}");
    }
}

#[tokio::test]
async fn unknown_dry_run_directive_is_refused() {
    let server = server().await;
    post(&server, PODS, json!({"metadata": {"name": "a"}})).await;
    let path = format!("{PODS}/a?dryRun=Some");
    let label = json!({"metadata": {"labels": {"a": "b"}}});
    let body = json!({"dryRun": ["All", "Some"]});
    let answers = [
        post(&server, &format!("{PODS}?dryRun=Some"), label.clone()).await,
        patch(&server, &path, "merge", label.clone()).await,
        send_json(&server, Method::PUT, &path, label).await,
        delete(&server, &path).await,
        delete(&server, &format!("{PODS}?dryRun=Some")).await,
        send_json(&server, Method::DELETE, PODS, body).await,
    ];
    for answer in answers {
        let status = answer.json();
        assert_eq!(status["code"], 422);
        assert_eq!(status["details"]["causes"][0]["field"], "dryRun");
    }
    let text = json!({"dryRun": "All"});
    let answer = send_json(&server, Method::DELETE, &format!("{PODS}/a"), text).await;
    assert_eq!(answer.code, 400);
    assert_eq!(server.list("pods", "").unwrap().len(), 1);
}

#[tokio::test]
async fn delete_returns_success_or_the_marked_object() {
    let server = server().await;
    let maps = "/api/v1/namespaces/default/configmaps";
    let created = post(&server, maps, json!({"metadata": {"name": "a"}}))
        .await
        .json();
    let status = delete(&server, &format!("{maps}/a")).await.json();
    assert_eq!(status["status"], "Success");
    assert_eq!(
        status["details"],
        json!({"name": "a", "kind": "configmaps", "uid": created["metadata"]["uid"]})
    );
    assert_eq!(delete(&server, &format!("{maps}/a")).await.code, 404);
    // Of some kinds the object is the answer.
    let pod = post(&server, PODS, json!({"metadata": {"name": "a"}}))
        .await
        .json();
    let deleted = delete(&server, &format!("{PODS}/a")).await.json();
    assert_eq!(deleted["metadata"]["uid"], pod["metadata"]["uid"]);
    assert_eq!(delete(&server, &format!("{PODS}/a")).await.code, 404);
    post(
        &server,
        PODS,
        json!({"metadata": {"name": "b", "finalizers": ["x/y"]}, "spec": {}}),
    )
    .await;
    let marked = delete(&server, &format!("{PODS}/b")).await.json();
    assert!(marked["metadata"]["deletionTimestamp"].is_string());
    assert_eq!(marked["metadata"]["generation"], 2);
    assert_eq!(
        delete(&server, &format!("{PODS}/b")).await.json(),
        marked,
        "marked once"
    );
    let mut watch = Watch::open(
        &server,
        &format!(
            "{PODS}?watch=1&resourceVersion={}",
            server.resource_version()
        ),
    )
    .await;
    let done = json!({"metadata": {"finalizers": null}});
    assert_eq!(
        patch(&server, &format!("{PODS}/b"), "merge", done)
            .await
            .code,
        200
    );
    let deleted = watch.event().await;
    assert_eq!(deleted["type"], "DELETED");
    assert!(deleted["object"]["metadata"]["deletionTimestamp"].is_string());
    assert_eq!(get(&server, &format!("{PODS}/b")).await.code, 404);
}

#[tokio::test]
async fn delete_checks_preconditions() {
    let server = server().await;
    let pod = post(&server, PODS, json!({"metadata": {"name": "a"}}))
        .await
        .json();
    let path = format!("{PODS}/a");
    for preconditions in [json!({"uid": "other"}), json!({"resourceVersion": "1"})] {
        let body = json!({"preconditions": preconditions});
        let answer = send_json(&server, Method::DELETE, &path, body).await;
        assert_eq!(answer.code, 409);
        assert!(answer.text().contains("in the precondition"));
        let body = json!({"preconditions": preconditions});
        let collection = send_json(&server, Method::DELETE, PODS, body).await;
        assert_eq!(collection.code, 409);
    }
    for query in ["uid=other", "resourceVersion=1"] {
        assert_eq!(delete(&server, &format!("{path}?{query}")).await.code, 409);
    }
    let metadata = &pod["metadata"];
    let good = json!({"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]});
    let body = json!({"preconditions": good});
    assert_eq!(
        send_json(&server, Method::DELETE, &path, body).await.code,
        200
    );
}

#[tokio::test]
async fn collection_is_deleted_by_selector() {
    let server = server().await;
    for (name, app) in [("a", "x"), ("b", "y"), ("c", "x")] {
        post(
            &server,
            PODS,
            json!({"metadata": {"name": name, "labels": {"app": app}}}),
        )
        .await;
    }
    let answer = delete(&server, &format!("{PODS}?labelSelector=app%3Dx"))
        .await
        .json();
    assert_eq!(answer["kind"], "PodList");
    assert_eq!(answer["items"].as_array().unwrap().len(), 2);
    let left = server.list("pods", "").unwrap();
    assert_eq!(left.len(), 1);
    assert_eq!(left[0]["metadata"]["name"], "b");
}
