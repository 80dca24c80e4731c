//! A program that prints credentials: its entry in a kubeconfig, and its input.

use std::fmt;
use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value, json};

use crate::config::Cluster;

/// The extension of a cluster entry that programs receive.
pub(crate) const EXEC_EXTENSION: &str = "client.authentication.k8s.io/exec";

/// The most characters of a hint that are shown.
const MAX_HINT: usize = 1_000;

/// The version of the protocol that a program speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExecVersion {
    /// `client.authentication.k8s.io/v1`.
    V1,
    /// `client.authentication.k8s.io/v1beta1`.
    V1Beta1,
}

impl ExecVersion {
    /// Returns the version of this name.
    #[must_use]
    pub fn parse(api_version: &str) -> Option<Self> {
        [Self::V1, Self::V1Beta1]
            .into_iter()
            .find(|version| version.api_version() == api_version)
    }

    /// Returns its name, such as `client.authentication.k8s.io/v1`.
    #[must_use]
    pub const fn api_version(self) -> &'static str {
        match self {
            Self::V1 => "client.authentication.k8s.io/v1",
            Self::V1Beta1 => "client.authentication.k8s.io/v1beta1",
        }
    }
}

/// Whether a program talks with a person over standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum InteractiveMode {
    /// It never does.
    Never,
    /// It does if there is a terminal.
    IfAvailable,
    /// It must, and fails where there is no terminal.
    Always,
}

/// A program that prints credentials, as a kubeconfig names it.
///
/// ```
/// use informer_kubeconfig::{ExecConfig, ExecVersion};
///
/// let plugin = ExecConfig::new(ExecVersion::V1, "get-token").args(["--for", "s3cr3t"]);
/// assert_eq!(plugin.command(), "get-token");
/// assert!(!format!("{plugin:?}").contains("s3cr3t"));
/// ```
///
/// Source: [client-go credential plugins](https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins).
#[derive(Clone)]
pub struct ExecConfig {
    version: ExecVersion,
    command: String,
    args: Vec<SecretString>,
    env: Vec<(String, SecretString)>,
    interactive_mode: InteractiveMode,
    provide_cluster_info: bool,
    install_hint: String,
    /// May hold anything, secrets too.
    cluster_config: Option<Value>,
}

impl ExecConfig {
    /// Makes a program of this path, or of this name in `PATH`.
    #[must_use]
    pub fn new(version: ExecVersion, command: impl Into<String>) -> Self {
        Self {
            version,
            command: command.into(),
            args: Vec::new(),
            env: Vec::new(),
            interactive_mode: InteractiveMode::IfAvailable,
            provide_cluster_info: false,
            install_hint: String::new(),
            cluster_config: None,
        }
    }

    /// Sets its arguments.
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let args = args.into_iter().map(|arg| SecretString::from(arg.into()));
        self.args.extend(args);
        self
    }

    /// Adds a variable to its environment.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<SecretString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Sets whether it talks with a person.
    #[must_use]
    pub const fn interactive_mode(mut self, mode: InteractiveMode) -> Self {
        self.interactive_mode = mode;
        self
    }

    /// Sets whether it receives the cluster of the credentials.
    #[must_use]
    pub const fn provide_cluster_info(mut self, provide: bool) -> Self {
        self.provide_cluster_info = provide;
        self
    }

    /// Sets how to get the program, for users without it.
    #[must_use]
    pub fn install_hint(mut self, hint: impl AsRef<str>) -> Self {
        // It goes to a terminal, which control characters could command.
        let plain = hint
            .as_ref()
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c });
        self.install_hint = plain.take(MAX_HINT).collect();
        self
    }

    /// Sets the contents of the cluster entry for the program.
    #[must_use]
    pub fn cluster_config(mut self, config: Value) -> Self {
        self.cluster_config = Some(config);
        self
    }

    /// Returns the version of the protocol.
    #[must_use]
    pub const fn version(&self) -> ExecVersion {
        self.version
    }

    /// Returns the program: a path, or a name to look up in `PATH`.
    #[must_use]
    pub fn command(&self) -> &str {
        &self.command
    }

    /// Returns its arguments.
    #[must_use]
    pub fn arguments(&self) -> &[SecretString] {
        &self.args
    }

    /// Returns the variables added to its environment.
    #[must_use]
    pub fn environment(&self) -> &[(String, SecretString)] {
        &self.env
    }

    /// Returns how to get the program; empty if unknown.
    #[must_use]
    pub fn hint(&self) -> &str {
        &self.install_hint
    }

    /// Returns whether it may talk with a person; `None` if it must and there is no terminal.
    #[must_use]
    pub const fn interactive(&self, terminal: bool) -> Option<bool> {
        match self.interactive_mode {
            InteractiveMode::Never => Some(false),
            InteractiveMode::IfAvailable => Some(terminal),
            InteractiveMode::Always if terminal => Some(true),
            InteractiveMode::Always => None,
        }
    }

    /// Returns the program's input, for the variable `KUBERNETES_EXEC_INFO`.
    ///
    /// # Errors
    /// When the cluster's authority is a file that cannot be read.
    pub fn info(&self, cluster: &Cluster, interactive: bool) -> io::Result<SecretString> {
        let mut spec = json!({ "interactive": interactive });
        if self.provide_cluster_info {
            spec["cluster"] = self.cluster(cluster)?;
        }
        let info = json!({
            "kind": "ExecCredential",
            "apiVersion": self.version.api_version(),
            "spec": spec,
        });
        Ok(SecretString::from(info.to_string()))
    }

    fn cluster(&self, cluster: &Cluster) -> io::Result<Value> {
        // The URL type adds a slash that the kubeconfig did not have.
        let server = cluster.server.as_str().trim_end_matches('/');
        let mut fields = Map::new();
        fields.insert("server".to_owned(), server.into());
        if let Some(name) = &cluster.tls_server_name {
            fields.insert("tls-server-name".to_owned(), name.as_str().into());
        }
        if cluster.insecure_skip_tls_verify {
            fields.insert("insecure-skip-tls-verify".to_owned(), true.into());
        }
        if let Some(authority) = &cluster.certificate_authority {
            let pem = STANDARD.encode(authority.read()?.expose_secret());
            fields.insert("certificate-authority-data".to_owned(), pem.into());
        }
        if let Some(proxy) = &cluster.proxy_url {
            fields.insert("proxy-url".to_owned(), proxy.as_str().into());
        }
        if cluster.disable_compression {
            fields.insert("disable-compression".to_owned(), true.into());
        }
        if let Some(config) = &self.cluster_config {
            fields.insert("config".to_owned(), config.clone());
        }
        Ok(Value::Object(fields))
    }
}

impl fmt::Debug for ExecConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Arguments and values may be secrets.
        f.debug_struct("ExecConfig")
            .field("version", &self.version)
            .field("command", &self.command)
            .field("interactive_mode", &self.interactive_mode)
            .field("provide_cluster_info", &self.provide_cluster_info)
            .finish_non_exhaustive()
    }
}
