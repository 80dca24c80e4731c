//! What the write log of a client receives.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::sync::Arc;

use informer_client::{Api, Client, DeleteOptions, Patch, Write};
use informer_wire::Status;
use k8s_openapi::api::core::v1::{Namespace, Pod};
use parking_lot::Mutex;
use serde_json::{Value, json};
use support::{Reply, Server};

const AT: &str = "2030-01-01T00:00:00Z";

fn pod(more: Value) -> Value {
    let mut meta = json!({"name": "a", "namespace": "shop", "uid": "u", "resourceVersion": "7"});
    let more = more.as_object().unwrap().clone();
    meta.as_object_mut().unwrap().extend(more);
    json!({"kind": "Pod", "apiVersion": "v1", "metadata": meta})
}

fn status(meta: Value) -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "metadata": meta, "status": "Success", "details": {"uid": "u"}})
}

type Log = Arc<Mutex<Vec<Write>>>;

/// A server that answers this, and a client of it with a log.
async fn answering(answer: &Value) -> (Server, Client, Log) {
    let text = answer.to_string();
    let server = Server::start(move |_| Reply::json(&text)).await;
    let log = Log::default();
    let sink = Arc::clone(&log);
    let client = Client::anonymous(&server.url()).unwrap();
    let client = client.with_write_log(move |write: Write| sink.lock().push(write));
    (server, client, log)
}

// INV-CLIENT-19
#[tokio::test]
async fn each_write_is_in_the_log_with_its_version() {
    let (server, client, log) = answering(&pod(json!({}))).await;
    let api = Api::<Pod>::namespaced(client, "shop");
    let (body, merge) = (pod(json!({})), Patch::Merge(json!({})));
    api.create(&body).await.unwrap();
    api.replace("a", &body).await.unwrap();
    api.patch("a", &merge).await.unwrap();
    api.clone()
        .subresource("status")
        .patch("a", &merge)
        .await
        .unwrap();
    let scale = api.clone().subresource("scale");
    scale
        .create_subresource::<_, Value>("a", &body)
        .await
        .unwrap();
    assert_eq!(log.lock().len(), 5);
    for write in log.lock().iter() {
        assert_eq!(
            (&*write.name, write.namespace.as_deref()),
            ("a", Some("shop"))
        );
        assert_eq!((write.uid.as_deref(), write.is_deleted), (Some("u"), false));
        assert_eq!(write.resource_version.as_deref(), Some("7"));
        assert_eq!(write.resource.plural, "pods");
    }
    api.get("a").await.unwrap();
    let dry = api.clone().dry_run(true);
    dry.create(&body).await.unwrap();
    dry.patch("a", &merge).await.unwrap();
    dry.delete("a", &DeleteOptions::default()).await.unwrap();
    api.delete("a", &DeleteOptions::default().dry_run(true))
        .await
        .unwrap();
    assert_eq!(log.lock().len(), 5, "neither reads nor dry runs");
    drop(server);
}

// INV-CLIENT-19
#[tokio::test]
async fn deletions_are_told_from_what_waits_for_finalizers() {
    for (is_delete, more, is_deleted) in [
        (false, json!({}), false),
        (true, json!({}), true),
        (
            true,
            json!({"deletionTimestamp": AT, "deletionGracePeriodSeconds": 30}),
            false,
        ),
        (
            true,
            json!({"deletionTimestamp": AT, "deletionGracePeriodSeconds": 0}),
            true,
        ),
        (
            true,
            json!({"deletionTimestamp": AT, "finalizers": ["x/y"]}),
            false,
        ),
        // The last finalizer was removed.
        (
            false,
            json!({"deletionTimestamp": AT, "finalizers": []}),
            true,
        ),
    ] {
        let (_server, client, log) = answering(&pod(more.clone())).await;
        let api = Api::<Pod>::namespaced(client, "shop");
        if is_delete {
            api.delete("a", &DeleteOptions::default()).await.unwrap();
        } else {
            api.patch("a", &Patch::Merge(json!({}))).await.unwrap();
        }
        let log = log.lock();
        assert_eq!((log.len(), log[0].is_deleted), (1, is_deleted), "{more}");
    }
    // It has finalizers in its spec, and is emptied first.
    let (_server, client, log) = answering(&pod(json!({"deletionTimestamp": AT}))).await;
    let api = Api::<Namespace>::cluster(client);
    let _ = api.delete("a", &DeleteOptions::default()).await;
    assert!(!log.lock()[0].is_deleted);
}

// INV-CLIENT-19: the version is there since Kubernetes 1.38.
#[tokio::test]
async fn status_of_a_delete_is_a_deletion_with_or_without_version() {
    for (meta, version) in [
        (json!({}), None),
        (json!({"resourceVersion": "7"}), Some("7")),
    ] {
        let (_server, client, log) = answering(&status(meta)).await;
        let api = Api::<Pod>::namespaced(client, "shop");
        api.delete("a", &DeleteOptions::default()).await.unwrap();
        let write = log.lock()[0].clone();
        assert_eq!(
            (&*write.name, write.namespace.as_deref()),
            ("a", Some("shop"))
        );
        assert_eq!((write.uid.as_deref(), write.is_deleted), (Some("u"), true));
        assert_eq!(write.resource_version.as_deref(), version);
    }
}

#[tokio::test]
async fn response_without_a_stored_object_is_no_write() {
    let token = json!({"kind": "TokenRequest", "metadata": {"name": "a"}});
    for answer in [token, status(json!({}))] {
        let (_server, client, log) = answering(&answer).await;
        let api = Api::<Pod>::namespaced(client, "shop").subresource("eviction");
        api.create_subresource::<_, Value>("a", &json!({}))
            .await
            .unwrap();
        assert_eq!(log.lock().len(), 0, "{answer}");
    }
    let text = serde_json::to_string(&Status::failure(409, "Conflict", "no")).unwrap();
    let server = Server::start(move |_| {
        Reply::new("409 Conflict", "Content-Type: application/json\r\n", &text)
    })
    .await;
    let log = Log::default();
    let sink = Arc::clone(&log);
    let client = Client::anonymous(&server.url()).unwrap();
    let client = client.with_write_log(move |write: Write| sink.lock().push(write));
    Api::<Pod>::namespaced(client, "shop")
        .create(&pod(json!({})))
        .await
        .unwrap_err();
    assert_eq!(log.lock().len(), 0);
}
