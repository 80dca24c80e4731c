//! A replica of the provisioner, a process of its own.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, ensure};
use tokio::process::{Child, Command};

use super::NAME;

/// How long a replica may take to end once it is told to.
const END_LIMIT: Duration = Duration::from_secs(20);

/// A running replica. It is killed when the value is dropped.
#[derive(Debug)]
pub(crate) struct Replica {
    /// By which the lease names it, and its log.
    pub(crate) name: String,
    child: Child,
}

impl Replica {
    /// Starts a replica that makes volumes in the directory `volumes` of this one, and logs there too.
    pub(crate) fn start(
        name: &str,
        kubeconfig: &Path,
        directory: &Path,
        arguments: &[&str],
    ) -> anyhow::Result<Self> {
        let program = std::env::current_exe()?.with_file_name("provisioner");
        ensure!(
            program.is_file(),
            "{} is not built; `cargo xtask e2e` builds it",
            program.display()
        );
        let log = std::fs::File::create(directory.join(format!("{name}.log")))?;
        let child = Command::new(program)
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .args(["--provisioner", NAME, "--lease-namespace", "default"])
            .args(["--resync", "30s"])
            .args(arguments)
            .arg("--dir")
            .arg(volumes(directory))
            .env("HOSTNAME", name)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .context("start a replica")?;
        Ok(Self {
            name: name.to_owned(),
            child,
        })
    }

    /// Whether this is the holder that a lease names.
    pub(crate) fn is(&self, holder: &str) -> bool {
        holder.starts_with(&format!("{}_", self.name))
    }

    /// Kills it as a crash would.
    pub(crate) async fn kill(mut self) -> anyhow::Result<()> {
        Ok(self.child.kill().await?)
    }

    /// Sends a signal by its name, such as `STOP`.
    pub(crate) async fn signal(&self, signal: &str) -> anyhow::Result<()> {
        let pid = self.child.id();
        let pid = pid.with_context(|| format!("{} has ended by itself", self.name))?;
        let sent = Command::new("kill")
            .arg(format!("-{signal}"))
            .arg(pid.to_string())
            .status()
            .await?;
        ensure!(sent.success(), "cannot signal {}", self.name);
        Ok(())
    }

    /// Tells it to end, and waits until it has ended well.
    pub(crate) async fn end(mut self) -> anyhow::Result<()> {
        self.signal("TERM").await?;
        let ended = tokio::time::timeout(END_LIMIT, self.child.wait()).await;
        let ended = ended.with_context(|| format!("{} does not end", self.name))??;
        ensure!(ended.success(), "{} ended with {ended}", self.name);
        Ok(())
    }
}

fn volumes(directory: &Path) -> PathBuf {
    directory.join("volumes")
}

/// The names of all storage that the replicas of this directory have made.
pub(crate) fn directories(directory: &Path) -> anyhow::Result<BTreeSet<String>> {
    let entries = std::fs::read_dir(volumes(directory))?;
    let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    names.collect()
}
