//! `cargo xtask tidy`: what no other tool checks of the sources, the manifests and the docs. Builds nothing.

mod dependencies;
mod layers;
mod manifests;
mod promises;
mod selects;
mod sources;

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::workspace::Workspace;

pub(crate) const ABOUT: &str = "\
What no other tool checks of sources, manifests and docs. Builds nothing.";

/// One thing that is not as it should be.
#[derive(Debug, PartialEq)]
struct Problem {
    /// The file, with the line where there is one.
    place: String,
    text: String,
}

impl Problem {
    fn new(place: impl fmt::Display, text: impl Into<String>) -> Self {
        Self {
            place: place.to_string(),
            text: text.into(),
        }
    }

    /// A problem at a line, counted from 1.
    fn at(path: &Path, line: usize, text: impl Into<String>) -> Self {
        Self::new(format_args!("{}:{line}", path.display()), text)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.text)
    }
}

/// What the checks look at: the workspace and its text files, read once.
#[derive(Debug)]
struct Tree {
    workspace: Workspace,
    files: Vec<TextFile>,
}

/// A text file under version control.
#[derive(Debug)]
struct TextFile {
    /// From the root.
    path: PathBuf,
    text: String,
}

impl TextFile {
    fn is(&self, extension: &str) -> bool {
        self.path
            .extension()
            .is_some_and(|found| found == extension)
    }

    /// The lines with their numbers from 1.
    fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text
            .lines()
            .enumerate()
            .map(|(index, line)| (index + 1, line))
    }
}

/// The kinds of files that are written by hand.
const TEXT: &[&str] = &["rs", "md", "toml", "go", "yml", "yaml", "sh"];

impl Tree {
    fn load() -> anyhow::Result<Self> {
        let workspace = Workspace::load()?;
        let mut files = Vec::new();
        for path in workspace.files()? {
            if path
                .extension()
                .and_then(|e| e.to_str())
                .is_some_and(|e| TEXT.contains(&e))
            {
                let text = std::fs::read_to_string(workspace.root.join(&path))
                    .with_context(|| path.display().to_string())?;
                files.push(TextFile { path, text });
            }
        }
        Ok(Self { workspace, files })
    }

    fn file(&self, path: &str) -> Option<&TextFile> {
        self.files.iter().find(|file| file.path == Path::new(path))
    }
}

/// One check: what must hold, and the code that finds where it does not.
type Check = (&'static str, fn(&Tree) -> Vec<Problem>);

const CHECKS: &[Check] = &[
    (
        "every source file says in its first line what it is for",
        sources::first_lines,
    ),
    ("no path of someone's machine", sources::machine_paths),
    (
        "no code block that is never compiled",
        sources::ignored_code_blocks,
    ),
    (
        "every select! outside of tests has an order",
        selects::biased,
    ),
    (
        "the minimum Rust version is the same everywhere",
        sources::msrv_in_prose,
    ),
    (
        "every dependency is used, and its reason is written down",
        dependencies::used_and_named,
    ),
    (
        "declared versions are the ones that are built",
        dependencies::honest_minimums,
    ),
    (
        "libraries choose no version of the Kubernetes API",
        dependencies::no_api_version,
    ),
    (
        "dependencies between our crates point down only",
        layers::point_down,
    ),
    ("no layer holds what belongs to another", layers::forbidden),
    ("our crates share one version", manifests::one_version),
    (
        "published crates say all that a registry shows",
        manifests::complete,
    ),
    (
        "the table of protobuf fields is whole and of the version that it says",
        wire_table,
    ),
    (
        "the table of built-in fields is of the version of the real server",
        field_table,
    ),
    (
        "every promise has a test, every cited promise exists",
        promises::tested,
    ),
];

fn wire_table(tree: &Tree) -> Vec<Problem> {
    let go_mod = std::fs::read_to_string(tree.workspace.root.join("e2e/wire-schema/go.mod"));
    crate::wire_table::problems(&tree.workspace.root, &go_mod.unwrap_or_default())
        .into_iter()
        .map(|(place, text)| Problem::new(place, text))
        .collect()
}

fn field_table(tree: &Tree) -> Vec<Problem> {
    let go_mod = std::fs::read_to_string(tree.workspace.root.join("e2e/apiserver/go.mod"));
    crate::field_table::problems(&tree.workspace.root, &go_mod.unwrap_or_default())
        .into_iter()
        .map(|(place, text)| Problem::new(place, text))
        .collect()
}

/// Runs every check and prints what they found; an error if that is anything.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    if let Some(argument) = arguments.first() {
        bail!("unknown argument `{argument}`");
    }
    let tree = Tree::load()?;
    let mut count = 0;
    for (rule, check) in CHECKS {
        let problems = check(&tree);
        println!(
            "{} {rule}",
            if problems.is_empty() {
                "ok    "
            } else {
                "FAILED"
            }
        );
        for problem in &problems {
            println!("         {problem}");
        }
        count += problems.len();
    }
    match count {
        0 => Ok(()),
        1 => bail!("1 problem"),
        _ => bail!("{count} problems"),
    }
}

#[cfg(test)]
mod testing {
    //! Trees made by hand, for the tests of the checks.
    use super::*;
    use crate::workspace::{Dependency, Package};

    /// A tree of these files, with the root manifest given.
    pub(super) fn tree(manifest: &str, files: &[(&str, &str)]) -> Tree {
        let file = |(path, text): &(&str, &str)| TextFile {
            path: path.into(),
            text: (*text).into(),
        };
        Tree {
            workspace: Workspace {
                root: crate::workspace::root(),
                target: "target".into(),
                manifest: manifest.parse().expect("a valid manifest"),
                members: Vec::new(),
                locked: Default::default(),
            },
            files: files.iter().map(file).collect(),
        }
    }

    /// A published library with these dependencies; a leading `dev:` makes one a development dependency.
    pub(super) fn library(name: &str, dependencies: &[&str]) -> Package {
        let dependency = |name: &&str| Dependency {
            name: name.trim_start_matches("dev:").to_owned(),
            dev: name.starts_with("dev:"),
            features: Vec::new(),
        };
        Package {
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            dir: Path::new("crates").join(name),
            published: true,
            dependencies: dependencies.iter().map(dependency).collect(),
            ..Package::default()
        }
    }
}
