//! Which programs may be run, and their paths.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::{ExecConfig, ExecError};

/// The programs of kubeconfigs that may be run for credentials. A kubeconfig whose programs are run is a program
/// itself: allow it only for files that you trust as you trust programs.
///
/// ```
/// use informer_kubeconfig::ExecPolicy;
///
/// // As kubectl does.
/// let all = ExecPolicy::AllowAll;
/// // A path, or a name that stands for what PATH finds.
/// let some = ExecPolicy::allow(["/usr/local/bin/get-token", "aws"]);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
#[doc(alias = "PluginPolicy")]
pub enum ExecPolicy {
    /// None. A configuration that needs one is an error.
    #[default]
    Deny,
    /// These alone: absolute paths, or names that are looked up in `PATH`.
    Allowlist(Vec<PathBuf>),
    /// All.
    AllowAll,
}

impl ExecPolicy {
    /// Allows these programs alone.
    #[must_use]
    pub fn allow(programs: impl IntoIterator<Item = impl Into<PathBuf>>) -> Self {
        Self::Allowlist(programs.into_iter().map(Into::into).collect())
    }

    /// Returns the program to run: the very path that is allowed.
    ///
    /// # Errors
    /// When it may not be run, or is not there.
    pub fn program(&self, exec: &ExecConfig) -> Result<PathBuf, ExecError> {
        self.program_in(exec, &std::env::var_os("PATH").unwrap_or_default())
    }

    /// The same with this list of directories.
    fn program_in(&self, exec: &ExecConfig, path: &OsStr) -> Result<PathBuf, ExecError> {
        let denied = || ExecError::Denied {
            command: exec.command().to_owned(),
        };
        if *self == Self::Deny {
            return Err(denied());
        }
        let found = find(Path::new(exec.command()), path).ok_or_else(|| ExecError::NotFound {
            command: exec.command().to_owned(),
            install_hint: exec.hint().to_owned(),
        })?;
        let allowed = match self {
            Self::Deny => false,
            Self::AllowAll => true,
            Self::Allowlist(list) => list
                .iter()
                .any(|entry| find(entry, path).is_some_and(|entry| entry == found)),
        };
        if allowed { Ok(found) } else { Err(denied()) }
    }
}

/// Returns the path of a program. A name without a directory is looked up in the directories of `path`; relative ones
/// are skipped, since they would mean the current directory.
fn find(command: &Path, path: &OsStr) -> Option<PathBuf> {
    let is_name = command.components().count() == 1 && !command.has_root();
    if !is_name {
        let command = std::path::absolute(command).ok()?;
        return is_program(&command).then_some(command);
    }
    std::env::split_paths(path)
        .filter(|directory| directory.is_absolute())
        .flat_map(|directory| candidates(&directory.join(command)))
        .find(|candidate| is_program(candidate))
}

/// The file itself; on Windows also with the endings of programs.
fn candidates(file: &Path) -> Vec<PathBuf> {
    let mut all = vec![file.to_owned()];
    if cfg!(windows) && file.extension().is_none() {
        all.extend(["exe", "cmd", "bat", "com"].map(|ending| file.with_extension(ending)));
    }
    all
}

#[cfg(unix)]
fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(file)
        .is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(file: &Path) -> bool {
    file.is_file()
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::exec::ExecVersion;

    fn program(directory: &Path, name: &str, mode: u32) -> PathBuf {
        let file = directory.join(name);
        fs::write(&file, "").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        file
    }

    fn exec(command: &str) -> ExecConfig {
        ExecConfig::new(ExecVersion::V1, command).install_hint("read\x1b[2J the manual")
    }

    /// INV-CLIENT-10.
    #[test]
    fn policy_finds_allowed_programs_only() {
        let root = tempfile::tempdir().unwrap();
        let (one, two) = (root.path().join("one"), root.path().join("two"));
        fs::create_dir_all(&one).unwrap();
        fs::create_dir_all(&two).unwrap();
        program(&one, "tool", 0o644);
        let tool = program(&two, "tool", 0o755);
        let other = program(&two, "other", 0o755);
        let path = std::env::join_paths([Path::new("."), Path::new(""), &one, &two]).unwrap();
        let ask = |policy: &ExecPolicy, command: &str| policy.program_in(&exec(command), &path);
        let tool_text = tool.to_str().unwrap();

        let all = ExecPolicy::AllowAll;
        assert_eq!(
            ask(&all, "tool").unwrap(),
            tool,
            "the first that can be run"
        );
        assert_eq!(ask(&all, tool_text).unwrap(), tool);
        let error = ask(&all, "gone").unwrap_err();
        assert!(matches!(error, ExecError::NotFound { .. }));
        assert!(
            error.to_string().ends_with(": read [2J the manual"),
            "{error}"
        );

        assert!(matches!(
            ask(&ExecPolicy::default(), "tool"),
            Err(ExecError::Denied { .. })
        ));
        for allowed in ["tool", tool_text] {
            let policy = ExecPolicy::allow([allowed]);
            assert_eq!(ask(&policy, "tool").unwrap(), tool);
            assert_eq!(ask(&policy, tool_text).unwrap(), tool);
            assert!(matches!(
                ask(&policy, "other"),
                Err(ExecError::Denied { .. })
            ));
            let text = other.to_str().unwrap();
            assert!(matches!(ask(&policy, text), Err(ExecError::Denied { .. })));
        }
        // A file of the same name elsewhere is another program.
        let fake = program(root.path(), "tool", 0o755);
        let policy = ExecPolicy::allow(["tool"]);
        assert!(matches!(
            ask(&policy, fake.to_str().unwrap()),
            Err(ExecError::Denied { .. })
        ));
    }
}
