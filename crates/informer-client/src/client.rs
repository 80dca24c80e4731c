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
use crate::gate::{Gate, Gated};
use crate::path;
use crate::request::RequestBuilder;
use crate::transport::{Pool, Transport};
use crate::warning::Warnings;
use crate::write_log::WriteLog;

/// A connection to an API server: its address, credentials and connection pool. Cheap to clone; clones share
/// everything.
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
    /// Asked before each request.
    pub(crate) gate: Option<Arc<Gated>>,
    /// Receives what was written.
    pub(crate) write_log: Option<Arc<dyn WriteLog>>,
    /// Which connections it uses.
    pub(crate) pool: Pool,
}

pub(crate) struct Inner {
    pub(crate) sender: Sender,
    /// The URL that requests are sent to. Its host is the name that TLS requests.
    pub(crate) base: Url,
    /// The server's URL as users know it.
    pub(crate) server: Url,
    /// Headers of each request.
    pub(crate) headers: HeaderMap,
    pub(crate) warnings: Warnings,
    pub(crate) request_timeout: Duration,
    /// Whether responses may be compressed.
    pub(crate) gzip: bool,
    pub(crate) namespace: String,
    pub(crate) discovery: DiscoveryCache,
}

/// The sender of requests.
pub(crate) enum Sender {
    /// Connections of our own.
    Own {
        transport: Arc<Transport>,
        credentials: Credentials,
    },
    /// A service of the program, with its own connections and credentials.
    #[cfg(feature = "tower")]
    Service(crate::transport::Service),
}

impl Client {
    /// Makes a client of this configuration.
    ///
    /// # Errors
    /// When a certificate, key or token cannot be used.
    pub fn new(config: Config) -> Result<Self, BuildError> {
        Self::builder(config).build()
    }

    /// Makes a client of the configuration that `kubectl` would find. Programs for credentials are not allowed; use
    /// [`Client::builder`] and [`ClientBuilder::exec`] for them.
    ///
    /// # Errors
    /// When there is none, or it cannot be used.
    pub fn infer() -> Result<Self, BuildError> {
        Self::new(Config::infer()?)
    }

    /// Makes a client without credentials.
    ///
    /// # Errors
    /// When the URL is none, or not of http or https.
    pub fn anonymous(server: &str) -> Result<Self, BuildError> {
        Self::new(Config::anonymous(server)?)
    }

    /// Makes a builder of a client of this configuration.
    pub fn builder(config: Config) -> ClientBuilder {
        ClientBuilder::new(config)
    }

    /// Makes a client over a service: a stack of tower layers, or kube's `Client` by its method `send`. The service
    /// adds scheme, host and credentials; it receives requests with a path and a query alone, and its errors count as a
    /// broken connection.
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
            gate: None,
            write_log: None,
            pool: Pool::default(),
        }
    }

    /// Returns this client with a gate: it is asked right before each request is handed to its connection, and a request
    /// is given no longer than the gate stays open. The client that this is called on, and its gate if it has one, stay as
    /// they are.
    ///
    /// For what only a leader may do: after a loss of its lease, or when a frozen process wakes up after it, nothing is
    /// sent any more but what has passed the gate before. Requests pass one at a time, each when the connection had time to
    /// write the one before, so that this is one as a rule; where connections have to be opened first it may be more.
    #[must_use]
    pub fn gated(&self, gate: impl Gate) -> Self {
        Self {
            gate: Some(Arc::new(Gated::new(gate))),
            ..self.clone()
        }
    }

    /// Returns this client with a log of its writes, instead of the one that it has, if any. The client that this is called
    /// on stays as it is.
    #[must_use]
    pub fn with_write_log(&self, log: impl WriteLog) -> Self {
        Self {
            write_log: Some(Arc::new(log)),
            ..self.clone()
        }
    }

    /// Returns this client with connections of its own, which none of its other clones uses. Credentials, certificates and
    /// everything else are the same ones. `None` for a client over a service, whose connections are not its own.
    ///
    /// A connection is driven by the runtime on which it was opened: while that is blocked, requests over it are not
    /// answered, whoever sent them. A thread with a runtime of its own that must not depend on others needs this.
    #[must_use]
    pub fn with_own_connections(&self) -> Option<Self> {
        match &self.inner.sender {
            Sender::Own { .. } => Some(Self {
                pool: Pool::new(),
                ..self.clone()
            }),
            #[cfg(feature = "tower")]
            Sender::Service(_) => None,
        }
    }

    /// Returns the URL of the API server; `http://service.invalid` if requests go over a service.
    #[must_use]
    pub fn server(&self) -> &Url {
        &self.inner.server
    }

    /// Returns the namespace of the configuration.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.inner.namespace
    }

    /// Starts a request. The path is appended to the server's URL, begins with a slash, and is encoded already, as by
    /// [`Resource::path`](informer_wire::Resource).
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
