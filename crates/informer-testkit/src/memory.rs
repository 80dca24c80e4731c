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
use informer_reflector::{
    Collection, DecodedBody, ListRequest, ListWatchError, ListerWatcher, relist_period,
};
use informer_store::Object;
use informer_wire::{
    DecodeOptions, FromWire, ListDecoder, ListOptions, ReadVerb, Resource, Status, WatchDecoder,
    WireFormat,
};

use crate::http::{Body, exchange};
use crate::request::RequestRecord;
use crate::server::ApiServer;
use crate::shared::Shared;

impl ApiServer {
    /// Returns a lister-watcher of a resource of this server without a socket, in one namespace or in all (`None`).
    /// Requests meet the same faults, and their bodies are decoded the same way, as over HTTP; but nothing waits for a
    /// real network, so that a test may pause tokio's clock.
    ///
    /// ```
    /// use informer_reflector::Reflector;
    /// use informer_store::Store;
    /// use informer_testkit::ApiServer;
    /// use informer_wire::{PartialObjectMetadata, Resource, Scope};
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
    /// let store = Arc::new(Store::<PartialObjectMetadata>::new());
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
        let mut request = http::Request::new(Bytes::new());
        self.shared.authorize(&mut request);
        let answer = exchange(Arc::clone(&self.shared), record, request).await;
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

/// Makes the error of a response that is no success.
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

    async fn list(&self, request: ListRequest<K>) -> Result<MemoryList<K>, ListWatchError> {
        let answer = self.ask(ReadVerb::List, &request.options).await?;
        let mut decoder = ListDecoder::new(WireFormat::Json, self.decode_options());
        if let Some(newest) = request.newest {
            decoder = decoder.newest(newest);
        }
        Ok(DecodedBody::new(MemoryBody(answer.into_body()), decoder))
    }

    async fn watch(&self, options: ListOptions) -> Result<MemoryWatch<K>, ListWatchError> {
        self.watch_list(ListRequest::new(options)).await
    }

    async fn watch_list(&self, request: ListRequest<K>) -> Result<MemoryWatch<K>, ListWatchError> {
        let answer = self.ask(ReadVerb::Watch, &request.options).await?;
        let mut decoder = WatchDecoder::new(WireFormat::Json, self.decode_options());
        if let Some(newest) = request.newest {
            decoder = decoder.newest(newest);
        }
        Ok(DecodedBody::new(MemoryBody(answer.into_body()), decoder))
    }

    fn relist_period(&self) -> Option<Duration> {
        relist_period(&self.resource)
    }

    fn collection(&self) -> Option<Collection> {
        let (resource, namespace) = (self.resource.clone(), self.namespace.clone());
        Some(Collection::new(resource, namespace))
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

/// The bytes of a response.
pub struct MemoryBody(Body);

impl Stream for MemoryBody {
    type Item = Result<Bytes, ListWatchError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            let frame = ready!(Pin::new(&mut self.0).poll_frame(context));
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
}

impl fmt::Debug for MemoryBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryBody").finish_non_exhaustive()
    }
}

/// One page of a list.
pub type MemoryList<K> = DecodedBody<MemoryBody, ListDecoder<K>>;

/// The events of one watch.
pub type MemoryWatch<K> = DecodedBody<MemoryBody, WatchDecoder<K>>;
