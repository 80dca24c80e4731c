//! The client: one connection pool to one API server, with credentials.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, Method};
use informer_kubeconfig::Config;
use url::Url;

use crate::builder::ClientBuilder;
use crate::credentials::Credentials;
use crate::discovery::DiscoveryCache;
use crate::error::BuildError;
use crate::path;
use crate::request::RequestBuilder;
use crate::transport::Transport;
use crate::warning::Warnings;

/// A connection to an API server: its address, credentials and connection pool. Cheap to clone; clones share all.
///
/// ```no_run
/// use informer_client::Client;
///
/// # fn main() -> Result<(), informer_client::BuildError> {
/// // As kubectl: KUBECONFIG, ~/.kube/config, or what the pod is given.
/// let client = Client::infer()?;
/// // A server that asks for no credentials, as the test kit's.
/// let local = Client::anonymous("http://127.0.0.1:8080")?;
/// # Ok(()) }
/// ```
///
/// Credentials are sent over https only, to this server only: redirects are not followed. An http URL on loopback
/// gets them if [`ClientBuilder::credentials_on_loopback`] says so.
#[derive(Clone)]
pub struct Client {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) sender: Sender,
    /// What requests are sent to. Its host is the name that TLS asks for.
    pub(crate) base: Url,
    /// What users know the server as.
    pub(crate) server: Url,
    /// Sent with each request.
    pub(crate) headers: HeaderMap,
    pub(crate) warnings: Warnings,
    pub(crate) request_timeout: Duration,
    /// Whether answers may come compressed.
    pub(crate) gzip: bool,
    pub(crate) namespace: String,
    pub(crate) discovery: DiscoveryCache,
}

/// What carries requests.
pub(crate) enum Sender {
    /// Connections of our own.
    Own {
        transport: Arc<Transport>,
        credentials: Credentials,
    },
    /// A service that the program gave us. Connections and credentials are its affair.
    #[cfg(feature = "tower")]
    Service(crate::transport::Service),
}

impl Client {
    /// A client for this configuration.
    ///
    /// # Errors
    /// When a certificate, key or token cannot be used.
    pub fn new(config: Config) -> Result<Self, BuildError> {
        Self::builder(config).build()
    }

    /// A client for the configuration that is found as `kubectl` finds it.
    ///
    /// # Errors
    /// When there is none, or it cannot be used.
    pub fn infer() -> Result<Self, BuildError> {
        Self::new(Config::infer()?)
    }

    /// A client without credentials.
    ///
    /// # Errors
    /// When the URL is none, or not of http or https.
    pub fn anonymous(server: &str) -> Result<Self, BuildError> {
        Self::new(Config::anonymous(server)?)
    }

    /// A client for this configuration, with more to choose.
    pub fn builder(config: Config) -> ClientBuilder {
        ClientBuilder::new(config)
    }

    /// A client over a service of yours: a stack of tower layers, or kube's `Client` by its method `send`. The service adds scheme, host
    /// and credentials; requests come to it with a path and a query alone, and its errors count as a broken connection.
    ///
    /// ```
    /// use bytes::Bytes;
    /// use http_body_util::Full;
    /// use informer_client::{Client, bytes, http};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), informer_client::Error> {
    /// let service = tower::service_fn(|request: http::Request<Full<Bytes>>| async move {
    ///     assert_eq!(request.uri(), "/version");
    ///     Ok::<_, std::io::Error>(http::Response::new(Full::new(Bytes::from("{}"))))
    /// });
    /// let client = Client::from_service(service);
    /// let answer = client.request(http::Method::GET, "/version").send().await?;
    /// assert_eq!(answer.bytes(100).await?, "{}");
    /// # Ok(()) }
    /// ```
    #[cfg(feature = "tower")]
    #[expect(clippy::missing_panics_doc, reason = "the URL is a constant")]
    pub fn from_service<S, B, R>(service: S) -> Self
    where
        S: tower_service::Service<http::Request<B>, Response = http::Response<R>>
            + Clone
            + Send
            + 'static,
        S::Future: Send,
        S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
        B: From<bytes::Bytes> + Send + 'static,
        R: http_body::Body<Data = bytes::Bytes> + Send + 'static,
        R::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        // Its host is never sent; a name that can be none anywhere.
        let server = Url::parse("http://service.invalid").expect("a constant that is a URL");
        Self {
            inner: Arc::new(Inner {
                sender: Sender::Service(crate::transport::Service::new(service)),
                base: server.clone(),
                server,
                headers: HeaderMap::new(),
                warnings: Warnings::default(),
                request_timeout: Duration::from_secs(60),
                gzip: false,
                namespace: "default".to_owned(),
                discovery: DiscoveryCache::default(),
            }),
        }
    }

    /// The URL of the API server; `http://service.invalid` if requests go over a service.
    #[must_use]
    pub fn server(&self) -> &Url {
        &self.inner.server
    }

    /// The namespace of the configuration.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.inner.namespace
    }

    /// Starts a request. The path stands behind the prefix of the server's URL, begins with a slash, and is encoded
    /// already, as [`Resource::path`](informer_wire::Resource) makes it.
    ///
    /// ```no_run
    /// # async fn example(client: informer_client::Client) -> Result<(), informer_client::Error> {
    /// use informer_client::http::Method;
    ///
    /// let version = client.request(Method::GET, "/version").send().await?.error_for_status().await?;
    /// println!("{}", String::from_utf8_lossy(&version.bytes(4096).await?));
    /// # Ok(()) }
    /// ```
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let url = path::join(&self.inner.base, path);
        RequestBuilder::new(self.clone(), method, url)
    }
}

impl TryFrom<Config> for Client {
    type Error = BuildError;

    fn try_from(config: Config) -> Result<Self, BuildError> {
        Self::new(config)
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("server", &self.inner.server.as_str())
            .field("namespace", &self.inner.namespace)
            .finish_non_exhaustive()
    }
}
