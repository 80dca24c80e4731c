//! Typed requests for single objects.

use std::fmt;
use std::marker::PhantomData;

use http::Method;
use informer_wire::{
    DecodeError, DecodeOptions, DeleteOptions, Deleted, FromWire, Patch, ReadVerb, Resource,
    StaticResource, WireFormat, decode_object,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::client::Client;
use crate::error::Error;
use crate::field_validation::FieldValidation;
use crate::request::RequestBuilder;
use crate::write_log::Write;

/// The most bytes of an object. What etcd stores is at most 1.5 MiB; aggregated servers may send more.
const MAX_OBJECT_BYTES: usize = 32 << 20;

const JSON: &str = "application/json";

/// Reads and writes single objects of one resource, typed with any serde type or another that is [`FromWire`].
///
/// ```no_run
/// use informer_client::{Api, Client};
/// use informer_wire::{Resource, Scope};
/// use serde_json::Value;
///
/// # async fn example(client: Client) -> Result<(), informer_client::Error> {
/// // A resource known only at run time.
/// let widgets = Resource::new("example.org", "v1", "Widget", "widgets", Scope::Namespaced);
/// let api = Api::<Value>::new(client, widgets).in_namespace("shop");
/// let widget = api.get("left").await?;
/// let status = api.subresource("status").get("left").await?;
/// # Ok(()) }
/// ```
///
/// Every method is one request. Dropping its future ends the request; a write may have happened or not.
pub struct Api<K> {
    client: Client,
    resource: Resource,
    namespace: Option<String>,
    subresource: Option<String>,
    field_manager: Option<String>,
    field_validation: Option<FieldValidation>,
    dry_run: bool,
    types: PhantomData<fn() -> K>,
}

impl<K> Api<K> {
    /// Makes an `Api` of a resource; of one namespace after [`Api::in_namespace`].
    #[must_use]
    pub const fn new(client: Client, resource: Resource) -> Self {
        Self {
            client,
            resource,
            namespace: None,
            subresource: None,
            field_manager: None,
            field_validation: None,
            dry_run: false,
            types: PhantomData,
        }
    }

    /// Makes an `Api` of a type that has a resource, in a namespace.
    #[must_use]
    pub fn namespaced(client: Client, namespace: impl Into<String>) -> Self
    where
        K: StaticResource,
    {
        Self::new(client, K::resource()).in_namespace(namespace)
    }

    /// Makes an `Api` of a type that has a cluster-scoped resource.
    #[must_use]
    pub fn cluster(client: Client) -> Self
    where
        K: StaticResource,
    {
        Self::new(client, K::resource())
    }

    /// Sets the namespace.
    #[must_use]
    pub fn in_namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// Sets the subresource, such as `status` or `scale`.
    #[must_use]
    pub fn subresource(mut self, name: impl Into<String>) -> Self {
        self.subresource = Some(name.into());
        self
    }

    /// Sets the field manager of writes. The default is the first part of the user agent.
    #[must_use]
    pub fn field_manager(mut self, name: impl Into<String>) -> Self {
        self.field_manager = Some(name.into());
        self
    }

    /// Sets what the server does with fields of a written object that it does not know. The default is the server's.
    #[must_use]
    pub const fn field_validation(mut self, how: FieldValidation) -> Self {
        self.field_validation = Some(how);
        self
    }

    /// Sets whether the server only checks writes and deletes, answers, and stores nothing.
    #[must_use]
    pub const fn dry_run(mut self, dry_run: bool) -> Self {
        self.dry_run = dry_run;
        self
    }

    /// Returns the resource.
    #[must_use]
    pub const fn resource(&self) -> &Resource {
        &self.resource
    }

    fn request(&self, method: Method, name: Option<&str>) -> Result<RequestBuilder, Error> {
        let invalid = |reason: String| Error::Request { reason };
        let path = self
            .resource
            .path(self.namespace.as_deref(), name)
            .map_err(|error| invalid(error.to_string()))?;
        let path = match (&self.subresource, name) {
            (None, _) => path,
            (Some(part), Some(_)) if is_plain(part) => format!("{path}/{part}"),
            (Some(part), Some(_)) => {
                return Err(invalid(format!(
                    "{part:?} is not the name of a subresource"
                )));
            }
            (Some(_), None) => return Err(invalid("a subresource needs an object's name".into())),
        };
        Ok(self.client.request(method, &path))
    }

    /// Returns the query parameters of a write. A delete has none: a server reads its options from the body alone.
    fn write_query(&self) -> Vec<(&'static str, String)> {
        let mut pairs = Vec::new();
        pairs.extend(
            self.field_manager
                .clone()
                .map(|name| ("fieldManager", name)),
        );
        let validation = self.field_validation.map(|how| format!("{how:?}"));
        pairs.extend(validation.map(|how| ("fieldValidation", how)));
        pairs.extend(self.dry_run.then(|| ("dryRun", "All".to_owned())));
        pairs
    }
}

impl<K: FromWire> Api<K> {
    /// Reads an object.
    ///
    /// # Errors
    /// When the server refuses ([`Error::is_not_found`] and others), cannot be reached, or its response is no K.
    pub async fn get(&self, name: &str) -> Result<K, Error> {
        self.read(self.request(Method::GET, Some(name))?).await
    }

    /// Creates an object and returns it as the server stored it.
    ///
    /// # Errors
    /// When the server refuses ([`Error::is_already_exists`] and others) or cannot be reached.
    pub async fn create<T: Serialize>(&self, object: &T) -> Result<K, Error> {
        let request = self.request(Method::POST, None)?.query(self.write_query());
        self.write(None, request.json(JSON, object)).await
    }

    /// Creates a subresource that is made rather than stored, such as an `Eviction` or a `TokenRequest`. The response
    /// is of its own type, often a [`Status`](informer_wire::Status).
    ///
    /// ```no_run
    /// # async fn example(client: informer_client::Client) -> Result<(), informer_client::Error> {
    /// # use informer_client::Api;
    /// # use k8s_openapi::api::core::v1::Pod;
    /// use informer_wire::Status;
    ///
    /// let eviction = serde_json::json!({
    ///     "apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "web", "namespace": "shop"},
    /// });
    /// let pods = Api::<Pod>::namespaced(client, "shop").subresource("eviction");
    /// let done: Status = pods.create_subresource("web", &eviction).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// When the server refuses or cannot be reached, its response is no R, or no subresource was set.
    pub async fn create_subresource<T: Serialize, R: DeserializeOwned>(
        &self,
        name: &str,
        body: &T,
    ) -> Result<R, Error> {
        if self.subresource.is_none() {
            return Err(Error::Request {
                reason: "name a subresource first".to_owned(),
            });
        }
        let request = self
            .request(Method::POST, Some(name))?
            .query(self.write_query())
            .accept(JSON);
        let answer = self.body(request.json(JSON, body)).await?.1;
        self.note(Some(name), false, self.dry_run, &answer);
        decode(&answer)
    }

    /// Replaces an object and returns it as the server stored it. If it has a resource version, the server replaces
    /// that version only.
    ///
    /// # Errors
    /// When the server refuses ([`Error::is_conflict`] and others) or cannot be reached.
    #[doc(alias = "Update")]
    pub async fn replace<T: Serialize>(&self, name: &str, object: &T) -> Result<K, Error> {
        let request = self
            .request(Method::PUT, Some(name))?
            .query(self.write_query());
        self.write(Some(name), request.json(JSON, object)).await
    }

    /// Patches an object and returns it as the server stored it.
    ///
    /// # Errors
    /// When the server refuses or cannot be reached.
    pub async fn patch<T: Serialize>(&self, name: &str, patch: &Patch<T>) -> Result<K, Error> {
        let mut query = self.write_query();
        let own = patch.query_pairs();
        if !own.is_empty() {
            query.retain(|(key, _)| *key != "fieldManager");
        }
        query.extend(own);
        let request = self.request(Method::PATCH, Some(name))?.query(query);
        self.write(Some(name), request.json(patch.content_type(), patch.body()))
            .await
    }

    /// Deletes an object; with [`Api::dry_run`] or [`DeleteOptions::dry_run`] the server only answers as if.
    ///
    /// # Errors
    /// When the server refuses ([`Error::is_not_found`] and others) or cannot be reached.
    pub async fn delete(&self, name: &str, options: &DeleteOptions) -> Result<Deleted<K>, Error> {
        let request = self.request(Method::DELETE, Some(name))?;
        let request = if self.dry_run {
            request.json(JSON, &options.clone().dry_run(true))
        } else {
            request.json(JSON, options)
        };
        let (format, body) = self.answer(request).await?;
        self.note(Some(name), true, self.dry_run || options.dry_run, &body);
        match self.decoded(format, &body) {
            Ok(object) => Ok(Deleted::Object(object)),
            Err(DecodeError::Status(status)) => Ok(Deleted::Status(status)),
            Err(error) => Err(undecodable(error)),
        }
    }

    async fn read(&self, request: RequestBuilder) -> Result<K, Error> {
        let (format, body) = self.answer(request).await?;
        self.decoded(format, &body).map_err(undecodable)
    }

    /// Sends a write and decodes the object in its response.
    async fn write(&self, name: Option<&str>, request: RequestBuilder) -> Result<K, Error> {
        let (format, body) = self.answer(request).await?;
        self.note(name, false, self.dry_run, &body);
        self.decoded(format, &body).map_err(undecodable)
    }

    async fn answer(&self, request: RequestBuilder) -> Result<(WireFormat, bytes::Bytes), Error> {
        let formats = K::form().accept(ReadVerb::Get, &[WireFormat::Json]);
        self.body(request.accept(&formats)).await
    }

    fn decoded(&self, format: WireFormat, body: &[u8]) -> Result<K, DecodeError> {
        // What is written back must be whole.
        let options = DecodeOptions::default()
            .keep_managed_fields(true)
            .resource(self.resource.clone());
        decode_object(format, body, &options)
    }
}

impl<K> Api<K> {
    /// Passes a confirmed write to the client's log, if it has one.
    fn note(&self, name: Option<&str>, is_delete: bool, is_dry_run: bool, answer: &[u8]) {
        let Some(log) = self.client.write_log.as_ref().filter(|_| !is_dry_run) else {
            return;
        };
        let namespace = self.namespace.as_deref();
        if let Some(write) = Write::of_response(&self.resource, namespace, name, is_delete, answer)
        {
            log.wrote(write);
        }
    }

    /// Sends a request and reads the whole body of a good response.
    async fn body(&self, request: RequestBuilder) -> Result<(WireFormat, bytes::Bytes), Error> {
        let limit = self.client.inner.request_timeout;
        let whole = async {
            let answer = request.send().await?.error_for_status().await?;
            // A server without a content type is taken to have sent the requested one.
            let format = answer
                .content_type()
                .map_or(Some(WireFormat::Json), WireFormat::from_content_type);
            let format = format.ok_or_else(|| Error::Decode {
                reason: "not JSON; check that the URL is an API server's".to_owned(),
            })?;
            Ok((format, answer.bytes(MAX_OBJECT_BYTES).await?))
        };
        tokio::time::timeout(limit, whole)
            .await
            .unwrap_or(Err(Error::timeout("response", limit)))
    }
}

impl<K> Clone for Api<K> {
    fn clone(&self) -> Self {
        Self {
            client: self.client.clone(),
            resource: self.resource.clone(),
            namespace: self.namespace.clone(),
            subresource: self.subresource.clone(),
            field_manager: self.field_manager.clone(),
            ..*self
        }
    }
}

impl<K> fmt::Debug for Api<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Api")
            .field("resource", &self.resource)
            .field("namespace", &self.namespace)
            .field("subresource", &self.subresource)
            .finish_non_exhaustive()
    }
}

/// Makes the error of a response that is no object of the requested type. A `Status` in its place is the server's
/// error.
fn undecodable(error: DecodeError) -> Error {
    match error {
        DecodeError::Status(status) => Error::from_status(*status),
        error => Error::Decode {
            reason: error.to_string(),
        },
    }
}

/// Returns `true` if a text needs no encoding in a path: `status`, `ephemeralcontainers`, `proxy`.
fn is_plain(segment: &str) -> bool {
    !segment.is_empty()
        && segment
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

/// Reads JSON. The error has the place, but quotes nothing: the object may be a Secret.
pub(crate) fn decode<T: DeserializeOwned>(body: &[u8]) -> Result<T, Error> {
    serde_json::from_slice(body).map_err(|error| {
        let what = match error.classify() {
            serde_json::error::Category::Data => "not of the expected type",
            serde_json::error::Category::Eof => "ends too early",
            _ => "not valid JSON",
        };
        let reason = format!("{what} (line {}, column {})", error.line(), error.column());
        Error::Decode { reason }
    })
}
