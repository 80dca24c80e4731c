//! A small HTTP client for tests, which shows what came over the wire as it came.

#![allow(dead_code, reason = "each test binary uses another part")]

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use informer_testkit::ApiServer;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Longer than anything here takes; only a hang reaches it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// An answer whose body has been read to its end.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Answer {
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.text()))
    }
}

/// Sends a request on a connection of its own and gives the answer with its body unread.
pub(crate) async fn open(
    server: &ApiServer,
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Bytes>,
) -> hyper::Result<http::Response<Incoming>> {
    let stream = TcpStream::connect(server.address()).await.unwrap();
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header("host", "testkit");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Full::new(body.into())).unwrap();
    timeout(PATIENCE, sender.send_request(request))
        .await
        .expect("no answer")
}

/// Sends a request and reads the whole answer.
pub(crate) async fn send(
    server: &ApiServer,
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Bytes>,
) -> Answer {
    let response = open(server, method, path, headers, body).await.unwrap();
    let (parts, body) = response.into_parts();
    let body = timeout(PATIENCE, body.collect())
        .await
        .expect("no end")
        .unwrap();
    Answer {
        code: parts.status,
        headers: parts.headers,
        body: body.to_bytes(),
    }
}

pub(crate) async fn get(server: &ApiServer, path: &str) -> Answer {
    send(server, Method::GET, path, &[], "").await
}

pub(crate) async fn send_json(
    server: &ApiServer,
    method: Method,
    path: &str,
    body: Value,
) -> Answer {
    let headers = [("content-type", "application/json")];
    send(server, method, path, &headers, body.to_string()).await
}

/// An open watch.
#[derive(Debug)]
pub(crate) struct Watch {
    pub(crate) code: StatusCode,
    body: Incoming,
    buffer: BytesMut,
}

/// What a watch gave next.
#[derive(Debug, PartialEq)]
pub(crate) enum Next {
    Event(Value),
    End,
    Broken,
}

impl Watch {
    pub(crate) async fn open(server: &ApiServer, path: &str) -> Self {
        Self::open_with(server, path, &[]).await
    }

    pub(crate) async fn open_with(
        server: &ApiServer,
        path: &str,
        headers: &[(&str, &str)],
    ) -> Self {
        let response = open(server, Method::GET, path, headers, "").await.unwrap();
        Self {
            code: response.status(),
            body: response.into_body(),
            buffer: BytesMut::new(),
        }
    }

    /// The next line, the end of the stream, or its breaking off.
    pub(crate) async fn next(&mut self) -> Next {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let line = self.buffer.split_to(end + 1);
                return Next::Event(serde_json::from_slice(&line).unwrap());
            }
            match timeout(PATIENCE, self.body.frame())
                .await
                .expect("nothing came")
            {
                None => {
                    assert!(self.buffer.is_empty(), "a clean end within an event");
                    return Next::End;
                }
                Some(Err(_)) => return Next::Broken,
                Some(Ok(frame)) => self.buffer.extend_from_slice(frame.data_ref().unwrap()),
            }
        }
    }

    pub(crate) async fn event(&mut self) -> Value {
        match self.next().await {
            Next::Event(event) => event,
            other => panic!("expected an event, got {other:?}"),
        }
    }

    /// Type, name and resource version of the next event.
    pub(crate) async fn brief(&mut self) -> (String, String, u64) {
        brief(&self.event().await)
    }

    /// Everything up to the end of the stream, which must be clean.
    pub(crate) async fn rest(mut self) -> Vec<Value> {
        let mut events = Vec::new();
        loop {
            match self.next().await {
                Next::Event(event) => events.push(event),
                Next::End => return events,
                Next::Broken => panic!("broken after {events:?}"),
            }
        }
    }

    /// Whether nothing comes for a moment.
    pub(crate) async fn is_quiet(&mut self) -> bool {
        let moment = Duration::from_millis(100);
        self.buffer.is_empty() && timeout(moment, self.body.frame()).await.is_err()
    }
}

pub(crate) fn brief(event: &Value) -> (String, String, u64) {
    let metadata = &event["object"]["metadata"];
    (
        event["type"].as_str().unwrap().to_owned(),
        metadata["name"].as_str().unwrap_or_default().to_owned(),
        metadata["resourceVersion"]
            .as_str()
            .unwrap()
            .parse()
            .unwrap(),
    )
}

pub(crate) fn event(kind: &str, name: &str, revision: u64) -> (String, String, u64) {
    (kind.to_owned(), name.to_owned(), revision)
}

pub(crate) async fn post(server: &ApiServer, path: &str, body: Value) -> Answer {
    send_json(server, Method::POST, path, body).await
}

pub(crate) async fn put(server: &ApiServer, path: &str, body: Value) -> Answer {
    send_json(server, Method::PUT, path, body).await
}

pub(crate) async fn patch(server: &ApiServer, path: &str, kind: &str, body: Value) -> Answer {
    let media_type = match kind {
        "apply" => "application/apply-patch+yaml".to_owned(),
        kind => format!("application/{kind}-patch+json"),
    };
    send(
        server,
        Method::PATCH,
        path,
        &[("content-type", &media_type)],
        body.to_string(),
    )
    .await
}

pub(crate) async fn delete(server: &ApiServer, path: &str) -> Answer {
    send(server, Method::DELETE, path, &[], "").await
}
