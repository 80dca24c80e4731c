//! Kubernetes client configuration: API server and credentials.
//!
//! Reads kubeconfig files, merges them as `kubectl` does, resolves a context, and checks it; or loads the configuration
//! of a pod. The result is a [`Config`]. This crate opens no connection: `informer-client` does.
//!
//! ```no_run
//! use informer_kubeconfig::{Config, ConfigLoader};
//!
//! # fn main() -> Result<(), informer_kubeconfig::ConfigError> {
//! // $KUBECONFIG, else ~/.kube/config, else the pod's service account.
//! let config = Config::infer()?;
//! println!("{} in namespace {}", config.cluster.server, config.namespace);
//!
//! // A file and a context of it.
//! let staging = ConfigLoader::new().kubeconfig("clusters.yaml").context("staging").load()?;
//! # Ok(()) }
//! ```
//!
//! # Places of a configuration
//!
//! | requested | read | if missing |
//! |---|---|---|
//! | [`ConfigLoader::kubeconfig`] | that file alone | an error |
//! | `KUBECONFIG` is set | every file of the list, merged | a missing file is skipped |
//! | neither | `~/.kube/config` | go on |
//! | no kubeconfig found | the service account of the pod ([`Config::in_cluster`]) | an error that lists all places |
//!
//! Of two entries with one name the first file's counts, as a whole; nothing is mixed from both. A relative path in a
//! kubeconfig starts at the file's directory.
//!
//! # Programs that fetch credentials
//!
//! A user entry can name a program (`exec`) that prints a token or a certificate. Such a file is as powerful as a
//! program, so nothing is run unless the client allows it: see [`ExecPolicy`]. This crate writes the program's input
//! ([`ExecConfig::info`]) and reads its output ([`ExecConfig::credential`]); `informer-client` runs it.
//!
//! A kubeconfig of a stranger may also name files of this machine: [`Kubeconfig::inline_only`] refuses them.
//!
//! # Secrets
//!
//! Tokens, passwords and keys are [`secrecy`] types. They appear in no `Debug` output and in no error. Errors name
//! the file, the entry and the field, never the value of a credential.

mod auth;
mod config;
mod error;
mod exec;
mod in_cluster;
mod kubeconfig;
mod loader;
mod pem;
mod raw;
mod resolve;

pub use auth::{AuthInfo, BasicAuth, ClientCertificate, Impersonate};
pub use config::{Cluster, Config};
pub use error::ConfigError;
pub use exec::{
    ExecConfig, ExecCredential, ExecError, ExecPolicy, ExecVersion, InteractiveMode,
    MAX_EXEC_OUTPUT,
};
pub use kubeconfig::{Kubeconfig, MAX_KUBECONFIG_BYTES};
pub use loader::{ConfigLoader, Environment};
pub use pem::{MAX_FILE_BYTES, PemSource, read_file};

// Part of our interface, so that users need not depend on them.
pub use secrecy;
pub use url::Url;
