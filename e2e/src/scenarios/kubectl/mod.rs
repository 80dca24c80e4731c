//! `kubectl` against the test kit and the real server: the same script, the same exit codes and output.

mod allowed;
mod files;
mod normalise;
mod script;

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use informer_e2e::{RealApiServer, ServerOptions};
use informer_testkit::ApiServer;
use serde_json::Value;
use tempfile::TempDir;
use tokio::process::Command;
use tokio::time::timeout;

use self::allowed::ALLOWED;
use self::normalise::Normaliser;

/// How long one command may take.
const LIMIT: Duration = Duration::from_secs(30);
/// The first minor version whose request bodies are protobuf.
const OLDEST: u64 = 32;

/// Runs the script on both sides and compares what `kubectl` says.
pub(crate) async fn run() -> anyhow::Result<()> {
    if let Err(reason) = check_version().await {
        println!("SKIP kubectl ({reason:#})");
        return Ok(());
    }
    let real = RealApiServer::start(ServerOptions::default()).await?;
    let kit = ApiServer::builder().start().await?;
    let real_config = tokio::fs::read_to_string(real.kubeconfig_token()).await?;
    let real = Side::new("real", &real_config).await?;
    let kit = Side::new("kit", &kit.kubeconfig()).await?;
    let normaliser = Normaliser::new()?;
    let commands = script::commands();
    let mut needed = vec![false; ALLOWED.len()];
    let (mut same, mut listed, mut failures) = (0, 0, 0);
    for command in &commands {
        let (expected, found) = tokio::join!(real.run(command), kit.run(command));
        let [expected, found] = [expected?, found?].map(|said| normaliser.apply(command, &said));
        if expected == found {
            same += 1;
            continue;
        }
        if let Some(at) = ALLOWED.iter().position(|entry| entry.covers(command)) {
            needed[at] = true;
            listed += 1;
            continue;
        }
        failures += 1;
        println!("kubectl {command}\n{}", differing(&expected, &found));
    }
    for (entry, needed) in ALLOWED.iter().zip(needed) {
        if !needed {
            failures += 1;
            println!(
                "the entry `{}` of the table is not needed ({})",
                entry.command, entry.reason
            );
        }
    }
    println!(
        "{} commands: {same} the same, {listed} in the table",
        commands.len()
    );
    ensure!(
        failures == 0,
        "{failures} differences between the test kit and the real server"
    );
    Ok(())
}

/// Finds a `kubectl` that is new enough.
async fn check_version() -> anyhow::Result<()> {
    let output = Command::new("kubectl")
        .args(["version", "--client", "-o", "json"])
        .output();
    let output = timeout(LIMIT, output)
        .await?
        .context("no kubectl in PATH")?;
    let version: Value = serde_json::from_slice(&output.stdout).context("its version")?;
    let minor = version["clientVersion"]["minor"]
        .as_str()
        .unwrap_or_default();
    match minor.trim_end_matches('+').parse::<u64>() {
        Ok(minor) if minor >= OLDEST => Ok(()),
        _ => bail!("kubectl 1.{minor} is older than 1.{OLDEST}"),
    }
}

/// The lines that only one side has.
fn differing(expected: &str, found: &str) -> String {
    let only = |mark: &str, these: &str, others: &str| {
        let others: Vec<&str> = others.lines().collect();
        let lines = these.lines().filter(|line| !others.contains(line));
        lines
            .take(20)
            .map(|line| format!("  {mark} {line}\n"))
            .collect::<String>()
    };
    only("real:", expected, found) + &only("kit: ", found, expected)
}

/// One of the two, with a home and a kubeconfig of its own.
struct Side {
    home: TempDir,
    config: PathBuf,
}

impl Side {
    async fn new(name: &str, kubeconfig: &str) -> anyhow::Result<Self> {
        let home = tempfile::Builder::new()
            .prefix(&format!("kubectl-{name}-"))
            .tempdir()?;
        let config = home.path().join("config");
        tokio::fs::write(&config, kubeconfig).await?;
        for (file, text) in files::FILES {
            tokio::fs::write(home.path().join(file), text).await?;
        }
        Ok(Self { home, config })
    }

    /// Runs a command; what it says comes with its exit code.
    async fn run(&self, command: &str) -> anyhow::Result<String> {
        let run = Command::new("kubectl")
            .args(script::words(command))
            .current_dir(self.home.path())
            .env("KUBECONFIG", &self.config)
            .env("HOME", self.home.path())
            .env("KUBE_EDITOR", "sed -i s/alpha/beta/")
            .env("TZ", "UTC")
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output();
        let ended = timeout(LIMIT, run).await;
        let output = ended.with_context(|| format!("kubectl {command} does not end"))??;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        let said = format!("{out}{err}\nexit code {:?}\n", output.status.code());
        Ok(said.replace(&path_of(self.home.path()), "HOME"))
    }
}

fn path_of(path: &Path) -> String {
    path.display().to_string()
}
