//! The `ListerWatcher` of one resource of an API server.

use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use informer_client::http::Method;
use informer_client::{Client, Response};
use informer_store::Object;
use informer_wire::{
    DecodeOptions, FromWire, ListDecoder, ListOptions, ReadVerb, Resource, StaticResource,
    WatchDecoder, WireFormat,
};

use super::chunks::{Chunks, failed};
use super::config::HttpConfig;
use super::events::{HttpList, HttpWatch, Negotiated};
use super::negotiation::{Memory, Negotiation};
use super::traffic::Traffic;
use crate::error::ListWatchError;
use crate::lister_watcher::{Collection, ListRequest, ListerWatcher, relist_period};

/// Lists and watches one resource of an API server, in one namespace or in all.
///
/// ```no_run
/// use informer_client::Client;
/// use informer_reflector::http::HttpListerWatcher;
/// use informer_wire::{Resource, Scope};
/// use k8s_openapi::api::core::v1::Node;
///
/// # fn main() -> Result<(), informer_client::BuildError> {
/// let client = Client::infer()?;
/// // A type that knows its resource, over all namespaces or outside them.
/// let nodes = HttpListerWatcher::<Node>::all(client.clone());
/// // A resource known at run time.
/// let widgets = Resource::new("example.org", "v1", "Widget", "widgets", Scope::Namespaced);
/// # type Widget = k8s_openapi::api::core::v1::ConfigMap;
/// let widgets = HttpListerWatcher::<Widget>::new(client, widgets).namespace("shop");
/// # Ok(()) }
/// ```
#[doc(alias = "NewListWatchFromClient")]
pub struct HttpListerWatcher<K> {
    client: Client,
    resource: Resource,
    namespace: Option<String>,
    config: HttpConfig,
    memory: Memory,
    traffic: Traffic,
    object: PhantomData<fn() -> K>,
}

impl<K> HttpListerWatcher<K> {
    /// Lists and watches a resource, in all namespaces.
    #[must_use]
    pub fn new(client: Client, resource: Resource) -> Self {
        Self {
            client,
            resource,
            namespace: None,
            config: HttpConfig::default(),
            memory: Memory::default(),
            traffic: Traffic::default(),
            object: PhantomData,
        }
    }

    /// Lists and watches the resource of a type that knows it, everywhere.
    #[must_use]
    pub fn all(client: Client) -> Self
    where
        K: StaticResource,
    {
        Self::new(client, K::resource())
    }

    /// Lists and watches the resource of a type that knows it, in one namespace.
    #[must_use]
    pub fn namespaced(client: Client, namespace: impl Into<String>) -> Self
    where
        K: StaticResource,
    {
        Self::new(client, K::resource()).namespace(namespace)
    }

    /// Sets the namespace; an empty name stands for all.
    #[must_use]
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into()).filter(|name| !name.is_empty());
        self
    }

    /// Sets how objects are requested and decoded.
    #[must_use]
    pub fn config(mut self, config: HttpConfig) -> Self {
        self.config = config;
        self
    }

    /// Returns the resource.
    #[must_use]
    pub const fn resource(&self) -> &Resource {
        &self.resource
    }

    /// Returns what its lists and watches have received, and those of its clones.
    #[must_use]
    pub fn traffic(&self) -> Traffic {
        self.traffic.clone()
    }

    fn decode_options(&self) -> DecodeOptions {
        self.config.decode.clone().resource(self.resource.clone())
    }
}

impl<K: FromWire> HttpListerWatcher<K> {
    /// Requests the formats that are left to request, and waits for a response that can be decoded.
    async fn request(
        &self,
        verb: ReadVerb,
        options: &ListOptions,
    ) -> Result<(Response, WireFormat, Negotiation), ListWatchError> {
        let negotiation = Negotiation::new(
            self.config.wire,
            &self.resource,
            K::form(),
            self.memory.clone(),
        );
        loop {
            let formats = negotiation.formats();
            let response = match self.send(verb, options, formats).await {
                Err(ListWatchError::Status { status, .. })
                    if negotiation.refused(formats, &status) =>
                {
                    tracing::debug!(resource = %self.resource, %status, "the server has no protobuf");
                    continue;
                }
                response => response?,
            };
            // A server that does not say sends the default.
            let format = response
                .content_type()
                .map_or(Some(WireFormat::Json), WireFormat::from_content_type)
                .ok_or(ListWatchError::Protocol(
                    "its content type was not requested; check that the URL is an API server's",
                ))?;
            negotiation.answered(formats, format);
            self.traffic.answered(format);
            return Ok((response, format, negotiation));
        }
    }

    /// Sends a request and waits for a good response, without a time limit: the reflector has one.
    async fn send(
        &self,
        verb: ReadVerb,
        options: &ListOptions,
        formats: &[WireFormat],
    ) -> Result<Response, ListWatchError> {
        let path = self
            .resource
            .path(self.namespace.as_deref(), None)
            .map_err(ListWatchError::other)?;
        let watch = matches!(verb, ReadVerb::Watch).then(|| ("watch", "true".to_owned()));
        let request = self
            .client
            .request(Method::GET, &path)
            .query(watch)
            .query(options.query_pairs())
            .accept(&K::form().accept(verb, formats));
        let response = request.send().await.map_err(failed)?;
        let response = response.error_for_status().await.map_err(failed)?;
        let coding = response.headers().get("content-encoding");
        if coding.is_some_and(|coding| coding != "identity") {
            let what = "it is compressed, which was not requested";
            return Err(ListWatchError::Protocol(what));
        }
        Ok(response)
    }
}

impl<K: FromWire + Object> ListerWatcher for HttpListerWatcher<K> {
    type Object = K;
    type List = HttpList<K>;
    type Watch = HttpWatch<K>;

    async fn list(&self, request: ListRequest<K>) -> Result<HttpList<K>, ListWatchError> {
        let (response, format, negotiation) =
            self.request(ReadVerb::List, &request.options).await?;
        let mut decoder = ListDecoder::new(format, self.decode_options());
        if let Some(newest) = request.newest {
            decoder = decoder.newest(newest);
        }
        let chunks = Chunks::new(response.into_body(), self.traffic());
        let decoder = Negotiated::new(decoder, format, negotiation, false);
        Ok(HttpList::new(chunks, decoder))
    }

    async fn watch(&self, options: ListOptions) -> Result<HttpWatch<K>, ListWatchError> {
        self.watch_list(ListRequest::new(options)).await
    }

    async fn watch_list(&self, request: ListRequest<K>) -> Result<HttpWatch<K>, ListWatchError> {
        let (response, format, negotiation) =
            self.request(ReadVerb::Watch, &request.options).await?;
        let mut decoder = WatchDecoder::new(format, self.decode_options());
        if let Some(newest) = request.newest {
            decoder = decoder.newest(newest);
        }
        let chunks = Chunks::new(response.into_body(), self.traffic());
        let is_live = request.options.send_initial_events != Some(true);
        let decoder = Negotiated::new(decoder, format, negotiation, is_live);
        Ok(HttpWatch::new(chunks, decoder))
    }

    fn relist_period(&self) -> Option<Duration> {
        relist_period(&self.resource)
    }

    fn collection(&self) -> Option<Collection> {
        let (resource, namespace) = (self.resource.clone(), self.namespace.clone());
        Some(Collection::new(resource, namespace))
    }
}

impl<K> Clone for HttpListerWatcher<K> {
    fn clone(&self) -> Self {
        Self {
            client: self.client.clone(),
            resource: self.resource.clone(),
            namespace: self.namespace.clone(),
            config: self.config.clone(),
            memory: self.memory.clone(),
            traffic: self.traffic.clone(),
            object: PhantomData,
        }
    }
}

impl<K> fmt::Debug for HttpListerWatcher<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpListerWatcher")
            .field("client", &self.client)
            .field("resource", &self.resource)
            .field("namespace", &self.namespace)
            .field("config", &self.config)
            .finish()
    }
}
