//! Credentials that a program prints: run when they are needed, kept until they expire.

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http::HeaderValue;
use informer_kubeconfig::{
    Cluster, ExecConfig, ExecCredential, ExecError, ExecPolicy, MAX_EXEC_OUTPUT,
};
use secrecy::{ExposeSecret, SecretSlice};
use tokio::io::AsyncReadExt as _;
use tokio::process::Command;
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::time::Instant;

use super::process::Running;
use super::{Shown, bearer};
use crate::error::{BuildError, Error};
use crate::transport::Transport;

/// The settings of programs.
pub(crate) struct PluginOptions {
    pub(crate) policy: ExecPolicy,
    /// The limit of a run.
    pub(crate) timeout: Duration,
    /// The cluster that the program receives.
    pub(crate) cluster: Cluster,
}

/// A program that prints credentials.
pub(crate) struct Plugin {
    config: ExecConfig,
    program: PathBuf,
    timeout: Duration,
    cluster: Cluster,
    /// Held while the program runs, so that many requests run it once.
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// The output of the last good run.
    held: Option<Held>,
    /// The number of good runs.
    runs: u64,
    /// The last run, if it was bad, and when it ended.
    failed: Option<(Instant, Arc<ExecError>)>,
}

struct Held {
    header: Option<HeaderValue>,
    credential: ExecCredential,
}

impl State {
    /// Returns the credentials, unless they have expired or the server refused them.
    fn usable(&self, refused: Option<u64>) -> Option<Shown> {
        let held = self.held.as_ref()?;
        let usable = held.credential.holds_at(SystemTime::now())
            && refused.is_none_or(|run| run < self.runs);
        usable.then(|| Shown {
            header: held.header.clone(),
            run: self.runs,
        })
    }
}

impl Plugin {
    /// Finds the program, if it is allowed.
    pub(crate) fn new(config: ExecConfig, options: PluginOptions) -> Result<Self, BuildError> {
        let program = options.policy.program(&config)?;
        Ok(Self {
            config,
            program,
            timeout: options.timeout,
            cluster: options.cluster,
            state: Arc::default(),
        })
    }

    /// Returns the credentials of the last run, or of a new one if those have expired or were refused.
    pub(super) async fn show(
        self: &Arc<Self>,
        transport: &Arc<Transport>,
        refused: Option<u64>,
    ) -> Result<Shown, Error> {
        let asked = Instant::now();
        let state = Arc::clone(&self.state).lock_owned().await;
        if let Some(shown) = state.usable(refused) {
            return Ok(shown);
        }
        // A run that failed while this request waited for it is this request's answer too.
        if let Some((_, error)) = state.failed.as_ref().filter(|(ended, _)| *ended >= asked) {
            return Err(Arc::clone(error).into());
        }
        // A request that gives up must not end what a person is in the middle of, and others wait for.
        let run = tokio::spawn(Arc::clone(self).run(Arc::clone(transport), state));
        match run.await {
            Ok(result) => result.map_err(Error::from),
            Err(error) => Err(Arc::new(ExecError::Run {
                program: self.program.clone(),
                source: std::io::Error::other(error),
            })
            .into()),
        }
    }

    async fn run(
        self: Arc<Self>,
        transport: Arc<Transport>,
        mut state: OwnedMutexGuard<State>,
    ) -> Result<Shown, Arc<ExecError>> {
        match self.fetch(&transport).await {
            Ok(held) => {
                let header = held.header.clone();
                state.held = Some(held);
                state.runs += 1;
                state.failed = None;
                let run = state.runs;
                Ok(Shown { header, run })
            }
            Err(error) => {
                let error = Arc::new(error);
                state.failed = Some((Instant::now(), Arc::clone(&error)));
                Err(error)
            }
        }
    }

    /// Runs the program and uses its output.
    async fn fetch(&self, transport: &Transport) -> Result<Held, ExecError> {
        let output = tokio::time::timeout(self.timeout, self.output())
            .await
            .map_err(|_| ExecError::TimedOut {
                program: self.program.clone(),
                limit: self.timeout,
            })??;
        let credential = self.config.credential(output.expose_secret())?;
        let header = credential
            .token
            .as_ref()
            .map(bearer)
            .transpose()
            .map_err(|()| self.unusable("the token holds a control character".to_owned()))?;
        if let Some(identity) = &credential.client_certificate {
            let identified = transport.identify(identity.clone()).await;
            identified.map_err(|error| self.unusable(error.to_string()))?;
        }
        Ok(Held { header, credential })
    }

    async fn output(&self) -> Result<SecretSlice<u8>, ExecError> {
        let mut running = self.start()?;
        let mut output = Vec::new();
        if let Some(stdout) = running.stdout() {
            let mut stdout = stdout.take(MAX_EXEC_OUTPUT as u64 + 1);
            stdout
                .read_to_end(&mut output)
                .await
                .map_err(|source| self.cannot_run(source))?;
        }
        let output = SecretSlice::from(output);
        // One that still prints would never end.
        if output.expose_secret().len() <= MAX_EXEC_OUTPUT {
            let status = running.wait().await;
            let status = status.map_err(|source| self.cannot_run(source))?;
            if !status.success() {
                return Err(ExecError::Failed {
                    program: self.program.clone(),
                    status: status.to_string(),
                });
            }
        }
        Ok(output)
    }

    fn start(&self) -> Result<Running, ExecError> {
        let terminal = std::io::stdin().is_terminal();
        let interactive = self.config.interactive(terminal);
        let interactive = interactive.ok_or_else(|| ExecError::NotInteractive {
            command: self.config.command().to_owned(),
        })?;
        let info = self.config.info(&self.cluster, interactive);
        let info = info.map_err(|source| self.cannot_run(source))?;
        let mut command = Command::new(&self.program);
        command
            .args(
                self.config
                    .arguments()
                    .iter()
                    .map(ExposeSecret::expose_secret),
            )
            .stdin(if interactive {
                Stdio::inherit()
            } else {
                Stdio::null()
            })
            .stdout(Stdio::piped())
            // For people: what to do in a browser, or why it failed.
            .stderr(Stdio::inherit());
        for (name, value) in self.config.environment() {
            command.env(name, value.expose_secret());
        }
        command.env("KUBERNETES_EXEC_INFO", info.expose_secret());
        Running::start(command, interactive).map_err(|source| self.cannot_run(source))
    }

    fn cannot_run(&self, source: std::io::Error) -> ExecError {
        ExecError::Run {
            program: self.program.clone(),
            source,
        }
    }

    fn unusable(&self, reason: String) -> ExecError {
        ExecError::Output {
            command: self.config.command().to_owned(),
            reason,
        }
    }
}
