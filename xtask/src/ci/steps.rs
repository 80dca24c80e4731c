//! The steps of `ci`.

use std::fmt;

use anyhow::{Context as _, bail};

use crate::cmd::Cmd;
use crate::workspace::{Package, Workspace};
use crate::{interleavings, mutants, tidy};

/// One step.
pub(super) struct Step {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) run: fn(&Context) -> anyhow::Result<()>,
}

/// What the steps share.
pub(super) struct Context {
    pub(super) workspace: Workspace,
}

/// Every step; the quick ones first.
pub(super) const STEPS: &[Step] = &[
    Step {
        name: "fmt",
        about: "every file is formatted",
        run: fmt,
    },
    Step {
        name: "tidy",
        about: "what no other tool checks",
        run: |_| tidy::run(&[]),
    },
    Step {
        name: "mutants",
        about: "every seeded bug applies and has its test",
        run: |_| mutants::run(&["--check".to_owned()]),
    },
    Step {
        name: "clippy",
        about: "no warning, with all features and with none",
        run: clippy,
    },
    Step {
        name: "test",
        about: "unit, integration and documentation tests",
        run: test,
    },
    Step {
        name: "interleavings",
        about: "no order of threads breaks the core",
        run: |_| interleavings::run(&[]),
    },
    Step {
        name: "doc",
        about: "the documentation builds, every link leads somewhere",
        run: doc,
    },
    Step {
        name: "alone",
        about: "each crate builds alone, in each feature set",
        run: alone,
    },
    Step {
        name: "package",
        about: "what would be published builds",
        run: package,
    },
    Step {
        name: "msrv",
        about: "the oldest supported compiler accepts everything",
        run: msrv,
    },
];

/// Says that a tool is missing, and how to get it.
#[derive(Debug)]
pub(super) struct Skip {
    what: String,
    install: String,
}

impl Skip {
    pub(super) fn new(what: impl Into<String>, install: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            install: install.into(),
        }
    }
}

impl fmt::Display for Skip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.what, self.install)
    }
}

impl std::error::Error for Skip {}

impl Context {
    fn cargo(&self) -> Cmd {
        Cmd::cargo().dir(&self.workspace.root)
    }
}

fn fmt(context: &Context) -> anyhow::Result<()> {
    context.cargo().words("fmt --all -- --check").run()
}

fn clippy(context: &Context) -> anyhow::Result<()> {
    // The first step that resolves: a lock file that lags behind the manifests is noticed here.
    let clippy = || context.cargo().words("clippy --workspace --locked");
    clippy()
        .words("--all-targets --all-features -- -D warnings")
        .run()?;
    clippy()
        .words("--lib --no-default-features -- -D warnings")
        .run()
}

fn test(context: &Context) -> anyhow::Result<()> {
    // All features: what a feature adds has tests too. The builds with fewer are checked by `alone`.
    context
        .cargo()
        .words("test --workspace --all-features --no-fail-fast")
        .run()
}

fn doc(context: &Context) -> anyhow::Result<()> {
    let doc = || {
        let doc = context.cargo().env("RUSTDOCFLAGS", "-D warnings");
        doc.words("doc --workspace --no-deps --all-features")
    };
    // As the public sees it, where a link to a private item leads nowhere; then with everything.
    doc().run()?;
    doc().words("--document-private-items").run()
}

/// Other members of the workspace lend a crate their features when all are built together, so each is built alone.
fn alone(context: &Context) -> anyhow::Result<()> {
    let mut failed = Vec::new();
    for package in context
        .workspace
        .members
        .iter()
        .filter(|package| package.published)
    {
        for features in feature_sets(package) {
            let check = context.cargo().words("check --package").arg(&package.name);
            if let Err(error) = check.words(features).run() {
                failed.push(error.to_string());
            }
        }
    }
    if !failed.is_empty() {
        bail!("{}", failed.join("; "));
    }
    Ok(())
}

/// The command line arguments for each set of features that differs from the others.
fn feature_sets(package: &Package) -> Vec<&'static str> {
    let defaults = package.raw["features"]["default"]
        .as_array()
        .map_or(0, Vec::len);
    let others = package
        .features
        .iter()
        .filter(|feature| *feature != "default")
        .count();
    match (others, defaults) {
        (0, _) => vec![""],
        (_, 0) => vec!["", "--all-features"],
        _ => vec!["", "--no-default-features", "--all-features"],
    }
}

/// Packs every published crate and builds each from its package, with its siblings taken from their packages.
fn package(context: &Context) -> anyhow::Result<()> {
    // In a target directory that was used before, cargo builds against the siblings as they were packed then.
    let target = tempfile::Builder::new()
        .prefix("informer-package")
        .tempdir()?;
    let mut package = context.cargo().words("package --workspace");
    for private in context
        .workspace
        .members
        .iter()
        .filter(|package| !package.published)
    {
        package = package.arg("--exclude").arg(&private.name);
    }
    if std::env::var_os("CI").is_none() {
        // While one works the tree is not clean; a release and CI insist on it.
        package = package.arg("--allow-dirty");
    }
    package.env("CARGO_TARGET_DIR", target.path()).run()
}

fn msrv(context: &Context) -> anyhow::Result<()> {
    let msrv = context
        .workspace
        .package_field("rust-version")
        .context("no rust-version")?;
    let install = format!("rustup toolchain install {msrv}");
    let Ok(installed) = Cmd::new("rustup").words("toolchain list").output() else {
        return Err(Skip::new("no rustup", install).into());
    };
    let Some(toolchain) = toolchain_of(&installed, msrv) else {
        return Err(Skip::new(format!("no toolchain {msrv}"), install).into());
    };
    // Not through this process' CARGO, which belongs to the toolchain that runs it. Its own target directory, so that
    // the two compilers do not throw away each other's work.
    Cmd::new("rustup")
        .arg("run")
        .arg(toolchain)
        .words("cargo check --workspace --all-targets --all-features")
        .env(
            "CARGO_TARGET_DIR",
            context.workspace.root.join("target/msrv"),
        )
        .env_remove("RUSTUP_TOOLCHAIN")
        .env_remove("CARGO")
        .dir(&context.workspace.root)
        .run()
}

/// The installed toolchain of that version: `1.89`, `1.89.0-x86_64-…` or `1.89.2-…`.
fn toolchain_of<'a>(installed: &'a str, msrv: &str) -> Option<&'a str> {
    let names = installed
        .lines()
        .filter_map(|line| line.split_whitespace().next());
    names.into_iter().find(|name| {
        name.strip_prefix(msrv)
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_toolchain_of_a_version_is_found_among_others() {
        let installed =
            "stable-x86_64 (active, default)\n1.8.0-x86_64\n1.89.1-x86_64\n1.890-x86_64";
        assert_eq!(toolchain_of(installed, "1.89"), Some("1.89.1-x86_64"));
        assert_eq!(toolchain_of(installed, "1.8"), Some("1.8.0-x86_64"));
        assert_eq!(toolchain_of(installed, "1.90"), None);
    }

    #[test]
    fn a_crate_is_built_in_each_set_of_features_that_differs() {
        let package = |features: serde_json::Value| Package {
            features: features
                .as_object()
                .map(|f| f.keys().cloned().collect())
                .unwrap_or_default(),
            raw: serde_json::json!({ "features": features }),
            ..Package::default()
        };
        assert_eq!(feature_sets(&package(serde_json::json!({}))), [""]);
        let optional = package(serde_json::json!({ "default": [], "http": [] }));
        assert_eq!(feature_sets(&optional), ["", "--all-features"]);
        let default = package(serde_json::json!({ "default": ["http"], "http": [] }));
        assert_eq!(feature_sets(&default).len(), 3);
    }
}
