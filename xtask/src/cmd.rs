//! Runs other programs: prints each command line first, and says how it ended.

use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

/// A command that is printed before it runs.
#[derive(Debug)]
pub(crate) struct Cmd {
    command: Command,
    env: Vec<(String, OsString)>,
}

impl Cmd {
    pub(crate) fn new(program: impl AsRef<OsStr>) -> Self {
        let mut command = Command::new(program);
        command.stdin(Stdio::null());
        for (name, _) in std::env::vars_os().filter(|(name, _)| is_of_this_package(name)) {
            command.env_remove(name);
        }
        Self {
            command,
            env: Vec::new(),
        }
    }

    /// The cargo that runs this program, so that `cargo +toolchain xtask` keeps its toolchain.
    pub(crate) fn cargo() -> Self {
        Self::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
    }

    pub(crate) fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.command.arg(argument);
        self
    }

    /// Adds arguments separated by blanks.
    pub(crate) fn words(mut self, words: &str) -> Self {
        self.command.args(words.split_whitespace());
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value.as_ref());
        self.env.push((name.to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Runs without a variable that this process has.
    pub(crate) fn env_remove(mut self, name: &str) -> Self {
        self.command.env_remove(name);
        self
    }

    pub(crate) fn dir(mut self, dir: &Path) -> Self {
        self.command.current_dir(dir);
        self
    }

    /// Runs it with its output passed on; an error if it fails.
    pub(crate) fn run(mut self) -> anyhow::Result<()> {
        println!("$ {}", self.line());
        let status = self
            .command
            .status()
            .with_context(|| format!("cannot run {}", self.line()))?;
        if !status.success() {
            bail!("`{}` failed ({status})", self.line());
        }
        Ok(())
    }

    /// Runs it and hands over its standard output line by line, as it comes; an error if it fails. What else there is
    /// to print goes to the standard error.
    pub(crate) fn lines(mut self, mut each: impl FnMut(&str)) -> anyhow::Result<()> {
        let line = self.line();
        let cannot = || format!("cannot run {line}");
        eprintln!("$ {line}");
        self.command.stdout(Stdio::piped());
        let mut child = self.command.spawn().with_context(cannot)?;
        let output = child.stdout.take().map(BufReader::new);
        for line in output.into_iter().flat_map(BufRead::lines) {
            each(&line.with_context(cannot)?);
        }
        let status = child.wait().with_context(cannot)?;
        if !status.success() {
            bail!("`{line}` failed ({status})");
        }
        Ok(())
    }

    /// Runs it and gives back its standard output; an error with its standard error if it fails.
    pub(crate) fn output(mut self) -> anyhow::Result<String> {
        let out = self
            .command
            .output()
            .with_context(|| format!("cannot run {}", self.line()))?;
        if !out.status.success() {
            let reason = String::from_utf8_lossy(&out.stderr);
            bail!(
                "`{}` failed ({}): {}",
                self.line(),
                out.status,
                reason.trim()
            );
        }
        String::from_utf8(out.stdout).with_context(|| format!("{} printed no UTF-8", self.line()))
    }

    /// The command line as one would type it.
    fn line(&self) -> String {
        let program = Path::new(self.command.get_program());
        let mut line = String::new();
        for (name, value) in &self.env {
            line.push_str(&format!("{name}={} ", quoted(value)));
        }
        line.push_str(&program.file_name().unwrap_or_default().to_string_lossy());
        for argument in self.command.get_args() {
            line.push(' ');
            line.push_str(&quoted(argument));
        }
        line
    }
}

/// Whether `cargo run` set the variable to describe this very package. Some build scripts (ring's) depend on such
/// variables, so another cargo that inherited them would build again what it has.
fn is_of_this_package(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    let about = [
        "CARGO_PKG_",
        "CARGO_MANIFEST_",
        "CARGO_BIN_",
        "CARGO_CRATE_",
        "CARGO_PRIMARY_",
    ];
    about.iter().any(|prefix| name.starts_with(prefix))
}

fn quoted(text: &OsStr) -> String {
    let text = text.to_string_lossy();
    if text.is_empty() || text.contains([' ', '"', '$', '*']) {
        format!("'{text}'")
    } else {
        text.into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_is_printed_as_one_would_type_it() {
        let command = Cmd::new("/usr/bin/cargo")
            .env("RUSTDOCFLAGS", "-D warnings")
            .words("doc -p x");
        assert_eq!(command.line(), "RUSTDOCFLAGS='-D warnings' cargo doc -p x");
    }

    #[test]
    fn another_cargo_does_not_inherit_what_describes_this_package() {
        let seen = Cmd::new("env").output().expect("env runs");
        assert!(!seen.contains("CARGO_PKG_NAME="), "{seen}");
        assert!(
            std::env::var_os("CARGO_PKG_NAME").is_some(),
            "cargo sets it for tests"
        );
    }

    #[test]
    fn lines_are_handed_over_and_a_failure_is_told() {
        let mut lines = Vec::new();
        let fails = Cmd::new("sh").arg("-c").arg("echo one; echo two; exit 3");
        assert!(fails.lines(|line| lines.push(line.to_owned())).is_err());
        assert_eq!(lines, ["one", "two"]);
    }

    #[test]
    fn a_failure_carries_the_command_and_what_it_said() {
        let error = Cmd::cargo()
            .words("no-such-command")
            .output()
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("no-such-command") && error.contains("failed"),
            "{error}"
        );
    }
}
