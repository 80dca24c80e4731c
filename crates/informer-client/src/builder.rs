//! The settings of a client, and how it is built.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue, header};
use informer_kubeconfig::{Config, ConfigError, ExecPolicy, Impersonate};
use rustls::crypto::CryptoProvider;
use url::{Host, Url};

use crate::client::{Client, Inner, Sender};
use crate::credentials::{Credentials, PluginOptions};
use crate::dial::Dial;
use crate::discovery::DiscoveryCache;
use crate::error::BuildError;
use crate::transport::{HttpVersion, Pool, Recipe, Transport};
use crate::warning::Warnings;
use crate::{path, tls, user_agent};

/// The settings of a [`Client`].
///
/// ```no_run
/// use informer_client::{Client, Config, ExecPolicy};
///
/// # fn main() -> Result<(), informer_client::BuildError> {
/// let client = Client::builder(Config::infer()?)
///     .user_agent("shop-operator", env!("CARGO_PKG_VERSION"))
///     // Programs that the kubeconfig names for credentials, as those of cloud providers.
///     .exec(ExecPolicy::AllowAll)
///     .build()?;
/// # Ok(()) }
/// ```
#[must_use]
pub struct ClientBuilder {
    config: Config,
    user_agent: Option<HeaderValue>,
    connect_timeout: Duration,
    request_timeout: Duration,
    keep_alive: Duration,
    credentials_on_loopback: bool,
    gzip: bool,
    version: HttpVersion,
    exec: ExecPolicy,
    exec_timeout: Duration,
    provider: Option<Arc<CryptoProvider>>,
}

impl ClientBuilder {
    pub(crate) fn new(config: Config) -> Self {
        Self {
            config,
            user_agent: None,
            connect_timeout: Duration::from_secs(30),
            request_timeout: Duration::from_secs(60),
            keep_alive: Duration::from_secs(15),
            credentials_on_loopback: false,
            gzip: false,
            version: HttpVersion::default(),
            exec: ExecPolicy::default(),
            exec_timeout: Duration::from_secs(60),
            provider: None,
        }
    }

    /// Sets the program and its version in the `User-Agent` header; the platform and this library are added. The
    /// default is the name of the executable.
    pub fn user_agent(mut self, program: &str, version: &str) -> Self {
        self.user_agent = Some(user_agent::header(program, version));
        self
    }

    /// Sets the limit of connecting, TLS included. The default is 30 seconds.
    pub const fn connect_timeout(mut self, limit: Duration) -> Self {
        self.connect_timeout = limit;
        self
    }

    /// Sets the limit of the requests of [`Api`](crate::Api), from sending to the end of the response. The default is
    /// 60 seconds. Lists and watches of informers have their own limits.
    pub const fn request_timeout(mut self, limit: Duration) -> Self {
        self.request_timeout = limit;
        self
    }

    /// Sets how long a connection may be silent until the peer is probed, and how long its answer may take: by TCP, and
    /// with HTTP/2 also by PING. At least a second, at most an hour. The default is 15 seconds.
    pub fn keep_alive(mut self, interval: Duration) -> Self {
        const LEAST: Duration = Duration::from_secs(1);
        const MOST: Duration = Duration::from_secs(3600);
        // Operating systems and the HTTP library take neither zero nor what is endless.
        self.keep_alive = interval.clamp(LEAST, MOST);
        self
    }

    /// Sets whether credentials are sent over plain http if the server is on this machine. The default is no.
    pub const fn credentials_on_loopback(mut self, allow: bool) -> Self {
        self.credentials_on_loopback = allow;
        self
    }

    /// Sets whether servers may compress long responses. The default is no: it costs the server more time than it saves
    /// where the network is fast. Over a slow one it pays. A kubeconfig's `disable-compression` counts before it.
    pub const fn gzip(mut self, allow: bool) -> Self {
        self.gzip = allow;
        self
    }

    /// Sets the version of HTTP over TLS. The default is HTTP/1.1.
    pub const fn http_version(mut self, version: HttpVersion) -> Self {
        self.version = version;
        self
    }

    /// Sets which programs of the configuration may be run for credentials. The default is none: then a configuration
    /// that needs one is an error.
    ///
    /// A program is run when credentials are first needed, again when they have ended by the time that it said, and
    /// once after a 401. What it writes to standard error goes to ours; where its `interactiveMode` lets it and
    /// standard input is a terminal, it can ask there.
    pub fn exec(mut self, policy: ExecPolicy) -> Self {
        self.exec = policy;
        self
    }

    /// How long such a program may take, after which it is killed with all that it started; one that talks with a
    /// person at a terminal is killed alone. The default is 60 seconds; a person who has to log in may need more. A
    /// request that waits for it has limits of its own; the program goes on for the next one.
    pub const fn exec_timeout(mut self, limit: Duration) -> Self {
        self.exec_timeout = limit;
        self
    }

    /// Sets the cryptography of TLS, instead of the one that a feature chose (`aws-lc-rs`, else `ring`). Without either
    /// feature it is the one that the program installed for the whole process.
    pub fn crypto_provider(mut self, provider: Arc<CryptoProvider>) -> Self {
        self.provider = Some(provider);
        self
    }

    /// Builds the client. Reads certificates and keys, so it blocks for as long as that takes; connects to nothing, and
    /// runs no program.
    ///
    /// # Errors
    /// When a certificate, key or token cannot be used, or a program for credentials is not allowed.
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
            return Err(ConfigError::Server { reason }.into());
        }
        let https = cluster.server.scheme() == "https";
        let loopback = is_loopback(&cluster.server);
        let trusted = https || (loopback && self.credentials_on_loopback);
        if !trusted && !auth.is_anonymous() {
            tracing::warn!(server = %cluster.server, "credentials are not sent, since the server's URL is not https");
        }
        let (credentials, impersonate) = if trusted {
            let options = PluginOptions {
                policy: self.exec.clone(),
                timeout: self.exec_timeout,
                cluster: cluster.clone(),
            };
            (Credentials::new(auth, options)?, auth.impersonate.as_ref())
        } else {
            (Credentials::None, None)
        };
        let dial = Dial::new(cluster);
        let mut headers = impersonate
            .map(impersonation)
            .transpose()?
            .unwrap_or_default();
        let agent = self.user_agent.clone();
        headers.insert(
            header::USER_AGENT,
            agent.unwrap_or_else(user_agent::for_this_program),
        );
        if let Some(host) = &dial.host_header {
            headers.insert(header::HOST, host.clone());
        }
        let gzip = self.gzip && !cluster.disable_compression;
        if gzip {
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
        }
        let base = dial.base.clone();
        let recipe = self.recipe(dial, https && trusted, loopback)?;
        let transport = Transport::new(recipe, auth.client_certificate.as_ref())?;
        Ok(Client {
            inner: Arc::new(Inner {
                sender: Sender::Own {
                    transport: Arc::new(transport),
                    credentials,
                },
                base,
                server: cluster.server.clone(),
                headers,
                warnings: Warnings::default(),
                request_timeout: self.request_timeout,
                gzip,
                namespace: namespace.clone(),
                discovery: DiscoveryCache::default(),
            }),
            gate: None,
            write_log: None,
            pool: Pool::default(),
        })
    }

    fn recipe(&self, dial: Dial, https_only: bool, loopback: bool) -> Result<Recipe, BuildError> {
        Ok(Recipe {
            cluster: self.config.cluster.clone(),
            dial,
            provider: match &self.provider {
                Some(provider) => Arc::clone(provider),
                None => tls::default_provider()?,
            },
            version: self.version,
            https_only,
            loopback,
            connect_timeout: self.connect_timeout,
            keep_alive: self.keep_alive,
        })
    }
}

impl fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientBuilder")
            .field("config", &self.config)
            .field("version", &self.version)
            .field("exec", &self.exec)
            .finish_non_exhaustive()
    }
}

/// Returns `true` if a URL is of this machine.
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

/// Returns the headers of an impersonated user.
fn impersonation(whom: &Impersonate) -> Result<HeaderMap, BuildError> {
    let invalid = |reason: String| BuildError::Credential {
        what: "impersonated user",
        reason,
    };
    let mut headers = HeaderMap::new();
    let mut add = |name: HeaderName, text: &str| {
        let value = HeaderValue::from_str(text)
            .map_err(|_| invalid("control character in a name, group or value".to_owned()))?;
        match headers.try_append(name, value) {
            Ok(_) => Ok(()),
            Err(_) => Err(invalid("too many groups or extra values".to_owned())),
        }
    };
    add(HeaderName::from_static("impersonate-user"), &whom.user)?;
    if let Some(uid) = &whom.uid {
        add(HeaderName::from_static("impersonate-uid"), uid)?;
    }
    for group in &whom.groups {
        add(HeaderName::from_static("impersonate-group"), group)?;
    }
    for (key, values) in &whom.extra {
        let name = format!("impersonate-extra-{}", path::encode_header_key(key));
        let name = HeaderName::try_from(name)
            .map_err(|_| invalid(format!("the extra key {key:?} cannot be sent")))?;
        for text in values {
            add(name.clone(), text)?;
        }
    }
    Ok(headers)
}
