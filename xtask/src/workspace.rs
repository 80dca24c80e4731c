//! What the checks know of the workspace: `cargo metadata`, the root manifest, the files under version control.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::Value;

use crate::cmd::Cmd;

/// The workspace as cargo sees it.
#[derive(Debug)]
pub(crate) struct Workspace {
    pub(crate) root: PathBuf,
    /// Where cargo builds: `target`, or what `CARGO_TARGET_DIR` or a configuration says.
    pub(crate) target: PathBuf,
    /// The root `Cargo.toml`.
    pub(crate) manifest: toml::Table,
    /// Our own packages.
    pub(crate) members: Vec<Package>,
    /// Name to the versions in the lock file.
    pub(crate) locked: BTreeMap<String, Vec<String>>,
}

/// One member.
#[derive(Debug, Default)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    /// The folder of the package, from the root of the workspace.
    pub(crate) dir: PathBuf,
    pub(crate) published: bool,
    pub(crate) features: Vec<String>,
    pub(crate) dependencies: Vec<Dependency>,
    /// The whole entry of `cargo metadata`, for the fields that only one check reads.
    pub(crate) raw: Value,
}

/// One entry of a member's dependency tables.
#[derive(Debug)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// A development dependency: neither users nor layers see it.
    pub(crate) dev: bool,
    pub(crate) features: Vec<String>,
}

/// The folder of the root manifest.
pub(crate) fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask).to_owned()
}

impl Workspace {
    /// Asks cargo, without touching the network.
    pub(crate) fn load() -> anyhow::Result<Self> {
        let root = root();
        let metadata = Cmd::cargo()
            .words("metadata --format-version 1 --no-deps --offline")
            .dir(&root)
            .output()?;
        let metadata: Value = serde_json::from_str(&metadata).context("cargo metadata")?;
        let packages = metadata["packages"]
            .as_array()
            .context("cargo metadata has no packages")?;
        let target = metadata["target_directory"].as_str();
        let target = target.context("cargo metadata has no target directory")?;
        let manifest = read_toml(&root.join("Cargo.toml"))?;
        Ok(Self {
            members: packages
                .iter()
                .map(|package| Package::read(package, &root))
                .collect(),
            locked: locked_versions(&read_toml(&root.join("Cargo.lock"))?),
            manifest,
            target: target.into(),
            root,
        })
    }

    pub(crate) fn member(&self, name: &str) -> Option<&Package> {
        self.members.iter().find(|package| package.name == name)
    }

    /// `[workspace.package]`'s field of that name.
    pub(crate) fn package_field(&self, field: &str) -> Option<&str> {
        self.manifest
            .get("workspace")?
            .get("package")?
            .get(field)?
            .as_str()
    }

    /// The files under version control and new ones that are not ignored, from the root.
    pub(crate) fn files(&self) -> anyhow::Result<Vec<PathBuf>> {
        let listed = Cmd::new("git")
            .words("ls-files -z --cached --others --exclude-standard")
            .dir(&self.root)
            .output()?;
        let paths = listed
            .split('\0')
            .filter(|path| !path.is_empty())
            .map(PathBuf::from);
        Ok(paths
            .filter(|path| self.root.join(path).is_file())
            .collect())
    }
}

impl Package {
    /// It is a program (too): the last word on features and versions.
    pub(crate) fn has_bin(&self) -> bool {
        !self.targets("bin").is_empty()
    }

    /// The names of its targets of a kind: `bin`, `bench`, `test`.
    pub(crate) fn targets(&self, kind: &str) -> Vec<String> {
        self.raw_targets(kind)
            .filter_map(|target| target["name"].as_str().map(str::to_owned))
            .collect()
    }

    /// The features without which a target cannot be built.
    pub(crate) fn required_features(&self, kind: &str, name: &str) -> Vec<String> {
        self.raw_targets(kind)
            .filter(|target| target["name"] == name)
            .flat_map(|target| target["required-features"].as_array().into_iter().flatten())
            .filter_map(|feature| feature.as_str().map(str::to_owned))
            .collect()
    }

    fn raw_targets(&self, kind: &str) -> impl Iterator<Item = &Value> {
        let targets = self.raw["targets"].as_array().into_iter().flatten();
        targets.filter(move |target| {
            let kinds = target["kind"].as_array();
            kinds.is_some_and(|kinds| kinds.iter().any(|other| other == kind))
        })
    }

    fn read(package: &Value, root: &Path) -> Self {
        let text = |field: &str| package[field].as_str().unwrap_or_default().to_owned();
        let manifest = PathBuf::from(text("manifest_path"));
        let dir = manifest.parent().unwrap_or(root);
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        Self {
            name: text("name"),
            version: text("version"),
            dir: dir.strip_prefix(root).unwrap_or(dir).to_owned(),
            // `publish = false` is an empty list of registries; no such key is null.
            published: package["publish"].is_null(),
            features: package["features"]
                .as_object()
                .map(|features| features.keys().cloned().collect())
                .unwrap_or_default(),
            dependencies: list(&package["dependencies"])
                .iter()
                .map(Dependency::read)
                .collect(),
            raw: package.clone(),
        }
    }
}

impl Dependency {
    fn read(dependency: &Value) -> Self {
        let features = dependency["features"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        Self {
            name: dependency["name"].as_str().unwrap_or_default().to_owned(),
            dev: dependency["kind"] == "dev",
            features: features
                .iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect(),
        }
    }
}

fn read_toml(path: &Path) -> anyhow::Result<toml::Table> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    text.parse().with_context(|| path.display().to_string())
}

fn locked_versions(lock: &toml::Table) -> BTreeMap<String, Vec<String>> {
    let mut locked: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in lock
        .get("package")
        .and_then(toml::Value::as_array)
        .into_iter()
        .flatten()
    {
        let field = |name: &str| package.get(name).and_then(toml::Value::as_str);
        if let (Some(name), Some(version)) = (field("name"), field("version")) {
            locked
                .entry(name.to_owned())
                .or_default()
                .push(version.to_owned());
        }
    }
    locked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_workspace_is_read() {
        let workspace = Workspace::load().expect("cargo metadata works here");
        let xtask = workspace.member("xtask").expect("this package is a member");
        assert!(!xtask.published && xtask.has_bin());
        let used: Vec<_> = xtask
            .dependencies
            .iter()
            .map(|used| used.name.as_str())
            .collect();
        assert!(used.contains(&"toml"), "{used:?}");
        assert!(workspace.locked.contains_key("toml"));
        assert_eq!(
            workspace.package_field("version"),
            Some(xtask.version.as_str())
        );
        assert!(
            workspace
                .files()
                .expect("git works")
                .contains(&PathBuf::from("Cargo.toml"))
        );
    }
}
