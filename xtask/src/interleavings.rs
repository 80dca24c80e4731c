//! `cargo xtask interleavings`: the tests that let the crate shuttle choose the order in which threads come to locks.

use anyhow::bail;

use crate::cmd::Cmd;
use crate::workspace::{Package, Workspace};

pub(crate) const ABOUT: &str = "\
Readers and writers under thousands of random interleavings, of every crate that
uses shuttle. The number of schedules bounds the time: seconds, once it is built.
  anything       passed on to the tests: the name of one, --nocapture";

/// Builds those crates with `cfg(informer_shuttle)`, and runs what stands in their module `interleavings`.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    let workspace = Workspace::load()?;
    // Apart from other builds, which have other flags and would be thrown away.
    let target = workspace.root.join("target/interleavings");
    let mut test = Cmd::cargo()
        .words("test --lib --no-fail-fast")
        .env("RUSTFLAGS", "--cfg informer_shuttle")
        .env("CARGO_TARGET_DIR", target)
        .dir(&workspace.root);
    let packages: Vec<_> = workspace.members.iter().filter(|p| explores(p)).collect();
    if packages.is_empty() {
        bail!("no crate uses shuttle");
    }
    for package in packages {
        test = test.arg("--package").arg(&package.name);
    }
    test = test.words("-- interleavings::");
    for argument in arguments.iter().filter(|argument| *argument != "--") {
        test = test.arg(argument);
    }
    test.run()
}

fn explores(package: &Package) -> bool {
    let mut dependencies = package.dependencies.iter();
    dependencies.any(|dependency| dependency.name == "shuttle")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_join_by_using_shuttle() {
        let workspace = Workspace::load().expect("cargo metadata works here");
        let explores = |name| explores(workspace.member(name).expect("a member"));
        assert!(explores("informer-store") && !explores("xtask"));
    }
}
