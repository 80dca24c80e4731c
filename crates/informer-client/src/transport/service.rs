//! Requests over a service of the program.

use std::error::Error as StdError;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_core::Stream;
use http_body::{Body as HttpBody, Frame};
use parking_lot::Mutex;

use crate::body::Body;
use crate::error::Error;
use crate::response::Response;

type BoxError = Box<dyn StdError + Send + Sync>;
type Answer = Pin<Box<dyn Future<Output = Result<Response, Error>> + Send>>;

/// A service of any type.
pub(crate) struct Service(Box<dyn Fn(http::Request<Bytes>) -> Answer + Send + Sync>);

impl Service {
    pub(crate) fn new<S, B, R>(service: S) -> Self
    where
        S: tower_service::Service<http::Request<B>, Response = http::Response<R>>
            + Clone
            + Send
            + 'static,
        S::Future: Send,
        S::Error: Into<BoxError>,
        B: From<Bytes> + Send + 'static,
        R: HttpBody<Data = Bytes> + Send + 'static,
        R::Error: Into<BoxError>,
    {
        // Each request has a clone of its own, so that none waits for another.
        let service = Mutex::new(service);
        Self(Box::new(move |request| {
            let mut service = service.lock().clone();
            Box::pin(async move {
                std::future::poll_fn(|context| service.poll_ready(context))
                    .await
                    .map_err(|error| Error::from_service(error.into()))?;
                let answer = service.call(request.map(B::from)).await;
                let (parts, body) = answer
                    .map_err(|error| Error::from_service(error.into()))?
                    .into_parts();
                let body = Body::new(Chunks(Box::pin(body)));
                Ok(Response::new(parts.status, parts.headers, body))
            })
        }))
    }

    pub(crate) async fn send(&self, request: http::Request<Bytes>) -> Result<Response, Error> {
        let answer = (self.0)(request);
        answer.await
    }
}

/// The data of a body; its trailers are ignored.
struct Chunks<R>(Pin<Box<R>>);

impl<R> Stream for Chunks<R>
where
    R: HttpBody<Data = Bytes>,
    R::Error: Into<BoxError>,
{
    type Item = Result<Bytes, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            let frame = std::task::ready!(self.0.as_mut().poll_frame(context));
            match frame.map(|frame| frame.map(Frame::into_data)) {
                None => return Poll::Ready(None),
                Some(Ok(Ok(bytes))) => return Poll::Ready(Some(Ok(bytes))),
                Some(Ok(Err(_trailers))) => {}
                Some(Err(error)) => {
                    return Poll::Ready(Some(Err(Error::from_service(error.into()))));
                }
            }
        }
    }
}
