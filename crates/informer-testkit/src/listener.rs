//! The listening socket and its connections.

use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::http;
use crate::shared::Shared;

/// The time that running responses have after the server was stopped.
const DRAIN: Duration = Duration::from_secs(1);

/// Accepts connections until the server stops. Owns them: they end with this task.
pub(crate) async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            // The end first; connections that have ended before new ones.
            biased;
            () = shared.shutdown.cancelled() => break,
            Some(_) = connections.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                connections.spawn(connection(stream, shared.clone()));
            }
            // Too many open files, or the like: it may pass.
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
    drop(listener);
    let drained = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(DRAIN, drained).await;
    connections.shutdown().await;
}

async fn connection(stream: TcpStream, shared: Arc<Shared>) {
    // Events are small and wanted at once.
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| http::serve(shared.clone(), String::new(), request));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        // As Go writes them.
        .title_case_headers(true)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    tokio::select! {
        // A response that is complete is sent before the end is looked at.
        biased;
        // A client that breaks off is nothing to report.
        _ = connection.as_mut() => return,
        () = shared.shutdown.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}
