//! What tests of users need beside requests: typed objects, waits, rights, held requests, code between requests.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use informer_client::{Api, Client, Patch};
use informer_testkit::{ApiServer, RecordedBodies, RequestMatcher, Verb, eventually};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use serde_json::json;
use tokio::time::sleep;

const SECOND: Duration = Duration::from_secs(1);

fn server() -> Arc<ApiServer> {
    Arc::new(ApiServer::builder().seed(1).in_memory())
}

fn maps(server: &ApiServer, client: &str) -> Api<ConfigMap> {
    let client = Client::from_service::<_, Full<Bytes>, _>(server.service_as(client));
    Api::namespaced(client, "default")
}

fn map(name: &str) -> ConfigMap {
    let mut map = ConfigMap::default();
    map.metadata.name = Some(name.to_owned());
    map
}

fn with_data(mut map: ConfigMap, value: &str) -> ConfigMap {
    map.data = Some([("key".to_owned(), value.to_owned())].into());
    map
}

fn exists(server: &ApiServer, name: &str) -> bool {
    server.objects::<ConfigMap>().get("default", name).is_ok()
}

#[test]
fn typed_objects_are_those_of_json() {
    let server = server();
    let maps = server.objects::<ConfigMap>();
    let made = maps.create(&map("a")).unwrap();
    assert_eq!(made.metadata.namespace.as_deref(), Some("default"));
    let changed = maps.update(&with_data(made.clone(), "1")).unwrap();
    assert_eq!(maps.get("default", "a").unwrap(), changed);
    assert_eq!(maps.list("").unwrap(), [changed]);
    assert!(
        maps.update(&with_data(made, "2"))
            .unwrap_err()
            .is_conflict()
    );
    assert!(maps.create(&map("a")).unwrap_err().is_already_exists());
    assert!(maps.get("default", "b").unwrap_err().is_not_found());
    let json = server.get("configmaps", "default", "a").unwrap();
    assert_eq!(json["data"]["key"], "1");
}

#[tokio::test(start_paused = true)]
async fn until_returns_the_object_or_says_what_it_saw_last() {
    let server = server();
    let writer = Arc::clone(&server);
    let writing = tokio::spawn(async move {
        sleep(SECOND).await;
        writer.objects().create(&with_data(map("a"), "1")).unwrap();
        sleep(SECOND).await;
        let two = json!({"data": {"key": "2"}});
        writer
            .merge_patch("configmaps", "default", "a", two)
            .unwrap();
    });
    let maps = server.objects::<ConfigMap>();
    let is = |value: &'static str| {
        move |map: &ConfigMap| map.data.as_ref().is_some_and(|data| data["key"] == value)
    };
    let none = maps
        .until("default", "a", SECOND / 2, is("2"))
        .await
        .unwrap_err();
    assert!(
        none.to_string().contains("configmaps \"a\" not found"),
        "{none}"
    );
    let one = maps
        .until("default", "a", SECOND, is("2"))
        .await
        .unwrap_err();
    assert!(one.last_seen().contains(r#""data":{"key":"1"}"#), "{one}");
    let two = maps.until("default", "a", SECOND, is("2")).await.unwrap();
    assert!(is("2")(&two));
    writing.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn eventually_returns_the_first_success_or_the_last_error() {
    let mut checks = 0;
    let found = eventually(SECOND, async || {
        checks += 1;
        if checks < 5 {
            Err(format!("{checks} checks"))
        } else {
            Ok(checks)
        }
    });
    assert_eq!(found.await, Ok(5));
    let never = eventually(SECOND, async || Err::<(), _>("no pods"))
        .await
        .unwrap_err();
    assert_eq!(format!("{never:?}"), "not within 1s; last seen: no pods");
    let hangs = async || std::future::pending::<Result<(), &str>>().await;
    assert!(
        eventually(SECOND, hangs)
            .await
            .unwrap_err()
            .last_seen()
            .contains("did not end")
    );
}

#[tokio::test(start_paused = true)]
async fn bodies_are_recorded_by_choice() {
    for (bodies, of_map, of_secret) in [
        (RecordedBodies::None, false, false),
        (RecordedBodies::WithoutSecrets, true, false),
        (RecordedBodies::All, true, true),
    ] {
        let server = ApiServer::builder().recorded_bodies(bodies).in_memory();
        maps(&server, "")
            .create(&with_data(map("a"), "1"))
            .await
            .unwrap();
        let client = Client::from_service::<_, Full<Bytes>, _>(server.service());
        let mut secret = Secret::default();
        secret.metadata.name = Some("s".to_owned());
        Api::<Secret>::namespaced(client, "default")
            .create(&secret)
            .await
            .unwrap();
        let bodies: Vec<_> = server.requests().iter().map(|r| r.json()).collect();
        assert_eq!(
            bodies[0].as_ref().is_some_and(|b| b["data"]["key"] == "1"),
            of_map
        );
        assert_eq!(bodies[1].is_some(), of_secret);
    }
}

#[tokio::test(start_paused = true)]
async fn forbidden_requests_are_refused_in_the_words_of_rbac() {
    let server = server();
    let maps = maps(&server, "operator-0");
    maps.create(&map("a")).await.unwrap();
    server.forbid(Verb::Create, "configmaps");
    server.forbid(Verb::Patch, "configmaps");
    let refused = |error: informer_client::Error| {
        assert!(error.is_forbidden());
        error.status().map(|status| status.message.clone()).unwrap()
    };
    assert_eq!(
        refused(maps.create(&map("b")).await.unwrap_err()),
        "configmaps is forbidden: User \"operator-0\" cannot create resource \"configmaps\" in API group \"\" \
         in the namespace \"default\""
    );
    let patch = Patch::Merge(json!({"data": {}}));
    assert_eq!(
        refused(maps.patch("a", &patch).await.unwrap_err()),
        "configmaps \"a\" is forbidden: User \"operator-0\" cannot patch resource \"configmaps\" in API group \"\" \
         in the namespace \"default\""
    );
    // Reads are allowed, and what is not a request.
    maps.get("a").await.unwrap();
    server
        .create("configmaps", json!({"metadata": {"name": "c"}}))
        .unwrap();
    server.allow(Verb::Patch, "configmaps");
    maps.patch("a", &patch).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn right_to_a_resource_is_none_to_its_status() {
    let server = server();
    server
        .create("nodes", json!({"metadata": {"name": "n"}}))
        .unwrap();
    let client = Client::from_service::<_, Full<Bytes>, _>(server.service());
    let nodes = Api::<k8s_openapi::api::core::v1::Node>::cluster(client);
    let patch = Patch::Merge(json!({"status": {"phase": "Running"}}));
    server.forbid(Verb::Patch, "nodes/status");
    nodes.patch("n", &patch).await.unwrap();
    let error = nodes
        .subresource("status")
        .patch("n", &patch)
        .await
        .unwrap_err();
    let message = &error.status().unwrap().message;
    assert_eq!(
        *message,
        "nodes \"n\" is forbidden: User \"system:anonymous\" cannot patch resource \"nodes/status\" in API group \"\" \
         at the cluster scope"
    );
}

#[tokio::test(start_paused = true)]
async fn held_request_waits_until_it_is_released() {
    let server = server();
    let creates = RequestMatcher::verb(Verb::Create).resource("configmaps");
    let mut held = server.hold_next(creates.clone());
    let maps = maps(&server, "");
    let create = |name: &'static str| {
        let maps = maps.clone();
        tokio::spawn(async move { maps.create(&map(name)).await.map(drop) })
    };
    let a = create("a");
    assert_eq!(held.received().await.verb, Verb::Create);
    // Others are not held.
    create("b").await.unwrap().unwrap();
    sleep(SECOND).await;
    assert!(!exists(&server, "a") && !a.is_finished());
    held.release();
    a.await.unwrap().unwrap();
    assert!(exists(&server, "a"));

    // A request that is given up is not carried out.
    let mut held = server.hold_next(creates);
    let c = create("c");
    held.received().await;
    c.abort();
    assert!(c.await.unwrap_err().is_cancelled());
    held.release();
    sleep(SECOND).await;
    assert!(!exists(&server, "c"));
}

#[tokio::test(start_paused = true)]
async fn code_before_a_request_comes_between_read_and_write() {
    let server = server();
    let operator = maps(&server, "operator-0");
    let read = operator.create(&map("a")).await.unwrap();
    let other = Arc::clone(&server);
    let updates = RequestMatcher::verb(Verb::Update).client("operator-0");
    server.before_next(updates, async move |request| {
        let change = Patch::Merge(json!({"data": {"key": "other"}}));
        maps(&other, "other")
            .patch(&request.name, &change)
            .await
            .unwrap();
    });
    let changed = with_data(read, "own");
    assert!(
        operator
            .replace("a", &changed)
            .await
            .unwrap_err()
            .is_conflict()
    );
    let read = operator.get("a").await.unwrap();
    assert_eq!(read.data.as_ref().unwrap()["key"], "other");
    operator
        .replace("a", &with_data(read, "own"))
        .await
        .unwrap();
}

#[tokio::test]
async fn code_runs_before_each_request_over_sockets_too() {
    let server = Arc::new(ApiServer::start().await.unwrap());
    server
        .create("configmaps", json!({"metadata": {"name": "a"}}))
        .unwrap();
    let other = Arc::clone(&server);
    let gets = RequestMatcher::verb(Verb::Get).resource("configmaps");
    server.before_each(gets, move |request| {
        let version = other.resource_version().to_string();
        let other = Arc::clone(&other);
        async move {
            let change = json!({"data": {"key": version}});
            other
                .merge_patch("configmaps", "default", &request.name, change)
                .unwrap();
        }
    });
    for _ in 0..3 {
        let before = server.resource_version().to_string();
        let path = "/api/v1/namespaces/default/configmaps/a";
        let answer = common::get(&server, path).await;
        assert_eq!(answer.json()["data"]["key"], before);
    }
}

#[tokio::test(start_paused = true)]
async fn held_requests_end_with_the_server() {
    let server = ApiServer::builder().in_memory();
    let mut held = server.hold_next(RequestMatcher::verb(Verb::Create));
    let maps = maps(&server, "");
    let creating = tokio::spawn(async move { maps.create(&map("a")).await.map(drop) });
    held.received().await;
    let cluster = server.shutdown().await;
    assert!(creating.await.unwrap().is_err());
    let server = ApiServer::builder().cluster(cluster).in_memory();
    assert!(!exists(&server, "a"));
}
