//! What the API server itself does on deletion, with no actor beside it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use http::Method;
use informer_testkit::{Actors, ApiServer};
use serde_json::{Value, json};

use self::common::{Answer, Watch, delete, get, patch, post, put, send, send_json};

const PODS: &str = "/api/v1/namespaces/web/pods";
const MAPS: &str = "/api/v1/namespaces/web/configmaps";

async fn server() -> ApiServer {
    let server = ApiServer::builder().actors(Actors::none());
    let server = server.start().await.unwrap();
    let web = json!({"metadata": {"name": "web"}});
    server.create("namespaces", web).unwrap();
    server
}

async fn delete_with(server: &ApiServer, path: &str, options: Value) -> Answer {
    send_json(server, Method::DELETE, path, options).await
}

async fn pod(server: &ApiServer, name: &str, spec: Value) {
    let pod = json!({"metadata": {"name": name}, "spec": spec});
    assert_eq!(post(server, PODS, pod).await.code, 201);
}

/// The seconds from now to the end of a deletion.
fn ahead(object: &Value) -> i64 {
    let end: jiff::Timestamp = object["metadata"]["deletionTimestamp"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    end.as_second() - jiff::Timestamp::now().as_second()
}

#[tokio::test]
async fn scheduled_pod_is_marked_and_stays() {
    let server = server().await;
    let spec = json!({"nodeName": "n", "terminationGracePeriodSeconds": 300});
    pod(&server, "a", spec).await;
    let answer = delete(&server, &format!("{PODS}/a")).await;
    assert_eq!(answer.code, 200);
    let marked = answer.json();
    assert_eq!(marked["kind"], "Pod");
    assert_eq!(marked["metadata"]["deletionGracePeriodSeconds"], 300);
    assert_eq!(marked["metadata"]["generation"], 2);
    assert!((295..=300).contains(&ahead(&marked)));
    let again = delete(&server, &format!("{PODS}/a")).await.json();
    assert_eq!(again, marked, "a deletion that runs is not prolonged");
    let longer = json!({"gracePeriodSeconds": 900});
    let longer = delete_with(&server, &format!("{PODS}/a"), longer).await;
    assert_eq!(longer.json(), marked);
}

#[tokio::test]
async fn running_deletion_is_shortened_and_ended() {
    let server = server().await;
    pod(&server, "a", json!({"nodeName": "n"})).await;
    let path = format!("{PODS}/a");
    let first = delete(&server, &path).await.json();
    assert_eq!(first["metadata"]["deletionGracePeriodSeconds"], 30);
    let shorter = delete_with(&server, &path, json!({"gracePeriodSeconds": 10})).await;
    let shorter = shorter.json();
    assert_eq!(shorter["metadata"]["deletionGracePeriodSeconds"], 10);
    assert_eq!(shorter["metadata"]["generation"], 2);
    assert!((5..=10).contains(&ahead(&shorter)));
    let gone = send(
        &server,
        Method::DELETE,
        &format!("{path}?gracePeriodSeconds=0"),
        &[],
        "",
    )
    .await;
    assert_eq!(gone.json()["kind"], "Pod");
    assert_eq!(get(&server, &path).await.code, 404);
}

#[tokio::test]
async fn pod_in_which_nothing_runs_goes_at_once() {
    let server = server().await;
    pod(&server, "unscheduled", json!({})).await;
    pod(&server, "finished", json!({"nodeName": "n"})).await;
    let status = json!({"status": {"phase": "Succeeded"}});
    server
        .merge_patch("pods", "web", "finished", status)
        .unwrap();
    for name in ["unscheduled", "finished"] {
        let path = format!("{PODS}/{name}");
        let last = delete_with(&server, &path, json!({"gracePeriodSeconds": 20}))
            .await
            .json();
        assert_eq!(last["metadata"]["deletionGracePeriodSeconds"], 0);
        assert_eq!(get(&server, &path).await.code, 404, "{name}");
    }
}

#[tokio::test]
async fn finalizer_holds_a_pod_that_has_ended_and_no_longer() {
    let server = server().await;
    let object =
        json!({"metadata": {"name": "a", "finalizers": ["x/y"]}, "spec": {"nodeName": "n"}});
    post(&server, PODS, object).await;
    let path = format!("{PODS}/a");
    delete(&server, &path).await;
    let none = json!({"metadata": {"finalizers": null}});
    let free = patch(&server, &path, "merge", none).await.json();
    assert_eq!(free["metadata"]["deletionGracePeriodSeconds"], 30);
    assert_eq!(get(&server, &path).await.code, 200, "its grace still runs");
    delete_with(&server, &path, json!({"gracePeriodSeconds": 0})).await;
    assert_eq!(get(&server, &path).await.code, 404);
}

#[tokio::test]
async fn policies_leave_the_finalizers_of_the_collector() {
    let server = server().await;
    let cases = [
        (
            "f",
            json!({"propagationPolicy": "Foreground"}),
            Some("foregroundDeletion"),
            200,
        ),
        (
            "o",
            json!({"propagationPolicy": "Orphan"}),
            Some("orphan"),
            200,
        ),
        ("d", json!({"orphanDependents": true}), Some("orphan"), 200),
        ("b", json!({"propagationPolicy": "Background"}), None, 200),
        ("n", json!({}), None, 200),
    ];
    for (name, options, finalizer, code) in cases {
        post(&server, MAPS, json!({"metadata": {"name": name}})).await;
        let path = format!("{MAPS}/{name}");
        let answer = delete_with(&server, &path, options).await;
        assert_eq!(answer.code, code, "{name}");
        let left = get(&server, &path).await;
        match finalizer {
            None => assert_eq!(left.code, 404, "{name}"),
            Some(finalizer) => {
                assert_eq!(left.json()["metadata"]["finalizers"], json!([finalizer]));
                assert_eq!(left.json()["metadata"]["deletionGracePeriodSeconds"], 0);
            }
        }
    }
    // The last wish counts, also while the object is being deleted.
    let path = format!("{MAPS}/f");
    delete_with(&server, &path, json!({"propagationPolicy": "Background"})).await;
    assert_eq!(get(&server, &path).await.code, 404);
}

#[tokio::test]
async fn some_kinds_orphan_by_default_and_old_options_say_202() {
    let server = server().await;
    let jobs = "/apis/batch/v1/namespaces/web/jobs";
    post(&server, jobs, json!({"metadata": {"name": "j"}})).await;
    let marked = delete(&server, &format!("{jobs}/j")).await.json();
    assert_eq!(marked["metadata"]["finalizers"], json!(["orphan"]));
    let held = json!({"metadata": {"name": "h", "finalizers": ["x/y"]}});
    post(&server, MAPS, held).await;
    let path = format!("{MAPS}/h");
    let answer = delete_with(&server, &path, json!({"orphanDependents": false})).await;
    assert_eq!(answer.code, 202);
    let both = json!({"orphanDependents": false, "propagationPolicy": "Orphan"});
    assert_eq!(delete_with(&server, &path, both).await.code, 422);
}

#[tokio::test]
async fn dry_run_of_a_graceful_deletion_shows_it_and_changes_nothing() {
    let server = server().await;
    pod(&server, "a", json!({"nodeName": "n"})).await;
    let path = format!("{PODS}/a");
    let before = get(&server, &path).await.json();
    let options = json!({"dryRun": ["All"], "propagationPolicy": "Foreground"});
    let shown = delete_with(&server, &path, options).await.json();
    assert_eq!(shown["metadata"]["deletionGracePeriodSeconds"], 30);
    assert_eq!(
        shown["metadata"]["finalizers"],
        json!(["foregroundDeletion"])
    );
    assert_eq!(get(&server, &path).await.json(), before);
}

#[tokio::test]
async fn each_step_of_a_pods_end_is_an_event() {
    let server = server().await;
    pod(&server, "a", json!({"nodeName": "n"})).await;
    let version = server.resource_version();
    let mut watch = Watch::open(
        &server,
        &format!("{PODS}?watch=1&resourceVersion={version}"),
    )
    .await;
    let path = format!("{PODS}/a");
    delete(&server, &path).await;
    delete_with(&server, &path, json!({"gracePeriodSeconds": 0})).await;
    let mut seen = Vec::new();
    for _ in 0..3 {
        let event = watch.event().await;
        let grace = event["object"]["metadata"]["deletionGracePeriodSeconds"].clone();
        seen.push((event["type"].as_str().unwrap().to_owned(), grace));
    }
    let expected = [("MODIFIED", 30), ("MODIFIED", 0), ("DELETED", 0)];
    assert_eq!(
        seen,
        expected.map(|(kind, grace)| (kind.to_owned(), json!(grace)))
    );
}

#[tokio::test]
async fn namespace_ends_in_two_steps_and_takes_nothing_new() {
    let server = server().await;
    let path = "/api/v1/namespaces/web";
    let made = get(&server, path).await.json();
    assert_eq!(made["spec"]["finalizers"], json!(["kubernetes"]));
    let free = json!({"spec": {"finalizers": []}});
    let kept = patch(&server, path, "merge", free).await.json();
    assert_eq!(
        kept["spec"]["finalizers"],
        json!(["kubernetes"]),
        "only /finalize frees it"
    );

    let marked = delete(&server, path).await.json();
    assert_eq!(marked["status"]["phase"], "Terminating");
    assert!(marked["metadata"]["deletionGracePeriodSeconds"].is_null());
    let refused = post(&server, MAPS, json!({"metadata": {"name": "c"}})).await;
    assert_eq!(refused.code, 403);
    assert_eq!(
        refused.json(),
        json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": "Forbidden", "code": 403,
            "message": "configmaps \"c\" is forbidden: unable to create new content in namespace web because it is being terminated",
            "details": {"name": "c", "kind": "configmaps", "causes": [{
                "reason": "NamespaceTerminating", "message": "namespace web is being terminated", "field": "metadata.namespace",
            }]},
        })
    );
    assert_eq!(
        delete(&server, path).await.json()["status"]["phase"],
        "Terminating"
    );

    let mut last = get(&server, path).await.json();
    last["spec"]["finalizers"] = json!([]);
    assert_eq!(get(&server, &format!("{path}/finalize")).await.code, 405);
    assert_eq!(
        put(&server, &format!("{path}/finalize"), last).await.code,
        200
    );
    assert_eq!(get(&server, path).await.code, 404);
}

#[tokio::test]
async fn namespace_of_the_cluster_itself_stays() {
    let server = server().await;
    for name in ["default", "kube-system", "kube-public"] {
        let answer = delete(&server, &format!("/api/v1/namespaces/{name}")).await;
        assert_eq!(answer.code, 403);
        let message =
            format!("namespaces \"{name}\" is forbidden: this namespace may not be deleted");
        assert_eq!(answer.json()["message"], *message);
    }
}
