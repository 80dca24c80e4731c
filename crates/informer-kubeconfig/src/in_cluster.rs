//! The configuration of a pod.

use std::io;

use secrecy::ExposeSecret;
use url::Url;

use crate::auth::AuthInfo;
use crate::config::{Cluster, Config};
use crate::error::ConfigError;
use crate::loader::Environment;
use crate::pem::{PemSource, read_file};

impl Config {
    /// Loads the configuration of a pod from this environment.
    ///
    /// The token stays a path: Kubernetes renews the file.
    ///
    /// # Errors
    /// When the environment lacks the server's address, or the service account is not mounted.
    pub fn in_cluster_from(environment: &Environment) -> Result<Self, ConfigError> {
        let server = service_url(environment).ok_or(ConfigError::NotInCluster)?;
        let directory = &environment.service_account_dir;
        let token = directory.join("token");
        let authority = directory.join("ca.crt");
        for path in [&token, &authority] {
            check(path)?;
        }
        let mut cluster = Cluster::at(server);
        cluster.certificate_authority = Some(PemSource::File(authority));
        let auth = AuthInfo::default().token_file(token);
        Ok(Self {
            cluster,
            auth,
            namespace: namespace(environment),
        })
    }
}

/// Returns the address in the environment, IPv6 in brackets.
fn service_url(environment: &Environment) -> Option<Url> {
    let host = environment.service_host.as_deref()?.trim();
    let port: u16 = environment.service_port.as_deref()?.trim().parse().ok()?;
    if host.is_empty() {
        return None;
    }
    let host = if host.contains(':') && !host.starts_with('[') {
        format!("[{host}]")
    } else {
        host.to_owned()
    };
    let url = Url::parse(&format!("https://{host}:{port}")).ok()?;
    // The host must be nothing but a host.
    (url.path() == "/" && url.username().is_empty() && url.query().is_none()).then_some(url)
}

/// Checks that a file of the service account exists and is not empty.
fn check(path: &std::path::Path) -> Result<(), ConfigError> {
    let failed = |source| ConfigError::ServiceAccount {
        path: path.to_owned(),
        source,
    };
    let contents = read_file(path).map_err(failed)?;
    if contents.expose_secret().trim_ascii().is_empty() {
        return Err(failed(io::Error::new(
            io::ErrorKind::InvalidData,
            "it is empty",
        )));
    }
    Ok(())
}

/// Returns `POD_NAMESPACE`, else the mounted file's namespace, else `default`.
fn namespace(environment: &Environment) -> String {
    let named = environment.pod_namespace.clone().unwrap_or_default();
    if !named.trim().is_empty() {
        return named.trim().to_owned();
    }
    let mounted = read_file(&environment.service_account_dir.join("namespace")).ok();
    let mounted = mounted
        .and_then(|text| String::from_utf8(text.expose_secret().trim_ascii().to_vec()).ok())
        .filter(|text| !text.is_empty());
    mounted.unwrap_or_else(|| "default".to_owned())
}
