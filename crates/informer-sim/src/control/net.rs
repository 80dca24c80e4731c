//! The connection of a process to the server: freezes with it, and shows each request to the ledger.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body::{Body, Frame, SizeHint};
use http_body_util::Full;
use informer_client::Client;
use informer_testkit::{ApiServer, ApiService, ServiceBody};
use tokio::time::sleep;
use tower_service::Service;

use super::freeze::Freeze;
use super::ledger::Ledger;

/// How long an answer is on its way.
const LATENCY: Duration = Duration::from_millis(1);

/// Makes the client of a process.
pub(super) fn client(
    server: &ApiServer,
    name: &str,
    freeze: &Freeze,
    ledger: &Arc<Ledger>,
) -> Client {
    Client::from_service::<_, Full<Bytes>, FreezableBody>(Net {
        inner: server.service_as(name),
        name: name.into(),
        freeze: freeze.clone(),
        ledger: Arc::clone(ledger),
    })
}

#[derive(Clone)]
struct Net {
    inner: ApiService,
    name: Arc<str>,
    freeze: Freeze,
    ledger: Arc<Ledger>,
}

impl Service<Request<Full<Bytes>>> for Net {
    type Response = Response<FreezableBody>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Full<Bytes>>) -> Self::Future {
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let is_lease = path.contains("/leases");
        self.ledger
            .request(&self.name, &method, request.uri(), is_lease);
        let answer = self.inner.call(request);
        let (freeze, ledger, name) = (
            self.freeze.clone(),
            Arc::clone(&self.ledger),
            Arc::clone(&self.name),
        );
        Box::pin(self.freeze.wrap(async move {
            let answer = answer.await;
            // Else processes could undo each other's work for ever at one instant.
            sleep(LATENCY).await;
            let code = answer.as_ref().map_or(0, |answer| answer.status().as_u16());
            if method != Method::GET || is_lease {
                ledger.answered(&name, &method, &path, code);
            }
            answer.map(|answer| answer.map(|body| FreezableBody { body, freeze }))
        }))
    }
}

/// The body of a response: nothing of it is received while the process is frozen.
pub(super) struct FreezableBody {
    body: ServiceBody,
    freeze: Freeze,
}

impl Body for FreezableBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if self.freeze.holds(context) {
            return Poll::Pending;
        }
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
