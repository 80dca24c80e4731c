//! Errors of configurations.

use std::io;
use std::path::PathBuf;

/// A configuration that cannot be used. Names the file, the entry and the remedy, and never quotes a credential.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A kubeconfig cannot be read.
    #[error("cannot read the kubeconfig {}; check that the file exists and that you may read it", file.display())]
    Read {
        /// The kubeconfig.
        file: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A kubeconfig is not valid YAML, or not of the right shape.
    #[error("{} is not a valid kubeconfig: {reason}", file.display())]
    Syntax {
        /// The kubeconfig.
        file: PathBuf,
        /// The fault and its place, without the contents.
        reason: String,
    },
    /// An entry of a kubeconfig cannot be used.
    #[error("{}: {entry}: {problem}", file.display())]
    Entry {
        /// The kubeconfig.
        file: PathBuf,
        /// The entry, such as `user "admin"`.
        entry: String,
        /// The fault and the remedy.
        problem: String,
    },
    /// A file that an entry of a kubeconfig names cannot be read.
    #[error("{}: {entry}: {field} cannot be read from {}", file.display(), path.display())]
    EntryFile {
        /// The kubeconfig.
        file: PathBuf,
        /// The entry, such as `user "admin"`.
        entry: String,
        /// The field that names the file, such as `client-key`.
        field: &'static str,
        /// The file that cannot be read.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// No context was requested, and the kubeconfig has no current one.
    #[error("current-context is not set in {files}; name one of: {}", list(known))]
    NoCurrentContext {
        /// The kubeconfigs that were read.
        files: String,
        /// The existing contexts.
        known: Vec<String>,
    },
    /// The context does not exist.
    #[error("no context {context:?} in {files}; name one of: {}", list(known))]
    UnknownContext {
        /// The requested context.
        context: String,
        /// The kubeconfigs that were read.
        files: String,
        /// The existing contexts.
        known: Vec<String>,
    },
    /// A file of a pod's service account cannot be used.
    #[error("cannot read {} of the pod's service account; check that one is mounted", path.display())]
    ServiceAccount {
        /// The file that cannot be used.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The process does not run in a pod, or its environment lacks the API server's address.
    #[error(
        "not in a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set to an address"
    )]
    NotInCluster,
    /// There is no configuration.
    #[error("no configuration in {tried}; set KUBECONFIG or name a kubeconfig")]
    NotFound {
        /// The places that were searched.
        tried: String,
    },
    /// The URL of the API server cannot be used.
    #[error("invalid server address: {reason}")]
    Server {
        /// The fault and the remedy.
        reason: String,
    },
}

/// The names in one line, or that there are none.
fn list(names: &[String]) -> String {
    if names.is_empty() {
        "(there are none)".to_owned()
    } else {
        names.join(", ")
    }
}
