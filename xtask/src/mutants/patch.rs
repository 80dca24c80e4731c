//! A seeded bug: a patch, headed by what it is about.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::workspace::{Package, Workspace};

/// A bug and the test that must see it.
#[derive(Debug, PartialEq)]
pub(super) struct Patch {
    /// The name of the file without its ending.
    pub(super) name: String,
    /// The patch itself, as an absolute path.
    pub(super) file: PathBuf,
    /// The package of the test.
    pub(super) package: String,
    /// The test's binary: the name of the file below `tests/`, or `lib` for unit tests.
    pub(super) binary: String,
    /// The whole name of the test within its binary.
    pub(super) test: String,
    /// The files that the patch changes, from the root.
    pub(super) changes: BTreeSet<PathBuf>,
}

/// Reads the patches of a folder, in the order of their names.
pub(super) fn read_all(folder: &Path) -> anyhow::Result<Vec<Patch>> {
    let entries = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut patches = Vec::new();
    for entry in entries {
        let file = entry.with_context(|| folder.display().to_string())?.path();
        if file
            .extension()
            .is_some_and(|extension| extension == "patch")
        {
            let text = std::fs::read_to_string(&file);
            let text = text.with_context(|| file.display().to_string())?;
            let patch = Patch::parse(&file, &text);
            patches.push(patch.with_context(|| file.display().to_string())?);
        }
    }
    patches.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(patches)
}

impl Patch {
    /// Reads the lines `package:`, `test:` and `what:` that stand before the diff, and which files it changes.
    fn parse(file: &Path, text: &str) -> anyhow::Result<Self> {
        let at = text.find("diff --git ").context("has no diff")?;
        let (head, diff) = text.split_at(at);
        let field = |name: &str| {
            let mut lines = head.lines();
            let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            let value = value.map(str::trim).filter(|value| !value.is_empty());
            value.with_context(|| format!("has no line `{name}: …` before the diff"))
        };
        field("what")?;
        let test = field("test")?;
        let Some((binary, test)) = test.split_once(' ') else {
            bail!("`test: {test}` is not a test's binary (or `lib`) and its name");
        };
        let changed = |line: &str| Some(PathBuf::from(line.strip_prefix("+++ b/")?));
        Ok(Self {
            name: file
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
            file: file.to_owned(),
            package: field("package")?.to_owned(),
            binary: binary.to_owned(),
            test: test.trim().to_owned(),
            changes: diff.lines().filter_map(changed).collect(),
        })
    }

    /// Where its test is, as one reads it.
    pub(super) fn place(&self) -> String {
        format!("{} {} {}", self.package, self.binary, self.test)
    }

    /// Whether this is the beginning of its name, or the package of its test.
    pub(super) fn is_called(&self, name: &str) -> bool {
        let short = self.package.strip_prefix("informer-");
        self.name.starts_with(name) || self.package == name || short == Some(name)
    }

    /// Whether it, a file that it changes or its test is among these files.
    pub(super) fn is_about(&self, changed: &BTreeSet<PathBuf>) -> bool {
        let own = |path: &PathBuf| self.file.ends_with(path) || self.changes.contains(path);
        let tests = PathBuf::from(format!("crates/{}/tests", self.package));
        let (file, folder) = (
            tests.join(format!("{}.rs", self.binary)),
            tests.join(&self.binary),
        );
        let test = |path: &PathBuf| *path == file || path.starts_with(&folder);
        changed.iter().any(|path| own(path) || test(path))
    }

    /// Returns the package of the test if that has it.
    pub(super) fn find_test<'a>(&self, workspace: &'a Workspace) -> anyhow::Result<&'a Package> {
        let package = workspace.member(&self.package);
        let package = package.with_context(|| format!("there is no package {}", self.package))?;
        let tests = if self.binary == "lib" {
            workspace.root.join(&package.dir).join("src")
        } else if package.targets("test").contains(&self.binary) {
            workspace.root.join(&package.dir).join("tests")
        } else {
            bail!("{} has no test binary {}", self.package, self.binary);
        };
        let function = self.test.rsplit("::").next().unwrap_or_default();
        if !is_in_sources(&tests, &format!("fn {function}("))? {
            bail!("there is no test {}", self.place());
        }
        Ok(package)
    }
}

/// Whether a Rust source in a folder or below has this text.
fn is_in_sources(folder: &Path, text: &str) -> anyhow::Result<bool> {
    for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        let is_found = if path.is_dir() {
            is_in_sources(&path, text)?
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            std::fs::read_to_string(&path)?.contains(text)
        } else {
            false
        };
        if is_found {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "package: informer-store\ntest: model the_model_holds\nwhat: it forgets\n\n\
        diff --git a/crates/informer-store/src/a.rs b/crates/informer-store/src/a.rs\n\
        --- a/crates/informer-store/src/a.rs\n+++ b/crates/informer-store/src/a.rs\n\
        @@ -1 +1 @@\n-package: x\n+y\n";

    fn patch() -> Patch {
        let file = Path::new("/r/xtask/mutants/store-forget.patch");
        Patch::parse(file, TEXT).expect("valid")
    }

    #[test]
    fn the_head_and_the_changed_files_are_read() {
        let patch = patch();
        assert_eq!(patch.name, "store-forget");
        assert_eq!(patch.place(), "informer-store model the_model_holds");
        let changes = [PathBuf::from("crates/informer-store/src/a.rs")];
        assert_eq!(patch.changes, BTreeSet::from(changes));
    }

    #[test]
    fn a_head_without_a_field_is_refused() {
        for field in ["package:", "test:", "what:", "diff --git "] {
            let text = TEXT.replacen(field, "x", 1);
            assert!(
                Patch::parse(Path::new("x.patch"), &text).is_err(),
                "{field}"
            );
        }
        let text = TEXT.replace("model the_model", "the_model");
        assert!(Patch::parse(Path::new("x.patch"), &text).is_err());
    }

    #[test]
    fn patches_are_chosen_by_name_crate_and_changed_file() {
        let patch = patch();
        for name in ["store", "store-for", "informer-store", "store-forget"] {
            assert!(patch.is_called(name), "{name}");
        }
        assert!(!patch.is_called("informer-shared"));
        let is_about = |path: &str| patch.is_about(&BTreeSet::from([PathBuf::from(path)]));
        for path in [
            "crates/informer-store/src/a.rs",
            "crates/informer-store/tests/model.rs",
            "crates/informer-store/tests/model/steps.rs",
            "xtask/mutants/store-forget.patch",
        ] {
            assert!(is_about(path), "{path}");
        }
        assert!(!is_about("crates/informer-store/src/b.rs"));
        assert!(!is_about("crates/informer-store/tests/other.rs"));
    }

    #[test]
    fn a_test_that_is_not_there_is_found() {
        let workspace = Workspace::load().expect("cargo metadata works here");
        let mut patch = patch();
        patch.package = "xtask".to_owned();
        patch.binary = "lib".to_owned();
        patch.test = "mutants::patch::tests::a_test_that_is_not_there_is_found".to_owned();
        assert!(patch.find_test(&workspace).is_ok());
        patch.test = ["a_test", "_that_is_nowhere"].concat();
        assert!(patch.find_test(&workspace).is_err());
        patch.binary = "model".to_owned();
        assert!(patch.find_test(&workspace).is_err());
        patch.package = "nothing".to_owned();
        assert!(patch.find_test(&workspace).is_err());
    }
}
