//! The actors: what becomes of deleted namespaces, of pods, and of objects without owners.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::time::Duration;

use http::Method;
use informer_testkit::{Actors, ApiServer};
use serde_json::{Value, json};

use self::common::{Watch, delete, get, post, send_json};

const PODS: &str = "/api/v1/namespaces/default/pods";

/// An object in `default`, owned by others.
fn owned(name: &str, owners: &[&Value]) -> Value {
    let references: Vec<Value> = owners.iter().map(|owner| reference(owner)).collect();
    json!({"metadata": {"name": name, "ownerReferences": references}})
}

fn reference(owner: &Value) -> Value {
    json!({
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "blockOwnerDeletion": true,
    })
}

fn map(server: &ApiServer, name: &str, owners: &[&Value]) -> Value {
    server.create("configmaps", owned(name, owners)).unwrap()
}

fn names(server: &ApiServer) -> Vec<String> {
    let maps = server.list("configmaps", "default").unwrap();
    let name = |map: &Value| map["metadata"]["name"].as_str().unwrap().to_owned();
    maps.iter().map(name).collect()
}

async fn delete_as(server: &ApiServer, name: &str, policy: &str) -> Value {
    let path = format!("/api/v1/namespaces/default/configmaps/{name}");
    let options = json!({"propagationPolicy": policy});
    send_json(server, Method::DELETE, &path, options)
        .await
        .json()
}

async fn collected() -> ApiServer {
    let actors = Actors::default().collect_garbage(Duration::ZERO);
    ApiServer::builder().actors(actors).start().await.unwrap()
}

#[tokio::test]
async fn by_default_deleted_pods_end_and_owners_mean_nothing() {
    let server = ApiServer::start().await.unwrap();
    let pod = json!({"metadata": {"name": "a"}, "spec": {"nodeName": "n"}});
    post(&server, PODS, pod).await;
    let marked = delete(&server, &format!("{PODS}/a")).await.json();
    assert_eq!(marked["metadata"]["deletionGracePeriodSeconds"], 30);
    assert_eq!(get(&server, &format!("{PODS}/a")).await.code, 404);
    let absent =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "no", "uid": "no"}});
    map(&server, "b", &[&absent]);
    assert_eq!(names(&server), ["b"]);
}

#[tokio::test]
async fn background_deletion_takes_all_that_is_owned_by_nobody_else() {
    let server = collected().await;
    let (one, two) = (map(&server, "one", &[]), map(&server, "two", &[]));
    let child = map(&server, "child", &[&one]);
    map(&server, "grandchild", &[&child]);
    map(&server, "shared", &[&one, &two]);
    delete_as(&server, "one", "Background").await;
    assert_eq!(names(&server), ["shared", "two"]);
    let shared = server.get("configmaps", "default", "shared").unwrap();
    assert_eq!(
        shared["metadata"]["ownerReferences"],
        json!([reference(&two)])
    );
}

#[tokio::test]
async fn foreground_deletion_waits_for_the_dependents_that_block() {
    let server = collected().await;
    let owner = map(&server, "owner", &[]);
    let mut child = owned("child", &[&owner]);
    child["metadata"]["finalizers"] = json!(["x/y"]);
    server.create("configmaps", child).unwrap();
    let marked = delete_as(&server, "owner", "Foreground").await;
    assert_eq!(
        marked["metadata"]["finalizers"],
        json!(["foregroundDeletion"])
    );
    assert_eq!(names(&server), ["child", "owner"]);
    let child = server.get("configmaps", "default", "child").unwrap();
    assert!(child["metadata"]["deletionTimestamp"].is_string());
    let free = json!({"metadata": {"finalizers": null}});
    server
        .merge_patch("configmaps", "default", "child", free)
        .unwrap();
    assert!(names(&server).is_empty());
}

#[tokio::test]
async fn orphaned_dependents_stay_without_their_owner() {
    let server = collected().await;
    let owner = map(&server, "owner", &[]);
    map(&server, "child", &[&owner]);
    delete_as(&server, "owner", "Orphan").await;
    assert_eq!(names(&server), ["child"]);
    let child = server.get("configmaps", "default", "child").unwrap();
    assert!(child["metadata"]["ownerReferences"].is_null());
}

#[tokio::test]
async fn owner_is_who_has_the_uid_where_the_reference_says() {
    let server = collected().await;
    let owner = map(&server, "owner", &[]);
    let mut successor = owner.clone();
    successor["metadata"]["uid"] = "another".into();
    map(&server, "of-a-predecessor", &[&successor]);
    let elsewhere = json!({"metadata": {"namespace": "other", "name": "elsewhere"}});
    let elsewhere = server.create("configmaps", elsewhere).unwrap();
    map(&server, "of-another-namespace", &[&elsewhere]);
    assert_eq!(names(&server), ["owner"]);
    // These cannot be looked up, so nothing is done.
    let unknown = json!({"apiVersion": "no.example/v1", "kind": "No", "metadata": {"name": "no", "uid": "no"}});
    map(&server, "of-an-unknown-kind", &[&unknown]);
    server
        .create("clusterroles", owned("cluster-scoped", &[&owner]))
        .unwrap();
    server.delete("configmaps", "default", "owner").unwrap();
    assert_eq!(names(&server), ["of-an-unknown-kind"]);
    assert!(server.get("clusterroles", "", "cluster-scoped").is_ok());
}

#[tokio::test]
async fn owners_in_a_circle_end_together_in_the_foreground() {
    let server = collected().await;
    let a = map(&server, "a", &[]);
    let b = map(&server, "b", &[&a]);
    let c = map(&server, "c", &[&b]);
    let circle = json!({"metadata": {"ownerReferences": [reference(&c)]}});
    server
        .merge_patch("configmaps", "default", "a", circle)
        .unwrap();
    delete_as(&server, "a", "Foreground").await;
    assert!(names(&server).is_empty(), "{:?}", names(&server));
}

#[tokio::test]
async fn namespace_waits_for_its_pods_then_for_finalizers_and_says_so() {
    let server = ApiServer::builder();
    let server = server
        .actors(Actors::none().empty_namespaces())
        .start()
        .await
        .unwrap();
    let in_web = |name: &str, more: Value| {
        let mut object = more;
        object["metadata"]["namespace"] = "web".into();
        object["metadata"]["name"] = name.into();
        object
    };
    let pod = in_web("p", json!({"spec": {"nodeName": "n"}}));
    server.create("pods", pod).unwrap();
    let held = in_web("held", json!({"metadata": {"finalizers": ["x/y"]}}));
    server.create("configmaps", held).unwrap();
    server.create("secrets", in_web("s", json!({}))).unwrap();
    delete(&server, "/api/v1/namespaces/web").await;
    assert!(server.get("secrets", "web", "s").is_ok(), "pods go first");
    server.delete("pods", "web", "p").unwrap();
    assert!(server.get("secrets", "web", "s").is_err());
    let web = server.get("namespaces", "", "web").unwrap();
    let messages: Vec<_> = web["status"]["conditions"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|condition| condition["status"] == "True")
        .map(|condition| condition["message"].as_str().unwrap())
        .collect();
    assert_eq!(
        messages,
        [
            "Some resources are remaining: configmaps. has 1 resource instances",
            "Some content in the namespace has finalizers remaining: x/y in 1 resource instances",
        ]
    );
    let free = json!({"metadata": {"finalizers": null}});
    server
        .merge_patch("configmaps", "web", "held", free)
        .unwrap();
    assert!(server.get("namespaces", "", "web").is_err());
}

#[tokio::test]
async fn pod_gets_a_node_runs_and_is_ready() {
    let server = ApiServer::builder()
        .actors(Actors::all())
        .start()
        .await
        .unwrap();
    let cordoned = json!({"metadata": {"name": "a"}, "spec": {"unschedulable": true}});
    server.create("nodes", cordoned).unwrap();
    server
        .create("nodes", json!({"metadata": {"name": "b"}}))
        .unwrap();
    let version = server.resource_version();
    let mut watch = Watch::open(
        &server,
        &format!("{PODS}?watch=1&resourceVersion={version}"),
    )
    .await;
    let spec = json!({"containers": [{"name": "c", "image": "i"}], "initContainers": [{"name": "i", "image": "i"}]});
    post(
        &server,
        PODS,
        json!({"metadata": {"name": "p"}, "spec": spec}),
    )
    .await;
    let mut seen = Vec::new();
    for _ in 0..3 {
        let pod = watch.event().await["object"].clone();
        seen.push((
            pod["spec"]["nodeName"].clone(),
            pod["status"]["phase"].clone(),
        ));
    }
    let expected = [
        (json!(null), "Pending"),
        (json!("b"), "Pending"),
        (json!("b"), "Running"),
    ];
    assert_eq!(seen, expected.map(|(node, phase)| (node, json!(phase))));
    let pod = server.get("pods", "default", "p").unwrap();
    assert_eq!(pod["metadata"]["generation"], 1);
    let conditions = pod["status"]["conditions"].as_array().unwrap();
    assert_eq!(conditions.len(), 5);
    assert!(
        conditions
            .iter()
            .all(|condition| condition["status"] == "True")
    );
    assert_eq!(pod["status"]["containerStatuses"][0]["ready"], true);
    assert_eq!(
        pod["status"]["initContainerStatuses"][0]["state"]["terminated"]["exitCode"],
        0
    );
}

#[tokio::test]
async fn pod_of_another_scheduler_or_with_gates_stays_pending_until_they_are_gone() {
    let server = ApiServer::builder()
        .actors(Actors::all())
        .start()
        .await
        .unwrap();
    let gated =
        json!({"metadata": {"name": "gated"}, "spec": {"schedulingGates": [{"name": "x"}]}});
    server.create("pods", gated).unwrap();
    let other = json!({"metadata": {"name": "other"}, "spec": {"schedulerName": "mine"}});
    server.create("pods", other).unwrap();
    let phase =
        |name: &str| server.get("pods", "default", name).unwrap()["status"]["phase"].clone();
    assert_eq!(
        (phase("gated"), phase("other")),
        (json!("Pending"), json!("Pending"))
    );
    let open = json!({"spec": {"schedulingGates": null}});
    server
        .merge_patch("pods", "default", "gated", open)
        .unwrap();
    let bound = json!({"spec": {"nodeName": "n"}});
    server
        .merge_patch("pods", "default", "other", bound)
        .unwrap();
    assert_eq!(
        (phase("gated"), phase("other")),
        (json!("Running"), json!("Running"))
    );
}

/// Delays, without a socket and with tokio's clock paused.
#[tokio::test(start_paused = true)]
async fn delays_are_those_of_tokios_clock() {
    let actors = Actors::none()
        .collect_garbage(Duration::from_secs(5))
        .start_pods(Duration::from_secs(3));
    let server = ApiServer::builder().actors(actors).in_memory();
    let owner = map(&server, "owner", &[]);
    map(&server, "child", &[&owner]);
    server
        .create("pods", json!({"metadata": {"name": "p"}}))
        .unwrap();
    server.delete("configmaps", "default", "owner").unwrap();
    let phase = || server.get("pods", "default", "p").unwrap()["status"]["phase"].clone();
    tokio::time::sleep(Duration::from_millis(2_900)).await;
    assert_eq!(phase(), "Pending");
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(phase(), "Running");
    assert_eq!(names(&server), ["child"]);
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(names(&server).is_empty());
}

/// The grace period of a pod, or less.
#[tokio::test(start_paused = true)]
async fn pod_ends_after_its_grace_or_the_longest_there_is() {
    let actors = Actors::none().end_pods(Duration::from_secs(60));
    let server = ApiServer::builder().actors(actors).in_memory();
    let make = |name: &str, grace: u64| {
        let spec = json!({"nodeName": "n", "terminationGracePeriodSeconds": grace});
        let pod = json!({"metadata": {"name": name}, "spec": spec});
        server.create("pods", pod).unwrap();
        server.with_cluster(|cluster| {
            use informer_testkit::model::{Part, WriteOptions};
            let pods = cluster.resource("pods").unwrap();
            let options = WriteOptions::at(jiff::Timestamp::now()).part(Part::Main);
            let how = informer_testkit::DeleteOptions::default();
            cluster
                .delete(&pods, "default", name, &how, &options)
                .unwrap();
        });
    };
    make("short", 10);
    make("long", 600);
    let left = || {
        let pods = server.list("pods", "default").unwrap();
        pods.len()
    };
    for (seconds, pods) in [(9, 2), (2, 1), (48, 1), (2, 0)] {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        assert_eq!(left(), pods, "after {seconds} more seconds");
    }
}
