//! The server as a tower service: requests without a socket, writes included.

use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::{Request, Response};
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tower_service::Service;

use crate::http::{Body, Disconnect, serve};
use crate::server::ApiServer;
use crate::shared::Shared;

impl ApiServer {
    /// Returns the server as a tower service for clients in this process, such as `kube::Client::new` or
    /// `informer_client::Client::from_service`. Requests meet the same faults as over HTTP, but no socket, thread or
    /// blocking call, so tokio's clock may be paused, and the runtime needs no I/O.
    ///
    /// Where the time is paused, a request from another runtime panics: a paused clock leaps over what other threads do, so
    /// that requests would seem to take hours.
    ///
    /// The service adds the server's token. It belongs to no client of a name.
    pub fn service(&self) -> ApiService {
        self.service_as("")
    }

    /// Returns the server as a tower service for the client of this name: its requests are told apart in the
    /// [log](crate::RequestRecord::client) and by [faults](crate::RequestMatcher::client), may have a
    /// [replica](Self::route_client) of their own, and end with a [fence](Self::fence).
    pub fn service_as(&self, client: &str) -> ApiService {
        let shared = self.shared();
        let fence = shared.clients.lock().fence(client);
        ApiService {
            fence,
            client: client.into(),
            shared,
        }
    }
}

/// An [`ApiServer`] as a tower service. Made by [`ApiServer::service`].
#[derive(Clone)]
pub struct ApiService {
    shared: Arc<Shared>,
    client: Arc<str>,
    fence: CancellationToken,
}

impl<B> Service<Request<B>> for ApiService
where
    B: HttpBody + Send + 'static,
    B::Data: Send,
{
    type Response = Response<ServiceBody>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Response<ServiceBody>>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// Dropping the future ends the request, unless it is carried out by then.
    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        self.shared.authorize(&mut request);
        let (shared, client) = (self.shared.clone(), self.client.to_string());
        let fence = self.fence.clone();
        Box::pin(async move {
            shared.home.check();
            let exchange = serve(shared, client, request);
            let answer = tokio::select! {
                // A fenced client takes no further step.
                biased;
                () = fence.cancelled() => None,
                answer = exchange => Some(answer),
            };
            match answer {
                Some(Ok(answer)) => Ok(answer.map(|body| ServiceBody::new(body, fence))),
                Some(Err(gone)) => Err(gone.into()),
                None => std::future::pending().await,
            }
        })
    }
}

impl From<Disconnect> for io::Error {
    fn from(gone: Disconnect) -> Self {
        let kind = if gone.refused {
            io::ErrorKind::ConnectionRefused
        } else {
            io::ErrorKind::ConnectionReset
        };
        Self::new(kind, gone)
    }
}

impl fmt::Debug for ApiService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiService")
            .field("client", &self.client)
            .finish_non_exhaustive()
    }
}

/// The body of a response of an [`ApiService`].
pub struct ServiceBody {
    /// `None` once the client is fenced.
    body: Option<Body>,
    fenced: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl ServiceBody {
    fn new(body: Body, fence: CancellationToken) -> Self {
        Self {
            body: Some(body),
            fenced: Box::pin(fence.cancelled_owned()),
        }
    }
}

impl HttpBody for ServiceBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if self.body.is_some() && self.fenced.as_mut().poll(context).is_ready() {
            self.body = None;
        }
        let Some(body) = &mut self.body else {
            // No waker: it never ends.
            return Poll::Pending;
        };
        let frame = ready!(Pin::new(body).poll_frame(context));
        let broken = |broken| io::Error::new(io::ErrorKind::ConnectionReset, broken);
        Poll::Ready(frame.map(|frame| frame.map_err(broken)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_some_and(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        let body = self.body.as_ref();
        body.map_or_else(SizeHint::default, HttpBody::size_hint)
    }
}

impl fmt::Debug for ServiceBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceBody").finish_non_exhaustive()
    }
}
