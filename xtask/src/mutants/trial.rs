//! One test, run without and with a bug.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::Value;

use super::patch::Patch;
use super::process::{self, Limits};
use super::scratch::Scratch;
use crate::cmd::Cmd;
use crate::workspace::Workspace;

/// Its tests play hundreds of lives of an informer: optimised, as `cargo xtask sim` builds it.
const SIM: &str = "informer-sim";

/// How a test ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Passed,
    Failed,
    /// It was killed at its deadline, which shows the bug as well.
    HungUp,
    /// There is no such test.
    Missing,
    NotCompiled,
}

impl Outcome {
    /// Whether this shows that the test sees the bug.
    pub(super) fn is_seen(self) -> bool {
        matches!(self, Self::Failed | Self::HungUp)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::HungUp => "ran into the deadline",
            Self::Missing => "not found",
            Self::NotCompiled => "does not compile",
        })
    }
}

/// Builds and runs tests in a scratch tree.
pub(super) struct Trials<'a> {
    workspace: &'a Workspace,
    scratch: &'a Scratch,
    /// How the tests ended that were run without a bug.
    sound: BTreeMap<String, Outcome>,
}

impl<'a> Trials<'a> {
    pub(super) fn new(workspace: &'a Workspace, scratch: &'a Scratch) -> Self {
        Self {
            workspace,
            scratch,
            sound: BTreeMap::new(),
        }
    }

    /// Runs a bug's test without the bug, once for all bugs that have this test.
    pub(super) fn sound(&mut self, patch: &Patch) -> anyhow::Result<Outcome> {
        let place = patch.place();
        if let Some(outcome) = self.sound.get(&place) {
            return Ok(*outcome);
        }
        let outcome = self.run(patch)?;
        println!("sound  {place} {outcome}");
        self.sound.insert(place, outcome);
        Ok(outcome)
    }

    /// Runs a bug's test with the bug, and takes it out again.
    pub(super) fn with_bug(&self, patch: &Patch) -> anyhow::Result<(Outcome, Duration)> {
        let started = Instant::now();
        self.scratch.apply(&patch.file)?;
        let outcome = self.run(patch);
        self.scratch.revert(&patch.file)?;
        Ok((outcome?, started.elapsed()))
    }

    fn run(&self, patch: &Patch) -> anyhow::Result<Outcome> {
        let Some(binary) = self.build(patch)? else {
            return Ok(Outcome::NotCompiled);
        };
        let package = patch.find_test(self.workspace)?;
        run_test(&binary, &self.scratch.root.join(&package.dir), &patch.test)
    }

    /// Builds the test's binary; `None` if it does not compile.
    fn build(&self, patch: &Patch) -> anyhow::Result<Option<PathBuf>> {
        let which = match patch.binary.as_str() {
            "lib" => "--lib".to_owned(),
            test => format!("--test {test}"),
        };
        let profile = if patch.package == SIM { "sim" } else { "test" };
        let built = Cmd::cargo()
            .dir(&self.scratch.root)
            .env("CARGO_TARGET_DIR", &self.scratch.target)
            .words("test --all-features --no-run --message-format json --package")
            .arg(&patch.package)
            .words("--profile")
            .arg(profile)
            .words(&which)
            .output();
        let messages = match built {
            Ok(messages) => messages,
            Err(error) => {
                eprintln!("{error:#}");
                return Ok(None);
            }
        };
        let binary = executable(&messages);
        let binary =
            binary.with_context(|| format!("cargo built no test for {}", patch.place()))?;
        Ok(Some(binary))
    }
}

/// The test binary among cargo's messages. The programs of the package are built with it.
fn executable(messages: &str) -> Option<PathBuf> {
    let messages = messages.lines().rev();
    let mut parsed = messages.filter_map(|line| serde_json::from_str::<Value>(line).ok());
    parsed.find_map(|message| {
        let test = message.get("profile")?.get("test")?.as_bool()?;
        let path = message.get("executable")?.as_str()?;
        test.then(|| PathBuf::from(path))
    })
}

/// Runs one test in a process of its own.
fn run_test(binary: &Path, dir: &Path, test: &str) -> anyhow::Result<Outcome> {
    let end = process::run(binary, &["--exact", test], dir, Limits::TEST)?;
    Ok(match end.status {
        None => Outcome::HungUp,
        Some(status) if !status.success() => Outcome::Failed,
        Some(_) if end.output.contains("test result: ok. 1 passed") => Outcome::Passed,
        Some(_) => Outcome::Missing,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_executable_is_found_among_the_messages() {
        let messages = "{\"reason\":\"compiler-artifact\",\"executable\":null}\n\
            {\"executable\":\"/t/deps/model-1\",\"profile\":{\"test\":true}}\n\
            {\"executable\":\"/t/program\",\"profile\":{\"test\":false}}\n\
            {\"reason\":\"build-finished\"}\n";
        assert_eq!(executable(messages), Some(PathBuf::from("/t/deps/model-1")));
    }

    #[test]
    fn only_a_test_that_fails_or_hangs_sees_a_bug() {
        let seen = [Outcome::Failed, Outcome::HungUp];
        assert!(seen.into_iter().all(Outcome::is_seen));
        let unseen = [Outcome::Passed, Outcome::Missing, Outcome::NotCompiled];
        assert!(!unseen.into_iter().any(Outcome::is_seen));
    }

    #[test]
    fn a_test_is_run_by_its_whole_name() {
        let own = std::env::current_exe().expect("this very binary");
        let run = |test: &str| run_test(&own, Path::new("."), test).expect("it runs");
        let other = "mutants::trial::tests::the_executable_is_found_among_the_messages";
        assert_eq!(run(other), Outcome::Passed);
        assert_eq!(
            run("mutants::trial::tests::the_executable"),
            Outcome::Missing
        );
    }
}
