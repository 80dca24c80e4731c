//! What to choose for a client, and how it is put together.

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
use crate::transport::{HttpVersion, Recipe, Transport};
use crate::warning::Warnings;
use crate::{path, tls, user_agent};

/// What to choose for a [`Client`].
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

    /// How long a connection may be silent until the peer is asked whether it is still there, and how long its answer
    /// may take: by TCP, and with HTTP/2 also by PING. The default is 15 seconds.
    pub const fn keep_alive(mut self, interval: Duration) -> Self {
        self.keep_alive = interval;
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

    /// The version of HTTP over TLS. The default is HTTP/1.1.
    pub const fn http_version(mut self, version: HttpVersion) -> Self {
        self.version = version;
        self
    }

    /// Which programs that the configuration names may be run for credentials. The default is none: then a
    /// configuration that needs one is an error that says so.
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

    /// The cryptography of TLS, instead of the one that a feature chose (`aws-lc-rs`, else `ring`). Without either
    /// feature it is the one that the program installed for the whole process.
    pub fn crypto_provider(mut self, provider: Arc<CryptoProvider>) -> Self {
        self.provider = Some(provider);
        self
    }

    /// Makes the client. Reads certificates and keys, so it blocks for as long as that takes; connects to nothing, and
    /// runs no program.
    ///
    /// # Errors
    /// When a certificate, key or token cannot be used, or a program that gives credentials may not be run.
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
