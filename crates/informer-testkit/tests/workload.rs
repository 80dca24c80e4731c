//! The workload: it fills, it changes, it repeats, and it stops.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::collections::BTreeSet;
use std::time::Duration;

use informer_testkit::{ApiServer, Workload};
use serde_json::Value;
use tokio::time::timeout;

use self::common::{PATIENCE, Watch};

#[tokio::test]
async fn pods_are_spread_and_look_real() {
    let server = ApiServer::start().await.unwrap();
    let mut workload = Workload::new().pods(100).namespaces(3).nodes(5).seed(1);
    workload.fill(&server).unwrap();
    let pods = server.list("pods", "").unwrap();
    assert_eq!(pods.len(), 100);
    let distinct = |path: &str| -> BTreeSet<&str> {
        pods.iter()
            .map(|pod| pod.pointer(path).and_then(Value::as_str).unwrap())
            .collect()
    };
    assert_eq!(distinct("/metadata/namespace").len(), 3);
    assert_eq!(distinct("/spec/nodeName").len(), 5);
    assert!(distinct("/metadata/labels/app").len() > 5);
    assert_eq!(
        distinct("/metadata/labels/tier"),
        BTreeSet::from(["backend", "batch", "frontend"])
    );
    assert!(
        pods.iter()
            .all(|pod| pod["metadata"]["ownerReferences"][0]["kind"] == "ReplicaSet")
    );
    assert!(
        pods.iter()
            .all(|pod| pod["metadata"]["managedFields"].is_array())
    );
    let lean = ApiServer::start().await.unwrap();
    Workload::new()
        .pods(1)
        .managed_fields(false)
        .fill(&lean)
        .unwrap();
    assert!(
        lean.list("pods", "").unwrap()[0]["metadata"]
            .get("managedFields")
            .is_none()
    );
}

#[tokio::test]
async fn workload_repeats_its_changes_with_the_same_seed() {
    let run = async |seed| {
        let server = ApiServer::builder().seed(seed).start().await.unwrap();
        let mut workload = Workload::new().pods(30).seed(seed);
        workload.fill(&server).unwrap();
        for _ in 0..80 {
            workload.step(&server).unwrap();
        }
        let pods = server.list("pods", "").unwrap();
        let name = |pod: &Value| {
            (
                pod["metadata"]["name"].clone(),
                pod["metadata"]["resourceVersion"].clone(),
            )
        };
        (
            workload.changes(),
            pods.iter().map(name).collect::<Vec<_>>(),
        )
    };
    let (changes, pods) = run(5).await;
    assert_eq!((changes, pods.clone()), run(5).await);
    assert_ne!(pods, run(6).await.1);
    assert!(changes.updated > changes.deleted && changes.deleted > 0 && changes.created > 30);
    assert_eq!(changes.created - changes.deleted, pods.len() as u64);
}

#[tokio::test]
async fn workload_runs_until_it_is_stopped() {
    let server = ApiServer::start().await.unwrap();
    let mut workload = Workload::new().pods(20);
    workload.fill(&server).unwrap();
    let revision = server.resource_version();
    let mut watch = Watch::open(
        &server,
        &format!("/api/v1/pods?watch=1&resourceVersion={revision}"),
    )
    .await;
    let running = workload.start(&server, 1000.0);
    for _ in 0..50 {
        watch.event().await;
    }
    let changes = timeout(PATIENCE, running.stop()).await.unwrap();
    assert!(changes.updated > 0);
    let stopped = server.resource_version();
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(server.resource_version(), stopped);
}

#[tokio::test]
async fn workload_ignores_a_pod_deleted_by_another() {
    let server = ApiServer::start().await.unwrap();
    let mut workload = Workload::new().pods(5);
    workload.fill(&server).unwrap();
    for pod in server.list("pods", "").unwrap() {
        let text = |field: &str| pod["metadata"][field].as_str().unwrap().to_owned();
        server
            .delete("pods", &text("namespace"), &text("name"))
            .unwrap();
    }
    for _ in 0..50 {
        workload.step(&server).unwrap();
    }
    assert!(!server.list("pods", "").unwrap().is_empty());
}
