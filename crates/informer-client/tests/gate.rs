//! Clients with a gate, and with connections of their own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use informer_client::http::Method;
use informer_client::{Api, Client, Error, Gate};
use informer_testkit::{ApiServer, Fault, RequestMatcher};
use k8s_openapi::api::core::v1::ConfigMap;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

/// Open for a minute at a time, or closed.
#[derive(Clone, Default)]
struct Switch(Arc<AtomicBool>);

impl Gate for Switch {
    fn remaining(&self) -> Result<Duration, Box<dyn std::error::Error + Send + Sync>> {
        let is_open = self.0.load(Ordering::SeqCst);
        is_open
            .then_some(Duration::from_secs(60))
            .ok_or_else(|| "closed".into())
    }
}

/// Open for this long, whenever it is asked first.
#[derive(Default)]
struct Once(std::sync::OnceLock<tokio::time::Instant>);

impl Gate for Once {
    fn remaining(&self) -> Result<Duration, Box<dyn std::error::Error + Send + Sync>> {
        let end = self
            .0
            .get_or_init(|| tokio::time::Instant::now() + Duration::from_millis(200));
        let left = end.saturating_duration_since(tokio::time::Instant::now());
        if left.is_zero() {
            Err("over".into())
        } else {
            Ok(left)
        }
    }
}

// INV-CLIENT-17
#[tokio::test]
async fn closed_gate_sends_nothing_and_other_clones_are_free() {
    let server = ApiServer::start().await.expect("a server");
    let client = Client::anonymous(&server.url()).expect("a client");
    let switch = Switch::default();
    let gated = client.gated(switch.clone());
    let maps = Api::<ConfigMap>::namespaced(gated.clone(), "shop");
    let sent = || server.requests().len();
    for _ in 0..2 {
        let before = sent();
        let error = maps.get("settings").await.expect_err("the gate is closed");
        assert!(matches!(error, Error::Gate { .. }), "{error:?}");
        assert_eq!(
            std::error::Error::source(&error)
                .map(ToString::to_string)
                .as_deref(),
            Some("closed")
        );
        assert_eq!(sent(), before);
        switch.0.store(true, Ordering::SeqCst);
        let error = maps.get("settings").await.expect_err("it does not exist");
        assert!(error.is_not_found(), "{error:?}");
        assert_eq!(sent(), before + 1);
        switch.0.store(false, Ordering::SeqCst);
    }
    let free = client.request(Method::GET, "/version").send().await;
    assert!(free.is_ok(), "{free:?}");
    server.shutdown().await;
}

// INV-CLIENT-17
#[tokio::test]
async fn request_is_given_no_longer_than_its_gate_is_open() {
    let server = ApiServer::start().await.expect("a server");
    let client = Client::anonymous(&server.url())
        .expect("a client")
        .gated(Once::default());
    server.fail(
        RequestMatcher::any(),
        Fault::Delay(Duration::from_secs(300)),
        1,
    );
    let request = client.request(Method::GET, "/version").send();
    let ended = tokio::time::timeout(Duration::from_secs(60), request)
        .await
        .expect("in time");
    assert!(matches!(ended, Err(Error::Gate { .. })), "{ended:?}");
    server.shutdown().await;
}

/// A server that keeps connections open, and counts them.
async fn counting_server() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("bound"));
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&connections);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::SeqCst);
            tokio::spawn(async move {
                let mut buffer = [0; 4096];
                while stream.read(&mut buffer).await.is_ok_and(|read| read > 0) {
                    let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
                    if stream.write_all(answer).await.is_err() {
                        break;
                    }
                }
            });
        }
    });
    (url, connections)
}

// INV-CLIENT-18
#[tokio::test]
async fn own_connections_are_shared_with_clones_alone() {
    let (url, connections) = counting_server().await;
    let client = Client::anonymous(&url).expect("a client");
    let own = client.with_own_connections().expect("it has connections");
    let other = client.with_own_connections().expect("it has connections");
    let get = async |client: &Client| {
        let answer = client
            .request(Method::GET, "/version")
            .send()
            .await
            .expect("an answer");
        assert_eq!(answer.bytes(100).await.expect("a body"), "{}");
    };
    for _ in 0..3 {
        for client in [&client, &own, &own.clone(), &other] {
            get(client).await;
        }
    }
    assert_eq!(connections.load(Ordering::SeqCst), 3);
    // Nothing is kept for clients that were dropped.
    drop((own, other));
    for _ in 0..3 {
        get(&client.with_own_connections().expect("it has connections")).await;
        get(&client).await;
    }
    assert_eq!(connections.load(Ordering::SeqCst), 6);
}
