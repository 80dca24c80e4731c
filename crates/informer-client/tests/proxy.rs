//! Proxies: of the configuration, and past them to this machine.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/tls.rs"]
mod certificates;
mod support;

use std::net::SocketAddr;

use certificates::Authority;
use informer_client::http::Method;
use informer_client::{AuthInfo, Client, Cluster, Config};
use informer_kubeconfig::PemSource;
use support::{Reply, Server};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A proxy that opens a tunnel to one address, whatever it is asked for. Returns its address and what it was asked.
async fn tunnel(to: SocketAddr) -> (SocketAddr, tokio::task::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let task = tokio::spawn(async move {
        let (mut inner, _) = listener.accept().await.unwrap();
        let mut asked = Vec::new();
        while !asked.ends_with(b"\r\n\r\n") {
            asked.push(inner.read_u8().await.unwrap());
        }
        let mut outer = TcpStream::connect(to).await.unwrap();
        inner.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
        let _ = tokio::io::copy_bidirectional(&mut inner, &mut outer).await;
        String::from_utf8(asked).unwrap()
    });
    (address, task)
}

#[tokio::test]
async fn https_goes_through_a_proxy_tunnel() {
    let authority = Authority::new();
    let identity = authority.issue(&["inner.example"]);
    let server = Server::start_tls(identity.server(), |_| Reply::json("{}")).await;
    let (proxy, asked) = tunnel(server.address).await;
    let cluster = Cluster::new("https://api.example:6443")
        .unwrap()
        .certificate_authority(PemSource::inline(authority.pem()))
        .tls_server_name("inner.example")
        .proxy_url(format!("http://me:pass@{proxy}").parse().unwrap());
    let client = Client::new(Config::new(cluster).auth(AuthInfo::default().token("t"))).unwrap();
    let answer = client
        .request(Method::GET, "/version")
        .send()
        .await
        .unwrap();
    assert!(answer.status().is_success());
    answer.bytes(100).await.unwrap();
    drop(client);
    let asked = asked.await.unwrap();
    // The proxy receives the real host and its own password, and not the token, which is for the server.
    assert!(
        asked.starts_with("CONNECT api.example:6443 HTTP/1.1\r\n"),
        "{asked}"
    );
    let lower = asked.to_ascii_lowercase();
    assert!(
        lower.contains("proxy-authorization: basic bwu6cgfzcw=="),
        "{asked}"
    );
    assert!(!lower.contains("bearer"), "{asked}");
    let request = server.last();
    assert_eq!(request.header("authorization"), Some("Bearer t"));
    assert_eq!(request.header("host"), Some("api.example:6443"));
}

#[tokio::test]
async fn socks_proxy_is_used() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = listener.local_addr().unwrap();
    let asked = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut hello = [0; 3];
        stream.read_exact(&mut hello).await.unwrap();
        hello
    });
    let cluster = Cluster::new("https://127.0.0.1:6443")
        .unwrap()
        .insecure_skip_tls_verify(true)
        .proxy_url(format!("socks5://{proxy}").parse().unwrap());
    let client = Client::new(Config::new(cluster)).unwrap();
    assert!(
        client
            .request(Method::GET, "/version")
            .send()
            .await
            .is_err()
    );
    // SOCKS 5, one method, no authentication.
    assert_eq!(asked.await.unwrap(), [5, 1, 0]);
}
