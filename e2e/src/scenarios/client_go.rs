//! A controller on client-go against the test kit and the real server: all that it and its user see is the same.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, ensure};
use tokio::process::Command;

use super::alike;

/// Where `cargo xtask e2e` says that the program lies; its source is `e2e/clientgo/copier.go`.
const PROGRAM: &str = "INFORMER_E2E_CLIENTGO";
/// A run that stops early prints fewer lines.
const LEAST_LINES: usize = 100;

pub(crate) async fn run() -> anyhow::Result<()> {
    let program = std::env::var_os(PROGRAM).map(PathBuf::from);
    let program =
        &program.with_context(|| format!("{PROGRAM} is not set; `cargo xtask e2e` sets it"))?;
    alike::compare(
        async |kubeconfig| copier(program, &kubeconfig).await,
        LEAST_LINES,
    )
    .await
}

/// Runs the controller and its user against a server, and returns what they print.
async fn copier(program: &Path, kubeconfig: &Path) -> anyhow::Result<Vec<String>> {
    let run = Command::new(program)
        .arg("copier")
        .arg(kubeconfig)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = run.await?;
    let [said, complained] =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    ensure!(
        output.status.success(),
        "{}\n{said}\n{complained}",
        output.status
    );
    Ok(said.lines().map(str::to_owned).collect())
}
