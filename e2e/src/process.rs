//! One run of the server's program: its ready line, its commands, its end.

use std::fs::File;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use crate::HarnessError;

/// A start takes 3 s on a machine at rest.
const START_LIMIT: Duration = Duration::from_secs(180);
/// A compaction takes milliseconds.
const COMMAND_LIMIT: Duration = Duration::from_secs(60);
/// A graceful stop takes 2 s.
const STOP_LIMIT: Duration = Duration::from_secs(90);
/// How much of the log an error shows.
const LOG_LINES: usize = 20;

/// A running server. Dropping it kills it, and if the test itself is killed, the end of its standard input stops it.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    commands: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
    log: std::path::PathBuf,
}

impl Process {
    /// Starts the program and waits for its ready line.
    pub(crate) async fn start(
        program: &Path,
        arguments: &[String],
        log: &Path,
    ) -> Result<Self, HarnessError> {
        let failed = |action, path: &Path| {
            let path = path.to_owned();
            move |source| HarnessError::Io {
                action,
                path,
                source,
            }
        };
        let log_file = File::options()
            .create(true)
            .append(true)
            .open(log)
            .map_err(failed("open the log", log))?;
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log_file)
            .kill_on_drop(true)
            .spawn()
            .map_err(failed("start", program))?;
        let (Some(commands), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(HarnessError::NotRunning);
        };
        let answers = BufReader::new(stdout).lines();
        let mut process = Self {
            child,
            commands,
            answers,
            log: log.to_owned(),
        };
        let ready = process.answer("become ready", START_LIMIT).await?;
        if !ready.starts_with("ready ") {
            return Err(HarnessError::Refused {
                command: "start".to_owned(),
                answer: ready,
            });
        }
        Ok(process)
    }

    /// Sends a command and returns the number in its answer.
    ///
    /// Not cancellation safe: the answer to an abandoned command would be taken for that of the next one.
    pub(crate) async fn command(&mut self, command: &str) -> Result<u64, HarnessError> {
        self.send(command).await?;
        let answer = self.answer("obey a command", COMMAND_LIMIT).await?;
        let number = answer
            .split_whitespace()
            .nth(1)
            .and_then(|number| number.parse().ok());
        match number {
            Some(number) if !answer.starts_with("error") => Ok(number),
            _ => Err(HarnessError::Refused {
                command: command.to_owned(),
                answer,
            }),
        }
    }

    /// Stops it gracefully: open watches are ended in order, then etcd is closed.
    pub(crate) async fn stop(mut self) -> Result<(), HarnessError> {
        self.send("stop").await?;
        let Ok(ended) = timeout(STOP_LIMIT, self.child.wait()).await else {
            return Err(HarnessError::TimedOut {
                action: "stop",
                limit: STOP_LIMIT,
            });
        };
        match ended {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(self.ended(status.to_string())),
            Err(error) => Err(self.ended(error.to_string())),
        }
    }

    /// Kills it as a crash would, with SIGKILL, and waits until it is gone.
    pub(crate) async fn kill(mut self) -> Result<(), HarnessError> {
        let log = self.log.clone();
        let failed = |source| HarnessError::Io {
            action: "kill the server of",
            path: log,
            source,
        };
        self.child.kill().await.map_err(failed)
    }

    /// Sends a signal by its name, such as `STOP`.
    pub(crate) async fn signal(&self, name: &str) -> Result<(), HarnessError> {
        let pid = self.child.id().ok_or(HarnessError::NotRunning)?;
        let sent = Command::new("kill")
            .arg(format!("-{name}"))
            .arg(pid.to_string())
            .status()
            .await;
        match sent {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(HarnessError::Refused {
                command: format!("kill -{name}"),
                answer: status.to_string(),
            }),
            Err(source) => Err(HarnessError::Io {
                action: "run",
                path: "kill".into(),
                source,
            }),
        }
    }

    async fn send(&mut self, command: &str) -> Result<(), HarnessError> {
        let line = format!("{command}\n");
        // A closed pipe: the server has ended, and its log tells why.
        match self.commands.write_all(line.as_bytes()).await {
            Ok(()) => Ok(()),
            Err(error) => Err(self.ended(error.to_string())),
        }
    }

    async fn answer(
        &mut self,
        action: &'static str,
        limit: Duration,
    ) -> Result<String, HarnessError> {
        let Ok(line) = timeout(limit, self.answers.next_line()).await else {
            return Err(HarnessError::TimedOut { action, limit });
        };
        match line {
            Ok(Some(line)) => Ok(line),
            Ok(None) => {
                let status = timeout(COMMAND_LIMIT, self.child.wait()).await;
                let status = status.map_or_else(|_| "closed its output".to_owned(), describe);
                Err(self.ended(status))
            }
            Err(error) => Err(self.ended(error.to_string())),
        }
    }

    fn ended(&self, status: String) -> HarnessError {
        let log = std::fs::read(&self.log).unwrap_or_default();
        HarnessError::Ended {
            status,
            log: last_lines(&String::from_utf8_lossy(&log)),
        }
    }
}

fn describe(ended: std::io::Result<std::process::ExitStatus>) -> String {
    ended.map_or_else(|error| error.to_string(), |status| status.to_string())
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LOG_LINES)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_shows_the_end_of_a_long_log() {
        let log = (0..50)
            .map(|line| line.to_string())
            .collect::<Vec<_>>()
            .join("\n");
        assert!(last_lines(&log).starts_with("30\n") && last_lines(&log).ends_with("\n49"));
        assert_eq!(last_lines("one"), "one");
    }
}
