//! What can go wrong between a test and its server.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

/// Why the server, or the talk with it, failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum HarnessError {
    /// There is no server to test with; such a test is skipped, not failed.
    #[error("no API server is built; run `cargo xtask e2e`")]
    NotBuilt,

    /// The server's program could not be started, or its files not be used.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },

    /// No three free ports in a row were found on loopback.
    #[error("no free ports on 127.0.0.1 below the range of outgoing connections")]
    NoPorts,

    /// The server ended before it was told to, or before it was ready.
    #[error("the API server ended ({status}); the end of its log:\n{log}")]
    Ended {
        /// How it ended.
        status: String,
        /// The last lines of its log.
        log: String,
    },

    /// The server did not do what it was asked in time.
    #[error("the API server did not {action} within {} s", limit.as_secs())]
    TimedOut {
        /// What it was asked.
        action: &'static str,
        /// How long the harness waited.
        limit: Duration,
    },

    /// The server refused a command of the harness.
    #[error("the API server refused `{command}`: {answer}")]
    Refused {
        /// The command.
        command: String,
        /// What it said.
        answer: String,
    },

    /// The method needs a running server, and this one was killed or stopped.
    #[error("the API server is not running; restart it first")]
    NotRunning,

    /// A request of the judging client failed below HTTP.
    #[error("{method} {path} failed")]
    Request {
        /// Its method.
        method: &'static str,
        /// Its path and query.
        path: String,
        /// Why it failed.
        source: Box<dyn std::error::Error + Send + Sync>,
    },

    /// The server answered the judging client with an error.
    #[error("{method} {path}: HTTP {status}: {message}")]
    Status {
        /// The method of the request.
        method: &'static str,
        /// Its path and query.
        path: String,
        /// The HTTP status.
        status: u16,
        /// The message of the answered `Status`, or the body.
        message: String,
    },
}

impl HarnessError {
    /// The HTTP status, if the server answered with one.
    #[must_use]
    pub fn http_status(&self) -> Option<u16> {
        match self {
            Self::Status { status, .. } => Some(*status),
            _ => None,
        }
    }
}
