//! `cargo xtask ci`: every check that a change must pass, one step after the other, and a table of how they ended.

mod report;
mod steps;

use std::collections::BTreeSet;
use std::time::Instant;

use anyhow::bail;

use self::report::{Outcome, Report};
use self::steps::{Context, STEPS};
use crate::workspace::Workspace;

pub(crate) const ABOUT: &str = "\
Every check that a change must pass, then a table of how each ended.
  --only a,b   these steps only
  --skip a,b   all but these
  --strict     a step that would be skipped for want of a tool fails
  --list       what the steps are";

/// What the command line asked for.
#[derive(Debug, Default, PartialEq)]
struct Options {
    only: Option<BTreeSet<String>>,
    skip: BTreeSet<String>,
    strict: bool,
    list: bool,
}

/// Runs the chosen steps; an error if any of them failed.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    let options = Options::parse(arguments)?;
    if options.list {
        for step in STEPS {
            println!("{:<14} {}", step.name, step.about);
        }
        return Ok(());
    }
    let context = Context {
        workspace: Workspace::load()?,
    };
    let mut report = Report::default();
    for step in STEPS.iter().filter(|step| options.wants(step.name)) {
        println!("\n== {}: {}", step.name, step.about);
        let started = Instant::now();
        let outcome = Outcome::of((step.run)(&context), options.strict);
        if let Some(reason) = outcome.reason() {
            println!("{} {}: {reason}", outcome.word().to_uppercase(), step.name);
        }
        report.add(step.name, outcome, started.elapsed());
    }
    println!("\n{report}");
    match report.failed() {
        0 => Ok(()),
        failed => bail!("{failed} of {} steps failed", report.len()),
    }
}

impl Options {
    fn parse(arguments: &[String]) -> anyhow::Result<Self> {
        let mut options = Self::default();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let (name, inline) = match argument.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (argument.as_str(), None),
            };
            let mut value = || inline.or_else(|| rest.next().map(String::as_str));
            match name {
                "--only" => options.only = Some(step_names(value())?),
                "--skip" => options.skip = step_names(value())?,
                "--strict" => options.strict = true,
                "--list" => options.list = true,
                _ => bail!("unknown argument `{argument}`; `cargo xtask` shows what there is"),
            }
        }
        Ok(options)
    }

    fn wants(&self, step: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only.contains(step)) && !self.skip.contains(step)
    }
}

fn step_names(list: Option<&str>) -> anyhow::Result<BTreeSet<String>> {
    let names: BTreeSet<String> = list
        .unwrap_or_default()
        .split(',')
        .filter(|n| !n.is_empty())
        .map(str::to_owned)
        .collect();
    if names.is_empty() {
        bail!("--only and --skip take the names of steps, separated by commas");
    }
    for name in &names {
        if !STEPS.iter().any(|step| step.name == name) {
            bail!("there is no step `{name}`; `cargo xtask ci --list` shows them");
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> anyhow::Result<Options> {
        Options::parse(&line.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn steps_are_chosen_by_name() {
        let options = parse("--only fmt,clippy --skip=clippy --strict").expect("valid");
        assert!(options.wants("fmt") && !options.wants("clippy") && !options.wants("test"));
        assert!(options.strict);
        assert!(Options::default().wants("test"));
    }

    #[test]
    fn an_unknown_step_or_argument_is_refused() {
        for line in ["--only fmt,nonsense", "--only", "--skip=", "--fast"] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
