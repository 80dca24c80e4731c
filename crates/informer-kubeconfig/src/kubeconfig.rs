//! Kubeconfig files: reading one, merging several.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::de::DeserializeOwned;

use crate::config::Config;
use crate::error::ConfigError;
use crate::pem::read_capped;
use crate::raw::{RawCluster, RawContext, RawFile, RawHead, RawUser};
use crate::resolve;

/// The most bytes of a kubeconfig.
pub const MAX_KUBECONFIG_BYTES: u64 = 16 << 20;

/// The most nodes that aliases may stand for, all in all: more than anybody writes.
const MAX_ALIASED_NODES: usize = 10_000;

/// The most bytes that aliases may stand for, all in all.
const MAX_ALIASED_BYTES: usize = 64 << 20;

/// One kubeconfig, or several merged. Choose a context of it with [`Kubeconfig::config`].
///
/// ```
/// use informer_kubeconfig::Kubeconfig;
///
/// let yaml = "
/// current-context: dev
/// contexts: [{name: dev, context: {cluster: here, user: me, namespace: shop}}]
/// clusters: [{name: here, cluster: {server: 'https://10.0.0.1:6443'}}]
/// users: [{name: me, user: {token: abc}}]
/// ";
/// let config = Kubeconfig::from_yaml(yaml, "kube/config")?.config(None)?;
/// assert_eq!(config.namespace, "shop");
/// # Ok::<(), informer_kubeconfig::ConfigError>(())
/// ```
#[derive(Clone, Default)]
pub struct Kubeconfig {
    pub(crate) files: Vec<Arc<Path>>,
    pub(crate) current_context: String,
    pub(crate) contexts: BTreeMap<String, Entry<RawContext>>,
    pub(crate) clusters: BTreeMap<String, Entry<RawCluster>>,
    pub(crate) users: BTreeMap<String, Entry<RawUser>>,
    pub(crate) inline_only: bool,
}

/// An entry and its file.
#[derive(Clone)]
pub(crate) struct Entry<T> {
    pub(crate) file: Arc<Path>,
    pub(crate) value: T,
}

impl Kubeconfig {
    /// Reads a file.
    ///
    /// # Errors
    /// When it cannot be read, is larger than [`MAX_KUBECONFIG_BYTES`], or is no kubeconfig.
    pub fn from_file(file: impl Into<PathBuf>) -> Result<Self, ConfigError> {
        let file = file.into();
        let bytes = match read_capped(&file, MAX_KUBECONFIG_BYTES) {
            Ok(bytes) => bytes,
            Err(source) => return Err(ConfigError::Read { file, source }),
        };
        let Ok(yaml) = String::from_utf8(bytes) else {
            return Err(ConfigError::Syntax {
                file,
                reason: "not UTF-8".to_owned(),
            });
        };
        // Relative to the working directory of now, whatever it is later.
        let file = std::path::absolute(&file).unwrap_or(file);
        Self::from_yaml(&yaml, file)
    }

    /// Reads YAML (or JSON). Errors name `file`, and relative paths start at its directory.
    ///
    /// # Errors
    /// When it is no kubeconfig (a `kind` other than `Config` or an `apiVersion` other than `v1` included; both may be
    /// missing), nested too deep, or expands aliases without end.
    pub fn from_yaml(yaml: &str, file: impl Into<PathBuf>) -> Result<Self, ConfigError> {
        let file: Arc<Path> = file.into().into();
        if yaml.len() as u64 > MAX_KUBECONFIG_BYTES {
            let source = io::Error::from(io::ErrorKind::FileTooLarge);
            return Err(ConfigError::Read {
                file: file.to_path_buf(),
                source,
            });
        }
        let raw = read(yaml).map_err(|reason| ConfigError::Syntax {
            file: file.to_path_buf(),
            reason,
        })?;
        Self::from_raw(raw, file)
    }

    fn from_raw(raw: RawFile, file: Arc<Path>) -> Result<Self, ConfigError> {
        let directory = file.parent().unwrap_or_else(|| Path::new("")).to_owned();
        let mut this = Self {
            files: vec![Arc::clone(&file)],
            current_context: raw.current_context,
            ..Self::default()
        };
        for named in raw.contexts {
            insert(
                &mut this.contexts,
                "context",
                named.name,
                named.context,
                &file,
            )?;
        }
        for mut named in raw.clusters {
            named.cluster.rebase(&directory);
            insert(
                &mut this.clusters,
                "cluster",
                named.name,
                named.cluster,
                &file,
            )?;
        }
        for mut named in raw.users {
            named.user.rebase(&directory);
            insert(&mut this.users, "user", named.name, named.user, &file)?;
        }
        Ok(this)
    }

    /// Adds the other's entries of new names. The current context is the other's only if there is none here.
    #[must_use]
    pub fn merge(mut self, other: Self) -> Self {
        self.files.extend(other.files);
        if self.current_context.is_empty() {
            self.current_context = other.current_context;
        }
        fill(&mut self.contexts, other.contexts);
        fill(&mut self.clusters, other.clusters);
        fill(&mut self.users, other.users);
        self.inline_only |= other.inline_only;
        self
    }

    /// Refuses entries that name files, for a kubeconfig of a stranger: it could name any file of this machine.
    /// Certificates, keys and tokens must then be in the kubeconfig itself.
    #[must_use]
    pub const fn inline_only(mut self, only: bool) -> Self {
        self.inline_only = only;
        self
    }

    /// Returns the context that is used unless another is requested.
    #[must_use]
    pub fn current_context(&self) -> Option<&str> {
        Some(self.current_context.as_str()).filter(|name| !name.is_empty())
    }

    /// Returns the names of the contexts, in order.
    pub fn contexts(&self) -> impl Iterator<Item = &str> {
        self.contexts.keys().map(String::as_str)
    }

    /// Returns `true` if there is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.contexts.is_empty()
            && self.clusters.is_empty()
            && self.users.is_empty()
            && self.current_context.is_empty()
    }

    /// Resolves a context (the current one if none is named) and checks everything that belongs to it. Certificates and
    /// keys in files are read once, to check that they exist.
    ///
    /// # Errors
    /// When there is no such context, or it cannot be used.
    pub fn config(&self, context: Option<&str>) -> Result<Config, ConfigError> {
        resolve::resolve(self, context)
    }
}

impl fmt::Debug for Kubeconfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kubeconfig")
            .field("files", &self.files)
            .field("current_context", &self.current_context)
            .field("contexts", &self.contexts.keys())
            .field("clusters", &self.clusters.keys())
            .field("users", &self.users.keys())
            .finish()
    }
}

/// Adds an entry; two of one name in one file are an error.
fn insert<T>(
    entries: &mut BTreeMap<String, Entry<T>>,
    what: &str,
    name: String,
    value: T,
    file: &Arc<Path>,
) -> Result<(), ConfigError> {
    if entries.contains_key(&name) {
        return Err(ConfigError::Entry {
            file: file.to_path_buf(),
            entry: format!("{what} {name:?}"),
            problem: "duplicate; remove one".to_owned(),
        });
    }
    entries.insert(
        name,
        Entry {
            file: Arc::clone(file),
            value,
        },
    );
    Ok(())
}

/// Adds the entries of new names.
fn fill<T>(entries: &mut BTreeMap<String, Entry<T>>, more: BTreeMap<String, Entry<T>>) {
    for (name, entry) in more {
        entries.entry(name).or_insert(entry);
    }
}

/// Reads a file that is a kubeconfig. Its kind is checked first: a file of another kind has other fields too.
fn read(yaml: &str) -> Result<RawFile, String> {
    if yaml.trim().is_empty() {
        return Ok(RawFile::default());
    }
    let head: RawHead = parse(yaml)?;
    check("kind", &head.kind, "Config")?;
    check("apiVersion", &head.api_version, "v1")?;
    parse(yaml)
}

/// Checks that a file is of no other kind. It need not have one.
fn check(field: &str, found: &str, wanted: &str) -> Result<(), String> {
    if found.is_empty() || found == wanted {
        return Ok(());
    }
    // A name is short; whatever else stands there is not shown.
    let shown = match found.len() {
        ..64 => format!("{found:?}"),
        _ => "another one".to_owned(),
    };
    Err(format!(
        "its {field} is {shown}, not {wanted:?}; choose a kubeconfig, or correct the {field}"
    ))
}

/// Parses with limits. The error names place and kind of the fault, and quotes nothing.
fn parse<T: DeserializeOwned + Default>(yaml: &str) -> Result<T, String> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: 64,
            max_aliases: 1_000,
            max_anchors: 1_000,
            max_recorded_anchor_events: MAX_ALIASED_NODES,
            max_recorded_anchor_bytes: MAX_ALIASED_BYTES,
        },
        // A node may be as large as the whole text.
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: (MAX_ALIASED_BYTES / yaml.len().max(1)).min(MAX_ALIASED_NODES),
        },
        // What kubectl reads is read here too.
        duplicate_keys: serde_saphyr::DuplicateKeyPolicy::LastWins,
        // A snippet of the file in an error could show a secret.
        with_snippet: false,
    };
    // `Option`: a file of comments alone is an empty document.
    serde_saphyr::from_str_with_options::<Option<T>>(yaml, options)
        .map(Option::unwrap_or_default)
        .map_err(|error| describe(&error))
}

/// Describes an error without quoting the contents.
fn describe(error: &serde_saphyr::Error) -> String {
    use serde_saphyr::Error;
    let what = match error.without_snippet() {
        Error::Eof { .. } => "the text ends too early".to_owned(),
        Error::MultipleDocuments { .. } => "more than one document".to_owned(),
        Error::Unexpected { expected, .. } => format!("expected {expected}"),
        Error::SerdeMissingField { field, .. } => format!("missing field {field:?}"),
        Error::InvalidScalar { ty, .. } => format!("expected {ty}"),
        Error::SerdeInvalidType { expected, .. } => format!("expected {expected}"),
        Error::Budget { .. }
        | Error::AliasReplayCounterOverflow { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => {
            "nested too deep, too large, or too many aliases".to_owned()
        }
        Error::UnknownAnchor { .. } => "an alias without anchor".to_owned(),
        _ => "not valid YAML of this shape".to_owned(),
    };
    match error.location().filter(|location| location.line() > 0) {
        Some(at) => format!("{what} at line {}, column {}", at.line(), at.column()),
        None => what,
    }
}
