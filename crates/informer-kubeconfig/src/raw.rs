//! A kubeconfig as it is written. Unknown fields are skipped, as `kubectl` does.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use secrecy::SecretString;
use serde::{Deserialize, Deserializer};

/// The kind of a file. None: a kubeconfig, as for `kubectl`.
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct RawHead {
    #[serde(deserialize_with = "null_default")]
    pub(crate) api_version: String,
    #[serde(deserialize_with = "null_default")]
    pub(crate) kind: String,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct RawFile {
    #[serde(deserialize_with = "null_default")]
    pub(crate) clusters: Vec<NamedCluster>,
    #[serde(deserialize_with = "null_default")]
    pub(crate) contexts: Vec<NamedContext>,
    #[serde(deserialize_with = "null_default")]
    pub(crate) users: Vec<NamedUser>,
    #[serde(deserialize_with = "null_default")]
    pub(crate) current_context: String,
}

#[derive(Deserialize)]
pub(crate) struct NamedCluster {
    pub(crate) name: String,
    #[serde(default, deserialize_with = "null_default")]
    pub(crate) cluster: RawCluster,
}

#[derive(Deserialize)]
pub(crate) struct NamedContext {
    pub(crate) name: String,
    #[serde(default, deserialize_with = "null_default")]
    pub(crate) context: RawContext,
}

#[derive(Deserialize)]
pub(crate) struct NamedUser {
    pub(crate) name: String,
    #[serde(default, deserialize_with = "null_default")]
    pub(crate) user: RawUser,
}

#[derive(Deserialize, Default, Clone)]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct RawCluster {
    #[serde(deserialize_with = "null_default")]
    pub(crate) server: String,
    #[serde(deserialize_with = "null_default")]
    pub(crate) tls_server_name: String,
    #[serde(deserialize_with = "null_default")]
    pub(crate) insecure_skip_tls_verify: bool,
    #[serde(deserialize_with = "path")]
    pub(crate) certificate_authority: Option<PathBuf>,
    #[serde(deserialize_with = "secret")]
    pub(crate) certificate_authority_data: Option<SecretString>,
    #[serde(deserialize_with = "secret")]
    pub(crate) proxy_url: Option<SecretString>,
    #[serde(deserialize_with = "null_default")]
    pub(crate) disable_compression: bool,
    #[serde(deserialize_with = "null_default")]
    pub(crate) extensions: Vec<RawExtension>,
}

/// Data of other programs in a cluster's entry. Only exec plugins receive theirs.
#[derive(Deserialize, Default, Clone)]
#[serde(default)]
pub(crate) struct RawExtension {
    #[serde(deserialize_with = "null_default")]
    pub(crate) name: String,
    pub(crate) extension: serde_json::Value,
}

#[derive(Deserialize, Default, Clone)]
#[serde(default)]
pub(crate) struct RawContext {
    #[serde(deserialize_with = "null_default")]
    pub(crate) cluster: String,
    #[serde(deserialize_with = "null_default")]
    pub(crate) user: String,
    #[serde(deserialize_with = "null_default")]
    pub(crate) namespace: String,
}

#[derive(Deserialize, Default, Clone)]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct RawUser {
    #[serde(deserialize_with = "path")]
    pub(crate) client_certificate: Option<PathBuf>,
    #[serde(deserialize_with = "secret")]
    pub(crate) client_certificate_data: Option<SecretString>,
    #[serde(deserialize_with = "path")]
    pub(crate) client_key: Option<PathBuf>,
    #[serde(deserialize_with = "secret")]
    pub(crate) client_key_data: Option<SecretString>,
    #[serde(deserialize_with = "secret")]
    pub(crate) token: Option<SecretString>,
    #[serde(rename = "tokenFile", deserialize_with = "path")]
    pub(crate) token_file: Option<PathBuf>,
    #[serde(deserialize_with = "null_default")]
    pub(crate) username: String,
    #[serde(deserialize_with = "secret")]
    pub(crate) password: Option<SecretString>,
    #[serde(rename = "as", deserialize_with = "null_default")]
    pub(crate) as_user: String,
    #[serde(deserialize_with = "null_default")]
    pub(crate) as_uid: String,
    #[serde(deserialize_with = "null_default")]
    pub(crate) as_groups: Vec<String>,
    #[serde(deserialize_with = "null_default")]
    pub(crate) as_user_extra: BTreeMap<String, Vec<String>>,
    #[serde(deserialize_with = "null_default")]
    pub(crate) auth_provider: Option<RawAuthProvider>,
    #[serde(deserialize_with = "null_default")]
    pub(crate) exec: Option<RawExec>,
}

#[derive(Deserialize, Default, Clone)]
#[serde(default)]
pub(crate) struct RawAuthProvider {
    #[serde(deserialize_with = "null_default")]
    pub(crate) name: String,
}

/// The fields of an exec plugin. Its arguments and environment may hold secrets.
#[derive(Deserialize, Default, Clone)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct RawExec {
    #[serde(deserialize_with = "null_default")]
    pub(crate) api_version: String,
    #[serde(deserialize_with = "null_default")]
    pub(crate) command: String,
    #[serde(deserialize_with = "null_default")]
    pub(crate) args: Vec<String>,
    #[serde(deserialize_with = "null_default")]
    pub(crate) env: Vec<RawVariable>,
    #[serde(deserialize_with = "null_default")]
    pub(crate) interactive_mode: String,
    #[serde(deserialize_with = "null_default")]
    pub(crate) provide_cluster_info: bool,
    #[serde(deserialize_with = "null_default")]
    pub(crate) install_hint: String,
}

#[derive(Deserialize, Clone)]
pub(crate) struct RawVariable {
    pub(crate) name: String,
    #[serde(default, deserialize_with = "null_default")]
    pub(crate) value: SecretString,
}

impl RawCluster {
    /// Lets relative paths start at the file's directory.
    pub(crate) fn rebase(&mut self, directory: &Path) {
        rebase(&mut self.certificate_authority, directory);
    }

    /// Returns the fields that name files, and whether each does.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&'static str, bool)> {
        [(
            "certificate-authority",
            self.certificate_authority.is_some(),
        )]
        .into_iter()
    }
}

impl RawUser {
    /// Lets relative paths start at the file's directory.
    pub(crate) fn rebase(&mut self, directory: &Path) {
        for path in [
            &mut self.client_certificate,
            &mut self.client_key,
            &mut self.token_file,
        ] {
            rebase(path, directory);
        }
        // A command without a separator is looked up in PATH.
        if let Some(exec) = &mut self.exec
            && exec.command.contains(std::path::is_separator)
        {
            exec.command = directory.join(&exec.command).to_string_lossy().into_owned();
        }
    }

    /// Returns the fields that name files, and whether each does.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&'static str, bool)> {
        [
            ("client-certificate", self.client_certificate.is_some()),
            ("client-key", self.client_key.is_some()),
            ("tokenFile", self.token_file.is_some()),
        ]
        .into_iter()
    }
}

fn rebase(path: &mut Option<PathBuf>, directory: &Path) {
    if let Some(path) = path {
        // `join` keeps an absolute path as it is.
        *path = directory.join(&*path);
    }
}

/// Reads `null` as the default value.
fn null_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Option::<T>::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// Reads a path; an empty one is none.
fn path<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<PathBuf>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    Ok(text.filter(|text| !text.is_empty()).map(PathBuf::from))
}

/// Reads a secret; an empty one is none.
fn secret<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SecretString>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    Ok(text.filter(|text| !text.is_empty()).map(SecretString::from))
}
