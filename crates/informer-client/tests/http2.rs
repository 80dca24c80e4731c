//! HTTP/2: the limit of streams, unread bodies, peers that vanish without closing the connection.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/tls.rs"]
mod certificates;
mod support;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use certificates::Authority;
use http_body::{Body, Frame};
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use informer_client::http::{Method, Request, Response as HttpResponse};
use informer_client::{Client, Cluster, Config, Error, HttpVersion, Response};
use informer_kubeconfig::PemSource;
use support::{PATIENCE, Reply, Server};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

/// INV-CLIENT-5: a connection whose peer is probed all the time, or never, works as any other.
#[tokio::test]
async fn keep_alive_of_any_length_leaves_connections_working() {
    let server = Streams::start().await;
    for interval in [
        Duration::ZERO,
        Duration::from_nanos(1),
        Duration::from_secs(u64::from(u32::MAX)),
        Duration::MAX,
    ] {
        let cluster = Cluster::new(&format!("https://{}", server.address)).unwrap();
        let authority = PemSource::inline(server.authority.pem());
        let client = Client::builder(Config::new(cluster.certificate_authority(authority)))
            .http_version(HttpVersion::Http2)
            .keep_alive(interval)
            .build()
            .unwrap();
        for _ in 0..3 {
            let answer = client.request(Method::GET, "/end").send().await.unwrap();
            assert_eq!(answer.status().as_u16(), 200, "{interval:?}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

const PIECE: usize = 64 << 10;

/// So many pieces, and then silence for ever, or the end.
struct Pieces {
    left: usize,
    ends: bool,
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.left > 0 {
            self.left -= 1;
            return Poll::Ready(Some(Ok(Frame::data(Bytes::from(vec![b'x'; PIECE])))));
        }
        if self.ends {
            return Poll::Ready(None);
        }
        Poll::Pending
    }
}

/// An HTTP/2 server that allows 100 streams on a connection, as an API server does.
struct Streams {
    address: SocketAddr,
    authority: Authority,
    connections: Arc<AtomicUsize>,
    task: tokio::task::JoinHandle<()>,
}

impl Streams {
    async fn start() -> Self {
        let authority = Authority::new();
        let mut tls = authority.issue(&["127.0.0.1"]).server();
        tls.alpn_protocols = vec![b"h2".to_vec()];
        let tls = TlsAcceptor::from(Arc::new(tls));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&connections);
        let task = tokio::spawn(async move {
            let mut open = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (tls, seen) = (tls.clone(), Arc::clone(&seen));
                open.spawn(async move {
                    let Ok(stream) = tls.accept(stream).await else {
                        return;
                    };
                    let used = Arc::new(AtomicUsize::new(0));
                    let service = service_fn(move |request: Request<Incoming>| {
                        // A connection that carries no request does not count.
                        if used.fetch_add(1, Ordering::SeqCst) == 0 {
                            seen.fetch_add(1, Ordering::SeqCst);
                        }
                        async move { Ok::<_, Infallible>(answer(&request)) }
                    });
                    let _ = http2::Builder::new(TokioExecutor::new())
                        .max_concurrent_streams(100)
                        .serve_connection(TokioIo::new(stream), service)
                        .await;
                });
            }
        });
        Self {
            address,
            authority,
            connections,
            task,
        }
    }

    fn client(&self, port: u16) -> Client {
        let cluster = Cluster::new(&format!("https://127.0.0.1:{port}"))
            .unwrap()
            .certificate_authority(PemSource::inline(self.authority.pem()));
        Client::builder(Config::new(cluster))
            .http_version(HttpVersion::Http2)
            .keep_alive(Duration::from_millis(300))
            .build()
            .unwrap()
    }
}

impl Drop for Streams {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// `/watch` sends a piece and goes on for ever, `/flood` sends more than a window holds.
fn answer(request: &Request<Incoming>) -> HttpResponse<Pieces> {
    let (left, ends) = match request.uri().path() {
        "/watch" => (1, false),
        "/flood" => (64, false),
        _ => (1, true),
    };
    HttpResponse::new(Pieces { left, ends })
}

async fn send(client: &Client, path: &str) -> Result<Response, Error> {
    let request = client.request(Method::GET, path).timeout(PATIENCE);
    request.send().await
}

/// INV-CLIENT-13: the API server allows 100 streams; the hundred-and-first request waits for none of them.
#[tokio::test]
async fn request_never_waits_for_a_stream() {
    let server = Streams::start().await;
    let client = server.client(server.address.port());
    let mut open = Vec::new();
    for _ in 0..150 {
        let mut watch = send(&client, "/watch").await.unwrap();
        assert_eq!(watch.chunk().await.unwrap().unwrap().len() % 1024, 0);
        open.push(watch);
    }
    assert_eq!(
        send(&client, "/x")
            .await
            .unwrap()
            .bytes(PIECE)
            .await
            .unwrap()
            .len(),
        PIECE
    );
    assert_eq!(server.connections.load(Ordering::SeqCst), 3);
    // Places that are free again are taken again.
    open.truncate(10);
    for _ in 0..10 {
        open.push(send(&client, "/watch").await.unwrap());
    }
    assert_eq!(server.connections.load(Ordering::SeqCst), 3);
}

/// INV-CLIENT-13: bodies that nobody reads use up their own windows.
#[tokio::test]
async fn unread_body_blocks_no_other() {
    let server = Streams::start().await;
    let client = server.client(server.address.port());
    let mut unread = Vec::new();
    for _ in 0..63 {
        unread.push(send(&client, "/flood").await.unwrap());
    }
    // Until all that the windows hold is received.
    tokio::time::sleep(Duration::from_millis(500)).await;
    for _ in 0..10 {
        let read = async {
            send(&client, "/x")
                .await
                .unwrap()
                .bytes(PIECE)
                .await
                .unwrap()
        };
        let read = tokio::time::timeout(PATIENCE, read)
            .await
            .expect("not held up");
        assert_eq!(read.len(), PIECE);
    }
    assert_eq!(
        server.connections.load(Ordering::SeqCst),
        1,
        "all on one connection"
    );
}

/// A peer that does not answer a PING has vanished: the watch ends, and the next request makes another connection.
#[tokio::test]
async fn connection_ends_when_peer_answers_no_ping() {
    let server = Streams::start().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (silence, mut silent) = tokio::sync::watch::channel(false);
    let target = server.address;
    let forwarding = tokio::spawn(async move {
        let (mut client, _) = listener.accept().await.unwrap();
        let mut inner = TcpStream::connect(target).await.unwrap();
        tokio::select! {
            _ = silent.wait_for(|silent| *silent) => {}
            _ = tokio::io::copy_bidirectional(&mut client, &mut inner) => {}
        }
        // The first connection stays open and sends nothing more; others work.
        let mut later = tokio::task::JoinSet::new();
        while let Ok((mut client, _)) = listener.accept().await {
            later.spawn(async move {
                let mut inner = TcpStream::connect(target).await.unwrap();
                let _ = tokio::io::copy_bidirectional(&mut client, &mut inner).await;
            });
        }
    });
    let client = server.client(port);
    let mut watch = send(&client, "/watch").await.unwrap();
    while tokio::time::timeout(Duration::from_millis(100), watch.chunk())
        .await
        .is_ok()
    {}
    silence.send_replace(true);
    let end = tokio::time::timeout(PATIENCE, watch.chunk())
        .await
        .expect("an end");
    assert!(matches!(end, Err(Error::Transport { .. })), "{end:?}");
    assert_eq!(send(&client, "/x").await.unwrap().status(), 200);
    forwarding.abort();
}

#[tokio::test]
async fn a_server_without_http2_is_spoken_to_as_before() {
    let authority = Authority::new();
    let mut tls = authority.issue(&["127.0.0.1"]).server();
    tls.alpn_protocols = vec![b"http/1.1".to_vec()];
    let server = Server::start_tls(tls, |_| Reply::json("{}")).await;
    let cluster = Cluster::new(&format!("https://{}", server.address))
        .unwrap()
        .certificate_authority(PemSource::inline(authority.pem()));
    let client = Client::builder(Config::new(cluster)).http_version(HttpVersion::Http2);
    let client = client.build().unwrap();
    for _ in 0..3 {
        assert_eq!(send(&client, "/x").await.unwrap().status(), 200);
    }
}
