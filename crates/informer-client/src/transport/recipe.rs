//! The settings of connections.

use std::sync::Arc;
use std::time::Duration;

use informer_kubeconfig::Cluster;
use rustls::crypto::CryptoProvider;

use super::material::Material;
use crate::dial::Dial;
use crate::error::BuildError;
use crate::tls;

/// The most requests on one HTTP/2 connection. An API server allows 100, and the HTTP library would let the next one
/// wait for ever.
pub(crate) const MAX_STREAMS: usize = 64;

/// The most bytes of a body in flight on one HTTP/2 stream.
const STREAM_WINDOW: u32 = 1 << 20;

/// The most bytes in flight on one HTTP/2 connection: the windows of all its streams together. So streams that are not
/// read use up their own windows only.
const CONNECTION_WINDOW: u32 = STREAM_WINDOW * MAX_STREAMS as u32;

/// The version of HTTP over TLS.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum HttpVersion {
    /// HTTP/1.1: each running watch has a connection of its own.
    #[default]
    Http1,
    /// HTTP/2 where the server has it: a connection for each 64 running requests.
    Http2,
}

/// The settings of connections, but the certificates.
pub(crate) struct Recipe {
    pub(crate) cluster: Cluster,
    pub(crate) dial: Dial,
    pub(crate) provider: Arc<CryptoProvider>,
    pub(crate) version: HttpVersion,
    pub(crate) https_only: bool,
    pub(crate) loopback: bool,
    pub(crate) connect_timeout: Duration,
    pub(crate) keep_alive: Duration,
}

impl Recipe {
    /// Makes the TLS configuration with these certificates.
    pub(super) fn tls(&self, material: &Material) -> Result<rustls::ClientConfig, BuildError> {
        if self.cluster.server.scheme() != "https" {
            return tls::unused_config(&self.provider);
        }
        let mut config = tls::client_config(&self.cluster, material, &self.provider)?;
        // A resumed session shows no certificate, so one that expired or was replaced would go unseen.
        config.resumption = rustls::client::Resumption::disabled();
        // What is offered here is what is spoken.
        config.alpn_protocols = match self.version {
            HttpVersion::Http1 => vec![b"http/1.1".to_vec()],
            HttpVersion::Http2 => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
        };
        Ok(config)
    }

    /// Makes the HTTP client with this TLS configuration.
    pub(super) fn http(&self, tls: rustls::ClientConfig) -> Result<reqwest::Client, BuildError> {
        let http = |source: reqwest::Error| BuildError::Http {
            source: source.without_url().into(),
        };
        let mut builder = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .https_only(self.https_only)
            // A redirect could carry credentials to another server.
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            // The reflector retries, and it alone knows what is safe to repeat.
            .retry(reqwest::retry::never())
            .connect_timeout(self.connect_timeout)
            .tcp_nodelay(true)
            .tcp_keepalive(self.keep_alive)
            .tcp_keepalive_interval(self.keep_alive)
            .tcp_keepalive_retries(3);
        builder = match self.version {
            HttpVersion::Http1 => builder.http1_only(),
            HttpVersion::Http2 => builder
                .http2_initial_stream_window_size(STREAM_WINDOW)
                .http2_initial_connection_window_size(CONNECTION_WINDOW)
                // A peer that vanished without closing the connection is found by probing it.
                .http2_keep_alive_interval(self.keep_alive)
                .http2_keep_alive_timeout(self.keep_alive)
                .http2_keep_alive_while_idle(true),
        };
        if let Some(proxy) = &self.cluster.proxy_url {
            builder = builder.proxy(reqwest::Proxy::all(proxy.as_str()).map_err(http)?);
        } else if self.loopback || self.dial.resolver.is_some() {
            // What the environment says of proxies is not for this machine.
            builder = builder.no_proxy();
        }
        if let Some(resolver) = &self.dial.resolver {
            builder = builder.dns_resolver(Arc::clone(resolver));
        }
        builder.build().map_err(http)
    }
}
