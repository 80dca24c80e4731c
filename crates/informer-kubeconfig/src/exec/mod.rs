//! Programs that fetch credentials (`exec` of a kubeconfig's user): what they are told, and what they print.

mod config;
mod credential;
mod policy;

use std::path::PathBuf;

pub(crate) use config::EXEC_EXTENSION;
pub use config::{ExecConfig, ExecVersion, InteractiveMode};
pub use credential::{ExecCredential, MAX_EXEC_OUTPUT};
pub use policy::ExecPolicy;

/// Why a program gives no credentials. Never quotes what it was given or what it printed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExecError {
    /// Nobody allowed it to run.
    #[error(
        "the credentials come from the program {command:?}, which may not be run; allow it, or use a token, a tokenFile or a client certificate"
    )]
    Denied {
        /// The program as the kubeconfig names it.
        command: String,
    },
    /// The program is not there.
    #[error(
        "cannot find the program {command:?}, which gives the credentials; install it{}",
        hint(install_hint)
    )]
    NotFound {
        /// The program as the kubeconfig names it.
        command: String,
        /// What the kubeconfig says on how to get it; without control characters.
        install_hint: String,
    },
    /// The program wants to talk with a person.
    #[error(
        "the program {command:?} wants to ask for credentials, and there is no terminal; run it in one, or use other credentials"
    )]
    NotInteractive {
        /// The program as the kubeconfig names it.
        command: String,
    },
    /// The program cannot be run.
    #[error("cannot run {}, which gives the credentials", program.display())]
    Run {
        /// The program.
        program: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// The program failed.
    #[error("{} gave no credentials: {status}; what it says stands on stderr", program.display())]
    Failed {
        /// The program.
        program: PathBuf,
        /// How it ended, as `exit status: 1`.
        status: String,
    },
    /// The program did not end in time.
    #[error("{} gave no credentials within {limit:?}", program.display())]
    TimedOut {
        /// The program.
        program: PathBuf,
        /// How long it had.
        limit: std::time::Duration,
    },
    /// What the program printed cannot be used.
    #[error("what the program {command:?} printed cannot be used: {reason}")]
    Output {
        /// The program as the kubeconfig names it.
        command: String,
        /// What is wrong with it; without the contents.
        reason: String,
    },
}

/// The hint behind the sentence.
fn hint(text: &str) -> String {
    if text.is_empty() {
        String::new()
    } else {
        format!(": {text}")
    }
}
