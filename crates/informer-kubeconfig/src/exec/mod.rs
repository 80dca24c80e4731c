//! Programs that fetch credentials (`exec` of a kubeconfig's user): their input and output.

mod config;
mod credential;
mod policy;

use std::path::PathBuf;

pub(crate) use config::EXEC_EXTENSION;
pub use config::{ExecConfig, ExecVersion, InteractiveMode};
pub use credential::{ExecCredential, MAX_EXEC_OUTPUT};
pub use policy::ExecPolicy;

/// An error of a program that fetches credentials. Never quotes its input or output.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExecError {
    /// The program is not allowed.
    #[error(
        "program {command:?} for credentials is not allowed; allow it by an ExecPolicy, or use a token, a tokenFile or a client certificate"
    )]
    Denied {
        /// The program as the kubeconfig names it.
        command: String,
    },
    /// The program does not exist.
    #[error(
        "cannot find program {command:?} for credentials; install it{}",
        hint(install_hint)
    )]
    NotFound {
        /// The program as the kubeconfig names it.
        command: String,
        /// How to get it, from the kubeconfig; without control characters.
        install_hint: String,
    },
    /// The program wants to talk with a person.
    #[error(
        "program {command:?} asks for credentials, and there is no terminal; run in one, or use other credentials"
    )]
    NotInteractive {
        /// The program as the kubeconfig names it.
        command: String,
    },
    /// The program cannot be run.
    #[error("cannot run program {} for credentials", program.display())]
    Run {
        /// The program.
        program: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The program failed.
    #[error("program {} for credentials failed: {status}; see its output on stderr", program.display())]
    Failed {
        /// The program.
        program: PathBuf,
        /// Its exit status, such as `exit status: 1`.
        status: String,
    },
    /// The program did not end within its limit.
    #[error("program {} printed no credentials within {limit:?}", program.display())]
    TimedOut {
        /// The program.
        program: PathBuf,
        /// The limit.
        limit: std::time::Duration,
    },
    /// The program's output cannot be used.
    #[error("invalid output of program {command:?}: {reason}")]
    Output {
        /// The program as the kubeconfig names it.
        command: String,
        /// The fault, without the contents.
        reason: String,
    },
}

/// Writes the hint behind the sentence.
fn hint(text: &str) -> String {
    if text.is_empty() {
        String::new()
    } else {
        format!(": {text}")
    }
}
