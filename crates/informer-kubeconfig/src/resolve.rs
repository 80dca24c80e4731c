//! From a context of a kubeconfig to a checked configuration.

use std::io;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use crate::auth::{AuthInfo, BasicAuth, ClientCertificate, Impersonate};
use crate::config::{Cluster, Config, parse_server};
use crate::error::ConfigError;
use crate::exec::{EXEC_EXTENSION, ExecConfig, ExecVersion, InteractiveMode};
use crate::kubeconfig::{Entry, Kubeconfig};
use crate::pem::{PemSource, read_file};
use crate::raw::{RawCluster, RawExtension, RawUser};

/// Resolves a context and checks everything that belongs to it.
pub(crate) fn resolve(kube: &Kubeconfig, context: Option<&str>) -> Result<Config, ConfigError> {
    let known = || kube.contexts.keys().cloned().collect();
    let Some(name) = context.or_else(|| kube.current_context()) else {
        return Err(ConfigError::NoCurrentContext {
            files: files(kube),
            known: known(),
        });
    };
    let Some(context) = kube.contexts.get(name) else {
        return Err(ConfigError::UnknownContext {
            context: name.to_owned(),
            files: files(kube),
            known: known(),
        });
    };
    let at = Place {
        file: &context.file,
        entry: format!("context {name:?}"),
    };
    let cluster = named(&kube.clusters, "cluster", &context.value.cluster, &at)?;
    let user = match context.value.user.as_str() {
        "" => None,
        user => Some(named(&kube.users, "user", user, &at)?),
    };
    let has_certificate = user.as_ref().is_some_and(|(_, user)| {
        user.value.client_certificate.is_some() || user.value.client_certificate_data.is_some()
    });
    if kube.inline_only {
        check_inline(&cluster.0, cluster.1.value.files())?;
        if let Some((at, user)) = &user {
            check_inline(at, user.value.files())?;
        }
    }
    let auth = match user {
        Some((at, user)) => check_user(&at, &user.value, &cluster.1.value)?,
        None => AuthInfo::default(),
    };
    let cluster = check_cluster(&cluster.0, &cluster.1.value, has_certificate)?;
    let namespace = Some(context.value.namespace.clone()).filter(|name| !name.is_empty());
    Ok(Config {
        cluster,
        auth,
        namespace: namespace.unwrap_or_else(|| "default".to_owned()),
    })
}

/// Returns the kubeconfigs that were read, in one line.
fn files(kube: &Kubeconfig) -> String {
    let files: Vec<_> = kube
        .files
        .iter()
        .map(|file| file.display().to_string())
        .collect();
    files.join(", ")
}

/// The place of an error.
struct Place<'a> {
    file: &'a Path,
    entry: String,
}

impl Place<'_> {
    fn error(&self, problem: impl Into<String>) -> ConfigError {
        ConfigError::Entry {
            file: self.file.to_owned(),
            entry: self.entry.clone(),
            problem: problem.into(),
        }
    }

    fn file_error(&self, field: &'static str, path: &Path, source: io::Error) -> ConfigError {
        ConfigError::EntryFile {
            file: self.file.to_owned(),
            entry: self.entry.clone(),
            field,
            path: path.to_owned(),
            source,
        }
    }
}

/// Returns the entry that a context names.
fn named<'a, T>(
    entries: &'a std::collections::BTreeMap<String, Entry<T>>,
    what: &str,
    name: &str,
    context: &Place<'_>,
) -> Result<(Place<'a>, &'a Entry<T>), ConfigError> {
    if name.is_empty() {
        return Err(context.error(format!("no {what}; add one")));
    }
    let entry = entries.get(name).ok_or_else(|| {
        context.error(format!(
            "its {what} {name:?} is not there; add it or choose another"
        ))
    })?;
    Ok((
        Place {
            file: &entry.file,
            entry: format!("{what} {name:?}"),
        },
        entry,
    ))
}

/// Refuses entries that name files, for configurations from strangers.
fn check_inline<'a>(
    at: &Place<'_>,
    mut files: impl Iterator<Item = (&'a str, bool)>,
) -> Result<(), ConfigError> {
    match files.find(|(_, given)| *given) {
        Some((field, _)) => Err(at.error(format!(
            "{field} names a file, which is not allowed here; put the contents into the kubeconfig"
        ))),
        None => Ok(()),
    }
}

fn check_cluster(
    at: &Place<'_>,
    raw: &RawCluster,
    has_certificate: bool,
) -> Result<Cluster, ConfigError> {
    let authority = pem(
        at,
        (
            "certificate-authority",
            raw.certificate_authority.as_deref(),
        ),
        (
            "certificate-authority-data",
            raw.certificate_authority_data.as_ref(),
        ),
    )?;
    if authority.is_some() && raw.insecure_skip_tls_verify {
        return Err(at.error(
            "certificate-authority and insecure-skip-tls-verify exclude each other; remove one",
        ));
    }
    let tls = authority.is_some() || raw.insecure_skip_tls_verify || has_certificate;
    let scheme = if tls { "https" } else { "http" };
    let server = parse_server(&raw.server, scheme)
        .map_err(|reason| at.error(format!("invalid server: {reason}")))?;
    Ok(Cluster {
        server,
        certificate_authority: authority,
        tls_server_name: Some(raw.tls_server_name.clone()).filter(|name| !name.is_empty()),
        insecure_skip_tls_verify: raw.insecure_skip_tls_verify,
        proxy_url: raw
            .proxy_url
            .as_ref()
            .map(|url| proxy(at, url))
            .transpose()?,
        disable_compression: raw.disable_compression,
    })
}

/// Returns the proxy's URL. Errors do not quote it: it may hold a password.
fn proxy(at: &Place<'_>, url: &SecretString) -> Result<Url, ConfigError> {
    let url = Url::parse(url.expose_secret())
        .map_err(|error| at.error(format!("invalid proxy-url ({error}); correct it")))?;
    if !matches!(url.scheme(), "http" | "https" | "socks5") {
        return Err(at.error("proxy-url must be of http, https or socks5"));
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err(at.error("proxy-url without a host; add it"));
    }
    Ok(url)
}

fn check_user(
    at: &Place<'_>,
    raw: &RawUser,
    cluster: &RawCluster,
) -> Result<AuthInfo, ConfigError> {
    let certificate = pem(
        at,
        ("client-certificate", raw.client_certificate.as_deref()),
        (
            "client-certificate-data",
            raw.client_certificate_data.as_ref(),
        ),
    )?;
    let key = pem(
        at,
        ("client-key", raw.client_key.as_deref()),
        ("client-key-data", raw.client_key_data.as_ref()),
    )?;
    let client_certificate = match (certificate, key) {
        (Some(certificate), Some(key)) => Some(ClientCertificate { certificate, key }),
        (None, None) => None,
        (Some(_), None) => return Err(at.error("a client certificate needs a client-key")),
        (None, Some(_)) => return Err(at.error("a client-key needs a client certificate")),
    };
    let basic = basic(at, raw)?;
    let has_token = raw.token.is_some() || raw.token_file.is_some();
    if has_token && basic.is_some() {
        return Err(at.error("a token and a username exclude each other; remove one"));
    }
    let has_other = has_token || basic.is_some() || client_certificate.is_some();
    let exec = plugin(at, raw, cluster, has_other)?;
    if let Some(path) = raw.token_file.as_deref().filter(|_| raw.token.is_none()) {
        // Read for each request later; here only to report errors now.
        read_file(path).map_err(|source| at.file_error("tokenFile", path, source))?;
    }
    Ok(AuthInfo {
        client_certificate,
        token: raw.token.clone(),
        token_file: raw.token_file.clone(),
        basic,
        exec,
        impersonate: impersonate(at, raw)?,
    })
}

fn basic(at: &Place<'_>, raw: &RawUser) -> Result<Option<BasicAuth>, ConfigError> {
    match (raw.username.is_empty(), &raw.password) {
        (true, None) => Ok(None),
        (true, Some(_)) => Err(at.error("a password needs a username")),
        (false, _) if raw.username.contains(':') => {
            Err(at.error("the username must not contain a colon"))
        }
        (false, password) => {
            let password = password.clone().unwrap_or_default();
            Ok(Some(BasicAuth {
                username: raw.username.clone(),
                password,
            }))
        }
    }
}

/// Returns the program that fetches credentials. Other credentials of the same user count before it.
fn plugin(
    at: &Place<'_>,
    raw: &RawUser,
    cluster: &RawCluster,
    has_other: bool,
) -> Result<Option<ExecConfig>, ConfigError> {
    if raw.exec.is_some() && raw.auth_provider.is_some() {
        return Err(at.error("exec and auth-provider exclude each other; remove one"));
    }
    if let Some(provider) = &raw.auth_provider
        && !has_other
    {
        let name = &provider.name;
        return Err(at.error(format!(
            "the auth-provider {name:?} is of a kind that Kubernetes gave up; use an exec plugin or a token"
        )));
    }
    let Some(raw) = &raw.exec else {
        return Ok(None);
    };
    if raw.command.is_empty() {
        return Err(at.error("exec without a command; add it"));
    }
    let version = ExecVersion::parse(&raw.api_version).ok_or_else(|| {
        at.error("exec needs the apiVersion client.authentication.k8s.io/v1 or client.authentication.k8s.io/v1beta1")
    })?;
    let interactive = match (raw.interactive_mode.as_str(), version) {
        ("Never", _) => InteractiveMode::Never,
        ("IfAvailable", _) | ("", ExecVersion::V1Beta1) => InteractiveMode::IfAvailable,
        ("Always", _) => InteractiveMode::Always,
        _ => {
            return Err(at.error("exec needs an interactiveMode of Never, IfAvailable or Always"));
        }
    };
    if raw.env.iter().any(|variable| !is_variable(&variable.name)) {
        return Err(at.error("exec sets a variable whose name is empty or contains ="));
    }
    let mut exec = ExecConfig::new(version, raw.command.clone())
        .args(raw.args.iter().cloned())
        .interactive_mode(interactive)
        .provide_cluster_info(raw.provide_cluster_info)
        .install_hint(raw.install_hint.clone());
    for variable in &raw.env {
        exec = exec.env(variable.name.clone(), variable.value.clone());
    }
    let named = |extension: &&RawExtension| extension.name == EXEC_EXTENSION;
    if let Some(own) = cluster.extensions.iter().find(named) {
        exec = exec.cluster_config(own.extension.clone());
    }
    Ok(Some(exec).filter(|_| !has_other))
}

/// Returns `true` if the environment of a program can hold a variable of this name.
fn is_variable(name: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '\0'])
}

fn impersonate(at: &Place<'_>, raw: &RawUser) -> Result<Option<Impersonate>, ConfigError> {
    if !raw.as_user.is_empty() {
        return Ok(Some(Impersonate {
            user: raw.as_user.clone(),
            uid: Some(raw.as_uid.clone()).filter(|uid| !uid.is_empty()),
            groups: raw.as_groups.clone(),
            extra: raw.as_user_extra.clone(),
        }));
    }
    if raw.as_uid.is_empty() && raw.as_groups.is_empty() && raw.as_user_extra.is_empty() {
        return Ok(None);
    }
    Err(at.error(
        "as-uid, as-groups and as-user-extra need a user to impersonate; add the field `as`",
    ))
}

/// Returns PEM from a file or base64 text, not both.
fn pem(
    at: &Place<'_>,
    (path_field, path): (&'static str, Option<&Path>),
    (data_field, data): (&'static str, Option<&SecretString>),
) -> Result<Option<PemSource>, ConfigError> {
    match (path, data) {
        (None, None) => Ok(None),
        (Some(_), Some(_)) => Err(at.error(format!(
            "{path_field} and {data_field} exclude each other; remove one"
        ))),
        (Some(path), None) => {
            let text = read_file(path).map_err(|source| at.file_error(path_field, path, source))?;
            check_pem(at, path_field, text.expose_secret())?;
            Ok(Some(PemSource::File(PathBuf::from(path))))
        }
        (None, Some(data)) => {
            // Some tools wrap the text into lines.
            let compact: Vec<u8> = data
                .expose_secret()
                .bytes()
                .filter(|b| !b.is_ascii_whitespace())
                .collect();
            let text = STANDARD.decode(compact).map_err(|_| {
                at.error(format!(
                    "invalid base64 in {data_field}; encode the PEM text"
                ))
            })?;
            check_pem(at, data_field, &text)?;
            Ok(Some(PemSource::inline(text)))
        }
    }
}

/// Checks that PEM text has at least one block. Its contents are the client's concern.
fn check_pem(at: &Place<'_>, field: &str, text: &[u8]) -> Result<(), ConfigError> {
    let mark = b"-----BEGIN ";
    if text.windows(mark.len()).any(|window| window == mark) {
        return Ok(());
    }
    Err(at.error(format!("no PEM text (-----BEGIN ...) in {field}")))
}
