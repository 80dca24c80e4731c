//! A server on loopback that sends given bytes, cut into given pieces.
#![allow(dead_code, reason = "each test program uses a part of it")]

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use informer_client::Client;
use informer_reflector::http::HttpListerWatcher;
use informer_wire::{Dynamic, Resource, Scope};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

/// How long a test waits for anything.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// What the server sends to one request.
#[derive(Clone)]
pub(crate) struct Answer {
    bytes: Vec<u8>,
    cuts: Vec<usize>,
    hang: bool,
}

impl Answer {
    /// These bytes, head and framing included; then the connection ends.
    pub(crate) fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            bytes: bytes.into(),
            cuts: vec![usize::MAX],
            hang: false,
        }
    }

    /// A head for a body of unknown length, and this beginning of it as one chunk.
    pub(crate) fn chunk(body: &str) -> Self {
        let length = body.len();
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
        let chunk = if body.is_empty() {
            String::new()
        } else {
            format!("{length:x}\r\n{body}\r\n")
        };
        Self::new(format!("{head}{chunk}"))
    }

    /// Sends pieces of these sizes in turn.
    pub(crate) fn cut(mut self, cuts: &[usize]) -> Self {
        self.cuts = cuts.to_vec();
        self
    }

    /// Keeps the connection open behind the last byte.
    pub(crate) fn hang(mut self) -> Self {
        self.hang = true;
        self
    }
}

/// The server. It answers one request after the other with the next answer, and ends when it is dropped.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
    /// How many connections were ended by the other side while they hung.
    hung_up: watch::Receiver<usize>,
    task: JoinHandle<()>,
}

impl Server {
    pub(crate) async fn start(answers: Vec<Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let heads = Arc::new(Mutex::new(Vec::new()));
        let answers = Arc::new(Mutex::new(VecDeque::from(answers)));
        let (hang_ups, hung_up) = watch::channel(0);
        let seen = Arc::clone(&heads);
        let task = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (answers, seen) = (Arc::clone(&answers), Arc::clone(&seen));
                let hang_ups = hang_ups.clone();
                connections.spawn(async move {
                    let _ = serve(stream, &answers, &seen, &hang_ups).await;
                });
            }
        });
        Self {
            address,
            heads,
            hung_up,
            task,
        }
    }

    pub(crate) fn client(&self) -> Client {
        Client::anonymous(&format!("http://{}", self.address)).unwrap()
    }

    pub(crate) fn lister(&self) -> HttpListerWatcher<Dynamic> {
        self.lister_of("Pod")
    }

    /// A lister of pods that are to be of this kind; of any, if it is empty.
    pub(crate) fn lister_of(&self, kind: &'static str) -> HttpListerWatcher<Dynamic> {
        let resource = Resource::core("v1", kind, "pods", Scope::Namespaced);
        HttpListerWatcher::new(self.client(), resource)
    }

    /// The heads of the requests.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }

    /// Waits until the other side has ended a hanging connection.
    pub(crate) async fn hung_up(&mut self) {
        self.hung_up.wait_for(|count| *count > 0).await.unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(
    mut stream: TcpStream,
    answers: &Mutex<VecDeque<Answer>>,
    seen: &Mutex<Vec<String>>,
    hang_ups: &watch::Sender<usize>,
) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    seen.lock()
        .unwrap()
        .push(String::from_utf8_lossy(&head).into_owned());
    let Some(answer) = answers.lock().unwrap().pop_front() else {
        return Ok(());
    };
    let mut rest = &answer.bytes[..];
    for cut in answer.cuts.iter().cycle() {
        let (piece, behind) = rest.split_at(rest.len().min(*cut));
        stream.write_all(piece).await?;
        rest = behind;
        if rest.is_empty() {
            break;
        }
        // Lets the reader take the piece before the next one comes.
        tokio::task::yield_now().await;
    }
    if answer.hang {
        let _ = stream.read(&mut [0]).await;
        hang_ups.send_modify(|count| *count += 1);
        return Ok(());
    }
    stream.shutdown().await
}
