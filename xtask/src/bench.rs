//! `cargo xtask bench SUITE`: the benches of that name of all crates, their figures alone on the standard output.

use std::collections::BTreeMap;

use anyhow::bail;
use serde_json::Value;

use crate::cmd::Cmd;
use crate::go::{self, Unbuilt};
use crate::workspace::Workspace;

pub(crate) const ABOUT: &str = "\
The benches of one name (`micro`, …) of every crate that has them, built for release.
Prints one JSON line for each measure; all else goes to the standard error.
  SUITE               whose benches; without it, what there is
  FILTER              only measures whose name holds this
  --beside-client-go  runs client-go on the same work in turn, three times each, and
                      adds its time and how many times as fast we are; needs Go";

/// How often each side runs when two are compared.
const ROUNDS: usize = 3;

/// Builds and runs a suite.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    let workspace = Workspace::load()?;
    let suites = suites(&workspace);
    let (flags, names): (Vec<_>, Vec<_>) = arguments
        .iter()
        .partition(|argument| argument.starts_with("--"));
    let is_compared = match &flags[..] {
        [] => false,
        [flag] if *flag == "--beside-client-go" => true,
        _ => bail!("unknown argument in {flags:?}; `cargo xtask` shows what there is"),
    };
    let (suite, filter) = match &names[..] {
        [] => {
            for (suite, packages) in &suites {
                println!("{suite:<10} {}", packages.join(", "));
            }
            return Ok(());
        }
        [suite] => (*suite, None),
        [suite, filter] => (*suite, Some(*filter)),
        _ => bail!("takes a suite and a filter; `cargo xtask` shows how"),
    };
    let Some(packages) = suites.get(suite) else {
        bail!("no crate has a bench `{suite}`; `cargo xtask bench` lists what there is");
    };
    let ours = || ours(&workspace, suite, packages, filter);
    if is_compared {
        return compare(&workspace, ours, filter);
    }
    if measures(ours(), |line, _| println!("{line}"))? == 0 {
        bail!("nothing was measured");
    }
    Ok(())
}

fn ours(workspace: &Workspace, suite: &str, packages: &[String], filter: Option<&String>) -> Cmd {
    // In one build: the crates share their dependencies.
    let mut bench = Cmd::cargo()
        .words("bench --no-fail-fast --bench")
        .arg(suite)
        .dir(&workspace.root);
    for name in packages {
        bench = bench.arg("--package").arg(name);
        let package = workspace.member(name);
        let features = package.map(|package| package.required_features("bench", suite));
        for feature in features.into_iter().flatten() {
            bench = bench.arg("--features").arg(format!("{name}/{feature}"));
        }
    }
    if let Some(filter) = filter {
        bench = bench.arg("--").arg(filter);
    }
    bench
}

/// Runs ours and client-go in turn, so that both meet the same noise, and prints the medians.
fn compare(
    workspace: &Workspace,
    ours: impl Fn() -> Cmd,
    filter: Option<&String>,
) -> anyhow::Result<()> {
    let client_go = go::build(&workspace.root, "clientgo").map_err(Unbuilt::into_error)?;
    let mut order = Vec::new();
    let mut times: [BTreeMap<String, Vec<f64>>; 2] = Default::default();
    for round in 0..ROUNDS {
        let theirs = Cmd::new(&client_go);
        let theirs = match filter {
            Some(filter) => theirs.arg(filter),
            None => theirs,
        };
        for (side, command) in [ours(), theirs].into_iter().enumerate() {
            measures(command, |line, measure| {
                eprintln!("{line}");
                let Some((name, time)) = named_time(&measure) else {
                    return;
                };
                if (side, round) == (0, 0) {
                    order.push(name.clone());
                }
                times[side].entry(name).or_default().push(time);
            })?;
        }
    }
    for name in order {
        let [ours, theirs] = times
            .each_ref()
            .map(|times| times.get(&name).and_then(|times| median(times)));
        let Some(ours) = ours else { continue };
        let theirs = theirs.map(|theirs| {
            let ratio = theirs / ours;
            format!(",\"client_go_ns_per_op\":{theirs:.1},\"times_as_fast\":{ratio:.2}")
        });
        let theirs = theirs.unwrap_or_default();
        println!("{{\"name\":{name:?},\"ns_per_op\":{ours:.1}{theirs}}}");
    }
    Ok(())
}

/// Runs a bench and hands over each measure, as its line and as what that says. All else goes to the standard error.
fn measures(bench: Cmd, mut each: impl FnMut(&str, Value)) -> anyhow::Result<usize> {
    let mut count = 0;
    bench.lines(|line| match measure(line) {
        Some(measure) => {
            each(line, measure);
            count += 1;
        }
        None => eprintln!("{line}"),
    })?;
    Ok(count)
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
fn measure(line: &str) -> Option<Value> {
    let value: Value = serde_json::from_str(line).ok()?;
    value["name"].is_string().then_some(value)
}

fn named_time(measure: &Value) -> Option<(String, f64)> {
    let name = measure["name"].as_str()?.to_owned();
    Some((name, measure["ns_per_op"].as_f64()?))
}

fn median(times: &[f64]) -> Option<f64> {
    let mut times = times.to_owned();
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_measures_are_taken_for_measures() {
        let line = measure(r#"{"name":"snapshot","ns_per_op":20.5}"#).expect("one");
        assert_eq!(named_time(&line), Some(("snapshot".to_owned(), 20.5)));
        for line in [
            "",
            "running 0 tests",
            "7",
            r#"{"ns_per_op":1}"#,
            r#"{"name""#,
        ] {
            assert!(measure(line).is_none(), "{line}");
        }
    }

    #[test]
    fn a_suite_is_the_benches_of_one_name() {
        let suites = suites(&Workspace::load().expect("cargo metadata works here"));
        let micro = suites.get("micro").expect("there are such benches");
        assert!(micro.contains(&"informer-store".to_owned()), "{micro:?}");
    }

    #[test]
    fn what_a_bench_needs_is_known() {
        let workspace = Workspace::load().expect("cargo metadata works here");
        let facade = workspace.member("informer").expect("it is there");
        let features = facade.required_features("bench", "handlers");
        assert!(features.contains(&"full".to_owned()), "{features:?}");
        assert!(facade.required_features("bench", "none").is_empty());
    }

    #[test]
    fn of_several_times_the_middle_one_is_taken() {
        assert_eq!(median(&[5.0, 1.0, 90.0]), Some(5.0));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn an_unknown_suite_or_argument_is_refused() {
        assert!(run(&["nonsense".to_owned()]).is_err());
        assert!(run(&["micro".to_owned(), "--fast".to_owned()]).is_err());
    }
}
