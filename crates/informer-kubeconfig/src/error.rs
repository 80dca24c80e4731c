//! What can be wrong with a configuration.

use std::io;
use std::path::PathBuf;

/// A configuration that cannot be used. Names the file and the entry, says what to do, and never quotes a credential.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A kubeconfig cannot be read.
    #[error("cannot read the kubeconfig {}; check that the file exists and that you may read it", file.display())]
    Read {
        /// The kubeconfig.
        file: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A kubeconfig is no valid YAML, or not of the right shape.
    #[error("{} is not a valid kubeconfig: {reason}", file.display())]
    Syntax {
        /// The kubeconfig.
        file: PathBuf,
        /// What is wrong and where; without the contents.
        reason: String,
    },
    /// An entry of a kubeconfig cannot be used.
    #[error("{}: {entry}: {problem}", file.display())]
    Entry {
        /// The kubeconfig.
        file: PathBuf,
        /// Which entry, as `user "admin"`.
        entry: String,
        /// What is wrong and what to do.
        problem: String,
    },
    /// A file that an entry of a kubeconfig names cannot be read.
    #[error("{}: {entry}: {field} cannot be read from {}", file.display(), path.display())]
    EntryFile {
        /// The kubeconfig.
        file: PathBuf,
        /// Which entry, as `user "admin"`.
        entry: String,
        /// Which field names the file, as `client-key`.
        field: &'static str,
        /// The file that cannot be read.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// No context was asked for, and the kubeconfig chooses none.
    #[error(
        "{files} chooses no context (current-context is empty); name one of: {}",
        list(known)
    )]
    NoCurrentContext {
        /// The kubeconfigs that were read.
        files: String,
        /// The contexts there are.
        known: Vec<String>,
    },
    /// The context is not there.
    #[error(
        "there is no context {context:?} in {files}; choose one of: {}",
        list(known)
    )]
    UnknownContext {
        /// What was asked for.
        context: String,
        /// The kubeconfigs that were read.
        files: String,
        /// The contexts there are.
        known: Vec<String>,
    },
    /// The files that a pod is given cannot be used.
    #[error("cannot read {} of the pod's service account; check that one is mounted", path.display())]
    ServiceAccount {
        /// The file that cannot be used.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The process does not run in a pod, or its environment lacks the API server's address.
    #[error(
        "not in a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set to an address"
    )]
    NotInCluster,
    /// There is no configuration anywhere.
    #[error("no cluster is configured; looked at {tried}; set KUBECONFIG or name a kubeconfig")]
    NotFound {
        /// Where was looked.
        tried: String,
    },
    /// The URL of the API server cannot be used.
    #[error("the server's address cannot be used: {reason}")]
    Server {
        /// What is wrong and what to do.
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
