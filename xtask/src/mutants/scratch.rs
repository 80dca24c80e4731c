//! A second working tree, in which bugs are seeded without touching the first.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::cmd::Cmd;
use crate::workspace::Workspace;

/// A git worktree with the files of the workspace as they are, uncommitted changes included. It is removed when
/// dropped; its target directory stays, for the next run.
#[derive(Debug)]
pub(super) struct Scratch {
    /// The root of the workspace that it is a copy of.
    source: PathBuf,
    pub(super) root: PathBuf,
    pub(super) target: PathBuf,
    /// Locked: two runs would seed their bugs into one tree.
    _lock: File,
}

impl Scratch {
    pub(super) fn of(workspace: &Workspace) -> anyhow::Result<Self> {
        // At the same place each time, so that cargo finds what it has built.
        let folder = workspace.target.join("mutants");
        fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        let lock = File::create(folder.join("lock")).context("cannot make a lock file")?;
        if lock.try_lock().is_err() {
            bail!("another `cargo xtask mutants` runs here");
        }
        let scratch = Self {
            source: workspace.root.clone(),
            root: folder.join("tree"),
            target: folder.join("target"),
            _lock: lock,
        };
        // What a run that was killed has left.
        scratch.remove()?;
        let add = scratch
            .git(&scratch.source)
            .words("worktree add --quiet --detach");
        add.arg(&scratch.root).arg("HEAD").output()?;
        scratch.copy_uncommitted()?;
        Ok(scratch)
    }

    fn git(&self, dir: &Path) -> Cmd {
        Cmd::new("git").dir(dir)
    }

    /// Brings over what differs from the last commit.
    fn copy_uncommitted(&self) -> anyhow::Result<()> {
        let changed = self
            .git(&self.source)
            .words("diff --name-only -z HEAD")
            .output()?;
        let new = self.git(&self.source);
        let new = new
            .words("ls-files -z --others --exclude-standard")
            .output()?;
        let paths = changed.split('\0').chain(new.split('\0'));
        for path in paths.filter(|path| !path.is_empty()) {
            let (from, to) = (self.source.join(path), self.root.join(path));
            if from.is_file() {
                fs::create_dir_all(to.parent().unwrap_or(&self.root))
                    .and_then(|()| fs::copy(&from, &to))
                    .with_context(|| format!("cannot copy {path}"))?;
            } else if to.is_file() {
                fs::remove_file(&to).with_context(|| format!("cannot remove {path}"))?;
            }
        }
        Ok(())
    }

    /// Seeds a bug.
    pub(super) fn apply(&self, patch: &Path) -> anyhow::Result<()> {
        self.git(&self.root).words("apply").arg(patch).output()?;
        Ok(())
    }

    /// Takes a seeded bug out again.
    pub(super) fn revert(&self, patch: &Path) -> anyhow::Result<()> {
        self.git(&self.root)
            .words("apply --reverse")
            .arg(patch)
            .output()?;
        Ok(())
    }

    fn remove(&self) -> anyhow::Result<()> {
        if self.root.exists() {
            fs::remove_dir_all(&self.root)
                .with_context(|| format!("cannot remove {}", self.root.display()))?;
        }
        self.git(&self.source).words("worktree prune").output()?;
        Ok(())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = self.remove() {
            eprintln!("{error:#}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn git(dir: &Path, words: &str) -> String {
        Cmd::new("git")
            .words(words)
            .dir(dir)
            .output()
            .expect("git works")
    }

    /// A repository with one commit and changes behind it.
    fn repository() -> (tempfile::TempDir, Workspace) {
        let dir = tempfile::tempdir().expect("a folder");
        let root = dir.path().to_owned();
        git(&root, "init --quiet");
        let write = |name: &str, text: &str| fs::write(root.join(name), text).expect("written");
        write(".gitignore", "target\n");
        for name in ["same", "changed", "deleted"] {
            write(name, "old\n");
        }
        git(&root, "add .");
        git(
            &root,
            "-c user.name=x -c user.email=x@x commit --quiet -m x",
        );
        write("changed", "new\n");
        write("added", "new\n");
        fs::remove_file(root.join("deleted")).expect("removed");
        let workspace = Workspace {
            target: root.join("target"),
            root,
            manifest: Default::default(),
            members: Vec::new(),
            locked: Default::default(),
        };
        (dir, workspace)
    }

    #[test]
    fn the_copy_has_uncommitted_changes_and_disappears() {
        let (_dir, workspace) = repository();
        let scratch = Scratch::of(&workspace).expect("made");
        let read = |name: &str| fs::read_to_string(scratch.root.join(name)).ok();
        assert_eq!(read("same").as_deref(), Some("old\n"));
        assert_eq!(read("changed").as_deref(), Some("new\n"));
        assert_eq!(read("added").as_deref(), Some("new\n"));
        assert_eq!(read("deleted"), None);
        assert!(Scratch::of(&workspace).is_err(), "one at a time");
        let root = scratch.root.clone();
        drop(scratch);
        assert!(!root.exists());
        assert_eq!(git(&workspace.root, "worktree list").lines().count(), 1);
    }

    #[test]
    fn what_a_killed_run_left_is_replaced() {
        let (_dir, workspace) = repository();
        let scratch = Scratch::of(&workspace).expect("made");
        let copy = scratch.root.join("changed");
        fs::write(&copy, "a bug\n").expect("written");
        // As if this process had ended here.
        let Scratch { root, _lock, .. } = &*std::mem::ManuallyDrop::new(scratch);
        _lock.unlock().expect("unlocked");
        assert!(root.exists());
        let _scratch = Scratch::of(&workspace).expect("made again");
        assert_eq!(fs::read_to_string(&copy).expect("there"), "new\n");
    }

    #[test]
    fn a_bug_comes_and_goes() {
        let (dir, workspace) = repository();
        let scratch = Scratch::of(&workspace).expect("made");
        let patch = dir.path().join("bug.patch");
        let text = "what: a bug\n\ndiff --git a/same b/same\n--- a/same\n+++ b/same\n@@ -1 +1 @@\n-old\n+bug\n";
        fs::write(&patch, text).expect("written");
        let read = || fs::read_to_string(scratch.root.join("same")).expect("there");
        scratch.apply(&patch).expect("it applies");
        assert_eq!(read(), "bug\n");
        assert!(scratch.apply(&patch).is_err(), "once only");
        scratch.revert(&patch).expect("it goes");
        assert_eq!(read(), "old\n");
    }
}
