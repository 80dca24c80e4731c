//! The process of one test: with a deadline, a limit of memory, and nothing left of it afterwards.

use std::io::{Read, Seek};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use crate::cmd::Cmd;

/// How long what a test started may take to be gone after it was killed.
const GONE_WITHIN: Duration = Duration::from_secs(10);

/// What a process may use.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) time: Duration,
    /// Address space of each process in KiB, where the system can limit it: a bug that loops may allocate for ever.
    pub(super) memory: u64,
}

impl Limits {
    /// Of one test: without a bug the slowest takes a few seconds.
    pub(super) const TEST: Self = Self {
        time: Duration::from_secs(60),
        memory: 8 << 20,
    };
}

/// How a process ended; `status` is `None` if it was killed at its deadline.
#[derive(Debug)]
pub(super) struct End {
    pub(super) status: Option<ExitStatus>,
    pub(super) output: String,
}

/// Runs a program to its end or deadline, and ends what it has started and left behind.
pub(super) fn run(
    program: &Path,
    arguments: &[&str],
    dir: &Path,
    limits: Limits,
) -> anyhow::Result<End> {
    let mut report = tempfile::tempfile().context("make a file for the test's output")?;
    let mut command = limited(program, limits.memory);
    let mut child = command
        .args(arguments)
        .current_dir(dir)
        // What fails here is no regression to keep.
        .env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "1")
        // A bug that few of the random cases meet must not be missed by chance.
        .env("PROPTEST_CASES", "2048")
        .stdin(Stdio::null())
        .stdout(report.try_clone().context("share the file")?)
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("run {}", program.display()))?;
    let status = wait(&mut child, limits.time);
    end_group(child.id())?;
    let status = status?;
    if status.is_none() {
        // Killed as a member of its group, or here where there are no groups.
        child.kill().context("end a test that hangs")?;
        child.wait().context("wait for a test that was ended")?;
    }
    let mut output = Vec::new();
    report.rewind().context("read the test's output")?;
    report
        .read_to_end(&mut output)
        .context("read the test's output")?;
    Ok(End {
        status,
        output: String::from_utf8_lossy(&output).into_owned(),
    })
}

/// Waits for the end; `None` if it has not come in time.
fn wait(child: &mut Child, time: Duration) -> anyhow::Result<Option<ExitStatus>> {
    let started = Instant::now();
    loop {
        let status = child.try_wait().context("wait for the test")?;
        if status.is_some() || started.elapsed() > time {
            return Ok(status);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A program in a process group of its own, with a limit of address space. A system whose shell cannot limit that
/// runs it without.
#[cfg(unix)]
fn limited(program: &Path, memory: u64) -> Command {
    use std::os::unix::process::CommandExt;

    let mut command = Command::new("sh");
    let script = format!("ulimit -v {memory} 2>/dev/null; exec \"$0\" \"$@\"");
    command.arg("-c").arg(script).arg(program).process_group(0);
    command
}

#[cfg(not(unix))]
fn limited(program: &Path, _: u64) -> Command {
    Command::new(program)
}

/// Kills what lives of a process group, and waits until it is gone; an error if something stays.
fn end_group(group: u32) -> anyhow::Result<()> {
    let started = Instant::now();
    while is_alive(group)? {
        if started.elapsed() > GONE_WITHIN {
            bail!("processes of the group {group} cannot be ended");
        }
        // It fails if they have ended meanwhile: the next look tells.
        let _ = Cmd::new("kill")
            .words("-KILL --")
            .arg(format!("-{group}"))
            .output();
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// Whether a process of this group lives; one that only waits for its parent to notice its end does not.
#[cfg(unix)]
fn is_alive(group: u32) -> anyhow::Result<bool> {
    let processes = Cmd::new("ps").words("-A -o pgid= -o stat=").output()?;
    let group = group.to_string();
    Ok(processes.lines().any(|line| {
        let mut words = line.split_whitespace();
        words.next() == Some(&group) && words.next().is_some_and(|state| !state.starts_with('Z'))
    }))
}

/// Elsewhere there are no process groups.
#[cfg(not(unix))]
fn is_alive(_: u32) -> anyhow::Result<bool> {
    Ok(false)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str, limits: Limits) -> End {
        run(
            Path::new("/bin/sh"),
            &["-c", script],
            Path::new("."),
            limits,
        )
        .expect("it runs")
    }

    #[test]
    fn at_the_deadline_all_that_was_started_ends() {
        let short = Limits {
            time: Duration::from_millis(300),
            ..Limits::TEST
        };
        let end = shell("sleep 600 & echo $$; sleep 600", short);
        assert!(end.status.is_none());
        let group = end.output.trim().parse().expect("the leader's id");
        assert!(!is_alive(group).expect("ps works"));
    }

    #[test]
    fn what_outlives_its_test_ends_with_it() {
        let end = shell("sleep 600 & echo $$", Limits::TEST);
        assert!(end.status.is_some_and(|status| status.success()));
        let group = end.output.trim().parse().expect("the leader's id");
        assert!(!is_alive(group).expect("ps works"));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_address_space_is_limited() {
        let end = shell("ulimit -v", Limits::TEST);
        assert_eq!(end.output.trim(), Limits::TEST.memory.to_string());
    }
}
