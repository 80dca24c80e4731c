//! `cargo xtask bench SUITE`: the benches of that name of all crates, their figures alone on the standard output.

use std::collections::BTreeMap;

use anyhow::bail;
use serde_json::Value;

use crate::cmd::Cmd;
use crate::workspace::Workspace;

pub(crate) const ABOUT: &str = "\
The benches of one name (`micro`, …) of every crate that has them, built for release.
Prints one JSON line for each measure; all else goes to the standard error.
  SUITE          whose benches; without it, what there is
  FILTER         only measures whose name holds this";

/// Builds and runs a suite.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    let workspace = Workspace::load()?;
    let suites = suites(&workspace);
    let (suite, filter) = match arguments {
        [] => {
            for (suite, packages) in &suites {
                println!("{suite:<10} {}", packages.join(", "));
            }
            return Ok(());
        }
        [suite] => (suite, None),
        [suite, filter] => (suite, Some(filter)),
        _ => bail!("takes a suite and a filter; `cargo xtask` shows how"),
    };
    let Some(packages) = suites.get(suite) else {
        bail!("no crate has a bench `{suite}`; `cargo xtask bench` lists what there is");
    };
    // In one build: the crates share their dependencies.
    let mut bench = Cmd::cargo()
        .words("bench --no-fail-fast --bench")
        .arg(suite)
        .dir(&workspace.root);
    for package in packages {
        bench = bench.arg("--package").arg(package);
    }
    if let Some(filter) = filter {
        bench = bench.arg("--").arg(filter);
    }
    let mut measures = 0;
    bench.lines(|line| {
        if is_measure(line) {
            println!("{line}");
            measures += 1;
        } else {
            eprintln!("{line}");
        }
    })?;
    if measures == 0 {
        bail!("nothing was measured");
    }
    Ok(())
}

/// The names of benches, each with the packages that have one of that name.
fn suites(workspace: &Workspace) -> BTreeMap<String, Vec<String>> {
    let mut suites: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in &workspace.members {
        for name in package.targets("bench") {
            suites.entry(name).or_default().push(package.name.clone());
        }
    }
    suites
}

/// A measure is an object that has a name.
fn is_measure(line: &str) -> bool {
    serde_json::from_str::<Value>(line).is_ok_and(|value| value["name"].is_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_measures_are_taken_for_measures() {
        assert!(is_measure(r#"{"name":"snapshot","ns_per_op":20.5}"#));
        for line in [
            "",
            "running 0 tests",
            "7",
            r#"{"ns_per_op":1}"#,
            r#"{"name""#,
        ] {
            assert!(!is_measure(line), "{line}");
        }
    }

    #[test]
    fn a_suite_is_the_benches_of_one_name() {
        let suites = suites(&Workspace::load().expect("cargo metadata works here"));
        let micro = suites.get("micro").expect("there are such benches");
        assert!(micro.contains(&"informer-store".to_owned()), "{micro:?}");
    }

    #[test]
    fn an_unknown_suite_is_refused() {
        assert!(run(&["nonsense".to_owned()]).is_err());
    }
}
