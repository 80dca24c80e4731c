//! A controller on client-go against the test kit and the real server: all that it and its user see is the same.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, ensure};
use informer_e2e::{RealApiServer, ServerOptions};
use informer_testkit::ApiServer;
use tokio::process::Command;
use tokio::time::timeout;

/// Where `cargo xtask e2e` says that the program lies; its source is `e2e/clientgo/copier.go`.
const PROGRAM: &str = "INFORMER_E2E_CLIENTGO";
/// The program gives up by itself before.
const LIMIT: Duration = Duration::from_secs(150);
/// A run that stops early says less.
const LEAST_LINES: usize = 100;

pub(crate) async fn run() -> anyhow::Result<()> {
    let program = std::env::var_os(PROGRAM).map(PathBuf::from);
    let program =
        program.with_context(|| format!("{PROGRAM} is not set; `cargo xtask e2e` sets it"))?;
    let real = RealApiServer::start(ServerOptions::default()).await?;
    let kit = ApiServer::builder().start().await?;
    let directory = tempfile::tempdir()?;
    let config = directory.path().join("config");
    tokio::fs::write(&config, kit.kubeconfig()).await?;
    let expected = copier(&program, &real.kubeconfig()).await;
    let expected = expected.context("against the real server")?;
    let found = copier(&program, &config).await;
    let found = found.context("against the test kit")?;
    ensure!(
        expected.len() >= LEAST_LINES,
        "the controller says only {expected:#?}"
    );
    let differing =
        (0..expected.len().max(found.len())).find(|line| expected.get(*line) != found.get(*line));
    if let Some(line) = differing {
        anyhow::bail!(
            "line {} differs\n real: {}\n kit:  {}",
            line + 1,
            expected.get(line).map_or("(none)", String::as_str),
            found.get(line).map_or("(none)", String::as_str)
        );
    }
    println!("{} lines, all the same", expected.len());
    Ok(())
}

/// Runs the controller and its user against a server, and returns what they print.
async fn copier(program: &Path, kubeconfig: &Path) -> anyhow::Result<Vec<String>> {
    let run = Command::new(program)
        .arg("copier")
        .arg(kubeconfig)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = timeout(LIMIT, run).await.context("it does not end")??;
    let [said, complained] =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    ensure!(
        output.status.success(),
        "{}\n{said}\n{complained}",
        output.status
    );
    Ok(said.lines().map(str::to_owned).collect())
}
