//! Updates at a steady rate, whatever becomes of them, to a body in this process or over a socket.

use std::convert::Infallible;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::stream::{self, BoxStream, StreamExt as _};
use http_body::Frame;
use http_body_util::{Full, StreamBody};
use informer::Client;
use parking_lot::Mutex;
use tokio::sync::mpsc;

use crate::pods::{Format, Pods};

/// When which update is due.
#[derive(Clone, Copy)]
pub(crate) struct Schedule {
    pub(crate) begin: Instant,
    pub(crate) gap: Duration,
    pub(crate) updates: u64,
}

impl Schedule {
    /// When the update of a number is due; the first is 1.
    pub(crate) fn due(&self, number: u64) -> Instant {
        self.begin + self.gap.mul_f64(number as f64)
    }

    /// Sends each update when it is due, or as soon after as can be. What the receiver does has no influence on when
    /// an update is due. Returns how late each was sent, in nanoseconds.
    pub(crate) fn send(&self, pods: &Pods, mut send: impl FnMut(Vec<u8>)) -> Vec<u64> {
        let mut late = Vec::with_capacity(self.updates as usize);
        for number in 1..=self.updates {
            let (due, update) = (self.due(number), pods.update(number));
            if let Some(early) = due.checked_duration_since(Instant::now()) {
                thread::sleep(early);
            }
            late.push(due.elapsed().as_nanos() as u64);
            send(update);
        }
        late
    }
}

/// Where the updates of a watch go once there is one.
pub(crate) struct Watches(Mutex<std::sync::mpsc::Receiver<Pipe>>);

impl Watches {
    /// The first watch that comes.
    pub(crate) fn next(&self) -> Pipe {
        let first = self.0.lock().recv_timeout(Duration::from_secs(30));
        first.expect("the informer watches")
    }
}

pub(crate) enum Pipe {
    Body(mpsc::UnboundedSender<Bytes>),
    Socket(TcpStream),
}

impl Pipe {
    pub(crate) fn send(&mut self, update: Vec<u8>) {
        match self {
            Self::Body(body) => body.send(update.into()).expect("the watch is read"),
            Self::Socket(socket) => {
                let mut chunk = format!("{:x}\r\n", update.len()).into_bytes();
                chunk.extend_from_slice(&update);
                chunk.extend_from_slice(b"\r\n");
                socket.write_all(&chunk).expect("the watch is read");
            }
        }
    }
}

type Body = StreamBody<BoxStream<'static, Result<Frame<Bytes>, Infallible>>>;

fn body(bytes: impl futures_util::Stream<Item = Bytes> + Send + 'static) -> Body {
    StreamBody::new(bytes.map(|bytes| Ok(Frame::data(bytes))).boxed())
}

/// A client whose answers come from within this process.
pub(crate) fn in_process(pods: &Arc<Pods>, format: Format) -> (Client, Watches) {
    let (sender, receiver) = std::sync::mpsc::channel();
    let pods = Arc::clone(pods);
    let service = tower::service_fn(move |request: http::Request<Full<Bytes>>| {
        let watches = is_watch(&request.uri().to_string());
        let (content_type, body) = if watches {
            let (updates, mut received) = mpsc::unbounded_channel();
            // Only the first one is waited for.
            let _ = sender.send(Pipe::Body(updates));
            let received = stream::poll_fn(move |cx| received.poll_recv(cx));
            (format.watch_type(), body(received))
        } else {
            let list = pods.list.clone();
            let list = stream::once(async move { list });
            (format.list_type(), body(list))
        };
        let answer = http::Response::builder().header("content-type", content_type);
        std::future::ready(answer.body(body))
    });
    (Client::from_service(service), Watches(Mutex::new(receiver)))
}

/// A client of a server on loopback, which has threads of its own.
pub(crate) fn over_loopback(pods: &Arc<Pods>, format: Format) -> (Client, Watches) {
    let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0)));
    let listener = listener.expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    let (sender, receiver) = std::sync::mpsc::channel();
    let pods = Arc::clone(pods);
    // Both threads end with the program.
    thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            let (pods, sender) = (Arc::clone(&pods), sender.clone());
            thread::spawn(move || answer(socket, &pods, format, &sender));
        }
    });
    let client = Client::anonymous(&format!("http://{address}"));
    (client.expect("a URL"), Watches(Mutex::new(receiver)))
}

/// Answers the requests of a connection up to the first watch.
fn answer(
    mut socket: TcpStream,
    pods: &Pods,
    format: Format,
    watches: &std::sync::mpsc::Sender<Pipe>,
) -> Option<()> {
    socket.set_nodelay(true).ok()?;
    let mut heads = BufReader::new(socket.try_clone().ok()?);
    loop {
        let mut first = String::new();
        heads.read_line(&mut first).ok().filter(|read| *read > 0)?;
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            heads.read_line(&mut line).ok().filter(|read| *read > 0)?;
        }
        if is_watch(&first) {
            let content_type = format.watch_type();
            write!(
                socket,
                "HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ntransfer-encoding: chunked\r\n\r\n"
            )
            .ok()?;
            return watches.send(Pipe::Socket(socket)).ok();
        }
        let (content_type, length) = (format.list_type(), pods.list.len());
        write!(
            socket,
            "HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ncontent-length: {length}\r\n\r\n"
        )
        .ok()?;
        socket.write_all(&pods.list).ok()?;
    }
}

fn is_watch(request: &str) -> bool {
    request.contains("watch=true") || request.contains("watch=1")
}
