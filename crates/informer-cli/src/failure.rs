//! How the command ends with a failure: one clear line on stderr, and an exit code.

use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;

/// What only the caller can correct: arguments, selectors, the kubeconfig.
#[derive(Debug)]
pub(crate) struct Usage(String);

impl Usage {
    /// Makes the error of a mistake of the caller, in one line that says what to do.
    pub(crate) fn error(message: impl Into<String>) -> anyhow::Error {
        anyhow::Error::new(Self(message.into()))
    }

    /// Makes one of an error with all its causes.
    pub(crate) fn from_error(error: impl Into<anyhow::Error>) -> anyhow::Error {
        Self::error(one_line(&error.into()))
    }
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// An error and its causes in one line, without control characters that a server may have sent.
pub(crate) fn one_line(error: &anyhow::Error) -> String {
    printable(&format!("{error:#}"))
}

/// The text without control characters, which could change what a terminal shows.
pub(crate) fn printable(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

/// Prints a line on stderr, for people. If it cannot be written, as to a full disk, it is lost: unlike `eprintln!` this
/// does not panic, and the command continues.
pub(crate) fn print(text: &str) {
    let _ = Stderr.write_all(format!("{text}\n").as_bytes());
}

/// Standard error that accepts everything, whether or not it can be written.
#[derive(Debug)]
pub(crate) struct Stderr;

impl Write for Stderr {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        let _ = io::stderr().write_all(text);
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let _ = io::stderr().flush();
        Ok(())
    }
}

/// Prints why the command ends. Exit code 2: the caller must change something; 1: it failed.
///
/// A closed output, as after `| head -1`, is no failure to print.
pub(crate) fn report(error: &anyhow::Error) -> ExitCode {
    let output = error.downcast_ref::<io::Error>();
    if output.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe) {
        return ExitCode::FAILURE;
    }
    print(&format!("informer: {}", one_line(error)));
    if error.is::<Usage>() {
        ExitCode::from(2)
    } else {
        ExitCode::FAILURE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_is_one_line_with_its_causes() {
        let error = anyhow::anyhow!("refused\nby server").context("cannot list");
        assert_eq!(one_line(&error), "cannot list: refused by server");
    }
}
