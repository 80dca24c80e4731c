//! One request.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use serde::Serialize;
use url::Url;

use crate::client::{Client, Sender};
use crate::credentials::{Credentials, Shown};
use crate::error::Error;
use crate::response::Response;
use crate::transport::{Lanes, Pool, Transport};

/// A request being built. Nothing is sent before [`RequestBuilder::send`].
#[must_use = "a request is sent only by `send`"]
pub struct RequestBuilder {
    client: Client,
    /// An error is kept until `send`, so that calls can be chained.
    parts: Result<Parts, Error>,
}

struct Parts {
    method: Method,
    url: Url,
    headers: HeaderMap,
    body: Option<Bytes>,
    timeout: Option<Duration>,
}

impl RequestBuilder {
    pub(crate) fn new(client: Client, method: Method, url: Result<Url, Error>) -> Self {
        let parts = url.map(|url| Parts {
            method,
            url,
            headers: client.inner.headers.clone(),
            body: None,
            timeout: None,
        });
        Self { client, parts }
    }

    /// Adds query parameters. They are encoded here.
    pub fn query<K, V>(mut self, pairs: impl IntoIterator<Item = (K, V)>) -> Self
    where
        K: AsRef<str>,
        V: AsRef<str>,
    {
        if let Ok(parts) = &mut self.parts {
            let mut pairs = pairs.into_iter().peekable();
            if pairs.peek().is_some() {
                parts.url.query_pairs_mut().extend_pairs(pairs);
            }
        }
        self
    }

    /// Sets a header.
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        if let Ok(parts) = &mut self.parts {
            parts.headers.insert(name, value);
        }
        self
    }

    /// Sets the `Accept` header.
    pub fn accept(self, formats: &str) -> Self {
        match HeaderValue::from_str(formats) {
            Ok(value) => self.header(header::ACCEPT, value),
            Err(_) => self.failed(Error::Request {
                reason: "control character in the Accept header".to_owned(),
            }),
        }
    }

    /// Sets the body.
    pub fn body(mut self, content_type: &'static str, body: impl Into<Bytes>) -> Self {
        if let Ok(parts) = &mut self.parts {
            parts
                .headers
                .insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
            parts.body = Some(body.into());
        }
        self
    }

    /// Sets a body of a value as JSON of this content type.
    pub fn json<T: Serialize + ?Sized>(self, content_type: &'static str, value: &T) -> Self {
        match serde_json::to_vec(value) {
            Ok(body) => self.body(content_type, body),
            Err(source) => self.failed(Error::Encode { source }),
        }
    }

    /// Sets the limit of waiting for the head of the response. The default is none: the caller has its own limit.
    pub fn timeout(mut self, limit: Duration) -> Self {
        if let Ok(parts) = &mut self.parts {
            parts.timeout = Some(limit);
        }
        self
    }

    fn failed(mut self, error: Error) -> Self {
        if self.parts.is_ok() {
            self.parts = Err(error);
        }
        self
    }

    /// Sends the request and waits for the head of the response, whatever its status. If the server responds with 401,
    /// or TLS fails, and there are renewed credentials or certificates, the request is sent once more with them.
    ///
    /// Dropping the future ends the request.
    ///
    /// # Errors
    /// When the request cannot be made, or there is no response. An error status is no error here: see
    /// [`Response::error_for_status`].
    pub async fn send(self) -> Result<Response, Error> {
        let parts = self.parts?;
        let limit = parts.timeout;
        let exchange = async {
            match &self.client.gate {
                Some(gate) => gate.pass(exchange(&self.client, parts)).await,
                None => exchange(&self.client, parts).await,
            }
        };
        let Some(limit) = limit else {
            return exchange.await;
        };
        tokio::time::timeout(limit, exchange)
            .await
            .unwrap_or(Err(Error::timeout("response", limit)))
    }
}

impl fmt::Debug for RequestBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("RequestBuilder");
        match &self.parts {
            Ok(parts) => debug
                .field("method", &parts.method)
                .field("path", &parts.url.path()),
            Err(error) => debug.field("error", error),
        };
        debug.finish_non_exhaustive()
    }
}

async fn exchange(client: &Client, parts: Parts) -> Result<Response, Error> {
    let answer = match &client.inner.sender {
        Sender::Own {
            transport,
            credentials,
        } => authorized(transport, credentials, &client.pool, &parts).await,
        #[cfg(feature = "tower")]
        Sender::Service(service) => service.send(parts.into_http()?).await,
    }?;
    client.inner.warnings.log(answer.headers());
    // What was not asked for is not unpacked: the answer is a proxy's, or not meant for us.
    Ok(if client.inner.gzip {
        answer.unpacked()
    } else {
        answer
    })
}

/// Sends a request with credentials. If the server refuses them, or its certificate is refused here, and there are
/// others by now, the request is sent once more with those.
async fn authorized(
    transport: &Arc<Transport>,
    credentials: &Credentials,
    pool: &Pool,
    parts: &Parts,
) -> Result<Response, Error> {
    let shown = credentials.show(transport).await?;
    let lanes = transport.lanes().await;
    let answer = once(transport, &lanes, pool, parts, &shown).await;
    let refused = matches!(&answer, Ok(answer) if answer.status() == StatusCode::UNAUTHORIZED);
    // A handshake that failed carried no request.
    let distrusted = matches!(&answer, Err(Error::Tls { .. }));
    if refused && let Some(renewed) = credentials.renew(&shown, transport).await {
        let lanes = transport.lanes().await;
        return once(transport, &lanes, pool, parts, &renewed).await;
    }
    if (refused || distrusted) && transport.recheck(&lanes).await {
        let lanes = transport.lanes().await;
        return once(transport, &lanes, pool, parts, &shown).await;
    }
    answer
}

async fn once(
    transport: &Transport,
    lanes: &Lanes,
    pool: &Pool,
    parts: &Parts,
    shown: &Shown,
) -> Result<Response, Error> {
    let (http, place) = transport.place(lanes, pool)?;
    let mut request = reqwest::Request::new(parts.method.clone(), parts.url.clone());
    *request.headers_mut() = parts.headers.clone();
    if let Some(value) = &shown.header {
        request
            .headers_mut()
            .insert(header::AUTHORIZATION, value.clone());
    }
    *request.body_mut() = parts.body.clone().map(reqwest::Body::from);
    let answer = http.execute(request).await.map_err(Error::from_reqwest)?;
    Ok(Response::from_reqwest(answer, place))
}

#[cfg(feature = "tower")]
impl Parts {
    /// Makes a request for a service, which adds scheme and host itself.
    fn into_http(self) -> Result<http::Request<Bytes>, Error> {
        let target = &self.url[url::Position::BeforePath..url::Position::AfterQuery];
        let mut request = http::Request::builder()
            .method(self.method)
            .uri(target)
            .body(self.body.unwrap_or_default())
            .map_err(|error| Error::Request {
                reason: error.to_string(),
            })?;
        *request.headers_mut() = self.headers;
        Ok(request)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// INV-CLIENT-4.
        #[test]
        fn query_parameters_are_received_as_given(
            pairs in prop::collection::vec(("[a-zA-Z]{1,12}", "(?s).{0,40}"), 0..5),
        ) {
            let client = Client::anonymous("http://host/prefix").unwrap();
            let request = client.request(Method::GET, "/api/v1/pods").query(pairs.clone());
            let url = request.parts.unwrap().url;
            prop_assert_eq!(url.path(), "/prefix/api/v1/pods");
            prop_assert_eq!(url.fragment(), None);
            let read: Vec<(String, String)> = url.query_pairs().into_owned().collect();
            prop_assert_eq!(read, pairs);
        }
    }
}
