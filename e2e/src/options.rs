//! How a server is to be started.

use std::path::PathBuf;

/// How a server is to be started. By default: a temporary state directory, free ports, no audit log, no extra flags.
///
/// ```
/// # use informer_e2e::ServerOptions;
/// let options = ServerOptions::default().flag("--watch-cache=false");
/// # assert_eq!(options.flags(), ["--watch-cache=false"]);
/// ```
#[derive(Debug, Clone, Default)]
pub struct ServerOptions {
    pub(crate) dir: Option<PathBuf>,
    pub(crate) port: Option<u16>,
    pub(crate) keep: bool,
    pub(crate) audit: bool,
    pub(crate) flags: Vec<String>,
    pub(crate) controllers: String,
}

impl ServerOptions {
    /// Keeps the state in this directory, which stays when the server ends.
    #[must_use]
    pub fn dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.dir = Some(dir.into());
        self
    }

    /// Listens on this port; etcd takes the two above it.
    #[must_use]
    pub fn port(mut self, port: u16) -> Self {
        self.port = Some(port);
        self
    }

    /// Goes on with the data and certificates that [`dir`](Self::dir) holds. Otherwise they are removed first.
    #[must_use]
    pub fn keep(mut self, keep: bool) -> Self {
        self.keep = keep;
        self
    }

    /// Has the server log each request when it is received and when it is answered, in
    /// [`RealApiServer::audit_log`](crate::RealApiServer::audit_log).
    #[must_use]
    pub fn audit(mut self) -> Self {
        self.audit = true;
        self
    }

    /// Passes a flag to kube-apiserver, such as `--watch-cache=false`; it wins over the harness' own.
    #[must_use]
    pub fn flag(mut self, flag: impl Into<String>) -> Self {
        self.flags.push(flag.into());
        self
    }

    /// Runs controllers of kube-controller-manager beside the server, such as `namespace,garbage-collector`.
    #[must_use]
    pub fn controllers(mut self, names: impl Into<String>) -> Self {
        self.controllers = names.into();
        self
    }

    /// The extra flags.
    #[must_use]
    pub fn flags(&self) -> &[String] {
        &self.flags
    }
}
