//! `cargo xtask mutants`: seeds bugs one after another, and checks that for each the test fails that must see it.

mod list;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde_json::Value;

use crate::cmd::Cmd;
use crate::workspace;

pub(crate) const ABOUT: &str = "\
Seeded bugs, each of which must make a named test fail. Built once, in target/mutants.
  --list         show them with their tests
  anything else  the names, or the beginnings of names, of those to run";

/// The variable that chooses the bug. `informer_store::mutant!` reads it.
const CHOSEN: &str = "INFORMER_MUTANT";

/// A test that runs for longer hangs, which counts as failing.
const LIMIT: Duration = Duration::from_secs(300);

/// One seeded bug and the test that must see it.
#[derive(Debug, Clone, Copy)]
struct Mutant {
    name: &'static str,
    package: &'static str,
    /// The name of the test binary, or `lib` for unit tests.
    binary: &'static str,
    /// The whole name of the test.
    test: &'static str,
}

impl Mutant {
    fn place(&self) -> String {
        format!("{} {} {}", self.package, self.binary, self.test)
    }
}

/// How one test ended.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Passed,
    Failed,
    HungUp,
    /// There is no such test.
    Missing,
}

/// Builds with the bugs in place, then runs them.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    let given: Vec<_> = arguments.iter().filter(|a| *a != "--").collect();
    let names: Vec<_> = given.iter().filter(|a| !a.starts_with("--")).collect();
    let chosen: Vec<_> = list::MUTANTS
        .iter()
        .filter(|m| names.is_empty() || names.iter().any(|name| m.name.starts_with(name.as_str())))
        .collect();
    if let Some(unknown) = given
        .iter()
        .find(|a| a.starts_with("--") && **a != "--list")
    {
        bail!("there is no option `{unknown}`");
    }
    if given.iter().any(|argument| *argument == "--list") {
        for mutant in &chosen {
            println!("{:<36} {}", mutant.name, mutant.place());
        }
        return Ok(());
    }
    if chosen.is_empty() {
        bail!("no seeded bug has such a name; `cargo xtask mutants --list` shows them");
    }
    let root = workspace::root();
    let binaries = build(&root, &chosen)?;
    let missed = try_all(&root, &binaries, &chosen)?;
    if !missed.is_empty() {
        bail!("not seen: {}", missed.join(", "));
    }
    println!("{} seeded bugs, each seen by its test", chosen.len());
    Ok(())
}

/// Runs each bug's test without and with the bug. Returns the names of those that nobody saw.
fn try_all(
    root: &Path,
    binaries: &Binaries,
    chosen: &[&Mutant],
) -> anyhow::Result<Vec<&'static str>> {
    let mut sound = BTreeSet::new();
    let mut missed = Vec::new();
    for mutant in chosen {
        let binary = binaries
            .get(&(mutant.package, mutant.binary))
            .with_context(|| format!("there is no test binary for {}", mutant.place()))?;
        let dir = root.join("crates").join(mutant.package);
        if sound.insert(mutant.place()) {
            match run_test(binary, &dir, mutant.test, "")? {
                Outcome::Passed => {}
                outcome => bail!("without a bug: {outcome:?} {}", mutant.place()),
            }
        }
        let started = Instant::now();
        let outcome = run_test(binary, &dir, mutant.test, mutant.name)?;
        let seen = outcome != Outcome::Passed;
        println!(
            "{:<6} {:<36} {outcome:?} {} ({:.1} s)",
            if seen { "seen" } else { "MISSED" },
            mutant.name,
            mutant.place(),
            started.elapsed().as_secs_f64()
        );
        if !seen {
            missed.push(mutant.name);
        }
    }
    Ok(missed)
}

type Binaries = BTreeMap<(&'static str, &'static str), PathBuf>;

/// Builds the test binaries that are needed, with the bugs in place.
fn build(root: &Path, chosen: &[&Mutant]) -> anyhow::Result<Binaries> {
    let wanted: BTreeSet<_> = chosen.iter().map(|m| (m.package, m.binary)).collect();
    let mut flags = std::env::var("RUSTFLAGS").unwrap_or_default();
    flags.push_str(" --cfg informer_mutants");
    let mut binaries = Binaries::new();
    for (package, binary) in wanted {
        let which = match binary {
            "lib" => "--lib".to_owned(),
            test => format!("--test {test}"),
        };
        // Hundreds of lives of an informer: optimised, as `cargo xtask sim` builds it.
        let profile = if package == list::SIM { "sim" } else { "test" };
        let output = Cmd::cargo()
            .dir(root)
            .env("RUSTFLAGS", flags.trim())
            .env("CARGO_TARGET_DIR", root.join("target/mutants"))
            .words("test --all-features --no-run --message-format json --package")
            .arg(package)
            .words("--profile")
            .arg(profile)
            .words(&which)
            .output()?;
        let path = executable(&output)
            .with_context(|| format!("cargo built no test binary {binary} of {package}"))?;
        binaries.insert((package, binary), path);
    }
    Ok(binaries)
}

/// The test binary among cargo's messages. The programs of the package are built with it.
fn executable(messages: &str) -> Option<PathBuf> {
    let messages = messages.lines().rev();
    let mut parsed = messages.filter_map(|line| serde_json::from_str::<Value>(line).ok());
    parsed.find_map(|message| {
        let test = message.get("profile")?.get("test")?.as_bool()?;
        let path = message.get("executable")?.as_str()?;
        test.then(|| PathBuf::from(path))
    })
}

/// Runs one test in a process of its own, with this bug.
fn run_test(binary: &Path, dir: &Path, test: &str, bug: &str) -> anyhow::Result<Outcome> {
    let mut report = tempfile::tempfile().context("make a file for the test's output")?;
    let mut child = Command::new(binary)
        .args(["--exact", test])
        .current_dir(dir)
        .env(CHOSEN, bug)
        // What fails here is no regression to keep.
        .env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "1")
        .stdin(Stdio::null())
        .stdout(report.try_clone().context("share the file")?)
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("run {}", binary.display()))?;
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().context("wait for the test")? {
            break status;
        }
        if started.elapsed() > LIMIT {
            child.kill().context("end a test that hangs")?;
            child.wait().context("wait for the test")?;
            return Ok(Outcome::HungUp);
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    if !status.success() {
        return Ok(Outcome::Failed);
    }
    let mut text = String::new();
    std::io::Seek::rewind(&mut report).context("read the test's output")?;
    std::io::Read::read_to_string(&mut report, &mut text).context("read the test's output")?;
    Ok(if text.contains("test result: ok. 1 passed") {
        Outcome::Passed
    } else {
        Outcome::Missing
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seeded_under(dir: &Path, found: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(dir).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                seeded_under(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).expect("a source");
                let places = text.split("mutant!(\"").skip(1);
                found.extend(places.filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())));
            }
        }
    }

    #[test]
    fn every_seeded_bug_is_in_the_list_and_the_other_way_round() {
        let mut seeded = BTreeSet::new();
        for entry in std::fs::read_dir(workspace::root().join("crates")).expect("the crates") {
            let sources = entry.expect("a crate").path().join("src");
            if sources.is_dir() {
                seeded_under(&sources, &mut seeded);
            }
        }
        // It is the example in the docs of the macro.
        seeded.remove("name");
        let listed: BTreeSet<_> = list::MUTANTS.iter().map(|m| m.name.to_owned()).collect();
        assert_eq!(seeded, listed);
        assert_eq!(listed.len(), list::MUTANTS.len(), "names are unique");
    }

    #[test]
    fn the_executable_is_found_among_the_messages() {
        let messages = "{\"reason\":\"compiler-artifact\",\"executable\":null}\n\
            {\"executable\":\"/t/deps/model-1\",\"profile\":{\"test\":true}}\n\
            {\"executable\":\"/t/program\",\"profile\":{\"test\":false}}\n\
            {\"reason\":\"build-finished\"}\n";
        assert_eq!(executable(messages), Some(PathBuf::from("/t/deps/model-1")));
    }
}
