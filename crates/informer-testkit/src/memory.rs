//! Lists and watches without a socket, for simulations in virtual time.

use std::fmt;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use http::Response;
use http_body_util::BodyExt as _;
use hyper::body::Body as _;
use informer_reflector::{ListEvent, ListRequest, ListWatchError, ListerWatcher, relist_period};
use informer_store::Object;
use informer_wire::{
    DecodeError, DecodeOptions, FromWire, ListDecoder, ListOptions, ReadVerb, Resource, Status,
    StreamEnd, WatchDecoder, WatchEvent, WireFormat,
};

use crate::http::{Body, exchange};
use crate::request::RequestRecord;
use crate::server::ApiServer;
use crate::shared::Shared;

impl ApiServer {
    /// Lists and watches a resource of this server without a socket, in one namespace or in all
    /// (`None`). Requests meet the same faults, and their bodies are read by the same decoders, as
    /// over HTTP; but nothing waits for a real network, so that a test may pause tokio's clock.
    ///
    /// ```
    /// use informer_reflector::Reflector;
    /// use informer_store::Store;
    /// use informer_testkit::ApiServer;
    /// use informer_wire::{Metadata, Resource, Scope};
    /// use serde_json::json;
    /// use std::sync::Arc;
    /// use tokio_util::sync::CancellationToken;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let server = ApiServer::builder().in_memory();
    /// server.create("pods", json!({"metadata": {"namespace": "web", "name": "a"}}))?;
    ///
    /// let pods = Resource::new("", "v1", "Pod", "pods", Scope::Namespaced);
    /// let store = Arc::new(Store::<Metadata>::new());
    /// let reflector = Reflector::new(server.lister_watcher(&pods, None), Arc::clone(&store));
    /// let stop = CancellationToken::new();
    /// let running = tokio::spawn(reflector.run(stop.clone()));
    /// store.wait_until(&server.resource_version().into()).await?;
    /// assert_eq!(store.len(), 1);
    /// stop.cancel();
    /// running.await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn lister_watcher<K>(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
    ) -> MemoryListerWatcher<K> {
        MemoryListerWatcher {
            shared: self.shared(),
            resource: resource.clone(),
            namespace: namespace.map(str::to_owned),
            object: PhantomData,
        }
    }
}

/// Lists and watches one resource of an [`ApiServer`] without a socket. Made by
/// [`ApiServer::lister_watcher`].
pub struct MemoryListerWatcher<K> {
    shared: Arc<Shared>,
    resource: Resource,
    namespace: Option<String>,
    object: PhantomData<fn() -> K>,
}

impl<K: FromWire> MemoryListerWatcher<K> {
    async fn ask(
        &self,
        verb: ReadVerb,
        options: &ListOptions,
    ) -> Result<Response<Body>, ListWatchError> {
        let path = self
            .resource
            .path(self.namespace.as_deref(), None)
            .map_err(ListWatchError::other)?;
        let watch = matches!(verb, ReadVerb::Watch).then(|| ("watch", "true".to_owned()));
        let query = watch.into_iter().chain(options.query_pairs());
        let accept = K::form().accept(verb, &[WireFormat::Json]);
        let record = RequestRecord::of_parts("GET", &path, query, &accept);
        let answer = exchange(Arc::clone(&self.shared), record, None).await;
        let answer = answer.map_err(|gone| match gone.refused {
            true => ListWatchError::refused(gone),
            false => ListWatchError::transport(gone),
        })?;
        if answer.status().is_success() {
            return Ok(answer);
        }
        Err(refusal(answer).await)
    }

    fn decode_options(&self) -> DecodeOptions {
        DecodeOptions::default().resource(self.resource.clone())
    }
}

/// What an answer that is no success says.
async fn refusal(answer: Response<Body>) -> ListWatchError {
    let header = |name: &str| {
        let value = answer
            .headers()
            .get(name)
            .and_then(|value| value.to_str().ok());
        value.map(str::to_owned)
    };
    let content_type = header("content-type");
    let retry_after = header("retry-after").and_then(|seconds| seconds.parse().ok());
    let code = answer.status().as_u16();
    let body = match answer.into_body().collect().await {
        Ok(body) => body.to_bytes(),
        Err(broken) => return ListWatchError::transport(broken),
    };
    let status = Status::from_response(code, content_type.as_deref(), &body);
    match ListWatchError::status_error(status) {
        ListWatchError::Status {
            status,
            retry_after: asked,
        } => ListWatchError::Status {
            status,
            retry_after: asked.or_else(|| retry_after.map(Duration::from_secs)),
        },
        other => other,
    }
}

impl<K: FromWire + Object> ListerWatcher for MemoryListerWatcher<K> {
    type Object = K;
    type List = MemoryList<K>;
    type Watch = MemoryWatch<K>;

    async fn list(&self, request: ListRequest) -> Result<MemoryList<K>, ListWatchError> {
        let answer = self.ask(ReadVerb::List, &request.options).await?;
        let mut decoder = ListDecoder::new(WireFormat::Json, self.decode_options());
        if let Some(known) = request.known {
            decoder = decoder.known(known);
        }
        Ok(MemoryList {
            body: answer.into_body(),
            decoder: Some(decoder),
        })
    }

    async fn watch(&self, options: ListOptions) -> Result<MemoryWatch<K>, ListWatchError> {
        let answer = self.ask(ReadVerb::Watch, &options).await?;
        Ok(MemoryWatch {
            body: answer.into_body(),
            decoder: Some(WatchDecoder::new(WireFormat::Json, self.decode_options())),
        })
    }

    fn relist_period(&self) -> Option<Duration> {
        relist_period(&self.resource)
    }
}

impl<K> Clone for MemoryListerWatcher<K> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            resource: self.resource.clone(),
            namespace: self.namespace.clone(),
            object: PhantomData,
        }
    }
}

impl<K> fmt::Debug for MemoryListerWatcher<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryListerWatcher")
            .field("resource", &self.resource)
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

/// The next bytes of a body.
fn poll_bytes(
    body: &mut Body,
    context: &mut Context<'_>,
) -> Poll<Option<Result<Bytes, ListWatchError>>> {
    loop {
        let frame = ready!(Pin::new(&mut *body).poll_frame(context));
        match frame.transpose() {
            Err(broken) => return Poll::Ready(Some(Err(ListWatchError::transport(broken)))),
            Ok(None) => return Poll::Ready(None),
            Ok(Some(frame)) => {
                if let Ok(bytes) = frame.into_data() {
                    return Poll::Ready(Some(Ok(bytes)));
                }
            }
        }
    }
}

/// A body that cannot be read. If the server wrote an error into it, that is the error.
fn unreadable(error: DecodeError) -> ListWatchError {
    match error {
        DecodeError::Status(status) => ListWatchError::status_error(*status),
        error => ListWatchError::Decode(error),
    }
}

/// One page of a list.
pub struct MemoryList<K> {
    body: Body,
    /// `None` once the page has ended, well or not.
    decoder: Option<ListDecoder<K>>,
}

impl<K> Unpin for MemoryList<K> {}

impl<K: FromWire> MemoryList<K> {
    fn advance(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<ListEvent<K>, ListWatchError>>> {
        loop {
            let Some(decoder) = &mut self.decoder else {
                return Poll::Ready(None);
            };
            if let Some(item) = decoder.next() {
                return Poll::Ready(Some(item.map(ListEvent::Item).map_err(unreadable)));
            }
            match ready!(poll_bytes(&mut self.body, context)) {
                Some(Ok(bytes)) => decoder.push(&bytes),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => {
                    let end = self.decoder.take().map(ListDecoder::finish);
                    return Poll::Ready(end.map(|end| end.map(ListEvent::End).map_err(unreadable)));
                }
            }
        }
    }
}

impl<K: FromWire> Stream for MemoryList<K> {
    type Item = Result<ListEvent<K>, ListWatchError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = ready!(self.advance(context));
        if matches!(next, Some(Err(_))) {
            self.decoder = None;
        }
        Poll::Ready(next)
    }
}

impl<K> fmt::Debug for MemoryList<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryList").finish_non_exhaustive()
    }
}

/// The events of one watch.
pub struct MemoryWatch<K> {
    body: Body,
    /// `None` once the watch has ended.
    decoder: Option<WatchDecoder<K>>,
}

impl<K> Unpin for MemoryWatch<K> {}

impl<K: FromWire> MemoryWatch<K> {
    fn advance(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<WatchEvent<K>, ListWatchError>>> {
        loop {
            let Some(decoder) = &mut self.decoder else {
                return Poll::Ready(None);
            };
            if let Some(event) = decoder.next() {
                return Poll::Ready(Some(event.map_err(unreadable)));
            }
            match ready!(poll_bytes(&mut self.body, context)) {
                Some(Ok(bytes)) => decoder.push(&bytes),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(self.end()),
            }
        }
    }

    fn end(&mut self) -> Option<Result<WatchEvent<K>, ListWatchError>> {
        match self.decoder.take()?.finish() {
            StreamEnd::Clean => None,
            _ => Some(Err(ListWatchError::transport(DecodeError::Truncated {
                what: "watch",
            }))),
        }
    }
}

impl<K: FromWire> Stream for MemoryWatch<K> {
    type Item = Result<WatchEvent<K>, ListWatchError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = ready!(self.advance(context));
        if matches!(next, Some(Err(_))) {
            self.decoder = None;
        }
        Poll::Ready(next)
    }
}

impl<K> fmt::Debug for MemoryWatch<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryWatch").finish_non_exhaustive()
    }
}
