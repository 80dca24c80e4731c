//! Writes a kubeconfig to a file, but never over one that this command did not write.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::path::Path;

use crate::failure::Usage;

/// The first line of every kubeconfig written here.
const MARK: &str = "# Written by informer serve, which may overwrite this file.\n";

/// Checks whether [`write`] would write to a path, and changes nothing.
///
/// # Errors
/// If there is a file that this command did not write.
pub(crate) fn check(path: &Path) -> anyhow::Result<()> {
    match reopen(path) {
        Err(Refusal::Io(error)) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(refusal) => Err(refusal.explain(path)),
        Ok(_) => Ok(()),
    }
}

/// Writes a kubeconfig that only the user can read to a file that does not exist, or that was written here before.
///
/// # Errors
/// If there is another file, which stays untouched, or the file cannot be written.
pub(crate) fn write(path: &Path, kubeconfig: &str) -> anyhow::Result<()> {
    try_write(path, kubeconfig).map_err(|refusal| refusal.explain(path))
}

fn try_write(path: &Path, kubeconfig: &str) -> Result<(), Refusal> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = match options.open(path) {
        // A symbolic link counts as existing wherever it leads, so this never creates a file at its end.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let mut file = reopen(path)?;
            make_private(&file)?;
            file.set_len(0)?;
            file.rewind()?;
            file
        }
        file => file?,
    };
    file.write_all(MARK.as_bytes())?;
    Ok(file.write_all(kubeconfig.as_bytes())?)
}

/// Opens a file that was written here before. All that follows happens to the file that was checked, whatever has its
/// name by then.
fn reopen(path: &Path) -> Result<File, Refusal> {
    let mut file = OpenOptions::new().read(true).write(true).open(path)?;
    // To read from a pipe could take for ever.
    if !file.metadata()?.is_file() {
        return Err(Refusal::NotOurs);
    }
    let mut start = Vec::new();
    (&mut file)
        .take(MARK.len() as u64)
        .read_to_end(&mut start)?;
    if start != MARK.as_bytes() {
        return Err(Refusal::NotOurs);
    }
    Ok(file)
}

#[cfg(unix)]
fn make_private(file: &File) -> io::Result<()> {
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))
}

#[cfg(not(unix))]
fn make_private(_: &File) -> io::Result<()> {
    Ok(())
}

/// Why a file is not written.
#[derive(Debug)]
enum Refusal {
    NotOurs,
    Io(io::Error),
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Refusal {
    fn explain(self, path: &Path) -> anyhow::Error {
        let path = path.display();
        match self {
            Self::NotOurs => Usage::error(format!(
                "{path} exists and was not written by informer serve; delete it or name another file"
            )),
            Self::Io(error) => Usage::error(format!("cannot write the kubeconfig {path}: {error}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn kubeconfig_is_written_again_over_an_own_file() {
        let root = tempfile::tempdir().expect("a directory");
        let path = root.path().join("kubeconfig");
        for text in ["a: long-text\n", "b: 1\n"] {
            check(&path).expect("nothing in the way");
            write(&path, text).expect("nothing in the way");
            let written = fs::read_to_string(&path).expect("it was written");
            assert_eq!(written, format!("{MARK}{text}"));
        }
    }

    #[cfg(unix)]
    #[test]
    fn kubeconfig_is_readable_by_its_owner_only() {
        use std::os::unix::fs::PermissionsExt;
        let root = tempfile::tempdir().expect("a directory");
        let path = root.path().join("kubeconfig");
        let mode = || {
            fs::metadata(&path)
                .expect("it was written")
                .permissions()
                .mode()
                & 0o777
        };
        write(&path, "").expect("nothing in the way");
        assert_eq!(mode(), 0o600);
        fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).expect("it is ours");
        write(&path, "").expect("nothing in the way");
        assert_eq!(mode(), 0o600);
    }

    #[test]
    fn other_files_stay_untouched() {
        let root = tempfile::tempdir().expect("a directory");
        let path = root.path().join("kubeconfig");
        // Also what begins like a mark, and a mark that is not in the first line.
        let cut = &MARK[..MARK.len() - 1];
        for text in [
            "",
            "a: 1\n",
            cut,
            &format!("\n{MARK}"),
            &format!("{cut} x\n"),
        ] {
            fs::write(&path, text).expect("a file");
            check(&path).expect_err("it is another's");
            let error = write(&path, "b: 1\n").expect_err("it is another's");
            assert!(error.is::<Usage>(), "{error:?}");
            assert_eq!(fs::read_to_string(&path).expect("it is there"), text);
        }
        check(root.path()).expect_err("a directory");
        write(root.path(), "b: 1\n").expect_err("a directory");
    }

    #[cfg(unix)]
    #[test]
    fn symbolic_links_lead_to_own_files_only() {
        let root = tempfile::tempdir().expect("a directory");
        let (link, target) = (root.path().join("link"), root.path().join("target"));
        std::os::unix::fs::symlink(&target, &link).expect("a link");
        let error = write(&link, "a: 1\n").expect_err("it leads to nothing");
        assert!(error.is::<Usage>(), "{error:?}");
        assert!(!target.exists());

        fs::write(&target, "a: 1\n").expect("a file");
        write(&link, "b: 1\n").expect_err("it leads to another's file");
        assert_eq!(fs::read_to_string(&target).expect("it is there"), "a: 1\n");

        fs::remove_file(&target).expect("it is there");
        write(&target, "a: 1\n").expect("nothing in the way");
        write(&link, "b: 1\n").expect("it leads to an own file");
        let written = fs::read_to_string(&target).expect("it is there");
        assert_eq!(written, format!("{MARK}b: 1\n"));
    }
}
