//! The result of loading: an API server and credentials.

use std::fmt;

use url::Url;

use crate::auth::AuthInfo;
use crate::error::ConfigError;
use crate::loader::{ConfigLoader, Environment};
use crate::pem::PemSource;

/// An API server, and the credentials for it.
///
/// ```
/// use informer_kubeconfig::Config;
///
/// let config = Config::anonymous("http://127.0.0.1:8080/prefix?ignored")?;
/// assert_eq!(config.cluster.server.as_str(), "http://127.0.0.1:8080/prefix");
/// assert!(config.auth.is_anonymous());
/// assert_eq!(config.namespace, "default");
/// # Ok::<(), informer_kubeconfig::ConfigError>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Config {
    /// The API server.
    pub cluster: Cluster,
    /// The credentials.
    pub auth: AuthInfo,
    /// The namespace of the context; `default` if it names none.
    pub namespace: String,
}

impl Config {
    /// Makes a configuration of this cluster without credentials.
    #[must_use]
    pub fn new(cluster: Cluster) -> Self {
        Self {
            cluster,
            auth: AuthInfo::default(),
            namespace: "default".to_owned(),
        }
    }

    /// Makes a configuration of this URL without credentials.
    ///
    /// # Errors
    /// When the URL is none, or not of http or https.
    pub fn anonymous(server: &str) -> Result<Self, ConfigError> {
        Ok(Self::new(Cluster::new(server)?))
    }

    /// Finds the configuration as `kubectl` does: `KUBECONFIG`, else `~/.kube/config`, else the pod's.
    ///
    /// # Errors
    /// When there is none, or it cannot be used.
    pub fn infer() -> Result<Self, ConfigError> {
        ConfigLoader::new().load()
    }

    /// Loads the configuration of a pod: its environment and the mounted service account.
    ///
    /// # Errors
    /// When the process does not run in a pod, or the service account is not mounted.
    #[doc(alias = "InClusterConfig")]
    pub fn in_cluster() -> Result<Self, ConfigError> {
        Self::in_cluster_from(&Environment::from_process())
    }

    /// Sets the credentials.
    #[must_use]
    pub fn auth(mut self, auth: AuthInfo) -> Self {
        self.auth = auth;
        self
    }

    /// Sets the namespace.
    #[must_use]
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = namespace.into();
        self
    }
}

/// An API server and how to reach and trust it.
#[derive(Clone)]
#[non_exhaustive]
pub struct Cluster {
    /// The URL of the API server; its path is a prefix of every request's path.
    pub server: Url,
    /// The only authorities to trust. `None`: those of the system.
    pub certificate_authority: Option<PemSource>,
    /// The name that the server's certificate must have. `None`: the host of the URL.
    pub tls_server_name: Option<String>,
    /// Whether to trust any server. Anyone between can read and change everything.
    pub insecure_skip_tls_verify: bool,
    /// A proxy: http, https or socks5.
    pub proxy_url: Option<Url>,
    /// Whether to ask the server not to compress.
    pub disable_compression: bool,
}

impl Cluster {
    /// Makes a cluster of the API server at this URL. Without a scheme it is http.
    ///
    /// # Errors
    /// When the URL is none, or not of http or https.
    pub fn new(server: &str) -> Result<Self, ConfigError> {
        let server =
            parse_server(server, "http").map_err(|reason| ConfigError::Server { reason })?;
        Ok(Self::at(server))
    }

    /// The API server at a URL that was checked.
    pub(crate) const fn at(server: Url) -> Self {
        Self {
            server,
            certificate_authority: None,
            tls_server_name: None,
            insecure_skip_tls_verify: false,
            proxy_url: None,
            disable_compression: false,
        }
    }

    /// Sets the only authorities to trust.
    #[must_use]
    pub fn certificate_authority(mut self, authorities: PemSource) -> Self {
        self.certificate_authority = Some(authorities);
        self
    }

    /// Sets the name that the server's certificate must have.
    #[must_use]
    pub fn tls_server_name(mut self, name: impl Into<String>) -> Self {
        self.tls_server_name = Some(name.into());
        self
    }

    /// Sets whether to trust any server, for experiments. Anyone between can read and change everything.
    #[must_use]
    pub const fn insecure_skip_tls_verify(mut self, skip: bool) -> Self {
        self.insecure_skip_tls_verify = skip;
        self
    }

    /// Sets a proxy.
    #[must_use]
    pub fn proxy_url(mut self, proxy: Url) -> Self {
        self.proxy_url = Some(proxy);
        self
    }
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A proxy's URL may carry a password.
        let proxy = self.proxy_url.as_ref().map(|url| {
            let port = url
                .port()
                .map(|port| format!(":{port}"))
                .unwrap_or_default();
            format!(
                "{}://{}{port}",
                url.scheme(),
                url.host_str().unwrap_or_default()
            )
        });
        f.debug_struct("Cluster")
            .field("server", &self.server.as_str())
            .field("certificate_authority", &self.certificate_authority)
            .field("tls_server_name", &self.tls_server_name)
            .field("insecure_skip_tls_verify", &self.insecure_skip_tls_verify)
            .field("proxy_url", &proxy)
            .field("disable_compression", &self.disable_compression)
            .finish()
    }
}

/// Reads a server's URL: the path is kept, query and fragment are dropped, a missing scheme is filled in.
///
/// The error does not quote the URL: it may hold a password.
pub(crate) fn parse_server(server: &str, default_scheme: &str) -> Result<Url, String> {
    let server = server.trim();
    if server.is_empty() {
        return Err("empty; set the server's URL".to_owned());
    }
    let full = if server.contains("://") {
        server.to_owned()
    } else {
        format!("{default_scheme}://{server}")
    };
    let mut url = Url::parse(&full).map_err(|error| format!("not a URL ({error})"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err("the scheme must be http or https".to_owned());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("user name or password in the URL; put them into a user entry".to_owned());
    }
    url.set_query(None);
    url.set_fragment(None);
    Ok(url)
}
