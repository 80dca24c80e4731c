//! The server as a test sees it: where it is, and what can be done to it.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::process::Process;
use crate::{ApiClient, HarnessError, ServerOptions, ports};

/// The variable that says where the built server lies. `cargo xtask e2e` sets it.
pub const SERVER_VARIABLE: &str = "INFORMER_E2E_APISERVER";

/// A real kube-apiserver with its etcd, in one process of its own on loopback.
///
/// It is killed when the value is dropped, and its state directory is removed unless the test gave one.
///
/// ```no_run
/// # async fn example() -> Result<(), informer_e2e::HarnessError> {
/// use informer_e2e::{RealApiServer, ServerOptions};
///
/// let mut server = RealApiServer::start(ServerOptions::default()).await?;
/// println!("KUBECONFIG={}", server.kubeconfig().display());
/// server.kill().await?; // as a crash would
/// server.restart().await?; // same address, same data, same certificates
/// server.stop().await
/// # }
/// ```
#[derive(Debug)]
pub struct RealApiServer {
    program: PathBuf,
    options: ServerOptions,
    port: u16,
    dir: PathBuf,
    running: Option<Process>,
    // Last, so that the server has ended when its files go.
    _temporary: Option<TempDir>,
}

impl RealApiServer {
    /// Where the built server lies.
    ///
    /// # Errors
    ///
    /// [`HarnessError::NotBuilt`] if `cargo xtask e2e` did not build one for this run.
    pub fn program() -> Result<PathBuf, HarnessError> {
        let program = std::env::var_os(SERVER_VARIABLE).map(PathBuf::from);
        program
            .filter(|program| program.is_file())
            .ok_or(HarnessError::NotBuilt)
    }

    /// Starts a server and waits until it is ready and has the namespace `default`.
    ///
    /// Cancellation safe: an abandoned start kills the server.
    ///
    /// # Errors
    ///
    /// Whatever keeps it from becoming ready; an early end comes with the last lines of the server's log.
    pub async fn start(options: ServerOptions) -> Result<Self, HarnessError> {
        let program = Self::program()?;
        let (dir, temporary) = match &options.dir {
            Some(dir) => (dir.clone(), None),
            None => temporary_dir().map(|dir| (dir.path().to_owned(), Some(dir)))?,
        };
        let create = |source| HarnessError::Io {
            action: "create",
            path: dir.clone(),
            source,
        };
        std::fs::create_dir_all(&dir).map_err(create)?;
        let port = options.port.map_or_else(ports::free_base, Ok)?;
        let keep = options.keep;
        let mut server = Self {
            program,
            options,
            port,
            dir,
            running: None,
            _temporary: temporary,
        };
        server.run(keep).await?;
        Ok(server)
    }

    /// The server's address: `https://127.0.0.1:PORT`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    /// The state directory.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The server's log, of all its runs.
    #[must_use]
    pub fn log(&self) -> PathBuf {
        self.dir.join("apiserver.log")
    }

    /// The server's audit log, of all its runs: one JSON object a line. It is there with [`ServerOptions::audit`].
    #[must_use]
    pub fn audit_log(&self) -> PathBuf {
        self.dir.join("audit.log")
    }

    /// The certificate of the authority that signed the server's, as PEM.
    #[must_use]
    pub fn authority(&self) -> PathBuf {
        self.dir.join("pki/ca.crt")
    }

    /// A kubeconfig of an administrator with a client certificate; certificates are given as files.
    #[must_use]
    pub fn kubeconfig(&self) -> PathBuf {
        self.dir.join("kubeconfig")
    }

    /// A kubeconfig of an administrator with a bearer token; the authority is given inline.
    #[must_use]
    pub fn kubeconfig_token(&self) -> PathBuf {
        self.dir.join("kubeconfig-token")
    }

    /// A kubeconfig of a user whom the server knows and whom it allows nothing.
    #[must_use]
    pub fn kubeconfig_nobody(&self) -> PathBuf {
        self.dir.join("kubeconfig-nobody")
    }

    /// The administrator's bearer token.
    #[must_use]
    pub fn token(&self) -> &'static str {
        "admin-token"
    }

    /// A client as the administrator, independent of the crates under test.
    ///
    /// # Errors
    ///
    /// If the authority's certificate cannot be read.
    pub fn client(&self) -> Result<ApiClient, HarnessError> {
        ApiClient::new(&self.url(), self.token(), &self.authority())
    }

    /// Whether it was started and neither killed nor stopped since.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Kills server and etcd at once with SIGKILL, and waits until they are gone. Nothing that was answered is lost.
    ///
    /// # Errors
    ///
    /// [`HarnessError::NotRunning`] if it is not running.
    pub async fn kill(&mut self) -> Result<(), HarnessError> {
        self.running
            .take()
            .ok_or(HarnessError::NotRunning)?
            .kill()
            .await
    }

    /// Stops it gracefully; open watches end in good order.
    ///
    /// # Errors
    ///
    /// If it is not running, takes longer than 90 s, or ends with an error.
    pub async fn stop(&mut self) -> Result<(), HarnessError> {
        self.running
            .take()
            .ok_or(HarnessError::NotRunning)?
            .stop()
            .await
    }

    /// Starts it again on the same data, address and certificates; kills it first if it runs.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    pub async fn restart(&mut self) -> Result<(), HarnessError> {
        if self.is_running() {
            self.kill().await?;
        }
        self.run(true).await
    }

    /// As [`restart`](Self::restart), with these extra flags instead of those it was started with.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    pub async fn restart_with(&mut self, flags: &[&str]) -> Result<(), HarnessError> {
        self.options.flags = flags.iter().map(|flag| (*flag).to_owned()).collect();
        self.restart().await
    }

    /// Stops the process without ending it (SIGSTOP): connections stay open and nothing is answered.
    ///
    /// # Errors
    ///
    /// If it is not running or cannot be signalled.
    pub async fn freeze(&self) -> Result<(), HarnessError> {
        self.running
            .as_ref()
            .ok_or(HarnessError::NotRunning)?
            .signal("STOP")
            .await
    }

    /// Lets a frozen process go on.
    ///
    /// # Errors
    ///
    /// If it is not running or cannot be signalled.
    pub async fn thaw(&self) -> Result<(), HarnessError> {
        self.running
            .as_ref()
            .ok_or(HarnessError::NotRunning)?
            .signal("CONT")
            .await
    }

    /// etcd's newest revision, which is the newest resource version of any object.
    ///
    /// # Errors
    ///
    /// If it is not running or does not answer.
    pub async fn revision(&mut self) -> Result<u64, HarnessError> {
        self.running
            .as_mut()
            .ok_or(HarnessError::NotRunning)?
            .command("revision")
            .await
    }

    /// Drops etcd's history before its newest revision, which it returns. The server's watch cache still has it; see
    /// [`expire_history`](Self::expire_history).
    ///
    /// # Errors
    ///
    /// If it is not running, or if nothing was written since the last compaction.
    pub async fn compact(&mut self) -> Result<u64, HarnessError> {
        self.running
            .as_mut()
            .ok_or(HarnessError::NotRunning)?
            .command("compact")
            .await
    }

    /// Makes every watch that resumes from an older version end in 410: compacts, kills and restarts. The revision it
    /// returns is the oldest that is left. Each restart writes, so the versions of before it are older.
    ///
    /// # Errors
    ///
    /// As [`compact`](Self::compact) and [`restart`](Self::restart).
    pub async fn expire_history(&mut self) -> Result<u64, HarnessError> {
        let revision = self.compact().await?;
        self.restart().await?;
        Ok(revision)
    }

    async fn run(&mut self, keep: bool) -> Result<(), HarnessError> {
        let mut arguments = vec![
            format!("-dir={}", self.dir.display()),
            format!("-port={}", self.port),
            format!("-keep={keep}"),
            format!("-audit={}", self.options.audit),
            "-control".to_owned(),
            format!("-controllers={}", self.options.controllers),
            "--".to_owned(),
        ];
        arguments.extend_from_slice(&self.options.flags);
        self.running = Some(Process::start(&self.program, &arguments, &self.log()).await?);
        Ok(())
    }
}

fn temporary_dir() -> Result<TempDir, HarnessError> {
    let made = tempfile::Builder::new().prefix("informer-e2e-").tempdir();
    let failed = |source| HarnessError::Io {
        action: "create a directory in",
        path: std::env::temp_dir(),
        source,
    };
    made.map_err(failed)
}
