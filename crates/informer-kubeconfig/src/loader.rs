//! The places of configurations.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::config::Config;
use crate::error::ConfigError;
use crate::kubeconfig::Kubeconfig;

/// Where Kubernetes mounts a pod's service account.
const SERVICE_ACCOUNT_DIR: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// The inputs from the process and its machine, in one value so that tests can set their own.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Environment {
    /// `KUBECONFIG`: a list of files, separated as in `PATH`.
    pub kubeconfig: Option<OsString>,
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// `KUBERNETES_SERVICE_HOST`: the API server's address, in a pod.
    pub service_host: Option<String>,
    /// `KUBERNETES_SERVICE_PORT`: the API server's port, in a pod.
    pub service_port: Option<String>,
    /// `POD_NAMESPACE`: the pod's namespace.
    pub pod_namespace: Option<String>,
    /// The directory where the service account of a pod is mounted.
    pub service_account_dir: PathBuf,
}

impl Default for Environment {
    /// Returns an empty environment.
    fn default() -> Self {
        Self {
            kubeconfig: None,
            home: None,
            service_host: None,
            service_port: None,
            pod_namespace: None,
            service_account_dir: SERVICE_ACCOUNT_DIR.into(),
        }
    }
}

impl Environment {
    /// Returns the environment of this process.
    #[must_use]
    pub fn from_process() -> Self {
        let text = |name| {
            std::env::var(name)
                .ok()
                .filter(|value: &String| !value.is_empty())
        };
        Self {
            kubeconfig: std::env::var_os("KUBECONFIG").filter(|value| !value.is_empty()),
            home: std::env::home_dir().filter(|home| !home.as_os_str().is_empty()),
            service_host: text("KUBERNETES_SERVICE_HOST"),
            service_port: text("KUBERNETES_SERVICE_PORT"),
            pod_namespace: text("POD_NAMESPACE"),
            service_account_dir: SERVICE_ACCOUNT_DIR.into(),
        }
    }

    /// Returns the kubeconfigs to read, in order, without repetitions.
    fn kubeconfigs(&self) -> Vec<PathBuf> {
        let Some(list) = &self.kubeconfig else {
            return self
                .home
                .iter()
                .map(|home| home.join(".kube").join("config"))
                .collect();
        };
        let mut files: Vec<PathBuf> = Vec::new();
        for file in std::env::split_paths(list) {
            if !file.as_os_str().is_empty() && !files.contains(&file) {
                files.push(file);
            }
        }
        files
    }
}

/// Finds and loads a configuration.
///
/// ```no_run
/// use informer_kubeconfig::ConfigLoader;
///
/// let config = ConfigLoader::new().context("staging").load()?;
/// # Ok::<(), informer_kubeconfig::ConfigError>(())
/// ```
#[derive(Debug, Clone, Default)]
#[doc(alias = "ClientConfigLoadingRules")]
#[must_use]
pub struct ConfigLoader {
    environment: Option<Environment>,
    file: Option<PathBuf>,
    context: Option<String>,
    inline_only: bool,
}

impl ConfigLoader {
    /// Makes a loader of the places that `kubectl` reads.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads this kubeconfig and no other place.
    pub fn kubeconfig(mut self, file: impl Into<PathBuf>) -> Self {
        self.file = Some(file.into());
        self
    }

    /// Uses this context instead of the current one. The pod's service account is not used.
    pub fn context(mut self, name: impl Into<String>) -> Self {
        self.context = Some(name.into());
        self
    }

    /// Refuses entries that name files: see [`Kubeconfig::inline_only`].
    pub const fn inline_only(mut self, only: bool) -> Self {
        self.inline_only = only;
        self
    }

    /// Uses this environment instead of the process's.
    pub fn environment(mut self, environment: Environment) -> Self {
        self.environment = Some(environment);
        self
    }

    /// Loads and checks the configuration. Reads files, so it blocks for as long as they take.
    ///
    /// # Errors
    /// When there is none, or it cannot be used.
    pub fn load(&self) -> Result<Config, ConfigError> {
        let context = self.context.as_deref();
        if let Some(file) = &self.file {
            let kubeconfig = Kubeconfig::from_file(file)?;
            return kubeconfig.inline_only(self.inline_only).config(context);
        }
        let environment = self
            .environment
            .clone()
            .unwrap_or_else(Environment::from_process);
        let found = self.merged(&environment)?;
        if let Some(kubeconfig) = found {
            return kubeconfig.inline_only(self.inline_only).config(context);
        }
        if context.is_some() || environment.service_host.is_none() {
            return Err(not_found(&environment));
        }
        Config::in_cluster_from(&environment)
    }

    /// Reads and merges every kubeconfig, without a choice of context; `None` if there is none or all are empty.
    ///
    /// # Errors
    /// When one cannot be read.
    pub fn load_kubeconfig(&self) -> Result<Option<Kubeconfig>, ConfigError> {
        if let Some(file) = &self.file {
            return Kubeconfig::from_file(file).map(Some);
        }
        self.merged(
            &self
                .environment
                .clone()
                .unwrap_or_else(Environment::from_process),
        )
    }

    fn merged(&self, environment: &Environment) -> Result<Option<Kubeconfig>, ConfigError> {
        let mut merged: Option<Kubeconfig> = None;
        for file in environment.kubeconfigs() {
            let next = match Kubeconfig::from_file(&file) {
                Ok(kubeconfig) => kubeconfig,
                Err(ConfigError::Read { source, .. })
                    if source.kind() == std::io::ErrorKind::NotFound =>
                {
                    continue;
                }
                Err(error) => return Err(error),
            };
            merged = Some(match merged {
                Some(first) => first.merge(next),
                None => next,
            });
        }
        Ok(merged.filter(|kubeconfig| !kubeconfig.is_empty()))
    }
}

/// Makes the error of a search without result.
fn not_found(environment: &Environment) -> ConfigError {
    let mut tried: Vec<String> = environment
        .kubeconfigs()
        .iter()
        .map(|file| file.display().to_string())
        .collect();
    if environment.kubeconfig.is_none() {
        tried.insert(0, "KUBECONFIG (not set)".to_owned());
    }
    tried.push("the pod's service account".to_owned());
    ConfigError::NotFound {
        tried: tried.join(", "),
    }
}
