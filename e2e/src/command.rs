//! The command `informer` as a user starts it: its lines, its errors, its end.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// How long a line or an end may take.
const LIMIT: Duration = Duration::from_secs(60);

/// Where the command was built: beside this program.
fn program() -> anyhow::Result<PathBuf> {
    let program = std::env::current_exe()?.with_file_name("informer");
    ensure!(
        program.is_file(),
        "{} is not built; `cargo xtask e2e` builds it",
        program.display()
    );
    Ok(program)
}

/// `informer watch`, running.
pub(crate) struct Watching {
    line: String,
    child: Child,
    stdout: Lines<BufReader<ChildStdout>>,
    stderr: JoinHandle<std::io::Result<String>>,
    seen: Vec<Value>,
}

/// `informer watch`, ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// The exit code; `None` if a signal ended it.
    pub(crate) code: Option<i32>,
    /// All lines of standard output.
    pub(crate) lines: Vec<Value>,
    pub(crate) stderr: String,
    /// From the moment it was told to end, or from its start.
    pub(crate) took: Duration,
}

impl Watching {
    /// Starts `informer watch` with output for programs. The arguments are separated by blanks.
    pub(crate) fn start(kubeconfig: &Path, arguments: &str) -> anyhow::Result<Self> {
        let mut child = Command::new(program()?)
            .args(["watch", "-o", "json", "--kubeconfig"])
            .arg(kubeconfig)
            .args(arguments.split_whitespace())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("start informer")?;
        let (Some(stdout), Some(mut stderr)) = (child.stdout.take(), child.stderr.take()) else {
            bail!("informer has no output");
        };
        Ok(Self {
            line: format!("informer watch {arguments}"),
            child,
            stdout: BufReader::new(stdout).lines(),
            stderr: tokio::spawn(async move {
                let mut text = String::new();
                stderr.read_to_string(&mut text).await.map(|_| text)
            }),
            seen: Vec::new(),
        })
    }

    /// Reads on until a line for which this holds.
    pub(crate) async fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> anyhow::Result<Value> {
        let found = async {
            while let Some(line) = self.next().await? {
                if wanted(&line) {
                    return Ok(line);
                }
            }
            bail!("{} ended its output", self.line)
        };
        let found = timeout(LIMIT, found).await;
        found.with_context(|| format!("{} printed only {:?}", self.line, self.seen))?
    }

    /// The next line, which must be a JSON object that says what it tells of.
    async fn next(&mut self) -> anyhow::Result<Option<Value>> {
        let Some(text) = self.stdout.next_line().await? else {
            return Ok(None);
        };
        let line: Value = serde_json::from_str(&text)
            .with_context(|| format!("{} printed {text:?}", self.line))?;
        ensure!(line["event"].is_string(), "{} printed {text:?}", self.line);
        self.seen.push(line.clone());
        Ok(Some(line))
    }

    /// Sends SIGTERM and waits for the end.
    pub(crate) async fn terminate(self) -> anyhow::Result<Ended> {
        let pid = self.child.id().context("it has ended already")?;
        let started = Instant::now();
        let sent = Command::new("kill")
            .arg("-TERM")
            .arg(pid.to_string())
            .status()
            .await?;
        ensure!(sent.success(), "kill -TERM: {sent}");
        self.finish(started).await
    }

    /// Waits for the end.
    pub(crate) async fn ended(self) -> anyhow::Result<Ended> {
        self.finish(Instant::now()).await
    }

    async fn finish(mut self, started: Instant) -> anyhow::Result<Ended> {
        let end = async {
            while self.next().await?.is_some() {}
            anyhow::Ok(self.child.wait().await?)
        };
        let status = timeout(LIMIT, end)
            .await
            .with_context(|| format!("{} does not end", self.line))??;
        let took = started.elapsed();
        Ok(Ended {
            code: status.code(),
            lines: self.seen,
            stderr: self.stderr.await.context("a reader panicked")??,
            took,
        })
    }
}

impl Ended {
    /// The lines of one sort.
    pub(crate) fn of(&self, event: &'static str) -> impl Iterator<Item = &Value> {
        self.lines.iter().filter(move |line| line["event"] == event)
    }

    /// The only line of a sort.
    pub(crate) fn one(&self, event: &'static str) -> anyhow::Result<&Value> {
        let mut found = self.of(event);
        match (found.next(), found.next()) {
            (Some(line), None) => Ok(line),
            (first, _) => bail!(
                "{} lines `{event}`",
                if first.is_some() { "several" } else { "no" }
            ),
        }
    }
}
