//! Kubernetes client configuration: what to connect to, and as whom.
//!
//! Reads kubeconfig files, merges them as `kubectl` does, picks a context, and checks it; or reads what a pod is
//! given. The result is a [`Config`]. This crate opens no connection: `informer-client` does.
//!
//! ```no_run
//! use informer_kubeconfig::{Config, ConfigLoader};
//!
//! # fn main() -> Result<(), informer_kubeconfig::ConfigError> {
//! // $KUBECONFIG, else ~/.kube/config, else what the pod is given.
//! let config = Config::infer()?;
//! println!("{} in namespace {}", config.cluster.server, config.namespace);
//!
//! // A file and a context of it.
//! let staging = ConfigLoader::new().kubeconfig("clusters.yaml").context("staging").load()?;
//! # Ok(()) }
//! ```
//!
//! # Where a configuration comes from
//!
//! | asked for | read | if it is missing |
//! |---|---|---|
//! | [`ConfigLoader::kubeconfig`] | that file alone | an error |
//! | `KUBECONFIG` is set | every file of the list, merged | a missing file is skipped |
//! | neither | `~/.kube/config` | go on |
//! | no kubeconfig found | the service account of the pod ([`Config::in_cluster`]) | an error that lists what was tried |
//!
//! Of two entries with one name the first file's counts, as a whole; nothing is mixed from both. A relative path in a
//! kubeconfig starts at the directory of the file that it stands in.
//!
//! # Programs that fetch credentials
//!
//! A user entry can name a program (`exec`) that prints a token or a certificate. Such a file is as powerful as a
//! program, so nothing is run unless whoever connects says so: see [`ExecPolicy`]. This crate knows what to tell the
//! program ([`ExecConfig::info`]) and how to read what it prints ([`ExecConfig::credential`]); `informer-client` runs it.
//!
//! A kubeconfig that somebody else wrote may also name files of this machine: [`Kubeconfig::inline_only`] refuses them.
//!
//! # Secrets
//!
//! Tokens, passwords and keys lie in [`secrecy`] types. They appear in no `Debug` output and in no error. Errors name
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
