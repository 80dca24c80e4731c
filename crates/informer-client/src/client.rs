//! The client: one connection pool to one API server, with credentials.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use informer_kubeconfig::{Config, Impersonate};
use url::{Host, Url};

use crate::credentials::Credentials;
use crate::dial::Dial;
use crate::error::{BuildError, Error};
use crate::request::RequestBuilder;
use crate::warning::Warnings;
use crate::{path, tls, user_agent};

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
    pub(crate) http: reqwest::Client,
    /// What requests are sent to. Its host is the name that TLS asks for.
    pub(crate) base: Url,
    /// What users know the server as.
    server: Url,
    pub(crate) credentials: Credentials,
    /// Sent with each request.
    pub(crate) headers: HeaderMap,
    pub(crate) warnings: Warnings,
    pub(crate) request_timeout: Duration,
    /// Whether answers may come compressed.
    pub(crate) gzip: bool,
    namespace: String,
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
    pub const fn builder(config: Config) -> ClientBuilder {
        ClientBuilder {
            config,
            user_agent: None,
            connect_timeout: Duration::from_secs(30),
            request_timeout: Duration::from_secs(60),
            credentials_on_loopback: false,
            gzip: false,
        }
    }

    /// The URL of the API server.
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

/// What to choose for a [`Client`].
#[derive(Debug)]
#[must_use]
pub struct ClientBuilder {
    config: Config,
    user_agent: Option<HeaderValue>,
    connect_timeout: Duration,
    request_timeout: Duration,
    credentials_on_loopback: bool,
    gzip: bool,
}

impl ClientBuilder {
    /// Names the program and its version to the server; the platform and this library are added. The default is the
    /// name of the executable.
    pub fn user_agent(mut self, program: &str, version: &str) -> Self {
        self.user_agent = Some(user_agent::header(program, version));
        self
    }

    /// How long connecting may take, TLS included. The default is 30 seconds.
    pub const fn connect_timeout(mut self, limit: Duration) -> Self {
        self.connect_timeout = limit;
        self
    }

    /// How long the requests of [`Api`](crate::Api) may take, from sending to the end of the answer. The default is
    /// 60 seconds. Lists and watches of informers have their own limits.
    pub const fn request_timeout(mut self, limit: Duration) -> Self {
        self.request_timeout = limit;
        self
    }

    /// Whether credentials are sent over plain http if the server is on this machine. The default is no.
    pub const fn credentials_on_loopback(mut self, allow: bool) -> Self {
        self.credentials_on_loopback = allow;
        self
    }

    /// Whether servers may compress long answers. The default is no: it costs the server more time than it saves where
    /// the network is fast. Over a slow one it pays. A kubeconfig's `disable-compression` counts before it.
    pub const fn gzip(mut self, allow: bool) -> Self {
        self.gzip = allow;
        self
    }

    /// Makes the client. Reads certificates and keys, so it blocks for as long as that takes; connects to nothing.
    ///
    /// # Errors
    /// When a certificate, key or token cannot be used.
    pub fn build(self) -> Result<Client, BuildError> {
        let Config {
            cluster,
            auth,
            namespace,
            ..
        } = &self.config;
        // The HTTP library would send them, over http too.
        if !cluster.server.username().is_empty() || cluster.server.password().is_some() {
            let reason = "it holds a user name or password; give them as credentials".to_owned();
            return Err(informer_kubeconfig::ConfigError::Server { reason }.into());
        }
        let https = cluster.server.scheme() == "https";
        let loopback = is_loopback(&cluster.server);
        let trusted = https || (loopback && self.credentials_on_loopback);
        if !trusted && !auth.is_anonymous() {
            tracing::warn!(server = %cluster.server, "credentials are not sent, since the server's URL is not https");
        }
        let tls = if https {
            tls::client_config(cluster, auth.client_certificate.as_ref())?
        } else {
            tls::unused_config()?
        };
        let (credentials, impersonate) = if trusted {
            (Credentials::new(auth)?, auth.impersonate.as_ref())
        } else {
            (Credentials::None, None)
        };
        let dial = Dial::new(cluster);
        let mut headers = impersonate
            .map(impersonation)
            .transpose()?
            .unwrap_or_default();
        headers.insert(
            header::USER_AGENT,
            self.user_agent
                .clone()
                .unwrap_or_else(user_agent::for_this_program),
        );
        if let Some(host) = &dial.host_header {
            headers.insert(header::HOST, host.clone());
        }
        let gzip = self.gzip && !cluster.disable_compression;
        if gzip {
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
        }
        let http = self.http(tls, &dial, https && trusted, loopback)?;
        Ok(Client {
            inner: Arc::new(Inner {
                http,
                base: dial.base,
                server: cluster.server.clone(),
                credentials,
                headers,
                warnings: Warnings::default(),
                request_timeout: self.request_timeout,
                gzip,
                namespace: namespace.clone(),
            }),
        })
    }

    fn http(
        &self,
        tls: rustls::ClientConfig,
        dial: &Dial,
        https_only: bool,
        loopback: bool,
    ) -> Result<reqwest::Client, BuildError> {
        let http = |source: reqwest::Error| BuildError::Http {
            source: source.without_url().into(),
        };
        let mut builder = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .https_only(https_only)
            .http1_only()
            // A redirect could carry credentials to another server.
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            // The reflector retries, and it alone knows what is safe to repeat.
            .retry(reqwest::retry::never())
            .connect_timeout(self.connect_timeout)
            .tcp_nodelay(true)
            .tcp_keepalive(Duration::from_secs(15))
            .tcp_keepalive_interval(Duration::from_secs(15))
            .tcp_keepalive_retries(3);
        let proxy = self.config.cluster.proxy_url.as_ref();
        if let Some(proxy) = proxy {
            builder = builder.proxy(reqwest::Proxy::all(proxy.as_str()).map_err(http)?);
        } else if loopback || dial.resolver.is_some() {
            // What the environment says of proxies is not for this machine.
            builder = builder.no_proxy();
        }
        if let Some(resolver) = &dial.resolver {
            builder = builder.dns_resolver(Arc::clone(resolver));
        }
        builder.build().map_err(http)
    }
}

/// Whether a URL names this machine.
fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => {
            let name = name.trim_end_matches('.');
            name.eq_ignore_ascii_case("localhost")
        }
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// The headers that name another user to act as.
fn impersonation(whom: &Impersonate) -> Result<HeaderMap, BuildError> {
    let value = |text: &str| {
        HeaderValue::from_str(text).map_err(|_| BuildError::Credential {
            what: "user to act as",
            reason: "a name, group or value holds a control character".to_owned(),
        })
    };
    let mut headers = HeaderMap::new();
    headers.insert("impersonate-user", value(&whom.user)?);
    if let Some(uid) = &whom.uid {
        headers.insert("impersonate-uid", value(uid)?);
    }
    for group in &whom.groups {
        headers.append("impersonate-group", value(group)?);
    }
    for (key, values) in &whom.extra {
        let name = format!("impersonate-extra-{}", path::encode_header_key(key));
        let name = HeaderName::try_from(name).map_err(|_| BuildError::Credential {
            what: "user to act as",
            reason: format!("the extra key {key:?} cannot be sent"),
        })?;
        for text in values {
            headers.append(name.clone(), value(text)?);
        }
    }
    Ok(headers)
}

impl Error {
    /// A request that took too long.
    pub(crate) const fn timeout(what: &'static str, limit: Duration) -> Self {
        Self::Timeout { what, limit }
    }
}
