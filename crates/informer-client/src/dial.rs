//! The name that a connection requests, and the machine that it is made to.

use std::net::SocketAddr;
use std::sync::Arc;

use http::HeaderValue;
use informer_kubeconfig::Cluster;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

/// The destination of requests.
pub(crate) struct Dial {
    /// The URL that requests are made of.
    pub(crate) base: Url,
    /// The `Host` header, where it is not the URL's host.
    pub(crate) host_header: Option<HeaderValue>,
    /// Finds the machine, where the URL's host is another name.
    pub(crate) resolver: Option<Arc<Redirected>>,
}

impl Dial {
    /// With `tls-server-name`, a server that tells its certificates apart by name (SNI) must be asked for that name.
    /// The HTTP library takes the name from the URL. So the URL gets it, while the address comes from the real host.
    /// A proxy needs the real host, so there only the check of the certificate uses the name.
    pub(crate) fn new(cluster: &Cluster) -> Self {
        Self::renamed(cluster).unwrap_or_else(|| Self {
            base: cluster.server.clone(),
            host_header: None,
            resolver: None,
        })
    }

    fn renamed(cluster: &Cluster) -> Option<Self> {
        let name = cluster.tls_server_name.as_deref()?;
        let https = cluster.server.scheme() == "https";
        if !https || cluster.proxy_url.is_some() || environment_names_a_proxy() {
            return None;
        }
        // An address is never sent as SNI.
        let Ok(Host::Domain(_)) = Host::parse(name) else {
            return None;
        };
        let mut base = cluster.server.clone();
        base.set_host(Some(name)).ok()?;
        let host = match cluster.server.host()? {
            Host::Ipv6(address) => address.to_string(),
            host => host.to_string(),
        };
        let mut authority = cluster.server.host_str()?.to_owned();
        if let Some(port) = cluster.server.port() {
            authority = format!("{authority}:{port}");
        }
        let host_header = HeaderValue::try_from(authority).ok()?;
        let resolver = Some(Arc::new(Redirected { host }));
        Some(Self {
            base,
            host_header: Some(host_header),
            resolver,
        })
    }
}

fn environment_names_a_proxy() -> bool {
    ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]
        .iter()
        .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

/// Resolves every name to the addresses of one host.
pub(crate) struct Redirected {
    host: String,
}

impl Resolve for Redirected {
    fn resolve(&self, _name: Name) -> Resolving {
        let host = self.host.clone();
        Box::pin(async move {
            // The HTTP library puts the URL's port in.
            let found: Vec<SocketAddr> = tokio::net::lookup_host((host, 0)).await?.collect();
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}
