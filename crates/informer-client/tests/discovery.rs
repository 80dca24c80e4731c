//! Discovery: asked for once, in either form, and again for what is new.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use http_body_util::Full;
use informer_client::http::{Request, Response};
use informer_client::{Client, Error};
use informer_testkit::{ApiServer, ResourceType};
use support::{Reply, Server};

const AGGREGATED: &str =
    "Content-Type: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList\r\n";

fn aggregated(body: &str) -> Reply {
    Reply::new("200 OK", AGGREGATED, body)
}

const CORE: &str = r#"{"items":[{"metadata":{},"versions":[{"version":"v1","freshness":"Current","resources":[
    {"resource":"pods","responseKind":{"group":"","version":"","kind":"Pod"},"scope":"Namespaced",
     "singularResource":"pod","shortNames":["po"],"subresources":[{"subresource":"status"}]},
    {"resource":"nodes","responseKind":{"kind":"Node"},"scope":"Cluster","singularResource":"node"}]}]}]}"#;

/// A server that gains a resource later.
async fn server(has_widgets: Arc<AtomicBool>) -> Server {
    Server::start(move |request| match &*request.target {
        "/api" => aggregated(CORE),
        "/apis" if has_widgets.load(Ordering::SeqCst) => aggregated(
            r#"{"items":[
            {"metadata":{"name":"metrics.k8s.io"},"versions":[{"version":"v1","freshness":"Stale"}]},
            {"metadata":{"name":"demo.example"},"versions":[
                {"version":"v2","freshness":"Current","resources":[
                    {"resource":"widgets","responseKind":{"kind":"Widget"},"scope":"Namespaced"}]},
                {"version":"v1","resources":[
                    {"resource":"widgets","responseKind":{"kind":"Widget"},"scope":"Namespaced"}]}]}]}"#,
        ),
        "/apis" => aggregated(r#"{"items":null}"#),
        _ => Reply::new("404 Not Found", "", ""),
    })
    .await
}

#[tokio::test]
async fn discovery_takes_two_requests_and_is_kept() {
    let server = server(Arc::new(AtomicBool::new(true))).await;
    let client = Client::anonymous(&server.url()).unwrap();
    for (name, found) in [
        ("po", "v1/pods"),
        ("node", "v1/nodes"),
        ("widgets", "demo.example/v2/widgets"),
        ("widgets.v1.demo.example", "demo.example/v1/widgets"),
    ] {
        assert_eq!(client.find_resource(name).await.unwrap().to_string(), found);
    }
    let widgets = client.find_kind("demo.example/v1", "Widget").await.unwrap();
    assert_eq!(widgets.to_string(), "demo.example/v1/widgets");
    let all = client.clone().discovery().await.unwrap();
    assert_eq!(all.resources().count(), 4);
    assert_eq!(all.unavailable().collect::<Vec<_>>(), ["metrics.k8s.io/v1"]);
    assert_eq!(server.requests().len(), 2, "{:?}", server.requests());
    client.rediscover().await.unwrap();
    assert_eq!(server.requests().len(), 4);
}

#[tokio::test]
async fn new_resource_is_found() {
    let has_widgets = Arc::new(AtomicBool::new(false));
    let server = server(Arc::clone(&has_widgets)).await;
    let client = Client::anonymous(&server.url()).unwrap();
    client.find_resource("pods").await.unwrap();
    let error = client.find_resource("widgets").await.unwrap_err();
    assert!(matches!(error, Error::UnknownResource { .. }), "{error:?}");
    has_widgets.store(true, Ordering::SeqCst);
    let found = client.find_resource("widgets").await.unwrap();
    assert_eq!(found.to_string(), "demo.example/v2/widgets");
    // The server behind this group may have it, once it is back.
    let error = client
        .find_kind("metrics.k8s.io/v1", "NodeMetrics")
        .await
        .unwrap_err();
    assert_eq!(error.status().unwrap().code, 503);
    let error = client
        .find_kind("demo.example/v1", "Gadget")
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains("Gadget of demo.example/v1"),
        "{error}"
    );
}

/// Many who want to know at once ask once.
#[tokio::test]
async fn concurrent_lookups_share_one_discovery() {
    let server = server(Arc::new(AtomicBool::new(true))).await;
    let client = Client::anonymous(&server.url()).unwrap();
    let lookups: Vec<_> = (0..20)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { client.find_resource("widgets").await.unwrap() })
        })
        .collect();
    for lookup in lookups {
        lookup.await.unwrap();
    }
    assert_eq!(server.requests().len(), 2);
}

/// Both forms of the same server have the same resources.
#[tokio::test]
async fn discovery_is_equal_in_both_forms() {
    let widgets = ResourceType::new("demo.example", "v1", "Widget", "widgets").short_names(["wg"]);
    let inner = ApiServer::builder()
        .resource(widgets)
        .start()
        .await
        .unwrap();
    let url = inner.url();
    // A server of old: it knows nothing of the new form.
    let old = Client::anonymous(&url).unwrap();
    let old = Client::from_service(tower::service_fn(move |request: Request<Full<Bytes>>| {
        let client = old.clone();
        async move {
            let path = request.uri().path().to_owned();
            let answer = client
                .request(request.method().clone(), &path)
                .accept("application/json")
                .send()
                .await?;
            let (status, kind) = (answer.status(), answer.content_type().unwrap().to_owned());
            let body = answer.bytes(1 << 20).await?;
            let mut response = Response::new(Full::new(body));
            *response.status_mut() = status;
            response
                .headers_mut()
                .insert("content-type", kind.parse().unwrap());
            Ok::<_, Error>(response)
        }
    }));
    let new = Client::anonymous(&url).unwrap();
    let (old, new) = (
        old.discovery().await.unwrap(),
        new.discovery().await.unwrap(),
    );
    assert!(new.resources().count() > 10);
    let sorted = |all: &informer_client::Discovery| {
        let mut all: Vec<_> = all.resources().cloned().collect();
        all.sort();
        all
    };
    assert_eq!(sorted(&old), sorted(&new));
    assert_eq!(old.find("wg"), new.find("wg"));
    assert_eq!(old.find("wg").unwrap().kind, "Widget");
}
