//! A tiny HTTP server on loopback with scripted responses, over plain TCP or TLS.
#![allow(dead_code, reason = "each test program uses a part of it")]

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

/// How long a test waits for anything.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A request as the server read it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
    /// The name that TLS asked for.
    pub(crate) sni: Option<String>,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        let found = self
            .headers
            .iter()
            .filter(move |(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

/// The bytes to answer with. The connection is closed behind them unless `keep` says otherwise.
pub(crate) struct Reply {
    pub(crate) bytes: Vec<u8>,
    /// Leaves the connection open without another byte.
    pub(crate) hang: bool,
}

impl Reply {
    pub(crate) fn new(status: &str, headers: &str, body: &str) -> Self {
        let length = body.len();
        let text = format!(
            "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n{headers}\r\n{body}"
        );
        Self {
            bytes: text.into_bytes(),
            hang: false,
        }
    }

    pub(crate) fn json(body: &str) -> Self {
        Self::new("200 OK", "Content-Type: application/json\r\n", body)
    }

    pub(crate) fn raw(bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            bytes: bytes.into(),
            hang: false,
        }
    }

    pub(crate) fn hang(mut self) -> Self {
        self.hang = true;
        self
    }
}

type Handler = dyn Fn(&Request) -> Reply + Send + Sync;

/// The server. It ends when it is dropped.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
    task: JoinHandle<()>,
}

impl Server {
    pub(crate) async fn start(handler: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        Self::serve(None, Arc::new(handler)).await
    }

    pub(crate) async fn start_tls(
        config: ServerConfig,
        handler: impl Fn(&Request) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::serve(Some(TlsAcceptor::from(Arc::new(config))), Arc::new(handler)).await
    }

    async fn serve(tls: Option<TlsAcceptor>, handler: Arc<Handler>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        let task = tokio::spawn(async move {
            // Connections end with this task.
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (tls, handler, seen) = (tls.clone(), Arc::clone(&handler), Arc::clone(&seen));
                connections.spawn(async move {
                    match tls {
                        None => answer(stream, None, &*handler, &seen).await,
                        Some(tls) => {
                            let Ok(stream) = tls.accept(stream).await else {
                                return;
                            };
                            let name = stream.get_ref().1.server_name().map(str::to_owned);
                            answer(stream, name, &*handler, &seen).await;
                        }
                    }
                });
            }
        });
        Self {
            address,
            requests,
            task,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    pub(crate) fn last(&self) -> Request {
        self.requests().pop().expect("a request")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    sni: Option<String>,
    handler: &Handler,
    seen: &Mutex<Vec<Request>>,
) {
    let Some(mut request) = read(&mut stream).await else {
        return;
    };
    request.sni = sni;
    let reply = handler(&request);
    seen.lock().unwrap().push(request);
    if stream.write_all(&reply.bytes).await.is_err() || stream.flush().await.is_err() {
        return;
    }
    if reply.hang {
        std::future::pending::<()>().await;
    }
    let _ = stream.shutdown().await;
}

async fn read(stream: &mut (impl AsyncRead + Unpin)) -> Option<Request> {
    let mut bytes = Vec::new();
    let head = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let text = String::from_utf8(bytes[..head].to_vec()).ok()?;
    let mut lines = text.split("\r\n");
    let mut start = lines.next()?.split(' ');
    let mut request = Request {
        method: start.next()?.to_owned(),
        target: start.next()?.to_owned(),
        ..Request::default()
    };
    let headers = lines.filter_map(|line| line.split_once(": "));
    request.headers = headers
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    let length = request
        .header("content-length")
        .map_or(0, |text| text.parse().unwrap());
    let mut body = bytes.split_off(head + 4);
    while body.len() < length {
        if stream.read_buf(&mut body).await.ok()? == 0 {
            return None;
        }
    }
    request.body = String::from_utf8(body).ok()?;
    Some(request)
}
