//! `cargo xtask mutants`: applies seeded bugs one after another, and checks that for each the test fails that must.

mod patch;
mod process;
mod scratch;
mod trial;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use self::patch::Patch;
use self::scratch::Scratch;
use self::trial::{Outcome, Trials};
use crate::cmd::Cmd;
use crate::workspace::Workspace;

pub(crate) const ABOUT: &str = "\
Seeded bugs, patches in xtask/mutants: each must compile and make its test fail.
  NAME, CRATE         only those whose names begin so, or whose test is in that crate
  --changed[=REV]     only those of files that changed since a revision
                      (origin/main, without such a branch HEAD~)
  --check             only whether each applies and its test exists; builds nothing
  --list              only show them with their tests";

/// Where the patches are, from the root of the workspace.
const FOLDER: &str = "xtask/mutants";

/// What the command line asked for.
#[derive(Debug, Default, PartialEq)]
struct Options {
    /// Beginnings of names, or names of crates; all if empty.
    names: Vec<String>,
    changed: bool,
    /// The revision that `--changed` compares with.
    since: Option<String>,
    check: bool,
    list: bool,
}

/// Tries the chosen bugs; an error if one is not seen, or not fit to be tried.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    let options = Options::parse(arguments)?;
    let workspace = Workspace::load()?;
    let patches = choose(&workspace, &options)?;
    if options.list {
        for patch in &patches {
            println!("{:<44} {}", patch.name, patch.place());
        }
        return Ok(());
    }
    let unfit = unfit(&workspace, &patches)?;
    if !unfit.is_empty() {
        bail!("{}", unfit.join("\n"));
    }
    if options.check {
        println!("{} seeded bugs, each applies", patches.len());
        return Ok(());
    }
    if patches.is_empty() {
        println!("no seeded bug is about what changed");
        return Ok(());
    }
    let scratch = Scratch::of(&workspace)?;
    let missed = try_all(&workspace, &scratch, &patches)?;
    if !missed.is_empty() {
        bail!(
            "{} of {}: {}",
            missed.len(),
            patches.len(),
            missed.join(", ")
        );
    }
    println!("{} seeded bugs, each seen by its test", patches.len());
    Ok(())
}

impl Options {
    fn parse(arguments: &[String]) -> anyhow::Result<Self> {
        let mut options = Self::default();
        for argument in arguments.iter().filter(|argument| *argument != "--") {
            match argument.split_once('=').unwrap_or((argument, "")) {
                ("--changed", since) => {
                    options.changed = true;
                    options.since = Some(since.to_owned()).filter(|since| !since.is_empty());
                }
                ("--check", "") => options.check = true,
                ("--list", "") => options.list = true,
                (option, _) if option.starts_with('-') => bail!("there is no option `{argument}`"),
                _ => options.names.push(argument.clone()),
            }
        }
        Ok(options)
    }
}

/// Reads all patches and returns the chosen ones, in the order of their names.
fn choose(workspace: &Workspace, options: &Options) -> anyhow::Result<Vec<Patch>> {
    let mut patches = patch::read_all(&workspace.root.join(FOLDER))?;
    for name in &options.names {
        if !patches.iter().any(|patch| patch.is_called(name)) {
            bail!(
                "no seeded bug or crate is called `{name}`; `cargo xtask mutants --list` shows them"
            );
        }
    }
    let is_named = |patch: &Patch| options.names.iter().any(|name| patch.is_called(name));
    patches.retain(|patch| options.names.is_empty() || is_named(patch));
    if options.changed {
        let changed = changed_files(&workspace.root, options.since.as_deref())?;
        patches.retain(|patch| patch.is_about(&changed));
    }
    Ok(patches)
}

/// The files that differ from a revision, committed or not, from the root.
fn changed_files(root: &Path, since: Option<&str>) -> anyhow::Result<BTreeSet<PathBuf>> {
    let since = match since {
        Some(since) => since,
        None => {
            let exists = Cmd::new("git").words("rev-parse --verify --quiet origin/main");
            let exists = exists.dir(root).output().is_ok();
            if exists { "origin/main" } else { "HEAD~" }
        }
    };
    let git = || Cmd::new("git").dir(root);
    let tracked = git().words("diff --name-only -z").arg(since).output();
    let tracked = tracked.with_context(|| format!("what changed since {since}"))?;
    let new = git()
        .words("ls-files -z --others --exclude-standard")
        .output()?;
    let paths = tracked.split('\0').chain(new.split('\0'));
    Ok(paths
        .filter(|path| !path.is_empty())
        .map(PathBuf::from)
        .collect())
}

/// Why patches cannot be tried: they do not apply to the tree as it is, or their test is not in it.
fn unfit(workspace: &Workspace, patches: &[Patch]) -> anyhow::Result<Vec<String>> {
    let mut unfit = Vec::new();
    for patch in patches {
        if let Err(reason) = patch.find_test(workspace) {
            unfit.push(format!("{}: {reason}", patch.name));
        }
        let check = Cmd::new("git").words("apply --check").arg(&patch.file);
        if let Err(error) = check.dir(&workspace.root).output() {
            unfit.push(format!("{}: does not apply: {error:#}", patch.name));
        }
    }
    Ok(unfit)
}

/// Runs each bug's test without and with the bug. Returns what was wrong with those that were not seen.
fn try_all(
    workspace: &Workspace,
    scratch: &Scratch,
    patches: &[Patch],
) -> anyhow::Result<Vec<String>> {
    let mut trials = Trials::new(workspace, scratch);
    // First all without a bug, so that a test that fails anyway is found before hours of work.
    for patch in patches {
        match trials.sound(patch)? {
            Outcome::Passed => {}
            outcome => bail!("without a bug {outcome}: {}", patch.place()),
        }
    }
    let mut missed = Vec::new();
    for (index, patch) in patches.iter().enumerate() {
        let (outcome, took) = trials.with_bug(patch)?;
        let word = if outcome.is_seen() { "seen" } else { "MISSED" };
        println!(
            "{word:<6} {}/{} {:<44} {outcome}: {} ({:.1} s)",
            index + 1,
            patches.len(),
            patch.name,
            patch.place(),
            took.as_secs_f64()
        );
        if !outcome.is_seen() {
            missed.push(format!("{} {outcome}", patch.name));
        }
    }
    Ok(missed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> anyhow::Result<Options> {
        Options::parse(&line.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn options_and_names_are_read() {
        let options = parse("store-x informer-shared --changed --check").expect("valid");
        assert_eq!(options.names, ["store-x", "informer-shared"]);
        assert!(options.changed && options.check && !options.list && options.since.is_none());
        let options = parse("--changed=v1").expect("valid");
        assert_eq!(options.since.as_deref(), Some("v1"));
        assert!(parse("--chekc").is_err() && parse("--check=x").is_err());
    }

    #[test]
    fn every_patch_of_this_tree_applies_and_has_its_test() {
        let workspace = Workspace::load().expect("cargo metadata works here");
        let patches = choose(&workspace, &Options::default()).expect("they can be read");
        assert!(!patches.is_empty());
        assert_eq!(unfit(&workspace, &patches).expect("git works"), [""; 0]);
    }

    #[test]
    fn a_name_that_nothing_has_is_refused() {
        let workspace = Workspace::load().expect("cargo metadata works here");
        let options = parse("no-such-bug").expect("valid");
        assert!(choose(&workspace, &options).is_err());
    }
}
