//! The judge: an HTTP client for JSON that shares nothing with the crates under test.

use std::path::Path;
use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use reqwest::{Certificate, Client};
use serde_json::Value;

use crate::HarnessError;

/// A request that takes longer than this has failed.
const REQUEST_LIMIT: Duration = Duration::from_secs(60);
/// Objects on a page of a list; large enough for few requests, small enough that lists of tests have several pages.
const PAGE: usize = 500;

/// The methods of the judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Method {
    /// Reads.
    Get,
    /// Creates.
    Post,
    /// Replaces.
    Put,
    /// Changes by a merge patch (RFC 7386).
    MergePatch,
    /// Deletes.
    Delete,
}

impl Method {
    fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::MergePatch => "PATCH",
            Self::Delete => "DELETE",
        }
    }

    fn http(self) -> reqwest::Method {
        match self {
            Self::Get => reqwest::Method::GET,
            Self::Post => reqwest::Method::POST,
            Self::Put => reqwest::Method::PUT,
            Self::MergePatch => reqwest::Method::PATCH,
            Self::Delete => reqwest::Method::DELETE,
        }
    }

    fn content_type(self) -> &'static str {
        match self {
            Self::MergePatch => "application/merge-patch+json",
            _ => "application/json",
        }
    }
}

/// A client of one server as one user. Paths are those of the API, such as `/api/v1/namespaces/default/pods`.
#[derive(Debug, Clone)]
pub struct ApiClient {
    http: Client,
    url: String,
    token: String,
}

impl ApiClient {
    /// A client that trusts the authority in this PEM file and names itself by this bearer token.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or holds no certificate.
    pub fn new(url: &str, token: &str, authority: &Path) -> Result<Self, HarnessError> {
        let read = |source| HarnessError::Io {
            action: "read",
            path: authority.into(),
            source,
        };
        let pem = std::fs::read(authority).map_err(read)?;
        let built = || -> Result<Client, reqwest::Error> {
            let roots = Certificate::from_pem_bundle(&pem)?;
            Client::builder()
                .tls_certs_only(roots)
                .connect_timeout(REQUEST_LIMIT)
                .build()
        };
        // Ours is the only provider of this process; if a crate under test was first with the same, that is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = built().map_err(failed("connect to", url))?;
        Ok(Self {
            http,
            url: url.to_owned(),
            token: token.to_owned(),
        })
    }

    /// Sends one request and returns the answered object.
    ///
    /// # Errors
    ///
    /// [`HarnessError::Status`] for an answer that is no success, [`HarnessError::Request`] for none.
    pub async fn request(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, HarnessError> {
        let mut request = self.prepare(method, path).timeout(REQUEST_LIMIT);
        if let Some(body) = body {
            request = request
                .header(CONTENT_TYPE, method.content_type())
                .body(body.to_string());
        }
        let failed = failed(method.name(), path);
        let response = request.send().await.map_err(&failed)?;
        let status = response.status();
        let bytes = response.bytes().await.map_err(&failed)?;
        if !status.is_success() {
            return Err(refused(method, path, status.as_u16(), &bytes));
        }
        serde_json::from_slice(&bytes).map_err(|source| HarnessError::Request {
            method: method.name(),
            path: path.to_owned(),
            source: source.into(),
        })
    }

    /// Reads an object or whatever stands at the path.
    ///
    /// # Errors
    ///
    /// As [`request`](Self::request).
    pub async fn get(&self, path: &str) -> Result<Value, HarnessError> {
        self.request(Method::Get, path, None).await
    }

    /// Creates an object in the collection at the path and returns it as the server stored it.
    ///
    /// # Errors
    ///
    /// As [`request`](Self::request).
    pub async fn create(&self, collection: &str, object: &Value) -> Result<Value, HarnessError> {
        self.request(Method::Post, collection, Some(object)).await
    }

    /// Changes an object by a merge patch and returns it as the server stored it.
    ///
    /// # Errors
    ///
    /// As [`request`](Self::request).
    pub async fn patch(&self, path: &str, patch: &Value) -> Result<Value, HarnessError> {
        self.request(Method::MergePatch, path, Some(patch)).await
    }

    /// Deletes an object at once, with no grace period: on a server without kubelets nobody would end it.
    ///
    /// # Errors
    ///
    /// As [`request`](Self::request).
    pub async fn delete(&self, path: &str) -> Result<Value, HarnessError> {
        let options = serde_json::json!({ "gracePeriodSeconds": 0 });
        self.request(Method::Delete, path, Some(&options)).await
    }

    /// Lists a collection as it is now, page by page: its resource version and its objects.
    ///
    /// # Errors
    ///
    /// As [`request`](Self::request).
    pub async fn list(&self, collection: &str) -> Result<(String, Vec<Value>), HarnessError> {
        let mut objects = Vec::new();
        let mut next = String::new();
        loop {
            let mut page = self
                .get(&format!("{collection}?limit={PAGE}&continue={next}"))
                .await?;
            if let Some(items) = page["items"].as_array_mut() {
                objects.append(items);
            }
            match page["metadata"]["continue"].as_str() {
                Some(token) if !token.is_empty() => token.clone_into(&mut next),
                _ => {
                    let version = page["metadata"]["resourceVersion"].as_str();
                    return Ok((version.unwrap_or_default().to_owned(), objects));
                }
            }
        }
    }

    /// Watches a collection from a resource version and returns the first event, whatever it is.
    ///
    /// # Errors
    ///
    /// As [`request`](Self::request); also if no event comes within the limit.
    pub async fn first_event(
        &self,
        collection: &str,
        resource_version: &str,
        limit: Duration,
    ) -> Result<Value, HarnessError> {
        let path = format!("{collection}?watch=1&resourceVersion={resource_version}");
        let watch = self.read_first_line(&path);
        match tokio::time::timeout(limit, watch).await {
            Ok(event) => event,
            Err(_) => Err(HarnessError::TimedOut {
                action: "send an event",
                limit,
            }),
        }
    }

    async fn read_first_line(&self, path: &str) -> Result<Value, HarnessError> {
        let failed = failed("GET", path);
        let mut response = self
            .prepare(Method::Get, path)
            .send()
            .await
            .map_err(&failed)?;
        let status = response.status();
        if !status.is_success() {
            let bytes = response.bytes().await.map_err(&failed)?;
            return Err(refused(Method::Get, path, status.as_u16(), &bytes));
        }
        let mut line = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(&failed)? {
            line.extend_from_slice(&chunk);
            if chunk.contains(&b'\n') {
                break;
            }
        }
        let first = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
        serde_json::from_slice(first).map_err(|source| HarnessError::Request {
            method: "GET",
            path: path.to_owned(),
            source: source.into(),
        })
    }

    fn prepare(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        self.http
            .request(method.http(), format!("{}{path}", self.url))
            .header(AUTHORIZATION, format!("Bearer {}", self.token))
            .header(ACCEPT, "application/json")
    }
}

fn failed(method: &'static str, path: &str) -> impl Fn(reqwest::Error) -> HarnessError {
    let path = path.to_owned();
    move |source| HarnessError::Request {
        method,
        path: path.clone(),
        source: source.into(),
    }
}

/// The error of an answer that is no success: the message of its `Status`, or the body.
fn refused(method: Method, path: &str, status: u16, body: &[u8]) -> HarnessError {
    let parsed: Option<Value> = serde_json::from_slice(body).ok();
    let message = parsed
        .as_ref()
        .and_then(|answer| answer["message"].as_str());
    HarnessError::Status {
        method: method.name(),
        path: path.to_owned(),
        status,
        message: message.map_or_else(|| String::from_utf8_lossy(body).into_owned(), str::to_owned),
    }
}
